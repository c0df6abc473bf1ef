"""The nouns of an op spec: what every later stage reads and none changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.schedule_entries import ScheduleEntry

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
)

ATTR_TYPES = ("int", "float", "bool", "str", "list_int", "list_float", "dtype")


class ParamKind(Enum):
    """How a tensor parameter is passed; the value is msopgen's ``param_type``."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    DYNAMIC = "dynamic"


# ---- shape rules -------------------------------------------------------------------------------
# An output shape is a rule over input shapes and attrs. The text form is parsed once by
# msopgen_wrap.spec.shapes into these nodes; InferShape (C++), the fake kernel (Python) and the
# tests all evaluate the same nodes.


@dataclass(frozen=True)
class DimConst:
    """A literal dimension."""

    value: int


@dataclass(frozen=True)
class DimAttr:
    """The value of an int attr, or element ``index`` of a list_int attr."""

    name: str
    index: int | None = None


@dataclass(frozen=True)
class DimOf:
    """Dimension ``axis`` of input ``tensor`` (negative axes count from the end); text ``x[-1]``."""

    tensor: str
    axis: int


@dataclass(frozen=True)
class DimRank:
    """The rank of an input; text ``rank(x)``."""

    tensor: str


@dataclass(frozen=True)
class DimNumel:
    """The number of elements of an input; text ``numel(x)``."""

    tensor: str


@dataclass(frozen=True)
class DimBinary:
    """``left op right`` with op one of ``+ - * // % min max``."""

    op: str
    left: DimExpr
    right: DimExpr


@dataclass(frozen=True)
class DimScaled:
    """A dimension times a float attr, rounded down or up; text ``floor(x[2] * scale[0])``.

    The factor is the attr as float32 holds it, which is what CANN passes; the product is taken in
    double precision.
    """

    dim: DimExpr
    factor: DimAttr
    up: bool = False


@dataclass(frozen=True)
class DimGiven:
    """A dimension where an optional input is given, another where it is absent.

    Text ``x[1] if x is not None else 1``.
    """

    tensor: str
    given: DimExpr
    absent: DimExpr


DimExpr = DimConst | DimAttr | DimOf | DimRank | DimNumel | DimBinary | DimScaled | DimGiven


@dataclass(frozen=True)
class DimSlice:
    """A run of dimensions; text ``*x[start:stop]`` (either end may be missing: None)."""

    tensor: str
    start: int | None
    stop: int | None


@dataclass(frozen=True)
class ShapeLike:
    """Same shape as an input; text ``like x`` (or just ``x``)."""

    tensor: str


@dataclass(frozen=True)
class ShapeBroadcast:
    """NumPy broadcasting of several inputs; absent optional inputs are skipped."""

    tensors: tuple[str, ...]


@dataclass(frozen=True)
class ShapeList:
    """Explicit dimensions; text ``[*x[:-1], n, 4]``; ``[]`` is a scalar."""

    items: tuple[DimExpr | DimSlice, ...]


@dataclass(frozen=True)
class ShapeReduce:
    """Input shape with dims removed or set to 1; text ``reduce(x, dim, keepdim)``.

    ``dims`` is a tuple of ints, or the name of an int / list_int attr (an empty list means all
    dims); ``keepdim`` a bool or the name of a bool attr.
    """

    tensor: str
    dims: tuple[int, ...] | str
    keepdim: bool | str = False


@dataclass(frozen=True)
class ShapePermute:
    """The dimensions of an input in another order; text ``permute(x, perm)``.

    ``axes`` is a list_int attr that names every axis once, those from the end by negative numbers.
    """

    tensor: str
    axes: str


@dataclass(frozen=True)
class ShapeStridedSlice:
    """What lists and masks cut from an input; text ``strided_slice(x, begin, end, strides, ...)``.

    ``lists`` are the names of three list_int attrs, ``masks`` those of up to five int attrs: begin,
    end, ellipsis, new axis, shrink axis (``spec.strided_slices``).
    """

    tensor: str
    lists: tuple[str, ...]
    masks: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttrTest:
    """Whether an attr has one of some values.

    Texts: ``how == 'none'``, ``how in ('a', 'b')``, ``flag``, ``not flag``. ``inverted`` tests that
    it has none of them: ``how != 'none'``.
    """

    name: str
    values: tuple[str | int | bool, ...]
    inverted: bool = False

    def holds(self, attrs: Mapping[str, Any]) -> bool:
        """Whether the values of a call meet the condition."""
        return (attrs[self.name] in self.values) != self.inverted


@dataclass(frozen=True)
class ShapeChoice:
    """One rule or another, as an attr says; text ``like x if how == 'none' else []``."""

    test: AttrTest
    then: ShapeRule
    otherwise: ShapeRule


ShapeRule = (
    ShapeLike
    | ShapeBroadcast
    | ShapeList
    | ShapeReduce
    | ShapePermute
    | ShapeStridedSlice
    | ShapeChoice
)


