"""``opgen plan --shape``: what the compiled TilingFunc decides, as text and as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.build import cache
from msopgen_wrap.cli import app

ADD = (
    "op: PlannedAdd\ninputs:\n  x: {dtype: [float16, float32]}\n  w: {dtype: x}\n"
    "outputs:\n  z: {dtype: x, shape: 'broadcast(x, w)'}\ncompute: x + w\n"
)
NORM = (
    "op: PlannedNorm\ninputs:\n  x: {dtype: float16, rank: [1, 8]}\n"
    "  gamma: {dtype: x, shape: '[x[-1]]', optional: true}\n"
    "outputs:\n  y: like x\ncompute: |\n"
    "  n = [x.shape[-1]]\n"
    "  y = F.rms_norm(x, n, gamma, 1e-5) if gamma is not None else F.rms_norm(x, n)\n"
)
LIST = (
    "op: PlannedForeach\ninputs:\n  x: {dtype: float32, list: true}\n"
    "outputs:\n  y: {shape: like x, list: true}\ncompute: '[a * 2 for a in x]'\n"
)
HANDWRITTEN = (
    "op: PlannedCopy\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x.clone()\n"
    "kernel: copy.cpp\n"
)
COPY = (
    '#include "kernel_operator.h"\n'
    'extern "C" __global__ __aicore__ void\n'
    "planned_copy(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {}\n"
)
# How many elements x has must fit int32, which only TilingFunc asks for.
NUMBERS = (
    "op: PlannedWhole\ninputs:\n  x: {dtype: int32}\n"
    "outputs:\n  y: like x\ncompute: x + x.numel()\n"
)


def plan(tmp_path: Path, capfd: Any, text: str, *shapes: str, code: int = 0) -> Any:
    """Run ``opgen plan --shape ... --json`` on a spec; return the JSON."""
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    flags = [part for shape in shapes for part in ("--shape", shape)]
    assert app.run(["plan", str(path), "--json", *flags]) == code
    return json.loads(capfd.readouterr().out)


def decided(tmp_path: Path, capfd: Any, text: str, *shapes: str) -> list[dict[str, Any]]:
    """Return the tiling decisions of the only plan."""
    (entry,) = plan(tmp_path, capfd, text, *shapes)["plans"]
    rows: list[dict[str, Any]] = entry["tiling"]
    return rows


def test_a_decision_per_dtype_and_soc(tmp_path: Path, capfd: Any) -> None:
    rows = decided(tmp_path, capfd, ADD + "soc: [ascend910b, ascend910_93]\n", "x=64,3000")
    assert [(r["dtypes"], r["soc"]) for r in rows] == [
        (dtype, soc) for dtype in ("float16", "float32") for soc in ("ascend910b", "ascend910_93")
    ]
    for row in rows:
        assert (row["key"], row["mode"], row["workspace_bytes"]) == (0, "flat", 0)
        assert row["fields"]["total"] == 64 * 3000
        assert row["fields"]["tileLength"] % 256 == 0


def test_fields_have_the_names_of_the_struct(tmp_path: Path, capfd: Any) -> None:
    row = decided(tmp_path, capfd, ADD, "x=64,3000", "w=3000")[0]
    assert (row["mode"], row["key"]) == ("broadcast", 1)
    assert (row["fields"]["rowCount"], row["fields"]["colCount"]) == (64, 3000)
    assert row["fields"]["wWalk"] == [0] * 7 + [1, 0]


def test_the_mode_names_the_variant(tmp_path: Path, capfd: Any) -> None:
    without = decided(tmp_path, capfd, NORM, "x=40,1024")[0]
    given = decided(tmp_path, capfd, NORM, "x=40,1024", "gamma=1024")[0]
    assert "resident" in without["mode"] and "resident" in given["mode"]
    assert without["mode"] != given["mode"]


def test_lists_have_a_tiling_too(tmp_path: Path, capfd: Any) -> None:
    row = decided(tmp_path, capfd, LIST, "x=1000;3,5;7")[0]
    assert row["fields"]["tensors"] == 3
    assert row["fields"]["lengths"][:4] == [1000, 15, 7, 0]


def test_an_op_of_several_parts_has_the_decision_of_each(tmp_path: Path, capfd: Any) -> None:
    """Their structs lie in that of the op: the second begins where the first ends."""
    text = (
        "op: PlannedParts\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        "outputs:\n  rows: {dtype: x, shape: '[x[0]]'}\n  cols: {dtype: x, shape: '[x[1]]'}\n"
        "compute: |\n  rows = x.sum(-1)\n  cols = x.sum(0)\n"
    )
    fields = decided(tmp_path, capfd, text, "x=96,1000")[0]["fields"]
    parts = [value for value in fields.values() if isinstance(value, dict)]
    assert [(p["rowCount"], p["colCount"], p["lanes"]) for p in parts] == [
        (96, 1000, 1),
        (96, 1000, 0),
    ]
    assert app.run(["plan", str(tmp_path / "spec.yaml"), "--shape", "x=96,1000"]) == 0
    out = capfd.readouterr().out
    assert out.count("rowCount 96") >= 2 and ".colCount 1000" in out


def test_a_handwritten_kernel_has_its_decision(tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "copy.cpp").write_text(COPY)
    row = decided(tmp_path, capfd, HANDWRITTEN, "x=100000")[0]
    assert row["mode"] == f"key {row['key']}" and row["cores"] >= 1


def test_shapes_need_no_memory(tmp_path: Path, capfd: Any) -> None:
    row = decided(tmp_path, capfd, ADD, f"x={2**33},3000", "w=3000")[0]
    assert row["fields"]["total"] == 2**33 * 3000


def test_text_has_the_numbers_and_leaves_out_arrays(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(ADD)
    assert app.run(["plan", str(path), "--shape", "x=64,3000", "--shape", "w=3000"]) == 0
    out = capfd.readouterr().out
    assert "  tiling of x=64x3000, w=3000\n" in out
    lines = out.partition("tiling of")[2].splitlines()
    assert "rowCount 64, colCount 3000" in lines[3] and "Walk" not in lines[3]


def test_the_host_code_is_compiled_once(tmp_path: Path, capfd: Any) -> None:
    text = ADD.replace("PlannedAdd", "PlannedOnce")
    first = decided(tmp_path, capfd, text, "x=64,3000")

    def objects() -> set[Path]:
        return {e.path for e in cache.entries() if "planned_once" in e.label}

    built = objects()
    assert built
    second = decided(tmp_path, capfd, text, "x=7,5")
    assert objects() == built
    assert first[0]["fields"]["total"] != second[0]["fields"]["total"] == 35


def test_only_shapes_need_a_compiler(
    tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPGEN_CXX", "/nonexistent/g++")
    assert "tiling" not in plan(tmp_path, capfd, ADD)["plans"][0]
    report = plan(tmp_path, capfd, ADD, "x=64,3000", code=3)
    assert [d["code"] for d in report["diagnostics"]] == ["OPG301"]
    assert report["plans"][0]["tiling"] == []


def test_what_tiling_func_refuses_is_a_finding(tmp_path: Path, capfd: Any) -> None:
    report = plan(tmp_path, capfd, NUMBERS, "x=65536,32768", code=1)
    (finding,) = report["diagnostics"]
    assert finding["code"] == "OPG519"
    assert "x.numel() is 2147483648, which int32 cannot hold" in finding["what"]


WRONG = {
    "rank": (["x=3"], "its rank is limited to 2..8"),
    "rule": (["x=3,5", "gamma=7"], "gamma=7 should be 5: [x[-1]]"),
    "compute": (["x=3,5", "w=4"], "be broadcastable to [3, 5]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_shapes_that_the_op_refuses_are_wrong_usage(tmp_path: Path, capfd: Any, name: str) -> None:
    shapes, reason = WRONG[name]
    text = (
        "op: Scaled\ninputs:\n  x: {dtype: float32, rank: [2, 8]}\n"
        "  gamma: {dtype: x, shape: '[x[-1]]'}\n  w: {dtype: x}\n"
        "outputs:\n  y: like x\ncompute: x * gamma + w\n"
    )
    finding = plan(tmp_path, capfd, text, *shapes, code=2)["diagnostics"][0]
    assert reason in finding["what"]
