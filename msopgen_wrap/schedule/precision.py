"""How exact a value has to be: as exact as the outputs that it becomes.

An output of 16 bits is rounded to 11 (float16) or 8 (bfloat16) of them, so that a shorter fit
serves where the value reaches nothing else, and no operation between makes its error larger.
"""

from __future__ import annotations

from msopgen_wrap.schedule.calls import RESHAPES, VIEW_OPS, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

SHORT = frozenset({"float16", "bfloat16"})
# Their results have no larger relative errors than their operands have (a sum of those).
_KEEPING = frozenset(
    {
        "aten.mul.Tensor",
        "aten.mul.Scalar",
        "aten.div.Tensor",
        "aten.div.Scalar",
        "aten.neg.default",
        "aten.abs.default",
        "aten.relu.default",
        "aten.clone.default",
        "aten.detach.default",
        "aten.alias.default",
        "aten._to_copy.default",
        *VIEW_OPS,
        *RESHAPES,
    }
)


def is_rounded_to_16_bits(low: Lowerer, node: Node) -> bool:
    """Whether a node becomes 16-bit float outputs only, by operations that keep its error."""
    return _reaches_short_outputs(low, node, set())


def _reaches_short_outputs(low: Lowerer, node: Node, seen: set[Node]) -> bool:
    if node in seen:
        return True
    seen.add(node)
    dtypes = {
        param.dtypes[low.combo]
        for param in low.spec.outputs
        if low.traced.outputs.get(param.name) is node
    }
    if not dtypes <= SHORT:
        return False
    users = [user for user in node.users if user.op != "output"]
    if any(target_name(user) not in _KEEPING for user in users):
        return False
    return all(_reaches_short_outputs(low, user, seen) for user in users)
