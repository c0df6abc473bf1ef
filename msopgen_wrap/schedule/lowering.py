"""Lower a traced ATen graph to a vector program: the driver and the helpers lowerings share."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.graph.scalars import (
    UNARY_FUNCTIONS,
    AttrRef,
    Binary,
    Const,
    DimRef,
    Numel,
    ReducedCount,
    ScalarExpr,
    Unary,
    fold,
    is_const,
    is_integer,
    with_numel,
)
from msopgen_wrap.graph.sizes import reduced_count, size_of, size_symbols
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.intervals import Interval, Intervals
from msopgen_wrap.schedule.narrowing import narrow_stores
from msopgen_wrap.schedule.program import (
    COMPUTE_KIND,
    F32,
    I32,
    MASK,
    STORED_KIND,
    Inst,
    Operand,
    Program,
    Scalar,
    Val,
    eliminate_dead,
    share_common,
)
from msopgen_wrap.schedule.views import (
    PLACE,
    SQUEEZED,
    Counted,
    Reshaped,
    Span,
    Step,
    View,
    apply_view,
)
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.taken_names import cpp_local
from msopgen_wrap.torch_import import torch

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
_EXPANDS = {"aten.expand.default", PLACE}
_SCALAR_CALLS = {"sym_float", "sym_int", "sym_max", "sym_min", "sym_sqrt"}
RESHAPES = {"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default"}
_IDENTITY = {
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


@dataclass
class Lowerer:
    """State of one lowering.

    Attributes:
        traced: the graph.
        combo: dtype combination, for the dtypes of inputs and outputs.
        values: node -> value, scalar, view or tuple of them.
        operands: loaded views by operand name (the input's name, or ``x1`` for a second view).
        operand_names, scalar_names: names given so far; shared by the lowerings of one op, so
            that a name means the same in all its kernels.
        output_views: outputs that are written in another shape than they have.
        indices: numbers counted from the index, by the name of their walk.
        narrow: integers that have to fit int32, each checked by the tiling function.
        stretches: whether the graph expands a tensor.
        axis_names: (input, axis in the sample) -> the axis for every rank (negative: from the end).
        expanded: calls of expand, with the sizes that they give to the iteration space.
    """

    spec: OpSpec
    traced: TracedGraph
    combo: int
    program: Program = field(default_factory=Program)
    values: dict[Node, Any] = field(default_factory=dict)
    operands: dict[str, View] = field(default_factory=dict)
    indices: dict[str, View] = field(default_factory=dict)
    narrow: dict[ScalarExpr, None] = field(default_factory=dict)
    operand_names: dict[View, str] = field(default_factory=dict)
    scalar_names: dict[Scalar, str] = field(default_factory=dict)
    axis_names: dict[tuple[str, int], int] = field(default_factory=dict)
    expanded: dict[Node, Span] = field(default_factory=dict)
    output_views: dict[str, View] = field(default_factory=dict)
    stretches: bool = False
    _loaded: dict[View, Val] = field(default_factory=dict)
    _note: str = ""
    _intervals: Intervals | None = None

    # ---- driver --------------------------------------------------------------------------------

    def run(self) -> Program:
        """Lower every node, store the outputs and drop what is unused."""
        for node in self.traced.graph.nodes:
            if node.op == "placeholder" and node.name in self.traced.attrs:
                self.values[node] = self.traced.attrs[node.name]
            elif node.op == "placeholder":
                self.values[node] = View.of_input(
                    self.traced.inputs[node.name], len(node.meta["val"].shape)
                )
            elif node.op == "get_attr":
                self.values[node] = self._constant(node)
            elif node.op == "call_function":
                self.values[node] = self._call(node)
        for param in self.spec.outputs:
            result = self._output_value(param.name, self.traced.outputs[param.name])
            self._note = f"store {param.name}"
            kind = STORED_KIND.get(param.dtypes[self.combo])
            if kind is None:
                raise self.unsupported_dtype(param.dtypes[self.combo], param.name)
            value = self.as_kind(self.operand(result), kind)
            self.program.store(param.name, self.tile(value), f"store {param.name}")
        self._check_spans()
        stored = {p.name: p.dtypes[self.combo] for p in self.spec.outputs}
        return eliminate_dead(narrow_stores(share_common(self.program), stored))

    # ---- sizes from expand -----------------------------------------------------------------------

    def loaded(self, program: Program) -> dict[str, View]:
        """Return the operands that a program loads, in the order of the inputs."""
        order = [p.name for p in self.spec.inputs]
        names = dict.fromkeys(i.mode for i in program.loads)
        by_input = sorted(names, key=lambda n: order.index(self.operands[n].tensor))
        return {name: self.operands[name] for name in by_input}

    def spans(self) -> tuple[Span, ...]:
        """Return the sizes of the iteration space that no operand has."""
        whole = {v.tensor for v in self.operands.values() if not v.steps and v.extent != SQUEEZED}
        found = dict.fromkeys(self.expanded.values())
        return tuple(span for span in found if not span.covered(whole))

    def note_span(self, node: Node) -> None:
        """Remember the sizes of a call of expand that lines up with the iteration space."""
        sizes: Any = self._static(node.args[1])
        self.expanded[node] = Span.of(sizes)

    def _check_spans(self) -> None:
        missing = self.spans()
        for node, span in self.expanded.items():
            moved = [u for u in node.users if target_name(u) in VIEW_OPS | RESHAPES]
            if span in missing and any(target_name(u) not in _EXPANDS for u in moved):
                raise OpgenError(self.unsupported(moved[0], "an expanded tensor"))

    def _constant(self, node: Node) -> Operand:
        """Return the number of a tensor that compute makes of literals (``torch.tensor(2.0)``)."""
        tensor = getattr(self.traced.module, str(node.target))
        if tensor.numel() != 1:
            raise OpgenError(self.unsupported(node, "several numbers"))
        return self.operand(tensor.item())

    def _call(self, node: Node) -> Any:
        target = target_name(node)
        self._note = target.rsplit(".", 1)[0] if target.startswith("aten") else target
        if target == "aten.sym_size.int":
            source, axis = node.args[0], node.args[1]
            return self._size(source, int(axis))  # type: ignore[arg-type]
        if target == "aten.sym_numel.default":
            source = node.args[0]
            axes = range(len(source.meta["val"].shape))  # type: ignore[union-attr]
            return with_numel(self._product([self._size(source, axis) for axis in axes]))
        if node.target is reduced_count:
            return self._reduced_count(node)
        if target.startswith(("operator.", "math.")) or target in _SCALAR_CALLS:
            return self._scalar_call(node, target)
        if target in _IDENTITY:
            return self.values[node.args[0]]  # type: ignore[index]
        if target in VIEW_OPS:
            return self._view(node, target)
        if target in RESHAPES:
            return self._reshape(node)
        handler = HANDLERS.get(target)
        if handler is None:
            raise OpgenError(self.unsupported(node))
        return handler(self, node)

    def _size(self, source: Any, axis: int) -> Any:
        view = self.values[source]
        axis %= len(source.meta["val"].shape)
        if isinstance(view, View) and not view.steps and view.counted is not None:
            return view.counted.length
        if isinstance(view, View) and not view.steps:
            return DimRef(view.tensor, axis, view.rank, self.axis_names.get((view.tensor, axis)))
        size = self._intermediate_size(source, axis)
        if size is not None:
            return size
        raise OpgenError(
            Diagnostic(
                "OPG334",
                "compute uses the size of an intermediate tensor",
                self.location("shape"),
                "only what follows from the sizes of inputs is known to the tiling function",
                "take the size from an input",
            )
        )

    def _intermediate_size(self, source: Node, axis: int) -> ScalarExpr | None:
        if target_name(source) in RESHAPES:
            sizes: Any = source.args[1]
            if isinstance(sizes[axis], Node) or sizes[axis] >= 0:
                return self.scalar_expr(sizes[axis])
        if any(ref.name in self.traced.structural for ref in self.traced.attrs.values()):
            return None  # sizes in the graph hold the sample's value of a counting attr
        return size_of(source, axis, self.size_symbols())

    def size_symbols(self) -> Any:
        """Return which size of which input every symbol of the graph is."""
        known = size_symbols(self.traced.graph, self.traced.inputs)
        return {
            symbol: replace(ref, signed=self.axis_names.get((ref.tensor, ref.axis)))
            for symbol, ref in known.items()
        }

    def _reduced_count(self, node: Node) -> ScalarExpr:
        dims: Any = node.args[1]
        return self._product([self._size(node.args[0], int(d)) for d in dims])

    def _product(self, sizes: list[ScalarExpr]) -> ScalarExpr:
        one: ScalarExpr = Const(1)
        return functools.reduce(functools.partial(fold, "*"), sizes or [one])

    def _scalar_call(self, node: Node, target: str) -> Any:
        name = target.split(".")[-1]
        if name == "getitem":
            return self.values[node.args[0]][node.args[1]]  # type: ignore[index]
        args = [self.scalar_expr(a) for a in node.args if a is not None]
        binary = {
            "add": "+",
            "sub": "-",
            "mul": "*",
            "truediv": "/",
            "floordiv": "//",
            "mod": "%",
            "pow": "**",
            "max": "max",
            "min": "min",
            "sym_max": "max",
            "sym_min": "min",
        }
        if name in binary:
            return with_numel(fold(binary[name], *args))
        if name == "neg":
            return fold("neg", *args)
        if name in ("sym_float", "sym_int"):
            return fold(name.removeprefix("sym_"), *args)
        if name.removeprefix("sym_") in UNARY_FUNCTIONS:
            return fold(name.removeprefix("sym_"), *args)
        raise OpgenError(self.unsupported(node))

    def _view(self, node: Node, target: str) -> Any:
        source = self.values[node.args[0]]  # type: ignore[index]
        if target == "aten.expand.default":
            self.note_span(node)
            self.stretches = True
        if isinstance(source, (Scalar, Const)):
            return source
        if isinstance(source, (Val, Reshaped)):
            if isinstance(source, Val) and target == "aten.expand.default":
                return source
            raise OpgenError(self.unsupported(node, "a view of a computed tensor"))
        rest = [self._static(a) for a in node.args[1:]]
        return apply_view(
            source,
            target,
            rest,
            node,
            lambda axis: self._intermediate_size(node.args[0], axis),  # type: ignore[arg-type]
        )

    def _reshape(self, node: Node) -> Any:
        source: Any = node.args[0]
        value = self.values[source]
        if isinstance(value, (Scalar, Const)):
            return value
        if isinstance(value, View) and not value.rearranged and not _is_expanded(source):
            sizes = [self.scalar_expr(s) for s in node.args[1]]  # type: ignore[union-attr]
            return replace(value, rank=len(sizes), steps=(*value.steps, _reshape_step(sizes)))
        if isinstance(value, Reshaped):
            return value
        rank = len(source.meta["val"].shape)
        return Reshaped(node, source, tuple(self._known_size(source, axis) for axis in range(rank)))

    def _known_size(self, source: Node, axis: int) -> ScalarExpr:
        view = self.values[source]
        if isinstance(view, View) and view.steps:
            size = size_of(source, axis, self.size_symbols())
            if size is not None:
                return size
        result: ScalarExpr = self._size(source, axis)
        return result

    def _output_value(self, name: str, result: Any) -> Any:
        """Return what an output stores; where it is reshaped, note the shape it is stored in."""
        value = self.values.get(result) if isinstance(result, Node) else None
        if not isinstance(value, Reshaped):
            return result
        step = _reshape_step(value.sizes)
        self.output_views[name] = View(name, len(value.sizes), (step,))
        return value.value

    def _static(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._static(v) for v in value]
        if isinstance(value, Node):
            return self.values[value]
        return value

    # ---- operands ------------------------------------------------------------------------------

    def operand(self, value: Any) -> Operand:
        """Turn a node, number or expression into a value or a scalar; loads views."""
        if isinstance(value, Node):
            value = self.values[value]
        if isinstance(value, View):
            return self._load(value)
        if isinstance(value, Reshaped):
            raise OpgenError(self.unsupported(value.node, "a computed or rearranged tensor"))
        if isinstance(value, (Val, Scalar)):
            return value
        if isinstance(value, bool):
            return Scalar(Const(int(value)), I32)
        if isinstance(value, (int, float)):
            return Scalar(Const(value), F32 if isinstance(value, float) else I32)
        if isinstance(value, (AttrRef, Binary, Const, DimRef, Numel, ReducedCount, Unary)):
            return Scalar(value, I32 if is_integer(value) else F32)
        raise TypeError(f"no operand for {type(value).__name__}")

    def scalar_expr(self, value: Any) -> ScalarExpr:
        """Return the scalar expression of an argument that must be a scalar."""
        if isinstance(value, Node) and not isinstance(self.values[value], (View, Val)):
            value = self.values[value]
        if isinstance(value, (AttrRef, Binary, Const, DimRef, Numel, ReducedCount, Unary)):
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
        self.program.insts.append(Inst("Load", value, (), name, (), f"load {name}"))
        self._loaded[view] = value
        return value

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
                name = f"{base}{count}"
            self.operand_names[view] = name
        return name

    def scalar(self, operand: Scalar, kind: str) -> Scalar:
        """Return the scalar as a number of ``kind``; expressions become tiling fields."""
        expr = operand.expr
        if isinstance(expr, Const):
            if kind == F32:
                return Scalar(Const(float(expr.value)), F32)
            return Scalar(Const(int(expr.value)), I32)
        result = Scalar(expr, kind)
        if result not in self.scalar_names:
            self.scalar_names[result] = self._field_name(expr)
        self.program.scalars[self.scalar_names[result]] = result
        return result

    def _field_name(self, expr: ScalarExpr) -> str:
        base = "scalar"
        if isinstance(expr, AttrRef):
            base = expr.name if expr.index is None else f"{expr.name}{expr.index}"
            base = cpp_local(base)
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
            self._intervals = Intervals(self._number, self._counted)
        return self._intervals.of(node)

    def _number(self, node: Node) -> ScalarExpr | None:
        """Return the scalar expression of a node, None for a tensor of several values."""
        value = self.values.get(node)
        if isinstance(value, Scalar):
            return value.expr
        return value if isinstance(value, ScalarTypes) else None

    def _counted(self, node: Node) -> Counted | None:
        value = self.values.get(node)
        return value.counted if isinstance(value, View) else None

    def check_bounds(self, node: Node, bounds: Interval | None) -> None:
        """Note what the host has to check so that int32 holds the 64-bit integers of a node.

        Raises:
            OpgenError: OPG332 where nothing bounds them, or literals do not fit.
        """
        for end in bounds or (None,):
            fits = isinstance(end, Const) and -(2**31) <= end.value < 2**31
            if end is None or (isinstance(end, Const) and not fits):
                raise self.unsupported_dtype("int64", "", node)
            if not fits:
                self.narrow[end] = None

    # ---- diagnostics ---------------------------------------------------------------------------

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
                "use int32, or write the kernel yourself with `kernel:`",
            )
        )


ScalarTypes = (AttrRef, Binary, Const, DimRef, Numel, ReducedCount, Unary)


def _reshape_step(sizes: Sequence[ScalarExpr]) -> Step:
    """Return the step to a shape; one size follows from the others, whatever the rank is.

    It is the one that most axes are joined in, which are more of them at a higher rank.
    """
    if not sizes or Const(-1) in sizes:
        return Step("reshape", shape=tuple(sizes))
    joined = max(range(len(sizes)), key=lambda i: (_axes_in(sizes[i]), i))
    return Step("reshape", shape=(*sizes[:joined], Const(-1), *sizes[joined + 1 :]))


def _axes_in(expr: ScalarExpr) -> int:
    """Return how many sizes of inputs an expression reads."""
    if isinstance(expr, Binary):
        return _axes_in(expr.left) + _axes_in(expr.right)
    if isinstance(expr, Unary):
        return _axes_in(expr.arg)
    return int(isinstance(expr, DimRef))


def _is_expanded(node: Any) -> bool:
    """Whether a view repeats elements: then it is no contiguous tensor."""
    while isinstance(node, Node) and node.op == "call_function":
        if target_name(node) == "aten.expand.default":
            return True
        if target_name(node) not in (VIEW_OPS | RESHAPES | _IDENTITY):
            return False
        node = node.args[0]
    return False


def _truncate(value: Any) -> int:
    return int(value) if value == value and abs(value) < 2**31 else 0


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


def find_in_compute(spec: OpSpec, word: str) -> Location:
    """Return the first place of ``word`` in ``compute``, or where ``compute`` starts."""
    if spec.compute is None:
        return Location(spec.path)
    start = spec.compute.location
    if word and start.line:
        rows = spec.source.splitlines()
        for line in range(start.line, min(len(rows), start.line + 200) + 1):
            found = re.search(rf"\b{re.escape(word)}\b", rows[line - 1])
            if found:
                return Location(start.file, line, found.start() + 1, len(word))
    return start


__all__ = [
    "DIFFERENCES",
    "HANDLERS",
    "Lowerer",
    "find_in_compute",
    "is_const",
    "lowers",
    "target_name",
]
