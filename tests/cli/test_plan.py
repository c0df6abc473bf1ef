"""``opgen plan``: what the compiled TilingFunc decides, and the counts of kernels that ran."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.build import cache
from msopgen_wrap.cli import app

# ---- ``opgen plan --shape``: what the compiled TilingFunc decides, as text and as data -----------

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
        "compute: |\n  rows = x.sum(-1)\n  cols = x.amax(0)\n"
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


# ---- ``opgen plan --measure``: the counts of real kernels against bytes worked out by hand -------

HALF_SOFTMAX = (
    "op: HalfSoftmax\ninputs:\n  x: float16\noutputs:\n  y: like x\ncompute: torch.softmax(x, -1)\n"
)
STRETCHED_ADD = (
    "op: StretchedAdd\ninputs:\n  x: {dtype: [float16, float32]}\n  w: {dtype: x}\n"
    "outputs:\n  z: {dtype: x, shape: 'broadcast(x, w)'}\ncompute: x + w\n"
)
SUM = (
    "op: LongSum\ninputs:\n  x: {dtype: float32, rank: 2}\n"
    "outputs:\n  y: {dtype: x, shape: '[x[0]]'}\ncompute: x.sum(-1)\n"
)


def measure(tmp_path: Path, capfd: Any, text: str, *args: str, code: int = 0) -> Any:
    """Run ``opgen plan --measure --json`` on a spec; return the JSON."""
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    assert app.run(["plan", str(path), "--measure", "--json", *args]) == code
    return json.loads(capfd.readouterr().out)


def measured(tmp_path: Path, capfd: Any, text: str, *shapes: str) -> list[dict[str, Any]]:
    """Return the rows of the only plan."""
    flags = [part for shape in shapes for part in ("--shape", shape)]
    (entry,) = measure(tmp_path, capfd, text, *flags)["plans"]
    rows: list[dict[str, Any]] = entry["measured"]
    return rows


def test_a_resident_softmax_moves_every_byte_once(tmp_path: Path, capfd: Any) -> None:
    (row,) = measured(tmp_path, capfd, HALF_SOFTMAX, "x=96,1000")
    size = 96 * 1000 * 2
    assert row["gm_compulsory_read_bytes"] == row["gm_compulsory_written_bytes"] == size
    assert row["gm_read_bytes"] == row["gm_written_bytes"] == size
    assert row["gm_workspace_read_bytes"] == row["gm_workspace_written_bytes"] == 0
    assert (row["dtypes"], row["elements"]) == ("float16", 96 * 1000)
    # 40 cores: what they move adds up, and the one with three rows of 96 is the busiest.
    assert row["cores"] * row["mean_core_bytes"] == 2 * size
    assert row["busiest_core_bytes"] >= row["mean_core_bytes"] and row["cores"] <= 40
    # max, subtract, exp, sum, divide at least; each repeat goes over 64 floats or 128 halves.
    assert row["vector_instructions_per_element"] >= 5
    assert row["vector_elements"] == row["vector_instructions_per_element"] * row["elements"]
    assert row["vector_elements"] <= 128 * row["vector_repeats"]
    assert row["vector_instructions"] <= row["vector_repeats"]
    assert 2 * 1000 * 2 <= row["ub_bytes"] <= row["ub_capacity_bytes"] == 192 * 1024


def test_a_stretched_operand_counts_as_often_as_it_is_read(tmp_path: Path, capfd: Any) -> None:
    rows = measured(tmp_path, capfd, STRETCHED_ADD, "x=64,3000", "w=3000")
    assert [r["dtypes"] for r in rows] == ["float16", "float32"]
    for row, item in zip(rows, (2, 4), strict=True):
        assert row["gm_compulsory_read_bytes"] == (64 * 3000 + 3000) * item
        assert row["gm_written_bytes"] == row["gm_compulsory_written_bytes"] == 64 * 3000 * item
        # x once; w whole by every core at least, by every row at most.
        again = row["gm_read_bytes"] - 64 * 3000 * item
        assert row["cores"] * 3000 * item <= again <= 64 * 3000 * item


def test_cores_with_several_tiles_move_the_same(tmp_path: Path, capfd: Any) -> None:
    """161 rows on 40 cores are 5 for one and 4 for others; boxes and cores are chosen for it."""
    for row in measured(tmp_path, capfd, STRETCHED_ADD, "x=161,40960", "w=40960"):
        assert row["cores"] > 20
        assert row["busiest_core_bytes"] <= 1.1 * row["mean_core_bytes"]


def test_an_operand_of_all_rows_is_read_once_per_core(tmp_path: Path, capfd: Any) -> None:
    text = (
        "op: Norm\ninputs:\n  x: {dtype: float16, rank: [1, 8]}\n"
        "  gamma: {dtype: x, shape: '[x[-1]]'}\n  beta: {dtype: x, shape: '[x[-1]]'}\n"
        "outputs:\n  y: like x\ncompute: F.layer_norm(x, [x.shape[-1]], gamma, beta, 1e-5)\n"
    )
    (row,) = measured(tmp_path, capfd, text, "x=512,1000")
    assert row["gm_compulsory_read_bytes"] == (512 * 1000 + 2 * 1000) * 2
    assert row["gm_read_bytes"] == (512 * 1000 + row["cores"] * 2 * 1000) * 2


def test_a_row_longer_than_a_tile_is_read_again(tmp_path: Path, capfd: Any) -> None:
    (row,) = measured(tmp_path, capfd, HALF_SOFTMAX, "x=80,100000")
    # the second time without the chunk that is still in UB
    chunks = ceil(100000 / 4096)
    assert 1.5 < row["gm_read_bytes"] / row["gm_compulsory_read_bytes"] <= 2 - 1 / chunks
    assert row["gm_written_bytes"] == row["gm_compulsory_written_bytes"] == 80 * 100000 * 2


def test_what_cores_exchange_is_traffic_too(tmp_path: Path, capfd: Any) -> None:
    (row,) = measured(tmp_path, capfd, SUM, "x=1,400000")
    assert row["gm_workspace_written_bytes"] > 0 and row["gm_workspace_read_bytes"] > 0
    assert row["gm_read_bytes"] == 400000 * 4 + row["gm_workspace_read_bytes"]
    assert row["gm_written_bytes"] == 4 + row["gm_workspace_written_bytes"]


def test_text_has_the_ratios(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(HALF_SOFTMAX)
    args = ["plan", str(path), "--measure", "--shape", "x=96,1000", "--soc", "ascend910_93"]
    assert app.run(args) == 0
    out = capfd.readouterr().out
    assert "counted on ascend910_93 in the emulation: x=96x1000\n" in out
    (row,) = [line.split() for line in out.splitlines() if "192000" in line]
    assert row[:5] == ["float16", "192000", "1.00x", "192000", "1.00x"]


NOT_MEASURED = {
    "no shape": ([], "give its shapes"),
    "rank": (["--shape", "x=3"], "its rank is limited to 2..8"),
    "rule": (["--shape", "x=3,5", "--shape", "gamma=7"], "gamma=7 should be 5: [x[-1]]"),
    "compute": (
        ["--shape", "x=3,5", "--shape", "w=4"],
        "be broadcastable to [3, 5]",
    ),
}


@pytest.mark.parametrize("name", NOT_MEASURED)
def test_shapes_that_the_op_refuses_are_not_measured(tmp_path: Path, capfd: Any, name: str) -> None:
    args, reason = NOT_MEASURED[name]
    text = (
        "op: Scaled\ninputs:\n  x: {dtype: float32, rank: [2, 8]}\n"
        "  gamma: {dtype: x, shape: '[x[-1]]'}\n  w: {dtype: x}\n"
        "outputs:\n  y: like x\ncompute: x * gamma + w\n"
    )
    finding = measure(tmp_path, capfd, text, *args, code=2)["diagnostics"][0]
    assert reason in finding["what"]


def test_a_kernel_that_fails_is_a_finding(tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "faulty.cpp").write_text(
        '#include "kernel_operator.h"\n'
        'extern "C" __global__ __aicore__ void\n'
        "faulty(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {\n"
        "    if (*(__gm__ float*)x < 100.0f) *(volatile int*)8 = 3;\n"
        "}\n"
    )
    text = HALF_SOFTMAX.replace("HalfSoftmax", "Faulty") + "kernel: faulty.cpp\n"
    report = measure(tmp_path, capfd, text, "--shape", "x=2,8", code=1)
    assert report["plans"][0]["measured"] == []
    (finding,) = report["diagnostics"]
    assert (finding["code"], finding["line"]) == ("OPG530", 4), finding
    assert finding["file"].endswith("faulty.cpp")
