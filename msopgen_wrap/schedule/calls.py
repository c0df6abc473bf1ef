"""Calls of a traced graph: names, which of them view or reduce, lowerings, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.schedule.views import PLACE
from msopgen_wrap.spec.compute_guard import locate
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.schedule.lowering import Lowerer


Node = torch.fx.Node

Handler = Callable[["Lowerer", Node], Any]
HANDLERS: dict[str, Handler] = {}
# The same for calls that are computed on words of 64-bit integers.
WORD_HANDLERS: dict[str, Handler] = {}
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


def lowers_words(*targets: str) -> Callable[[Handler], Handler]:
    """Register a function as the lowering of ATen overloads on words of 64-bit integers."""

    def register(function: Handler) -> Handler:
        for target in targets:
            WORD_HANDLERS[target] = function
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


# Reductions over `dim` lists; the value says which combination of elements it is.
REDUCTIONS = {
    "sum.dim_IntList": "sum",
    "sum.default": "sum",
    "mean.dim": "mean",
    "mean.default": "mean",
    "prod.dim_int": "prod",
    "prod.default": "prod",
    "amax.default": "max",
    "amin.default": "min",
    "max.default": "max",
    "min.default": "min",
    "max.dim": "max_dim",
    "min.dim": "min_dim",
    "any.dim": "any",
    "any.dims": "any",
    "any.default": "any",
    "all.dim": "all",
    "all.dims": "all",
    "all.default": "all",
    "argmax.default": "argmax",
    "argmin.default": "argmin",
}


def reduction_kind(node: Node) -> str | None:
    """Return which reduction a call is, None for any other node."""
    if node.op != "call_function":
        return None
    target = target_name(node)
    return REDUCTIONS.get(target.removeprefix("aten.")) if target.startswith("aten.") else None


def reduced_dims(node: Node, rank: int) -> tuple[int, ...]:
    """Return the reduced dims of a reduction of an operand of ``rank``, non-negative, sorted."""
    dims: Any = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return tuple(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    return tuple(sorted(int(d) % rank if rank else 0 for d in dims))  # type: ignore[union-attr]


@dataclass
class Refusals:
    """Diagnostics for the parts of a spec that have no lowering."""

    spec: OpSpec

    def location(self, word: str) -> Location:
        """Return the place of ``word`` in ``compute``, or the start of ``compute``."""
        return find_in_compute(self.spec, word)

    def unsupported(self, node: Node, what: str = "") -> Diagnostic:
        """Return the diagnostic for an ATen op without a lowering."""
        target = target_name(node)
        base = target.split(".")[1] if target.startswith("aten.") else target
        return Diagnostic(
            "OPG331",
            f"{target} {'on ' + what + ' ' if what else ''}has no vector lowering",
            self.location(base.strip("_")),
            "compute is turned into AscendC vector instructions for arch 2201; this operation is "
            "neither pointwise nor a reduction the schedules know",
            "write it with supported operations, or point the spec at your own kernel with "
            "`kernel: path/to/kernel.cpp` (compute stays as the golden reference)",
        )

    def unsupported_dtype(self, dtype: str, name: str, node: Node | None = None) -> OpgenError:
        """Return the error for a dtype that has no vector arithmetic."""
        where = self.spec.param(name).location if name else self.location("")
        what = f"{name} is {dtype}" if name else f"{target_name(node)} gives {dtype}"
        return OpgenError(
            Diagnostic(
                "OPG332",
                f"{what}, which has no vector arithmetic in generated kernels",
                where,
                "arch 2201 computes in float16, float32, int16 and int32; other dtypes are "
                "widened to those without loss, and 64-bit integers only where literals, sizes and "
                "attrs bound them",
                "bound the values (`x.clamp(low, high)`, or a comparison for 0 and 1), use int32, "
                "or write the kernel yourself with `kernel:`",
            )
        )

    def wide_literal(self, value: int) -> OpgenError:
        """Return the error for an integer that int32 does not hold."""
        return OpgenError(
            Diagnostic(
                "OPG332",
                f"{value} is beyond int32, in which generated kernels compute integers",
                self.location(str(abs(value))),
                "arch 2201 computes in float16, float32, int16 and int32",
                "compute with floats, or write the kernel yourself with `kernel:`",
            )
        )


def find_in_compute(spec: OpSpec, word: str) -> Location:
    """Return the first place of ``word`` in ``compute``, or where ``compute`` starts."""
    if spec.compute is None:
        return Location(spec.path)
    code, start = spec.compute, spec.compute.location
    if not word or not start.line:
        return start
    if code.literal:
        for line, row in enumerate(code.text.split("\n"), 1):
            found = re.search(rf"\b{re.escape(word)}\b", row)
            if found:
                before, behind = (len(row[:end].encode()) for end in found.span())
                return locate(code, line, before, line, behind)
        return start
    rows = spec.source.splitlines()
    for line in range(start.line, min(len(rows), start.line + 200) + 1):
        found = re.search(rf"\b{re.escape(word)}\b", rows[line - 1])
        if found:
            return Location(start.file, line, found.start() + 1, len(word))
    return start
