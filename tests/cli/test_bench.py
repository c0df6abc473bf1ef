"""`opgen bench`: sizes, arguments, the figures and the size from which an op is faster."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
import torch

from msopgen_wrap.bench import memory
from msopgen_wrap.bench.device_time import DeviceTime
from msopgen_wrap.bench.plot import size_text, time_text, times_svg
from msopgen_wrap.bench.timing import arguments, crossover, parse_sizes
from msopgen_wrap.cli.app import run
from msopgen_wrap.cli.bench_command import _device_lines, parse_peers
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import load_spec

LIBRARY = data_dir("op_specs")


def test_sizes():
    assert parse_sizes("1Mi, 3k,1Ki,3000") == [1024, 3000, 2**20]


@pytest.mark.parametrize("text", ["", "many", "0", "1.5k", "-1", "99Mi,,1", "4000000Ki"])
def test_what_is_no_size(text):
    with pytest.raises(OpgenError) as caught:
        parse_sizes(text)
    assert caught.value.diagnostics[0].code == "OPG575"


def test_arguments_follow_the_shape_rules():
    tensors, attrs = arguments(load_spec(LIBRARY / "norm" / "custom_layer_norm.yaml"), 4096)
    assert [tuple(t.shape) for t in tensors] == [(4, 1024), (1024,), (1024,)]
    assert list(attrs) == ["epsilon"]


@pytest.mark.parametrize(
    "name", ["index/embedding", "index/index_select", "index/gather_elements", "loss/cross_entropy"]
)
def test_indices_name_elements_that_there_are(name: str) -> None:
    spec = load_spec(LIBRARY / f"{name}.yaml")
    for count in (1024, 65536):
        tensors, attrs = arguments(spec, count)
        values = {p.name: t for p, t in zip(spec.inputs, tensors, strict=True)}
        results = compile_compute(spec)(values, attrs)  # fails where an index is out of range
        assert all(0 < y.numel() <= count for y in results.values())


def test_a_list_is_refused():
    with pytest.raises(OpgenError) as caught:
        arguments(load_spec(LIBRARY / "foreach" / "foreach_norm.yaml"), 64)
    assert caught.value.diagnostics[0].code == "OPG576"


@pytest.mark.parametrize(
    ("op", "torch", "expected"),
    [((1, 1, 1), (2, 2, 2), 10), ((3, 1, 1), (2, 2, 2), 20), ((1, 1, 3), (2, 2, 2), None)],
)
def test_crossover(op, torch, expected):
    sizes = (10, 20, 30)
    rows = [{"elements": n, "op": a, "torch": b} for n, a, b in zip(sizes, op, torch, strict=True)]
    assert crossover(rows, "torch") == expected


def test_peers():
    assert parse_peers("cpp, torch,cpp") == ["cpp", "torch"]
    with pytest.raises(OpgenError) as caught:
        parse_peers("torch,jax")
    assert caught.value.diagnostics[0].code == "OPG577"


@pytest.mark.parametrize("name", ["times.png", "missing/times.svg", "folder.svg"])
def test_a_picture_that_cannot_be_written_is_refused_first(tmp_path, capfd, name):
    (tmp_path / "folder.svg").mkdir()
    spec = str(LIBRARY / "elementwise" / "fused_add_relu.yaml")
    assert run(["bench", spec, "-o", str(tmp_path / name)]) == 1
    assert "OPG578" in capfd.readouterr().err


def test_axis_labels():
    assert [size_text(n) for n in (0, 9, 10, 19, 20)] == ["1", "512", "1Ki", "512Ki", "1Mi"]
    assert [time_text(n) for n in (-2, 0, 2, 3, 6, 7)] == [
        "10 ns",
        "1 us",
        "100 us",
        "1 ms",
        "1 s",
        "10 s",
    ]


@pytest.mark.parametrize("count", [1, 4])
def test_a_picture_is_log_log_and_holds_all_points(count):
    rows = [
        {"elements": 4**n * 256, "op": 1e-5 * 4**n, "torch": 2e-5 * 4**n, "cpp": 1.01e-5 * 4**n}
        for n in range(count)
    ]
    series = {"op": "this op", "torch": "a < b & c", "cpp": "C++"}
    text = times_svg("Op", series, rows, "a note " * 30)
    assert text == times_svg("Op", series, rows, "a note " * 30)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    lines = [
        [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
        for line in root.iter(f"{space}polyline")
    ]
    assert [len(line) for line in lines] == [count] * 3
    assert all(0 < x < width and 0 < y < height for line in lines for x, y in line)
    for line in lines:  # four times the size, four times the time: a straight line
        steps = {(round(b[0] - a[0]), round(b[1] - a[1])) for a, b in itertools.pairwise(line)}
        assert len(steps) <= 2 and all(dx > 0 > dy for dx, dy in steps)
    labels = [t for t in root.iter(f"{space}text") if t.text in series.values()]
    heights = sorted(float(t.get("y", 0)) for t in labels)
    assert len(heights) == 3 and min(heights[1] - heights[0], heights[2] - heights[1]) >= 15


def test_peak_memory_counts_what_a_call_allocates():
    if not memory.return_blocks_at_once():
        pytest.skip("peaks are measured on Linux with glibc only")
    x = torch.ones(2**21)
    assert memory.peak_bytes(lambda: x.add(1)) == pytest.approx(2**23, abs=2**20)
    assert memory.peak_bytes(lambda: x.add(1).add(2)) == pytest.approx(2**24, abs=2**20)
    assert memory.peak_bytes(lambda: x.view(2, -1)) < 2**20


def test_lines_on_modelled_times():
    device = DeviceTime(5.0, 4.0, 6.0, "Ascend910B3", validated=True)
    assert _device_lines([device]) == [
        "modelled us: a call on Ascend910B3 by the model of `opgen profile`, with launch"
    ]
    refused = "OPG591 too large"
    lines = _device_lines([replace(device, validated=False), refused, refused])
    assert lines[0].endswith("not validated")
    assert lines[1:] == [f"no modelled time: {refused}"]


@pytest.mark.slow
def test_figures(capfd, tmp_path):
    spec = str(LIBRARY / "elementwise" / "fused_add_relu.yaml")
    picture = tmp_path / "times.svg"
    command = ["bench", spec, "--sizes", "64,1Mi", "--against", "torch,cpp", "-o", str(picture)]
    assert run([*command, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [r["elements"] for r in found["rows"]] == [64, 2**20]
    assert all(r[k] > 0 for r in found["rows"] for k in ("op", "torch", "cpp"))
    assert set(found["faster_from"]) == {"torch", "cpp"}
    small, large = (row["modelled_device"] for row in found["rows"])
    assert small["soc"] == "Ascend910B3" and 0 < small["low"] < small["microseconds"]
    assert small["microseconds"] < large["microseconds"] < large["high"]
    if memory.return_blocks_at_once():
        peaks = found["rows"][1]["peak_bytes"]
        assert peaks["torch"] >= 2 * 2**20 * 2 * 0.8  # the sum, then its relu
        assert all(peak >= 2**20 * 2 * 0.8 for peak in peaks.values())
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert found["rows"][0]["bytes"] == 64 * 2 * 3 and "nothing of an NPU" in found["note"]
