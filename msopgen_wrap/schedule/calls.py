"""Calls of a traced graph: their names, which of them only view, and their registered lowerings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msopgen_wrap.schedule.views import PLACE
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.schedule.lowering import Lowerer

Node = torch.fx.Node

Handler = Callable[["Lowerer", Node], Any]
HANDLERS: dict[str, Handler] = {}
# Note of an instruction (``aten.sin``, ``aten.add with alpha``) -> how its lowering deliberately
# differs from PyTorch.
DIFFERENCES: dict[str, str] = {}

# Accepted view operations; they change which elements of an input a tile reads, not the values.
VIEW_OPS = {
    "aten.expand.default",
    "aten.unsqueeze.default",
    "aten.squeeze.dims",
    "aten.squeeze.dim",
    "aten.squeeze.default",
    "aten.permute.default",
    "aten.transpose.int",
    "aten.t.default",
    "aten.slice.Tensor",
    "aten.select.int",
    "aten.diagonal.default",
    "aten.unfold.default",
    "aten.split.Tensor",
    "aten.split_with_sizes.default",
    "aten.flip.default",
    PLACE,
}
# Calls that see the whole of an expanded tensor.
EXPANDS = {"aten.expand.default", PLACE}
SCALAR_CALLS = {"sym_float", "sym_int", "sym_max", "sym_min", "sym_sqrt"}
# Views that only add, drop or repeat axes of size 1.
AXES_OF_ONE = {
    "aten.expand.default",
    "aten.unsqueeze.default",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
}
RESHAPES = {"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default"}
IDENTITY = {
    "aten.alias.default",
    "aten.detach.default",
    "aten.clone.default",
    "aten.lift_fresh_copy.default",
    "aten.contiguous.default",
}


def lowers(*targets: str, differs: str = "") -> Callable[[Handler], Handler]:
    """Register a function as the lowering of ATen overloads (``aten.add.Tensor``).

    Args:
        differs: where its results deliberately differ from PyTorch's, as ``opgen plan`` and
            ``op_specs/README.md`` say it; the sweep over special values fails for any other.
    """

    def register(function: Handler) -> Handler:
        for target in targets:
            HANDLERS[target] = function
            if differs:
                DIFFERENCES[target.rsplit(".", 1)[0]] = differs
        return function

    return register


def tensor_arguments(node: Node) -> list[Node]:
    """Return the nodes among the arguments of a call that are one tensor each."""
    return [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]


def target_name(node: Node | None) -> str:
    """Return ``aten.add.Tensor``-like text for a call."""
    if node is None:
        return ""
    target = node.target
    if node.op == "get_attr":
        return "torch.tensor"
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    module = getattr(target, "__module__", "") or ""
    name = getattr(target, "__name__", str(target))
    if module in ("_operator", "operator", "builtins"):
        return f"operator.{name}"
    return f"math.{name}" if module == "math" else name


def is_expanded(node: Any) -> bool:
    """Whether a view repeats elements: then it is no contiguous tensor."""
    while isinstance(node, Node) and node.op == "call_function":
        if target_name(node) == "aten.expand.default":
            return True
        if target_name(node) not in (VIEW_OPS | RESHAPES | IDENTITY):
            return False
        node = node.args[0]
    return False
