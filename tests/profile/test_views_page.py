"""The page of a profile: whole in one file, and what a real browser makes of it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from views_samples import many_events, profile_json, sample_events

from msopgen_wrap.profile.event_table import EVENT, Events
from msopgen_wrap.profile.launch_profile import launch_profile
from msopgen_wrap.profile.launches import Launch, ProfiledRun
from msopgen_wrap.profile.page import timeline_data, write_page

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SOURCE = "\n".join(f'    line({n});  // <b> & "quoted" </script>' for n in range(1, 21))


def page(tmp_path: Path, events: Events, **changes: Any) -> Path:
    """Write the page of a launch whose source lies beside it; return its path."""
    source = tmp_path / "add.asc"
    source.write_text(SOURCE)
    data = profile_json(**changes)
    for row in data["lines"]:
        row["file"] = str(source)
    data["files"] = [str(source), "queue.h"]
    launch = Launch(launch_profile(data), events)
    path = tmp_path / "page.html"
    write_page(path, ProfiledRun("add", [launch], ["case add"]), launch)
    return path


class Tags(HTMLParser):
    """Collects what a page refers to, and tags that are left open."""

    VOID = frozenset({"meta", "link", "br", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count += 1
        if tag not in self.VOID:
            self.open.append(tag)
        self.references += [v or "" for k, v in attrs if k in ("src", "href", "action")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    text = page(tmp_path, sample_events(), kernel='<img src="http://x/">').read_text()
    tags = Tags()
    tags.feed(text)
    assert tags.open == [] and tags.count > 100
    assert tags.references == ["data:,", *(f"#L0-{line}" for line in (10, 12, 14))]
    assert all(f'id="L0-{line}"' in text for line in (10, 12, 14))
    assert not re.search(r"https?:|@import|url\(|fetch\(|import\(", text.replace("http://x/", ""))
    for part in ("14.5 us modelled", "not validated", "Pipes", "Memory", "Timeline", "Source",
                 "line(12);  // &lt;b&gt; &amp; &#34;quoted&#34; &lt;/script&gt;"):  # fmt: skip
        assert part in text


def test_costs_stand_in_the_margin(tmp_path: Path) -> None:
    text = page(tmp_path, sample_events()).read_text()
    rows = dict(re.findall(r'<tr id="L0-(\d+)".*?\n<td class="margin" title="(.*?)"', text))
    assert len(rows) == 20
    assert rows["12"] == "V: busy 2.00 us, stalled 4.00 us, 4 calls" and rows["13"] == ""


def unpacked(text: str) -> list[int]:
    return np.frombuffer(base64.b64decode(text), "<u4").tolist()


def test_the_timeline_has_every_event_with_a_length() -> None:
    data = timeline_data(launch_profile(profile_json()), sample_events())
    places = [(t["core"], t["pipe"], t["lane"]) for t in data["tracks"]]
    own = [("MTE2", 0), ("MTE2", 1), ("V", 0), ("MTE3", 0)]
    assert places == [(core, *row) for core in (0, 1) for row in own]
    track = data["tracks"][2]
    names = [data["names"][n][:2] for n in unpacked(track["name"])]
    assert names == [["stalled before Add", "add.asc:12"], ["Add", "add.asc:12"]]
    starts = [round(s * data["unit"]) for s in unpacked(track["start"])]
    assert starts == [4100, 5400] and unpacked(track["bytes"]) == [0, 8192]
    waited = [data["names"][n - 1][0] if n else "" for n in unpacked(track["from"])]
    assert waited == ["set flag", ""]


def test_a_page_leaves_out_cores_of_a_large_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("msopgen_wrap.profile.page.MOST_EVENTS", 8_000)
    events = many_events(16_000)
    cores = [{"core": n, "kind": "AIV", "start_us": 0.0, "end_us": 90.0 + n % 7, "pipes": {}}
             for n in range(40)]  # fmt: skip
    data = timeline_data(launch_profile(profile_json(cores=cores)), events)
    shown = {t["core"] for t in data["tracks"]}
    assert (data["cores"], data["of"]) == (20, 40) and len(shown) == 20
    assert {6, 0} <= shown  # the core that ends last, and one that ends first
    assert sum(len(unpacked(t["start"])) for t in data["tracks"]) <= 8_000


def test_a_page_without_events_has_no_timeline(tmp_path: Path) -> None:
    text = page(tmp_path, np.empty(0, EVENT), lines=[], ablation=[], cores=[]).read_text()
    assert "<h2>Timeline" not in text and "<h2>Source" not in text and "<h2>Limits" in text


def pixels(path: Path) -> Any:
    """Return the pixels of an 8-bit PNG without interlace as an array of rows."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, head = 8, b"", ()
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour = head[:4]
    assert depth == 8 and colour in (2, 6) and head[6] == 0
    size = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * size)
    image = np.zeros((height, width, size), np.uint8)
    before = np.zeros((width, size), np.uint8)
    for y in range(height):
        raw = rows[y, 1:].reshape(width, size)
        kind = int(rows[y, 0])
        if kind == 0:
            line = raw
        elif kind == 1:
            line = np.cumsum(raw, axis=0, dtype=np.uint8)
        elif kind == 2:
            line = raw + before
        else:
            line = _filtered(kind, raw, before)
        image[y] = before = line
    return image[:, :, :3]


