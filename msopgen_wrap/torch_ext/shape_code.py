"""Write shape rules as code: C++ for the binding, Python for the fake kernels.

Both follow :func:`msopgen_wrap.spec.shapes.evaluate`.
"""

from __future__ import annotations

from msopgen_wrap.spec.model import (
    AttrTest,
    DimAttr,
    DimBinary,
    DimConst,
    DimExpr,
    DimGiven,
    DimNumel,
    DimOf,
    DimRank,
    DimScaled,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeBroadcast,
    ShapeChoice,
    ShapeLike,
    ShapeList,
    ShapePermute,
    ShapeReduce,
    ShapeRule,
    ShapeStridedSlice,
)
from msopgen_wrap.spec.shapes import format_test
from msopgen_wrap.templating import cpp_int, cpp_string

_CPP_BINARY = {"//": "FloorDiv", "%": "FloorMod"}


class _ShapeCode:
    """What expressions of shapes know of an op in any language.

    Args:
        spec: the op.
        index: text that selects an element of a list input, used in rules of list outputs.
    """

    def __init__(self, spec: OpSpec, index: str = "[i]") -> None:
        self.spec = spec
        self.lists = {p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC}
        self.index = index

    def tensor(self, name: str) -> str:
        """Return the expression of a tensor (an element, for a list)."""
        return name + self.index if name in self.lists else name


class CppShapes(_ShapeCode):
    """Shape expressions of one op in C++ (``shapes.h`` of the binding)."""

    def shape(self, name: str) -> str:
        """Return the expression of an input's shape."""
        return f"Shape({self.tensor(name)})"

    def rule(self, rule: ShapeRule) -> str:
        """Return an expression of type ``Sizes``."""
        if isinstance(rule, ShapeChoice):
            then, otherwise = self.rule(rule.then), self.rule(rule.otherwise)
            return f"({_cpp_test(rule.test)} ? {then} : {otherwise})"
        if isinstance(rule, ShapeLike):
            return f"Like({self.tensor(rule.tensor)})"
        if isinstance(rule, ShapeBroadcast):
            shapes = ", ".join(self.shape(t) for t in rule.tensors)
            return f'Broadcast("{self.spec.name}", {{{shapes}}})'
        if isinstance(rule, ShapeReduce):
            keepdim = rule.keepdim
            keep = keepdim if isinstance(keepdim, str) else ("true" if keepdim else "false")
            if isinstance(rule.dims, str):
                scalar = self.spec.attr(rule.dims).type == "int"
                dims = f"{{{rule.dims}}}" if scalar else rule.dims
            else:
                dims = "{" + ", ".join(str(d) for d in rule.dims) + "}"
            return f"Reduced({self.shape(rule.tensor)}, {dims}, {keep})"
        if isinstance(rule, ShapePermute):
            return f"Permuted({self.shape(rule.tensor)}, {rule.axes})"
        if isinstance(rule, ShapeStridedSlice):
            lists = ", ".join(rule.lists)
            return f"Sliced({self.shape(rule.tensor)}, {lists}, {{{', '.join(rule.masks)}}})"
        return self.list_rule(rule)

    def list_rule(self, rule: ShapeList) -> str:
        """Return an expression for explicit dims."""
        if not any(isinstance(item, DimSlice) for item in rule.items):
            return "Sizes{" + ", ".join(self.dim(item) for item in rule.items) + "}"  # type: ignore[arg-type]
        parts: list[str] = []
        for item in rule.items:
            if isinstance(item, DimSlice):
                start = "std::nullopt" if item.start is None else str(item.start)
                stop = "std::nullopt" if item.stop is None else str(item.stop)
                parts.append(f"Slice({self.shape(item.tensor)}, {start}, {stop})")
            else:
                parts.append(f"Sizes{{{self.dim(item)}}}")
        return f"Concat({{{', '.join(parts)}}})"

    def dim(self, dim: DimExpr) -> str:
        """Return an int64_t expression."""
        if isinstance(dim, DimConst):
            return str(dim.value)
        if isinstance(dim, DimAttr):
            return dim.name if dim.index is None else f"Dim({dim.name}, {dim.index})"
        if isinstance(dim, DimOf):
            return f"Dim({self.shape(dim.tensor)}, {dim.axis})"
        if isinstance(dim, DimRank):
            return f"Rank({self.shape(dim.tensor)})"
        if isinstance(dim, DimNumel):
            return f"Numel({self.shape(dim.tensor)})"
        if isinstance(dim, DimScaled):
            function = "ScaledUp" if dim.up else "ScaledDown"
            factor = dim.factor.name
            if dim.factor.index is not None:
                factor = f"Factor({factor}, {dim.factor.index})"
            return f"{function}({self.dim(dim.dim)}, {factor})"
        if isinstance(dim, DimGiven):
            given, absent = self.dim(dim.given), self.dim(dim.absent)
            return f"({dim.tensor}.has_value() ? {given} : int64_t{{{absent}}})"
        left, right = self.dim(dim.left), self.dim(dim.right)
        if dim.op in ("min", "max"):
            return f"std::{dim.op}<int64_t>({left}, {right})"
        if dim.op in _CPP_BINARY:
            return f"{_CPP_BINARY[dim.op]}({left}, {right})"
        return f"({left} {dim.op} {right})"


