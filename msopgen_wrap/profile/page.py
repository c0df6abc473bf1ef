"""A profile as one HTML page that needs nothing else: no network, no further files."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.profile import page_figures as figures
from msopgen_wrap.profile.advice import advice
from msopgen_wrap.profile.event_table import KINDS, NONE, Events, pipe_name
from msopgen_wrap.profile.launch_profile import LaunchProfile, pipe_order
from msopgen_wrap.profile.launches import Launch, ProfiledRun, kernel_shares
from msopgen_wrap.profile.text_view import count_text, microseconds, place, validity
from msopgen_wrap.profile.trace_file import event_name, lanes_of, track_order
from msopgen_wrap.profile.written_files import written_file
from msopgen_wrap.resources import data_dir

# Events in a page: a browser draws so many in a blink, and the page stays below 5 MB.
MOST_EVENTS = 250_000


def write_page(path: Path, run: ProfiledRun, launch: Launch) -> None:
    """Write the page of a launch.

    Args:
        run: what the launch belongs to; with several launches the page lists their shares.

    Raises:
        OpgenError: OPG592, the file cannot be written; there is no new file then.
    """
    profile = launch.profile
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    timeline = timeline_data(profile, launch.events)
    text = environment.get_template("profile/page.html.jinja").render(
        profile=profile,
        about=run.about,
        validity=validity(profile),
        shares=kernel_shares(run.profiles) if len(run.launches) > 1 else [],
        advice=advice(profile),
        waits=_waits(profile),
        figures=figures,
        timeline=timeline,
        # A tag in a name cannot end the script that holds it.
        data=json.dumps(timeline, separators=(",", ":")).replace("<", "\\u003c"),
        us=microseconds,
        count=count_text,
        size=size_text,
    )
    with written_file(path, "--html") as stream:
        stream.write(text)


def _waits(profile: LaunchProfile) -> list[tuple[str, str, str, str]]:
    """Return pipe, reason, place and time per core of what pipes wait for, the longest first."""
    count = max(1, len(profile.cores))
    rows = [(name, wait) for name, waits in profile.reasons().items() for wait in waits]
    rows.sort(key=lambda row: -row[1].us)
    return [
        (name, w.reason, place(w.file, w.line) if w.file else "", microseconds(w.us / count))
        for name, w in rows[:12]
    ]


def timeline_data(profile: LaunchProfile, events: Events) -> dict[str, Any]:
    """Return what the page's timeline draws: per thread starts, lengths and names.

    Where there are more than ``MOST_EVENTS``, whole cores are left out: the core that ends last,
    the one that ends first and those with the lowest numbers stay.

    Returns:
        ``unit`` (nanoseconds of one step), ``end`` (steps), ``cores`` shown of ``of``, ``names``
        (name, source, kind), and ``tracks``; arrays are base64 of little-endian integers.
    """
    numbers, counts = np.unique(events["core"], return_counts=True)
    chosen = _chosen_cores(profile, numbers.tolist(), counts.tolist())
    source = _kept_sources(events, np.isin(events["core"], chosen))
    events = events[np.isin(events["core"], chosen)]
    last = float(events["end_ns"].max()) if len(events) else profile.time_us * 1000
    unit = max(0.1, last / 2**31)
    data: dict[str, Any] = {
        "unit": unit,
        "end": int(np.ceil(max(last, profile.time_us * 1000) / unit)),
        "cores": len(chosen),
        "of": len(numbers),
        "kinds": list(KINDS),
        "names": [],
        "tracks": [],
    }
    if not len(events):
        return data
    start = np.rint(events["start_ns"] / unit).astype(np.int64)
    end = np.maximum(np.rint(events["end_ns"] / unit).astype(np.int64), start)
    pipes = events["pipe"].astype(np.int64)
    threads = events["core"].astype(np.int64) * 256 + pipes
    order = track_order(events, start, end, threads)
    lanes = lanes_of(events, start, end, threads, order)
    names, name_of = _names(profile, events)
    data["names"] = names
    thread = threads * 4096 + lanes
    order = order[np.argsort(thread[order], kind="stable")]
    order = order[end[order] > start[order]]
    borders = np.flatnonzero(np.diff(thread[order])) + 1
    for part in np.split(order, borders):
        if not len(part):
            continue
        first = int(part[0])
        data["tracks"].append(
            {
                "core": int(events["core"][first]),
                "pipe": pipe_name(int(pipes[first])),
                "lane": int(lanes[first]),
                "start": _packed(start[part], "<u4"),
                "length": _packed(end[part] - start[part], "<u4"),
                "name": _packed(name_of[part], "<u4"),
                "bytes": _packed(np.minimum(events["bytes"][part], 2**32 - 1), "<u4"),
                "from": _packed(np.where(source[part] < 0, 0, name_of[source[part]] + 1), "<u4"),
            }
        )
    data["tracks"].sort(key=lambda t: (t["core"], pipe_order(t["pipe"]), t["lane"]))
    return data


def _kept_sources(events: Events, kept: Any) -> Any:
    """Return for each kept event what it waited for, as an index of the kept ones; -1 for none."""
    places = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    source = events["from"][kept].astype(np.int64)
    return places[np.where(source == NONE, len(events), np.minimum(source, len(events)))]


def _chosen_cores(profile: LaunchProfile, numbers: list[int], counts: list[int]) -> list[int]:
    sizes = dict(zip(numbers, counts, strict=True))
    ends = {c.number: c.end_us for c in profile.cores if c.number in sizes}
    extremes = [max(ends, key=ends.__getitem__), min(ends, key=ends.__getitem__)] if ends else []
    chosen: list[int] = []
    for number in dict.fromkeys([*extremes, *sorted(sizes)]):
        if sum(sizes[n] for n in chosen) + sizes[number] <= MOST_EVENTS or not chosen:
            chosen.append(number)
    return sorted(chosen)


def _names(profile: LaunchProfile, events: Events) -> tuple[list[list[Any]], Any]:
    """Return the different names, sources and kinds, and which each event has."""
    columns = [events[k].astype(np.int64) for k in ("kind", "api", "file", "line")]
    key = np.zeros(len(events), np.int64)
    for column in columns:
        values, ranks = np.unique(column, return_inverse=True)
        key = key * len(values) + ranks
    _, firsts, name_of = np.unique(key, return_index=True, return_inverse=True)
    names = []
    for index in firsts.tolist():
        event = events[index]
        file, line = int(event["file"]), int(event["line"])
        name = profile.files[file] if file < len(profile.files) else ""
        names.append(
            [
                event_name(profile, int(event["kind"]), int(event["api"])),
                place(name, line),
                int(event["kind"]),
                f"L{file}-{line}",
            ]
        )
    return names, name_of


def _packed(values: Any, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")
