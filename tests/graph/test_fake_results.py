"""Fake results of pointwise calls: PyTorch's own, whether or not its decompositions were asked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from msopgen_wrap.graph.fake_results import QuickFakeMode

aten = torch.ops.aten
X = torch.zeros(3, 5, 7)
ROW, COLUMN = torch.zeros(7), torch.zeros(3, 5, 1)
WHOLE = torch.zeros(3, 5, 7, dtype=torch.int32)
MASK = torch.zeros(3, 5, 7, dtype=torch.bool)
NUMBER = torch.zeros(())

QUICK: dict[str, tuple[Any, ...]] = {
    "clamp": (aten.clamp.default, X, 0, 1.5),
    "an open bound": (aten.clamp.default, X, None, 2),
    "whole numbers and a float": (aten.mul.Tensor, WHOLE, 0.5),
    "whole numbers divided": (aten.div.Tensor, WHOLE, WHOLE),
    "a comparison": (aten.ge.Scalar, X, 0),
    "masks": (aten.logical_and.default, MASK, MASK),
    "where": (aten.where.self, MASK, X, NUMBER),
    "both dtypes": (aten.add.Tensor, X, WHOLE),
    "one for all columns": (aten.sub.Tensor, X, COLUMN),
    "one of whole numbers": (aten.floor.default, WHOLE),
}
SLOW: dict[str, tuple[Any, ...]] = {
    "a transposed tensor": (aten.exp.default, X.mT),
    "both stretch": (aten.add.Tensor, COLUMN, torch.zeros(3, 1, 7)),
    "numbers that are no integers": (aten.mul.Tensor, WHOLE, torch.zeros((), dtype=torch.float64)),
    "no axes": (aten.exp.default, NUMBER),
}


def result(mode_class: type[FakeTensorMode], call: Any, *given: Any) -> Any:
    mode = mode_class(shape_env=ShapeEnv(duck_shape=True), allow_non_fake_inputs=True)
    mode.cache_enabled = False
    known: dict[int, Any] = {}  # one tensor is one fake tensor
    for value in given:
        if isinstance(value, torch.Tensor) and id(value) not in known:
            known[id(value)] = mode.from_tensor(value, static_shapes=not value.dim())
    with mode:
        made = call(*(known.get(id(v), v) for v in given))
    assert made.fake_mode is mode
    return made


def told(tensor: Any) -> Any:
    return str(tensor.shape), str(tensor.stride()), tensor.dtype, tensor.device


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_results_are_those_of_pytorch(name: str) -> None:
    call = {**QUICK, **SLOW}[name]
    assert told(result(QuickFakeMode, *call)) == told(result(FakeTensorMode, *call))


@pytest.mark.parametrize(("name", "quick"), [(n, True) for n in QUICK] + [(n, False) for n in SLOW])
def test_pytorch_is_asked_where_the_result_is_not_plain(
    name: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    own = FakeTensorMode.dispatch

    def dispatch(mode: Any, func: Any, *rest: Any) -> Any:
        asked.append(func)
        return own(mode, func, *rest)

    monkeypatch.setattr(FakeTensorMode, "dispatch", dispatch)
    call = {**QUICK, **SLOW}[name]
    result(QuickFakeMode, *call)
    assert (call[0] not in asked) == quick


def test_a_new_axis_has_the_stride_that_pytorch_gives_it() -> None:
    for axis in (0, 2, 3, -2):
        for x in (X, X.mT):
            call = (aten.unsqueeze.default, x, axis)
            assert told(result(QuickFakeMode, *call)) == told(result(FakeTensorMode, *call))


def test_what_pytorch_refuses_is_refused_in_its_words() -> None:
    with pytest.raises(ValueError, match="both min and max are none"):
        result(QuickFakeMode, aten.clamp.default, X, None, None)