def _cpp_test(test: AttrTest) -> str:
    """Return the condition that an attr, a variable of its own type, has one of some values."""
    compared = "!=" if test.inverted else "=="
    parts = [
        f"{test.name} {compared} {cpp_string(v) if isinstance(v, str) else cpp_int(v)}"
        for v in test.values
        if not isinstance(v, bool)
    ]
    parts += [test.name if v else f"!{test.name}" for v in test.values if isinstance(v, bool)]
    return (" && " if test.inverted else " || ").join(parts)


class PythonShapes(_ShapeCode):
    """Shape expressions of one op in Python; dims may be SymInts."""

    def shape(self, name: str) -> str:
        """Return the expression of an input's shape."""
        return f"{self.tensor(name)}.shape"

    def rule(self, rule: ShapeRule) -> str:
        """Return an expression of a sequence of dims."""
        if isinstance(rule, ShapeChoice):
            then, otherwise = self.rule(rule.then), self.rule(rule.otherwise)
            return f"({then} if {format_test(rule.test)} else {otherwise})"
        if isinstance(rule, ShapeLike):
            return self.shape(rule.tensor)
        if isinstance(rule, ShapeBroadcast):
            shapes = [
                f"_checks.shape_or_scalar({t})"
                if self.spec.param(t).kind is ParamKind.OPTIONAL
                else self.shape(t)
                for t in rule.tensors
            ]
            return f"torch.broadcast_shapes({', '.join(shapes)})"
        if isinstance(rule, ShapeReduce):
            if isinstance(rule.dims, str):
                scalar = self.spec.attr(rule.dims).type == "int"
                dims = f"[{rule.dims}]" if scalar else rule.dims
            else:
                dims = repr(list(rule.dims))
            return f"_checks.reduced_shape({self.shape(rule.tensor)}, {dims}, {rule.keepdim})"
        if isinstance(rule, ShapePermute):
            return f"_checks.permuted_shape({self.shape(rule.tensor)}, {rule.axes})"
        if isinstance(rule, ShapeStridedSlice):
            arguments = ", ".join((self.shape(rule.tensor), *rule.lists, *rule.masks))
            return f"_slices.sliced_shape({arguments})"
        parts = []
        for item in rule.items:
            if isinstance(item, DimSlice):
                start = "" if item.start is None else item.start
                stop = "" if item.stop is None else item.stop
                parts.append(f"*{self.shape(item.tensor)}[{start}:{stop}]")
            else:
                parts.append(self.dim(item))
        return f"[{', '.join(parts)}]"

    def dim(self, dim: DimExpr) -> str:
        """Return an int expression."""
        if isinstance(dim, DimConst):
            return str(dim.value)
        if isinstance(dim, DimAttr):
            return dim.name if dim.index is None else f"{dim.name}[{dim.index}]"
        if isinstance(dim, DimOf):
            return f"{self.shape(dim.tensor)}[{dim.axis}]"
        if isinstance(dim, DimRank):
            return f"len({self.shape(dim.tensor)})"
        if isinstance(dim, DimNumel):
            return f"{self.shape(dim.tensor)}.numel()"
        if isinstance(dim, DimScaled):
            index = "" if dim.factor.index is None else f"[{dim.factor.index}]"
            return f"_checks.scaled({self.dim(dim.dim)}, {dim.factor.name}{index}, up={dim.up})"
        if isinstance(dim, DimGiven):
            given, absent = self.dim(dim.given), self.dim(dim.absent)
            return f"({given} if {dim.tensor} is not None else {absent})"
        assert isinstance(dim, DimBinary)
        left, right = self.dim(dim.left), self.dim(dim.right)
        if dim.op in ("min", "max"):
            return f"torch.sym_{dim.op}({left}, {right})"
        return f"({left} {dim.op} {right})"