# ---- parameters --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """A node of the graph of ``compute``: the call of an operator, counted in the graph's order."""

    call: str
    ordinal: int


@dataclass(frozen=True)
class Slab:
    """Neighbouring elements of an output along one axis, which a pass of its own may write.

    Attributes:
        output: the output.
        number: of the slab among those of the axis, from 0.
        count: how many slabs there are.
    """

    output: str
    number: int
    count: int


@dataclass(frozen=True)
class Pieces:
    """Rows of an output that are results of their own; text ``ends if how in (0, 1) else []``.

    ``ends`` is a list_int attr: behind which element of the first axis each piece ends. Where the
    condition does not hold, the output is one piece.
    """

    ends: str
    test: AttrTest | None = None


@dataclass(frozen=True)
class TensorParam:
    """An input or output tensor (or tensor list).

    Attributes:
        dtypes: one entry per dtype combination of the op; all params of a spec have the same
            length (a single dtype in the YAML is broadcast), so ``dtypes[i]`` of every param
            together form combination ``i``.
        shape: outputs: the rule; inputs: None (any shape) or a rule the input must satisfy
            (``[hidden]``-like constraints over inputs named before it).
        min_rank, max_rank: accepted rank range of an input.
        inplace: outputs only: the input whose memory this output is.
        low, high: range that test data is drawn from; None lets the case grid choose.
        default: optional inputs only: the number that stands for the input when it is absent;
            None passes None to ``compute``.
        site: of a temporary (``families.parts``), the value of ``compute`` that it holds: a phase
            writes it to the workspace, and later ones read it. None for tensors of the caller.
        chosen_by: outputs only: the dtype attr whose value is the output's dtype. The op has one
            combination of dtypes for each of its allowed values.
        length: outputs only: the output, one integer, that says how many elements of the first
            axis are results; the shape rule gives the most there can be.
        pieces: outputs only: how the first axis is cut for callers; None: not at all.
        slab: outputs of parts only: the slab of an output that a part writes; None: all of it.
    """

    name: str
    dtypes: tuple[str, ...]
    kind: ParamKind = ParamKind.REQUIRED
    shape: ShapeRule | None = None
    shape_text: str = ""
    min_rank: int = 0
    max_rank: int = 8
    inplace: str | None = None
    low: float | None = None
    high: float | None = None
    doc: str = ""
    location: Location = field(default_factory=Location, compare=False)
    default: float | int | bool | None = None
    site: Site | None = None
    chosen_by: str | None = None
    length: str | None = None
    pieces: Pieces | None = None
    slab: Slab | None = None

    @property
    def tensor(self) -> str:
        """The tensor of the caller that it is, or a slab of."""
        return self.slab.output if self.slab is not None else self.name


REQUIRED = object()


