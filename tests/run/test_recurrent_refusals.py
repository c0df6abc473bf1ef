"""What the tiling of recurrent layers refuses; lists of handwritten kernels in the case grid."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.op_runtime import OpRuntime
from msopgen_wrap.run.preparation import load_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

ATTRS = {"inputSize": 6, "hiddenSize": 8}


@pytest.fixture(scope="module")
def spec() -> OpSpec:
    return load_spec(data_dir("op_specs") / "recurrence" / "gru.yaml")


@pytest.fixture(scope="module")
def runtime(spec: OpSpec) -> OpRuntime:
    return load_op(spec, rendered_spec(spec, "opgen"))


def tensors(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.rand(shape) for shape in shapes]


def call(runtime: OpRuntime, attrs=(), **given) -> None:
    lists = {
        "x": torch.rand(3, 2, 6),
        "weight_ih": tensors((24, 6)),
        "weight_hh": tensors((24, 8)),
        "bias_ih": tensors((24,)),
        "bias_hh": tensors((24,)),
        "h0": None,
    }
    outputs = tensors((3, 2, 8), (1, 2, 8))
    runtime.run("Gru", [*(lists | given).values()], outputs, {**ATTRS, **dict(attrs)}, mode="fast")


def test_a_call_of_these_shapes_is_taken(runtime: OpRuntime) -> None:
    call(runtime)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"weight_ih": tensors((24, 6), (24, 6))}, "weight_ih has 2 tensors, 1 are needed"),
        ({"weight_ih": tensors((24, 7))}, r"weight_ih\[0\] has not the shape \[24, 6\]"),
        ({"weight_hh": tensors((32, 8))}, r"weight_hh\[0\] has not the shape \[24, 8\]"),
        ({"bias_hh": []}, "bias_hh has 0 tensors, 1 are needed"),
        ({"h0": torch.rand(1, 3, 8)}, r"h0 has not the shape \[1, 2, 8\]"),
        ({"x": torch.rand(3, 2, 5)}, "x has 5 columns, inputSize is 6"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(runtime: OpRuntime, given, said) -> None:
    with pytest.raises((OpgenError, RuntimeError), match=said):
        call(runtime, **given)


def test_a_state_that_ub_cannot_hold_is_refused(runtime: OpRuntime) -> None:
    wide = {
        "weight_ih": tensors((6147, 6)),
        "weight_hh": [torch.zeros(6147, 2049)],
        "bias_ih": [],
        "bias_hh": [],
    }
    inputs = [torch.rand(3, 2, 6), *wide.values(), None]
    outputs = tensors((3, 2, 2049), (1, 2, 2049))
    attrs = {"inputSize": 6, "hiddenSize": 2049, "bias": False}
    with pytest.raises((OpgenError, RuntimeError), match="2049 elements is wider than 2048"):
        runtime.run("Gru", inputs, outputs, attrs, mode="fast")


def test_only_cases_of_the_spec_say_which_lists_there_are(spec: OpSpec) -> None:
    own = {str(case.shapes["weight_ih"]) for case in spec.cases}
    grid = case_grid(spec)
    assert len({str(case.shapes["weight_ih"]) for case in grid}) == len(own)
    for combo in range(spec.combos):
        tried = [case for case in grid if case.combo == combo]
        assert len(tried) >= len(spec.cases) + 2
        assert any(case.block_dim == 1 for case in tried)
        # a case that has states runs without them, too
        stateful = [case.shapes for case in tried if case.shapes["h0"] is not None]
        assert any({**shapes, "h0": None} in [c.shapes for c in tried] for shapes in stateful)
        assert () in [case.shapes["bias_ih"] for case in tried]
