"""Values and scalars of a vector program: loads, names, conversions between kinds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import (
    WORDS,
    AttrRef,
    Binary,
    Const,
    DimRef,
    Numel,
    ReducedCount,
    ScalarExpr,
    Unary,
    evaluate,
    fold,
    is_integer,
    is_word,
)
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import DIFFERENCES, Node, Refusals
from msopgen_wrap.schedule.intervals import Interval, Intervals
from msopgen_wrap.schedule.program import (
    COMPUTE_KIND,
    F32,
    I32,
    MASK,
    Inst,
    Operand,
    Program,
    Scalar,
    Val,
    Words,
)
from msopgen_wrap.schedule.views import Counted, Reshaped, View
from msopgen_wrap.spec.names import cpp_local

# What is said of the load of an int64 input.
WIDE_LOAD = "int64 input"
DIFFERENCES[WIDE_LOAD] = (
    "numbers beyond int32 count as the largest or the smallest int32 where they are converted, or "
    "compared with int32"
)

ScalarTypes = (AttrRef, Binary, Const, DimRef, Numel, ReducedCount, Unary)


@dataclass
class Emitter(Refusals):
    """Emits the instructions of a program from nodes, numbers and expressions.

    Attributes:
        traced: the graph.
        combo: dtype combination, for the dtypes of inputs and outputs.
        values: node -> value, scalar, view or tuple of them.
        operands: loaded views by operand name (the input's name, or ``x1`` for a second view).
        operand_names, scalar_names: names given so far; shared by the lowerings of one op, so
            that a name means the same in all its kernels.
        indices: numbers counted from the index, by the name of their walk.
        narrow: integers that have to fit int32, each checked by the tiling function.
    """

    traced: TracedGraph
    combo: int
    program: Program = field(default_factory=Program)
    values: dict[Node, Any] = field(default_factory=dict)
    operands: dict[str, View] = field(default_factory=dict)
    indices: dict[str, View] = field(default_factory=dict)
    narrow: dict[ScalarExpr, None] = field(default_factory=dict)
    operand_names: dict[View, str] = field(default_factory=dict)
    scalar_names: dict[Scalar, str] = field(default_factory=dict)
    _loaded: dict[View, Val] = field(default_factory=dict)
    _note: str = ""
    _intervals: Intervals | None = None

    # ---- operands ------------------------------------------------------------------------------

    def operand(self, value: Any) -> Operand:
        """Turn a node, number or expression into a value or a scalar; loads views."""
        if isinstance(value, Node):
            value = self.values[value]
        if isinstance(value, View):
            return self._load(value)
        if isinstance(value, Reshaped):
            raise OpgenError(self.unsupported(value.nodes[0], "a computed or rearranged tensor"))
        if isinstance(value, Words):
            raise self.unsupported_dtype("int64", "", self._node_of(value))
        if isinstance(value, (Val, Scalar)):
            return value
        if isinstance(value, bool):
            return Scalar(Const(int(value)), I32)
        if isinstance(value, (int, float)):
            return Scalar(Const(value), F32 if isinstance(value, float) else I32)
        if isinstance(value, ScalarTypes):
            return Scalar(self.kernel_number(value), I32 if is_integer(value) else F32)
        raise TypeError(f"no operand for {type(value).__name__}")

    def kernel_number(self, expr: ScalarExpr) -> ScalarExpr:
        """Return the expression of a number that a kernel gets; sizes are read in SizeReader."""
        return expr

    def scalar_expr(self, value: Any) -> ScalarExpr:
        """Return the scalar expression of an argument that must be a scalar."""
        if isinstance(value, Node) and not isinstance(self.values[value], (View, Val)):
            value = self.values[value]
        if isinstance(value, ScalarTypes):
            return value
        operand = self.operand(value)
        if isinstance(operand, Scalar):
            return operand.expr
        raise OpgenError(
            Diagnostic("OPG333", "a tensor is used where a number is needed", self.location(""))
        )

    def _load(self, view: View) -> Val:
        if view in self._loaded:
            return self._loaded[view]
        if view.counted is not None:
            self._loaded[view] = self._count(view, view.counted)
            return self._loaded[view]
        name = self._operand_name(view)
        self.operands[name] = view
        dtype = self.spec.param(view.tensor).dtypes[self.combo]
        kind = COMPUTE_KIND.get(dtype)
        if kind is None:
            raise self.unsupported_dtype(dtype, view.tensor)
        value = self.program.value(kind)
        note = WIDE_LOAD if dtype == "int64" else f"load {name}"
        self.program.insts.append(Inst("Load", value, (), name, (), note))
        self._loaded[view] = value
        return value

    def _node_of(self, value: Words) -> Node | None:
        return next((node for node, other in self.values.items() if other is value), None)

    def is_wide(self, operand: Operand) -> bool:
        """Whether a value is an int64 input as it was loaded, which may lack what int32 lacks."""
        return any(i.dst is operand and i.note == WIDE_LOAD for i in self.program.loads)

    def _count(self, view: View, numbers: Counted) -> Val:
        """Return numbers counted from the index; floats are made of the index itself."""
        whole = Counted(numbers.length) if numbers.floating else numbers
        plain = replace(view, counted=whole)
        name = self._operand_name(plain)
        self.indices[name] = plain
        ends = (whole.start, whole.length) if whole.step == Const(1) else (whole.length,)
        self.narrow.update(dict.fromkeys(e for e in ends if not isinstance(e, Const)))
        index = self.emit("Index", I32, mode=name)
        if not numbers.floating:
            return index
        value: Val = self.emit("Cast", F32, index, mode="CAST_RINT")
        if numbers.step not in (Const(1), Const(1.0)):
            value = self.emit("Muls", F32, value, self.scalar(Scalar(numbers.step), F32))
        if numbers.start not in (Const(0), Const(0.0)):
            value = self.emit("Adds", F32, value, self.scalar(Scalar(numbers.start), F32))
        return value

    def _operand_name(self, view: View) -> str:
        name = self.operand_names.get(view)
        if name is None:
            known = {p.name for p in (*self.spec.inputs, *self.spec.outputs)}
            known |= {a.name for a in self.spec.attrs}
            known |= {*self.operand_names.values(), *self.scalar_names.values()}
            base = view.tensor or "index"
            taken = set() if view.tensor else known
            name, count = base, 0
            while name in self.operand_names.values() or name in taken or (count and name in known):
                count += 1
                name = f"{base}_{count}" if base[-1].isdigit() else f"{base}{count}"
            self.operand_names[view] = name
        return name

    def scalar(self, operand: Scalar, kind: str) -> Scalar:
        """Return the scalar as a number of ``kind``; expressions become tiling fields."""
        expr = operand.expr
        if isinstance(expr, Const):
            if kind == F32:
                return Scalar(Const(float(expr.value)), F32)
            if not -(2**31) <= int(expr.value) < 2**31:
                raise self.wide_literal(int(expr.value))
            return Scalar(Const(int(expr.value)), I32)
        result = Scalar(expr, kind)
        if result not in self.scalar_names:
            self.scalar_names[result] = self._field_name(expr)
        self.program.scalars[self.scalar_names[result]] = result
        return result

    def _field_name(self, expr: ScalarExpr) -> str:
        base = expression_name(expr) or "scalar"
        names = {p.name for p in (*self.spec.inputs, *self.spec.outputs)}
        known = {cpp_local(name) for name in names | set(self.operand_names.values())}
        known |= {*self.scalar_names.values(), "scalar"}
        name, count = base, 0
        while name in known:
            count += 1
            name = f"{base}{count}" if base == "scalar" else cpp_local(f"{base}{count}")
        return name

    def tile(self, operand: Operand) -> Val:
        """Return a tile: a scalar is filled into one."""
        if isinstance(operand, Val):
            return operand
        if operand.kind == MASK:
            raise AssertionError("no scalar masks")
        return self.emit("Fill", operand.kind, self.scalar(operand, operand.kind))

    def refine_note(self, text: str) -> None:
        """Add what matters about the arguments to the note of the current ATen op."""
        self._note = f"{self._note} {text}"

    def emit(self, op: str, kind: str, *args: Operand, **rest: Any) -> Val:
        """Append an instruction noted with the current ATen op."""
        rest.setdefault("note", self._note)
        return self.program.emit(op, kind, *args, **rest)

    # ---- conversions ---------------------------------------------------------------------------

    def as_kind(self, operand: Operand, kind: str) -> Operand:
        """Convert between float, int32 and mask, as PyTorch converts dtypes."""
        if isinstance(operand, Scalar):
            if kind == MASK:
                return self.as_kind(self.tile(self.as_kind(operand, F32)), MASK)
            if operand.kind == kind:
                return operand
            if kind == I32 and isinstance(operand.expr, Const):
                return Scalar(Const(_truncate(operand.expr.value)), I32)
            return Scalar(operand.expr if kind == F32 else fold("int", operand.expr), kind)
        if operand.kind == kind:
            return operand
        if operand.kind == MASK:
            one = self.emit("Fill", F32, Scalar(Const(1.0)))
            number = self.emit("Selects", F32, operand, one, Scalar(Const(0.0)))
            return number if kind == F32 else self.as_kind(number, I32)
        if kind == MASK:
            if operand.kind == F32:
                zero = self.emit("Compares", MASK, operand, Scalar(Const(0.0)), mode="EQ")
            else:
                zero = self.emit("Compares", MASK, operand, Scalar(Const(0), I32), mode="EQ")
            return self.emit("MaskNot", MASK, zero)
        if kind == F32:
            return self.emit("Cast", F32, operand, mode="CAST_RINT")
        return self.emit("Cast", I32, operand, mode="CAST_TRUNC")

    def common(self, *operands: Operand) -> str:
        """Return the kind binary operations on these operands are computed in."""
        kinds = {o.kind for o in operands}
        if F32 in kinds:
            return F32
        return I32 if I32 in kinds else MASK

    def dtype(self, node: Node) -> str:
        """Return the torch dtype name of a node's result."""
        return str(node.meta["val"].dtype).removeprefix("torch.")

    def kind(self, node: Node) -> str:
        """Return the kind of a node's result; int64 is int32 where its values have bounds."""
        dtype = self.dtype(node)
        kind = F32 if dtype == "float64" else COMPUTE_KIND.get(dtype)
        if dtype == "int64":
            self.check_bounds(node, self._bounds(node))
            return I32
        if kind is None:
            raise self.unsupported_dtype(dtype, "", node)
        return kind

    def _bounds(self, node: Node) -> Interval | None:
        if self._intervals is None:
            handed = self._handed_bounds
            self._intervals = Intervals(self._number, self._counted, self._elements, handed)
        return self._intervals.of(node)

    def _handed_bounds(self, node: Node) -> Interval | None:
        """Return the bounds of a placeholder that stands for a value of another pass."""
        return None

    def _number(self, node: Node) -> ScalarExpr | None:
        """Return the scalar expression of a node, None for a tensor of several values."""
        value = self.values.get(node)
        if isinstance(value, Scalar):
            return value.expr
        return value if isinstance(value, ScalarTypes) else None

    def _elements(self, node: Node) -> ScalarExpr | None:
        """Return how many elements a reduction joins, None where it is not known."""
        return None

    def _counted(self, node: Node) -> Counted | None:
        value = self.values.get(node)
        return value.counted if isinstance(value, View) else None

    def check_bounds(self, node: Node, bounds: Interval | None) -> None:
        """Note what the host has to check so that int32 holds the 64-bit integers of a node.

        Raises:
            OpgenError: OPG332 where nothing bounds them, literals do not fit, or a tensor of two
                elements along each axis is beyond int32 already: the host would refuse all calls.
        """
        if not self.is_bounded(bounds):
            raise self.unsupported_dtype("int64", "", node)
        self.narrow.update(dict.fromkeys(e for e in bounds or () if not isinstance(e, Const)))

    def is_bounded(self, bounds: Interval | None) -> bool:
        """Whether int32 holds the numbers between two ends, at least for some calls."""
        for end in bounds or (None,):
            fits = isinstance(end, Const) and -(2**31) <= end.value < 2**31
            if end is None or (isinstance(end, Const) and not fits) or self._is_hopeless(end):
                return False
        return True

    def has_bounds(self, node: Node) -> bool:
        """Whether int32 holds the 64-bit integers of a node, at least for some calls."""
        return self.is_bounded(self._bounds(node))

    def _is_hopeless(self, end: ScalarExpr) -> bool:
        """Whether int32 lacks a number even where every axis has two elements."""
        shapes = {
            name: (2,) * len(shape)
            for name, shape in self.traced.shapes.items()
            if not isinstance(shape, list)
        }
        try:
            value = evaluate(end, {"reducedCount": 2}, shapes)
        except (LookupError, ArithmeticError):
            return False  # an attr decides, or no such tensor exists
        return not -(2**31) <= value < 2**31


_NUMBERS: dict[float, str] = {1: "one", 2: "two"}
_JOINTS = {"+": "plus", "-": "minus", "*": "times", "/": "over"}
_LONGEST_NAME = 32


def expression_name(expr: ScalarExpr) -> str:
    """Return a name that says what a number of the host is; empty for an expression too long."""
    if isinstance(expr, AttrRef):
        return cpp_local(expr.name if expr.index is None else f"{expr.name}{expr.index}")
    if isinstance(expr, ReducedCount):
        return "reducedElements"
    if isinstance(expr, DimRef):
        return f"{expr.tensor}Size"
    if isinstance(expr, Const):
        return _NUMBERS.get(expr.value, "")
    if is_word(expr):
        name = expression_name(expr.arg)
        return f"{name}{'High' if WORDS[expr.op] else 'Low'}" if name else ""
    if isinstance(expr, Unary):
        word = {"neg": "minus", "float": "", "int": ""}.get(expr.op, expr.op)
        name = expression_name(expr.arg)
        return prefixed(word, name) if word else name
    if isinstance(expr, Binary) and expr.op == "/" and expr.left in (Const(1), Const(1.0)):
        return prefixed("inverse", expression_name(expr.right))
    if isinstance(expr, Binary) and expr.op in _JOINTS:
        left, right = expression_name(expr.left), expression_name(expr.right)
        name = prefixed(left, prefixed(_JOINTS[expr.op], right)) if left else ""
        return name if len(name) <= _LONGEST_NAME else ""
    return ""


def prefixed(prefix: str, name: str) -> str:
    """Return ``inverseBias`` of ``inverse`` and ``bias``; empty for no name."""
    return prefix + "".join(w[:1].upper() + w[1:] for w in name.split("_")) if name else ""


def _truncate(value: Any) -> int:
    return int(value) if value == value and abs(value) < 2**31 else 0
