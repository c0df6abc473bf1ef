"""``opgen profile`` and the summary of ``opgen exec``, on profiles that were made before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from views_samples import profile_json

from msopgen_wrap.cli import app


@pytest.fixture
def launches(tmp_path: Path) -> Path:
    """Return a file with two launches of one kernel and one of another."""
    return written(tmp_path / "step.jsonl", {}, {}, {"kernel": "norm", "time_us": 31.0})


def written(path: Path, *changes: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(profile_json(**c)) + "\n" for c in changes))
    return path


def run(capfd: Any, *words: Any, code: int = 0) -> tuple[str, str]:
    assert app.run(["profile", *map(str, words)]) == code
    done = capfd.readouterr()
    return done.out, done.err


def codes(capfd: Any, *words: Any) -> list[str]:
    """Return the codes that a command fails with, as JSON tells them."""
    out, _ = run(capfd, *words, "--json", code=1)
    return [d["code"] for d in json.loads(out)["diagnostics"]]


def test_every_number_is_called_modelled(tmp_path: Path, capfd: Any) -> None:
    out, _ = run(capfd, written(tmp_path / "one.jsonl", {}))
    assert out.splitlines()[0] == "add_custom: modelled time 14.5 us (13.0 us to 16.0 us)"
    for part in (
        "10.5 us modelled without the launch of 4.00 us",
        "not validated: the model of cross core was never compared with a device",
        "V waits 4.00 us per core for event MTE2_V 0 at add.asc:12",
        "GM read               96.0 KiB    64.0 KiB  1.50x",
        "x is read 2.00 times: 64.0 KiB of 32.0 KiB",
        "GM bandwidth",
        "3.00 us modelled: bytes of global memory that are read again",
    ):
        assert part in out
    heads = [r for i, r in enumerate(out.splitlines()) if i and not out.splitlines()[i - 1]]
    assert [h for h in heads if "modelled" not in h] == [
        "memory (compulsory: each byte of a buffer that is used, once)"
    ]
    assert "\x1b" not in out and "bank" not in out  # what saves nothing is no advice


def test_a_launch_that_was_modelled_once(tmp_path: Path, capfd: Any) -> None:
    large = {"time_low_us": 14.5, "time_high_us": 14.5, "ablation": []}
    out, _ = run(capfd, written(tmp_path / "one.jsonl", large))
    assert out.startswith("add_custom: modelled time 14.5 us (without a range)\n")
    assert "neither a range nor advice" in out and "\nadvice" not in out
    estimated = {"what": "fewer_cores", "time_us": 12.0, "saved_us": 2.5, "estimated": True}
    out, _ = run(capfd, written(tmp_path / "one.jsonl", {"ablation": [estimated]}))
    assert "2.50 us modelled: cores beyond those that pay (estimated by a formula)" in out


def test_launches_are_added_up(launches: Path, capfd: Any) -> None:
    out, _ = run(capfd, launches)
    assert out.startswith("3 launches, 60.0 us modelled in all\n")
    rows = [row.split() for row in out.splitlines()[3:5]]
    assert rows == [
        ["norm", "1", "31.0", "us", "51.7%"],
        ["add_custom", "2", "29.0", "us", "48.3%"],
    ]
    assert "launch 3 of 3:\nnorm: modelled time 31.0 us" in out
    assert "launch 1 of 3:\nadd_custom: " in run(capfd, launches, "--launch", 1)[0]
    assert "there are 3 launches" in run(capfd, launches, "--launch", 4, code=2)[1]


def test_json(launches: Path, capfd: Any) -> None:
    data = json.loads(run(capfd, launches, "--json")[0])
    assert (data["ok"], data["times"]) == (True, "modelled")
    times = [data[k] for k in ("time_us", "time_low_us", "time_high_us", "launch_us", "kernel_us")]
    assert times == [60.0, 39.0, 48.0, 12.0, 31.5]
    assert data["kernels"][0] == {
        "kernel": "norm",
        "calls": 1,
        "time_us": 31.0,
        "share": pytest.approx(31 / 60),
    }
    first = data["launches"][0]
    assert first["compulsory"] == {"gm_read": 65536, "gm_written": 32768}
    assert [a["what"] for a in first["advice"]] == ["gm_reread", "single_buffer"]


def test_files_are_written(launches: Path, tmp_path: Path, capfd: Any) -> None:
    trace, page = tmp_path / "t.json", tmp_path / "p.html"
    run(capfd, launches, "--trace", trace, "--html", page)
    assert len(json.loads(trace.read_text())["traceEvents"]) > 3
    text = page.read_text()
    assert "norm: 31.0 us modelled" in text and "src=" not in text and "http" not in text


def test_all_files_that_cannot_be_written_are_told_at_once(launches: Path, capfd: Any) -> None:
    missing = launches.parent / "missing"
    words = ["--trace", missing / "t.json", "--html", launches.parent, "--budget", missing / "b"]
    assert codes(capfd, launches, *words) == ["OPG592", "OPG592", "OPG595"]
    assert [p.name for p in launches.parent.iterdir()] == ["step.jsonl"]


def test_a_budget_holds_the_time(tmp_path: Path, capfd: Any) -> None:
    kernel, budget = written(tmp_path / "k.jsonl", {}), tmp_path / "budget.json"
    assert codes(capfd, kernel, "--budget", budget) == ["OPG595"]  # there is none yet
    run(capfd, kernel, "--write-budget", budget, "--growth", 10)
    entry = json.loads(budget.read_text())["entries"]["ascend910b3 cold k.jsonl"]
    assert (entry["time_us"], entry["kernel_us"]) == (14.5, 10.5)
    assert "within the budget" in run(capfd, kernel, "--budget", budget)[0]
    written(kernel, {"time_us": 15.9})
    assert "+9.7% (10% allowed)" in run(capfd, kernel, "--budget", budget)[0]
    assert codes(capfd, kernel, "--budget", budget, "--growth", 5) == ["OPG594"]
    written(kernel, {"time_us": 16.0})
    assert codes(capfd, kernel, "--budget", budget) == ["OPG594"]
    written(kernel, {"l2": "warm"})  # another state is another case
    assert codes(capfd, kernel, "--budget", budget) == ["OPG595"]
    run(capfd, kernel, "--write-budget", budget)
    data = json.loads(budget.read_text())
    assert (len(data["entries"]), data["growth_percent"]) == (2, 10.0)


BUDGETS = {
    "[]": 1,
    "{": 1,
    '{"format": 2}': 1,
    '{"format": 1}': 1,
    '{"format": 1, "growth_percent": "x", "entries": {"a": {"time_us": 0}, "b": 1}}': 3,
}


@pytest.mark.parametrize("text", BUDGETS)
def test_a_budget_that_cannot_be_read(
    text: str, launches: Path, tmp_path: Path, capfd: Any
) -> None:
    budget = tmp_path / "budget.json"
    budget.write_text(text)
    for option in ("--budget", "--write-budget"):
        assert codes(capfd, launches, option, budget) == ["OPG595"] * BUDGETS[text]
        assert budget.read_text() == text


def test_a_failed_kernel_is_profiled_up_to_there(tmp_path: Path, capfd: Any) -> None:
    kernel, budget = written(tmp_path / "k.jsonl", {"complete": False}), tmp_path / "b.json"
    assert "incomplete: the kernel did not end; the profile ends there" in run(capfd, kernel)[0]
    assert not budget.exists()


def test_compare(tmp_path: Path, capfd: Any) -> None:
    first = written(tmp_path / "a.jsonl", {})
    near = written(tmp_path / "b.jsonl", {"time_us": 15.0})
    far = written(tmp_path / "c.jsonl", {"time_us": 7.25})
    out, _ = run(capfd, "--compare", first, near)
    assert "less than the model's own error of 10%, so neither can be called faster" in out
    data = json.loads(run(capfd, "--compare", first, far, "--json")[0])
    assert data["verdict"] == "the second is modelled 2.00 times faster (-50.0% time)"
    assert data["figures"][0]["change_percent"] == -50.0
    assert codes(capfd, "--compare", tmp_path / "no.asc", tmp_path / "no.yaml") == [
        "OPG528",
        "OPG001",
    ]
    assert "takes two targets" in run(capfd, "--compare", first, code=2)[1]


def test_a_commit_is_unpacked(tmp_path: Path, capfd: Any) -> None:
    def git(*words: str) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(
            ["git", "-C", str(tmp_path), *names, *words], check=True, capture_output=True
        )

    git("init", "-q")
    kernel = written(tmp_path / "k.jsonl", {})
    git("add", ".")
    git("commit", "-qm", "first")
    written(kernel, {"time_us": 29.0})
    data = json.loads(run(capfd, "--compare", f"{kernel}@HEAD", kernel, "--json")[0])
    assert data["verdict"] == "the second is modelled 2.00 times slower (+100.0% time)"
    assert json.loads(run(capfd, f"{kernel}@HEAD", "--json")[0])["time_us"] == 14.5
    assert "29.0" in kernel.read_text()  # the working tree stays
    for target in (f"{kernel}@none", f"{tmp_path}/other.jsonl@HEAD", f"{kernel}@--help", "/k@HEAD"):
        assert codes(capfd, target) == ["OPG596"]


BAD = {
    "missing.asc": "OPG528",
    "text.txt": "OPG528",
    "empty.jsonl": "OPG590",
    "text.jsonl": "OPG598",
    "other.jsonl": "OPG598",
    "large.jsonl": "OPG591",
}


@pytest.mark.parametrize("name", BAD)
def test_targets_that_cannot_be_profiled(name: str, tmp_path: Path, capfd: Any) -> None:
    error = {"code": "OPG591", "what": "too large", "why": "x", "fix": "y"}
    texts = {
        "text.txt": "text",
        "empty.jsonl": "",
        "text.jsonl": "text\n",
        "other.jsonl": '{"format": 7}\n',
        "large.jsonl": json.dumps({"error": error}) + "\n",
    }
    if name in texts:
        (tmp_path / name).write_text(texts[name])
    assert codes(capfd, tmp_path / name) == [BAD[name]]


def test_unknown_soc(tmp_path: Path, capfd: Any) -> None:
    assert codes(capfd, tmp_path / "op.yaml", "--soc", "ascend910q") == ["OPG501"]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path, capfd: Any) -> None:
    path = written(tmp_path / "step.jsonl", {}, {})
    path.write_text(path.read_text()[:-100])
    assert len(json.loads(run(capfd, path, "--json")[0])["launches"]) == 1


WRITER = (
    "import os, sys; assert os.environ['OPGEN_EMULATION'] == 'profile'\n"
    "open(os.environ['OPGEN_PROFILE'], 'a').write(open(sys.argv[1]).read()); sys.exit(5)"
)


def exec_python(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run ``opgen exec`` without a look at torch_npu, which these programs do not use."""
    from msopgen_wrap.cli import exec_command

    monkeypatch.setattr(exec_command, "_runs_this_python", lambda _: False)
    monkeypatch.setattr(
        "msopgen_wrap.npu.selection.child_environment", lambda given, **_: (dict(given), None)
    )
    return app.run(["exec", *words])


def test_exec_adds_up_a_step(launches: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ["--", sys.executable, "-c", WRITER, str(launches)]
    assert exec_python(monkeypatch, "--profile", *script) == 5
    done = capfd.readouterr()
    assert done.err.startswith("3 launches, 60.0 us modelled in all\n") and done.out == ""
    assert "the operators of torch itself are not modelled" in done.err
    # A file that is named keeps the launches; those that were there before are not counted again.
    kept = launches.parent / "kept.jsonl"
    kept.write_text(launches.read_text())
    monkeypatch.setenv("OPGEN_EMULATION", "profile")
    monkeypatch.setenv("OPGEN_PROFILE", str(kept))
    assert exec_python(monkeypatch, *script) == 5
    assert capfd.readouterr().err.startswith("3 launches")
    assert len(kept.read_text().splitlines()) == 6


def test_exec_without_launches(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert exec_python(monkeypatch, "--profile", "--", sys.executable, "-c", "") == 0
    assert "no custom op was launched" in capfd.readouterr().err
    assert exec_python(monkeypatch, "--profile", "--check", "--", "x") == 2
