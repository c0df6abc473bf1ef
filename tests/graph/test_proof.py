"""The proof of a graph: what counts as the result of compute."""

from __future__ import annotations

import dataclasses

from harness import make_spec

from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.model import DimBinary, DimConst, DimOf, ShapeList


def test_leading_axes_of_one_may_be_missing():
    """Views are moved to inputs, where an axis before all others says nothing."""
    column = ShapeList((DimConst(1), DimOf("x", 0), DimConst(1)))
    twice = ShapeList((DimBinary("*", DimOf("x", 0), DimConst(2)),))
    spec = make_spec(
        "a = torch.maximum(x, x * 2).unsqueeze(-1).unsqueeze(-3)\nb = x.repeat_interleave(2, -1)",
        outputs="a b",
        shapes={"a": column, "b": twice},
    )
    x = dataclasses.replace(spec.inputs[0], min_rank=1, max_rank=1)
    spec = dataclasses.replace(spec, inputs=(x,))
    trace(spec, variants(spec)[0])
