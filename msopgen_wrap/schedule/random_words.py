"""The lowering of Philox: one block of vector instructions per tile of indices."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.scalars import WORDS, fold
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import I32, OPS, OpInfo, Scalar, Val
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# The scratch tiles of opgen::Philox.
_TEMPS = (I32, I32)
OPS["opgen::Philox"] = OpInfo("opgen::Philox", in_place=False)


@lowers("opgen.philox.default")
def _philox(low: Lowerer, node: Node) -> Any:
    index = low.tile(low.as_kind(low.operand(node.args[0]), I32))
    numbers = [low.scalar_expr(value) for value in node.args[1:]]
    words = [Scalar(fold(word, number), I32) for number in numbers for word in WORDS]
    scalars = [low.scalar(word, I32) for word in words]
    return low.emit("opgen::Philox", I32, index, *scalars, mode=_walk(low, index), temps=_TEMPS)


def _walk(low: Lowerer, index: Val) -> str:
    """Return the name of the walk that the indices are counted by; empty where they are not."""
    counts = (i for i in low.program.insts if i.op == "Index" and i.dst is index)
    return next((inst.mode for inst in counts), "")