def _filtered(kind: int, raw: Any, above: Any) -> Any:
    line = np.zeros_like(raw)
    left, corner = np.zeros(raw.shape[1], int), np.zeros(raw.shape[1], int)
    for x in range(len(raw)):
        up = above[x].astype(int)
        guess = left + up - corner
        if kind == 3:
            best = (left + up) // 2
        else:
            pa, pb, pc = abs(guess - left), abs(guess - up), abs(guess - corner)
            best = np.where((pa <= pb) & (pa <= pc), left, np.where(pb <= pc, up, corner))
        left = (raw[x].astype(int) + best) & 255
        line[x], corner = left, up
    return line


@pytest.fixture
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed here: none of {', '.join(BROWSERS)}")
    return found


def visited(browser: str, path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000", *options]
    # Nothing of the network: what the page asked for would fail and show as an error.
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={path.parent}/user"]
    done = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_a_browser_draws_the_page(tmp_path: Path, browser: str) -> None:
    path = page(tmp_path, many_events(20_000, cores=2))
    shot = tmp_path / "page.png"
    done = visited(browser, path, "--window-size=1200,2000", f"--screenshot={shot}")
    assert "CONSOLE" not in done.stderr, done.stderr
    image = pixels(shot)
    assert image.shape[:2] == (2000, 1200)
    # The colours of the charts and of the timeline (MTE2, V, stalls), each in more than a speck.
    for colour in ((9, 105, 218), (232, 145, 45), (26, 127, 55), (130, 80, 223)):
        assert (image == colour).all(axis=2).sum() > 500, colour
    dom = visited(browser, path, "--dump-dom").stdout
    assert re.search(r'<html[^>]* data-drawn="6"', dom)
    assert "us (modelled)</span>" in dom


# What a user does: zooms by button, wheel and key, moves, looks at an event and goes to its line.
HANDS = """<script>
const timeline = document.getElementById("timeline"), told = document.documentElement.dataset;
const wait = () => new Promise((done) => setTimeout(done, 50));
const text = () => document.getElementById("range").textContent;
const key = (name) => timeline.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
(async () => {
  const box = timeline.getBoundingClientRect();
  const place = { clientX: box.left + 400, clientY: box.top + 38, bubbles: true, cancelable: true };
  document.getElementById("closer").click(); await wait(); told.button = text();
  key("+"); await wait(); told.key = text();
  key("ArrowRight"); await wait(); told.moved = text();
  timeline.dispatchEvent(new WheelEvent("wheel", { ...place, deltaY: -500 })); await wait();
  told.wheel = text();
  timeline.dispatchEvent(new PointerEvent("pointermove", place)); await wait();
  told.tip = document.getElementById("tip").textContent;
  timeline.dispatchEvent(new PointerEvent("pointerup", place));
  told.marked = (document.querySelector(".marked") || {}).id;
  key("Home"); await wait(); told.all = text();
})();
</script></body>"""


@pytest.mark.slow
def test_the_timeline_answers_its_user(tmp_path: Path, browser: str) -> None:
    path = page(tmp_path, many_events(20_000, cores=2))
    path.write_text(path.read_text().replace("</body>", HANDS))
    done = visited(browser, path, "--dump-dom", "--window-size=1200,900")
    assert "CONSOLE" not in done.stderr, done.stderr
    root = re.search(r"<html[^>]*>", done.stdout)
    assert root is not None
    told = dict(re.findall(r'data-(\w+)="(.*?)"', root.group(0)))
    spans = {}
    for name in ("button", "key", "moved", "wheel", "all"):
        first, last = re.findall(r"([\d.]+)", told[name])[:2]
        spans[name] = (float(first), float(last))
    length = {name: last - first for name, (first, last) in spans.items()}
    assert spans["all"][0] == 0
    assert length["button"] == pytest.approx(length["all"] / 2, abs=0.01)
    assert length["key"] == pytest.approx(length["all"] / 4, abs=0.01)
    assert length["moved"] == pytest.approx(length["key"], abs=0.01)
    assert spans["moved"][0] == pytest.approx(spans["key"][0] + length["key"] / 5, abs=0.01)
    assert length["wheel"] < length["moved"] / 2
    assert "us modelled" in told["tip"] and "add.asc:1" in told["tip"]
    assert told["marked"] in ("L0-10", "L0-12", "L0-13")


@pytest.mark.slow
def test_a_browser_tells_an_error_of_a_page(tmp_path: Path, browser: str) -> None:
    path = page(tmp_path, sample_events())
    path.write_text(path.read_text().replace('getElementById("data")', 'getElementById("gone")'))
    done = visited(browser, path, "--dump-dom")
    assert "CONSOLE" in done.stderr and 'data-drawn="' not in done.stdout


def test_numbers_of_names_are_json(tmp_path: Path) -> None:
    text = page(tmp_path, sample_events(), apis=["</script>", "Add", "", "SetFlag"]).read_text()
    body = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert "</script>" in {row[0] for row in json.loads(body)["names"]}
