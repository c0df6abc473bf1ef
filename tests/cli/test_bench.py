"""`opgen bench`: sizes, arguments, the figures and the size from which an op is faster."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.cli.app import run
from msopgen_wrap.cli.bench_command import arguments, crossover, parse_sizes
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir
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
    assert crossover(rows) == expected


@pytest.mark.slow
def test_figures(capfd):
    spec = str(LIBRARY / "elementwise" / "fused_add_relu.yaml")
    assert run(["bench", spec, "--sizes", "64,4Ki", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [r["elements"] for r in found["rows"]] == [64, 4096]
    assert all(r["op"] > 0 and r["torch"] > 0 for r in found["rows"])
    assert found["rows"][0]["bytes"] == 64 * 2 * 3 and "nothing of an NPU" in found["note"]
