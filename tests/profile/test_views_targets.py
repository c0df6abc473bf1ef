"""What ``opgen profile`` runs: specs, projects, programs, op folders; each compiles something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_views_trace import problems

from msopgen_wrap.cli import app, output
from msopgen_wrap.profile.target_kinds import TargetKind, unused_options
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import load_specs

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "docs/examples/ascendc_program/leaky_relu.asc"
ADD = (
    "op: ViewedAdd\ninputs:\n  x: {dtype: [float16, float32]}\n  w: {dtype: x}\n"
    "outputs:\n  z: {dtype: x, shape: 'broadcast(x, w)'}\ncompute: x + w\n"
)


@pytest.fixture
def add(tmp_path: Path) -> Path:
    path = tmp_path / "add.yaml"
    path.write_text(ADD)
    return path


def profiled(capfd: Any, *words: Any, code: int = 0) -> dict[str, Any]:
    assert app.run(["profile", *map(str, words), "--json"]) == code
    text = capfd.readouterr().out
    # What a program prints goes to standard error where opgen has a standard output of its own.
    data: dict[str, Any] = json.loads(text[text.index("{\n") :])
    return data


def checked_trace(path: Path) -> dict[str, Any]:
    from decimal import Decimal

    data: dict[str, Any] = json.loads(path.read_text(), parse_float=Decimal)
    assert problems(data) == []
    return data


# ---- what is refused before anything is compiled -------------------------------------------------


@pytest.mark.parametrize(
    "words, code",
    [
        (["--op", "other"], "OPG599"),
        (["--dtype", "int8"], "OPG599"),
        (["--shape", "x=4", "--attr", "alpha=1"], "OPG721"),
        (["--shape", "x=1000000,1000000,100"], "OPG591"),
        (["--soc", "ascend950"], "OPG306"),
    ],
)
def test_refused(words: list[str], code: str, add: Path, capfd: Any) -> None:
    data = profiled(capfd, add, *words, code=1)
    assert [d["code"] for d in data["diagnostics"]] == [code]


def test_shapes_that_do_not_fit(add: Path, capfd: Any) -> None:
    data = profiled(capfd, add, "--shape", "x=4,3", "--shape", "w=2", code=2)
    assert "--shape" in data["diagnostics"][0]["what"]


def test_a_case_that_is_too_large_says_what_would_fit(
    add: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.profile import spec_cases

    (spec,) = load_specs([add])
    shape = (1024, 1024)
    case = TestCase(0, {"x": shape, "w": shape})
    monkeypatch.setattr(spec_cases, "free_memory", lambda: 4 << 20)
    with pytest.raises(OpgenError) as caught:
        spec_cases.refuse_too_large(spec, case)  # 6 MiB of tensors, 2.4 MiB may be taken
    (problem,) = caught.value.diagnostics
    assert problem.code == "OPG591" and "6.0 MiB" in problem.what
    assert "1/4 of the elements" in problem.fix
    monkeypatch.setattr(spec_cases, "free_memory", lambda: 16 << 20)
    spec_cases.refuse_too_large(spec, case)


def test_large_inputs_of_floats_take_no_memory(add: Path) -> None:
    from msopgen_wrap.profile import spec_cases

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    (spec,) = load_specs([add])
    shape = (1 << 13, 1 << 14)
    case = TestCase(0, {"x": shape, "w": shape})
    assert spec_cases.is_undrawn(spec, case)
    before = resident()
    inputs, outputs = spec_cases.undrawn(spec, case)
    for tensor in (*inputs.values(), *outputs.values()):
        assert tensor.shape == shape and tensor.data_ptr() % 512 == 0
    assert resident() - before < 32 << 20 < inputs["x"].nbytes
    assert not spec_cases.is_undrawn(spec, TestCase(0, {"x": (64, 64), "w": (64, 64)}))


def test_a_large_tensor_needs_an_address_only(add: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.profile import spec_cases

    (spec,) = load_specs([add])
    case = TestCase(0, {"x": (1024, 1024), "w": (1024, 1024)})  # 2 MiB each
    monkeypatch.setattr(spec_cases, "free_memory", lambda: 4 << 20)
    spec_cases.refuse_too_large(spec, case, values=False)
    monkeypatch.setattr(spec_cases, "free_memory", lambda: 3 << 20)
    with pytest.raises(OpgenError) as caught:
        spec_cases.refuse_too_large(spec, case, values=False)
    assert caught.value.diagnostics[0].code == "OPG591"
    assert "one of its tensors takes 2.0 MiB" in caught.value.diagnostics[0].what


def test_the_case_that_is_chosen(add: Path) -> None:
    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.profile.spec_cases import chosen_case
    from msopgen_wrap.profile.targets import ProfileOptions

    (spec,) = load_specs([add])
    case, why = chosen_case(
        spec, ProfileOptions(dtype="float32", block_dim=3), {"x": [4], "w": [4]}
    )
    assert (case.label(spec), why) == ("float32 x=4 w=4 3core", "")
    largest, why = chosen_case(spec, ProfileOptions(), None)
    assert largest.combo == 0 and largest.values == "normal" and "largest case" in why
    named, why = chosen_case(spec, ProfileOptions(case=largest.label(spec)), None)
    assert (named, why) == (largest, "")
    with pytest.raises(OpgenError, match="OPG599"):
        chosen_case(spec, ProfileOptions(case="no such case"), None)


# ---- whole runs ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_spec(add: Path, tmp_path: Path, capfd: Any) -> None:
    trace, page = tmp_path / "t.json", tmp_path / "p.html"
    words = ["--shape", "x=512,1024", "--shape", "w=1,1024", "--dtype", "float32"]
    data = profiled(capfd, add, *words, "--trace", trace, "--html", page)
    assert data["case"] == "ViewedAdd float32 x=512x1024 w=1x1024"
    (launch,) = data["launches"]
    assert launch["complete"] and launch["kernel"] == "viewed_add"
    # Every byte of x and z has to move; what w holds may move often.
    assert launch["compulsory"] == {"gm_read": 513 * 4096, "gm_written": 512 * 4096}
    assert launch["memory"]["gm_written"] == 512 * 4096
    low, time, high = (data[k] for k in ("time_low_us", "time_us", "time_high_us"))
    assert 0 < low <= time <= high and data["kernel_us"] < time
    assert max(v for k, v in launch["limits"].items()) <= time
    events = checked_trace(trace)["traceEvents"]
    cores = {e["pid"] for e in events if e.get("cat") == "instruction"}
    assert cores == {c["core"] for c in launch["cores"]}
    assert {e["name"] for e in events if e["ph"] == "X"} >= {"Add"}
    assert "Timeline</h2>" in page.read_text()
    # The same kernel has the same time; on fewer cores it takes another one.
    assert profiled(capfd, add, *words)["time_us"] == time
    fewer = profiled(capfd, add, *words, "--block-dim", 2)
    assert len(fewer["launches"][0]["cores"]) == 2 and fewer["kernel_us"] > data["kernel_us"]
    warm = profiled(capfd, add, *words, "--l2", "warm")
    assert warm["launches"][0]["l2"] == "warm" and warm["time_us"] < time


@pytest.mark.slow
def test_a_project_with_edited_sources(add: Path, tmp_path: Path, capfd: Any) -> None:
    project = tmp_path / "project"
    assert app.run(["new", str(add), "-o", str(project)]) == 0
    capfd.readouterr()
    words = ["--op", "viewed_add", "--shape", "x=64,1024"]
    before = profiled(capfd, project, *words)
    kernel = project / "op_kernel" / "viewed_add.cpp"
    text = kernel.read_text()
    assert text.count("Add(z, x, w, count);") >= 1
    again = "Add(z, x, w, count); Add(z, x, w, count);"
    kernel.write_text(text.replace("Add(z, x, w, count);", again))
    after = profiled(capfd, project, *words)
    pipes = [d["launches"][0]["cores"][0]["pipes"]["V"] for d in (before, after)]
    assert pipes[1]["instructions"] > pipes[0]["instructions"]
    assert pipes[1]["busy_us"] > pipes[0]["busy_us"]


@pytest.mark.slow
def test_a_program(tmp_path: Path, capfd: Any) -> None:
    trace = tmp_path / "t.json"
    data = profiled(capfd, PROGRAM, "--trace", trace)
    (launch,) = data["launches"]
    assert (launch["kernel"], len(launch["cores"])) == ("leaky_relu", 8)
    assert launch["compulsory"] == {"gm_read": 65536, "gm_written": 65536}
    events = checked_trace(trace)["traceEvents"]
    instructions = [e for e in events if e.get("cat") == "instruction"]
    assert {e["name"] for e in instructions} == {"DataCopy", "LeakyRelu"}
    assert len(instructions) == 24 and all("leaky_relu.asc:" in e["args"]["source"]
                                           for e in instructions)  # fmt: skip
    assert [e for e in events if e["ph"] == "s"]


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_profiled_up_to_there(tmp_path: Path, capfd: Any) -> None:
    program = tmp_path / "dead.asc"
    flag = "    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);\n"
    text = PROGRAM.read_text()
    assert flag in text
    program.write_text(text.replace(flag, ""))
    budget = tmp_path / "budget.json"
    data = profiled(capfd, program, "--write-budget", budget, code=1)
    assert [d["code"] for d in data["diagnostics"]] == ["OPG593"]
    assert data["launches"][0]["incomplete"] and not budget.exists()
    assert {line["line"] for line in data["launches"][0]["lines"]} >= {27, 30}  # copy and LeakyRelu


@pytest.mark.slow
def test_an_op_folder(tmp_path: Path, capfd: Any) -> None:
    from project_sources import FILES

    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    words = [tmp_path, "--op", "ScaleRows", "-i", "x=float16[16,1024]"]
    data = profiled(capfd, *words)
    assert data["case"] == "ScaleRows x=float16[16,1024]"
    assert data["launches"][0]["compulsory"] == {"gm_read": 32768, "gm_written": 32768}
    bad = profiled(capfd, *words[:-1], "x=float16[3,5]", code=1)
    assert [d["code"] for d in bad["diagnostics"]] == ["OPG519"]  # its TilingFunc refuses


@pytest.mark.slow
def test_a_process_adds_up_its_launches(add: Path, tmp_path: Path) -> None:
    """OPGEN_EMULATION=profile inside torch: the table comes when the process ends."""
    script = tmp_path / "step.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nimport torch\n"
        "from msopgen_wrap.testing.targets import load_target\n"
        "op = load_target(Path(sys.argv[1]), '').op\n"
        "x = torch.ones(64, 128)\n"
        "for _ in range(3):\n    x = op(x, x)\n"
        "assert x.max() == 8\n"
    )
    import os

    environment = {**os.environ, "OPGEN_EMULATION": "profile", "PYTHONPATH": str(ROOT)}
    environment.pop("OPGEN_PROFILE", None)
    command = [sys.executable, str(script), str(add)]

    def run(**more: str) -> str:
        done = subprocess.run(
            command, env={**environment, **more}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    table = run()
    assert "3 launches, " in table and "us modelled in all (not measured)" in table
    assert "viewed_add" in table and "100.0%" in table
    launches = tmp_path / "step.jsonl"
    assert "modelled" not in run(OPGEN_PROFILE=str(launches))
    assert len(launches.read_text().splitlines()) == 3


# ---- what child processes leave behind -----------------------------------------------------------


def test_launches_of_a_child_get_their_own_events(tmp_path: Path) -> None:
    from views_samples import profile_json, sample_events

    from msopgen_wrap.profile.launch_profile import launch_profile
    from msopgen_wrap.profile.targets import with_events

    events = sample_events()
    path = tmp_path / "events"
    path.write_bytes(events[:3].tobytes() + events[3:].tobytes())
    counts = [3, 0, len(events) - 3]
    profiles = [launch_profile(profile_json(events=n)) for n in counts]
    launches = with_events(profiles, path)
    assert [len(x.events) for x in launches] == counts
    assert launches[2].events[0] == events[3]
    assert [len(x.events) for x in with_events(profiles, tmp_path / "none")] == [0, 0, 0]


def test_tensors_lie_where_a_device_would_place_them() -> None:
    import torch

    from msopgen_wrap.profile.spec_cases import as_on_device

    for tensor in (torch.arange(1000)[3:], torch.ones(7, dtype=torch.bool), torch.empty(0)):
        moved = as_on_device([tensor])[0]
        assert moved.data_ptr() % 512 == 0 and torch.equal(moved, tensor)
        assert moved.dtype == tensor.dtype and moved.is_contiguous()
    aligned = as_on_device(torch.ones(5))
    assert as_on_device(aligned) is aligned and as_on_device(None) is None


@pytest.mark.parametrize(
    ("kind", "given", "unused"),
    [
        (TargetKind.SPEC, {"arguments": ("--shpe", "x=4"), "case": "one"}, ["--shpe", "x=4"]),
        (
            TargetKind.SPEC,
            {"inputs": ("x=float16[4]",), "defines": ("A",)},
            ["--define", "--input"],
        ),
        (TargetKind.PROGRAM, {"shapes": ("x=4",), "arguments": ("4",)}, ["--shape"]),
        (TargetKind.PROGRAM, {"block_dim": 4, "attrs": ("a=1",)}, ["--attr", "--block-dim"]),
        (TargetKind.OP_FOLDER, {"shapes": ("x=4",), "case": "c.yaml"}, ["--shape"]),
        (TargetKind.LAUNCHES, {"soc": "ascend910b2"}, ["--soc"]),
    ],
)
def test_what_a_target_has_no_use_for_is_named(kind, given, unused) -> None:
    assert unused_options(kind, given) == unused


def test_a_mistyped_option_is_refused(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "op.yaml"
    path.write_text("op: Demo\n", encoding="utf-8")
    assert app.run(["profile", str(path), "--shpe", "x=4"]) == output.USAGE
    assert "a spec has no use for --shpe, x=4" in capfd.readouterr().err