@dataclass(frozen=True)
class Attr:
    """An attribute; ``default`` is ``REQUIRED`` when the caller must give it.

    Attributes:
        type: one of ``ATTR_TYPES``.
        allowed: the closed set of values, or None. An attr with allowed values (and every bool
            and dtype attr) selects a *variant*: the graph is traced once per value and the kernel
            gets one tiling key each. Other attrs travel as tiling data.
        minimum, maximum: inclusive bounds for int and float.
    """

    name: str
    type: str
    default: Any = REQUIRED
    allowed: tuple[Any, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    doc: str = ""
    location: Location = field(default_factory=Location, compare=False)

    @property
    def required(self) -> bool:
        """Whether the caller must pass it."""
        return self.default is REQUIRED


@dataclass(frozen=True)
class Code:
    """A piece of allow-listed PyTorch: an expression, or statements assigning every output.

    ``location`` is the place of the first character; ``literal`` says that the lines of ``text``
    are lines of the file (``spec.compute_guard.locate`` then maps any place in it). ``columns`` has
    the column of the first character of each line, where they differ.
    """

    text: str
    location: Location = field(default_factory=Location, compare=False)
    literal: bool = field(default=True, compare=False)
    columns: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Case:
    """One extra test case: input shapes by name (a list of shapes for a dynamic input)."""

    shapes: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[int, ...] | None = None
    location: Location = field(default_factory=Location, compare=False)


@dataclass(frozen=True)
class Tolerance:
    """What judges an output instead of its dtype's own bounds (see ``run.accuracy``).

    Attributes:
        mean, maximum: bounds on the relative errors of floats.
        absolute: largest difference of integers.
        rule: ``relative`` or ``mixed``, for floats.
        rtol, atol, cap: numbers of the mixed rule; None: those of the dtype.
    """

    mean: float | None = None
    maximum: float | None = None
    absolute: int | None = None
    rule: str = "relative"
    rtol: float | None = None
    atol: float | None = None
    cap: float | None = None


@dataclass(frozen=True)
class OpSpec:
    """A validated op spec. Two specs are equal when they say the same, wherever it is written.

    Attributes:
        op: CamelCase op type; ``name`` is its snake_case form.
        compute: golden reference and, without ``kernel``, the source of the kernel.
        kernel, tiling: paths of handwritten sources, relative to the spec file.
        workspace: a shape rule of one dimension: the bytes of workspace that the default tiling of
            a handwritten kernel asks for, whose cores then all run at once.
        backward: ``reference`` (PyTorch differentiates ``compute``), ``kernel`` (an op of its own,
            ``spec.gradient``), ``auto`` (one of the two: ``families.gradients``), ``none``, or
            explicit ``{input name: Code}`` where the code may use the inputs, the attrs, the
            outputs and ``grad_<output>``.
        tolerance: by output name or dtype.
        soc: SoC families or exact names.
        source: the spec's text, ``path`` its file as given by the user.
        whole: the op that this is a part of, made by ``families.parts``: it has the same inputs and
            attrs, and some of the outputs of ``compute``; temporaries may be among both. None for
            an op itself.
        served: the variants of the op that a part serves, by their index; None for all of them.
        columns: the outputs of a part that are sums over all axes which its reductions keep.
        stepwise: the steps of which loops are passes (``graph.step_loops``): ``axes``, those over
            axes of tensors; ``counts``, those over numbers, too; empty for none.
        loop: of a part: the loop that it is a pass of, counted in the order of the graph.
        alike: whether a part takes the slabs that it writes for equally large; its tiling asks that
            of each call.
        written: the gradients that ``<Op>Grad`` computes by formulas of the spec, input -> Code
            over the same names as in ``backward``; empty where it differentiates ``compute``.
        save: the outputs that forward keeps for ``<Op>Grad`` beside the inputs.
        deterministic: the same inputs give the same bits in every call. Without it cores may add to
            what they share in any order.
        hf32: products on the cube round float32 operands to HF32, which has 11 bits of mantissa.
        choose_saved: the kit chooses them (``families.saving``); ``save`` is empty until then.
        differentiated: ``compute`` is the formula of a forward op (key ``gradient_of``). The op
            gives its gradients, ``grad_<input>``, from the inputs and ``grad_<output>``.
        schedule: what host tiling is asked for; the first entry whose condition holds counts.
        open_schedule: the tiling reads what it is asked for from the environment, so that the tuner
            compiles it once for all that it tries. Projects never have such a tiling.
    """

    op: str
    name: str
    doc: str
    inputs: tuple[TensorParam, ...]
    outputs: tuple[TensorParam, ...]
    attrs: tuple[Attr, ...]
    compute: Code | None
    kernel: str | None
    tiling: str | None
    backward: str | dict[str, Code]
    cases: tuple[Case, ...]
    tolerance: dict[str, Tolerance]
    soc: tuple[str, ...]
    path: str = field(default="", compare=False)
    source: str = field(default="", compare=False)
    whole: OpSpec | None = None
    served: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()
    stepwise: str = ""
    loop: int | None = None
    alike: bool = False
    differentiated: bool = False
    written: dict[str, Code] = field(default_factory=dict)
    save: tuple[str, ...] = ()
    choose_saved: bool = False
    deterministic: bool = True
    hf32: bool = False
    schedule: tuple[ScheduleEntry, ...] = ()
    workspace: ShapeList | None = None
    open_schedule: bool = False

    @property
    def combos(self) -> int:
        """Number of dtype combinations."""
        return len(self.inputs[0].dtypes) if self.inputs else len(self.outputs[0].dtypes)

    def chosen_attrs(self, combo: int) -> dict[str, str]:
        """Return the dtype attrs that choose outputs, with their values in a combination."""
        outputs = (self.whole or self).outputs
        return {p.chosen_by: p.dtypes[combo] for p in outputs if p.chosen_by is not None}

    @property
    def default_attrs(self) -> dict[str, Any]:
        """The values of the attrs that a call may leave out."""
        return {a.name: a.default for a in self.attrs if not a.required}

    @property
    def tensors_written(self) -> tuple[TensorParam, ...]:
        """The outputs of the caller, each once if slabs of it are written one by one."""
        found = {p.tensor: p for p in reversed(self.outputs) if p.site is None}
        return tuple(reversed(found.values()))

    @property
    def temporaries(self) -> tuple[TensorParam, ...]:
        """The temporaries that a part reads, then those that it writes."""
        return tuple(p for p in (*self.inputs, *self.outputs) if p.site is not None)

    def param(self, name: str) -> TensorParam:
        """Return the input or output called ``name`` (inputs first)."""
        for p in (*self.inputs, *self.outputs):
            if p.name == name:
                return p
        raise KeyError(name)

    def output_position(self, name: str) -> int:
        """Return the position of an output among those of the op, for a part: of the whole op."""
        tensor = next((p.tensor for p in self.outputs if p.name == name), name)
        return [p.name for p in (self.whole or self).outputs].index(tensor)

    def attr(self, name: str) -> Attr:
        """Return the attr called ``name``."""
        for a in self.attrs:
            if a.name == name:
                return a
        raise KeyError(name)
