"""What runs once per call: sizes and attrs as C++ numbers, and views of tensors."""

from __future__ import annotations

import functools
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.scalars import (
    AttrRef,
    Binary,
    Const,
    DimRef,
    Numel,
    ScalarExpr,
    Unary,
    is_integer,
)
from msopgen_wrap.graph.sizes import attr_symbols, size_of, size_symbols
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import RESHAPES, target_name
from msopgen_wrap.schedule.demands import Demand, demand_symbols, sides_of, unknown_demand
from msopgen_wrap.schedule.size_reading import NUMBER_CALLS
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import cpp_int, cpp_string
from msopgen_wrap.torch_cpp.refusals import unsupported_call
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node


class HostCode:
    """Numbers and views of one traced graph as C++.

    Args:
        names: C++ names of the inputs and attrs.
        front: count axes from the front; else from the end.
    """

    def __init__(
        self, spec: OpSpec, traced: TracedGraph, names: dict[str, str], front: bool
    ) -> None:
        self.spec, self.traced, self.names, self.front = spec, traced, names, front
        free = {k: r for k, r in traced.attrs.items() if r.name not in traced.structural}
        self.symbols: dict[Any, ScalarExpr] = {
            **attr_symbols(traced.graph, free),
            **size_symbols(traced.graph, traced.inputs),
        }

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis as it is written for tensors of every rank."""
        wrapped = axis % rank if rank else 0
        return wrapped if self.front else wrapped - rank

    # ---- numbers -------------------------------------------------------------------------------

    def number(self, value: Any) -> tuple[str, bool]:
        """Return the C++ of a number of the graph, and whether it is an integer."""
        if not isinstance(value, Node):
            return (cpp_int(int(value)), True) if isinstance(value, int) else (repr(value), False)
        expr = self._expr(value)
        return self._text(expr), is_integer(expr)

    def _expr(self, node: Any) -> ScalarExpr:
        if not isinstance(node, Node):
            return Const(node)
        if node.op == "placeholder":
            return self.traced.attrs[node.name]
        name = target_name(node).split(".")[-1] if "sym_size" not in target_name(node) else "size"
        if name == "size":
            tensor: Any = node.args[0]
            axis: Any = node.args[1]
            return self._size(tensor, int(axis))
        if name == "reduced_count":
            source: Any = node.args[0]
            dims: Any = node.args[1]
            sizes = [self._size(source, int(d)) for d in dims]
            return functools.reduce(functools.partial(Binary, "*"), sizes or [Const(1)])
        args = [self._expr(a) for a in node.args if a is not None]
        if name in NUMBER_CALLS and len(args) == 2:
            return Binary(NUMBER_CALLS[name], args[0], args[1])
        if name == "neg":
            return Unary("neg", args[0])
        if name in ("sym_float", "sym_int"):
            return Unary(name.removeprefix("sym_"), args[0])
        if name.removeprefix("sym_") in ("sqrt", "exp", "log", "floor", "ceil", "tanh"):
            return Unary(name.removeprefix("sym_"), args[0])
        raise unsupported_call(self.spec, node)

    def _size(self, node: Node, axis: int) -> ScalarExpr:
        rank = len(node.meta["val"].shape)
        if node.name in self.traced.inputs:
            return DimRef(self.traced.inputs[node.name], axis % rank, rank)
        size = size_of(node, axis, self.symbols)
        if size is None:
            raise unsupported_call(self.spec, node, "a size of its result is not known")
        return size

    def _text(self, expr: ScalarExpr) -> str:
        if isinstance(expr, Const):
            return cpp_int(int(expr.value)) if isinstance(expr.value, int) else repr(expr.value)
        if isinstance(expr, AttrRef):
            name = self.names[expr.name]
            return name if expr.index is None else f"{name}[{expr.index}]"
        if isinstance(expr, DimRef):
            return f"{self.names[expr.tensor]}.size({self.axis(expr.axis, expr.rank)})"
        if isinstance(expr, Numel):
            return f"{self.names[expr.tensor]}.numel()"
        if isinstance(expr, Unary):
            inner = self._text(expr.arg)
            if expr.op in ("float", "int"):
                return f"static_cast<{'double' if expr.op == 'float' else 'int64_t'}>({inner})"
            return f"-({inner})" if expr.op == "neg" else f"std::{expr.op}({inner})"
        assert isinstance(expr, Binary)
        left, right = self._text(expr.left), self._text(expr.right)
        whole = is_integer(expr.left) and is_integer(expr.right)
        if expr.op in ("min", "max"):
            return f"std::{expr.op}<{'int64_t' if whole else 'double'}>({left}, {right})"
        if expr.op == "/":
            return f"(static_cast<double>({left}) / static_cast<double>({right}))"
        if expr.op == "**":
            return f"std::pow({left}, {right})"
        if expr.op in ("//", "%"):
            if not whole:
                name = "FloorDivide" if expr.op == "//" else "Remainder"
                return f"scalar::{name}<double>({left}, {right})"
            name = "FloorDiv" if expr.op == "//" else "FloorMod"
            return f"opgen_torch::{name}({left}, {right})"
        return f"({left} {expr.op} {right})"

    def demands(self) -> list[str]:
        """Return the statements that refuse sizes and attrs which ``compute`` does not accept.

        Raises:
            OpgenError: OPG205 for an assertion about something else.
        """
        checks = []
        symbols = demand_symbols(self.traced)
        for relation, text in self.traced.demands:
            sides = sides_of(relation, symbols)
            if sides is None:
                if text:
                    raise OpgenError(unknown_demand(self.spec, f"'{text}'"))
                continue
            demand = Demand.of(relation, *sides, text)
            condition = f"{self._text(demand.left)} {demand.operator} {self._text(demand.right)}"
            if not demand.asserted:
                empty = [f"{self.names[t]}.numel() == 0" for t in demand.tensors]
                condition = " || ".join([*empty, condition])
            message = cpp_string(f"{self.spec.op} needs {demand.text}")
            checks.append(f"TORCH_CHECK({condition}, {message});")
        return checks

    # ---- views ---------------------------------------------------------------------------------

    def view(self, node: Node, source: str) -> str:
        """Return the C++ of a view, where ``source`` is that of its argument.

        Raises:
            OpgenError: OPG570 where torch has to copy.
        """
        target = target_name(node).removeprefix("aten.")
        tensor: Any = node.args[0]
        rank = len(tensor.meta["val"].shape) if isinstance(tensor, Node) else 0
        args: list[Any] = list(node.args[1:])
        if f"aten.{target}" in RESHAPES or target == "expand.default":
            sizes = ", ".join(self.number(s)[0] for s in args[0])
            name = "expand" if target == "expand.default" else "reshape"
            return f"{source}.{name}({{{sizes}}})"
        if target == "permute.default":
            return f"{source}.permute({{{', '.join(str(self.axis(a, rank)) for a in args[0])}}})"
        if target == "transpose.int":
            a, b = (self.axis(x, rank) for x in args)
            return f"{source}.transpose({a}, {b})"
        if target == "t.default":
            return f"{source}.t()"
        if target == "unsqueeze.default":
            return f"{source}.unsqueeze({self.axis(args[0], rank + 1)})"
        if target in ("squeeze.dim", "squeeze.dims"):
            dims = [args[0]] if isinstance(args[0], int) else args[0]
            text = ", ".join(str(self.axis(a, rank)) for a in dims)
            return f"{source}.squeeze(at::IntArrayRef({{{text}}}))"
        if target == "slice.Tensor":
            slicing: list[Any] = [*args, *(0, None, None, 1)[len(args) :]]
            axis, start, end, step = slicing
            first = "std::nullopt" if start is None else self.number(start)[0]
            last = "std::nullopt" if end is None or end == 2**63 - 1 else self.number(end)[0]
            by = self.number(step)[0]
            return f"{source}.slice({self.axis(axis, rank)}, {first}, {last}, {by})"
        if target == "select.int":
            return f"{source}.select({self.axis(args[0], rank)}, {self.number(args[1])[0]})"
        raise unsupported_call(self.spec, node)
