"""Plan the attention family: softmax between two products, on cube and vector cores together.

A group of a cube core and its two vector cores takes blocks of rows. The cube multiplies queries by
the keys of a step, the vector cores bring the scores to probabilities, the cube multiplies these by
values, and the vector cores add that up; steps overlap. What the cores hand to each other lies in
two slots of workspace per group, small enough to stay in L2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.attention.reading import AttentionReader
from msopgen_wrap.families.attention.scores import (
    ADD,
    ADD_WHERE,
    FILL,
    FILL_ABOVE,
    ONE,
    Attention,
    ScoreStep,
)
from msopgen_wrap.families.family import Family
from msopgen_wrap.graph.scalars import Const, ScalarExpr
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.cube import (
    COPIES,
    FLOAT_RESULTS,
    FRACTAL_BYTES,
    CubeBlock,
    CubeBody,
    check_cube_cores,
    cube_memories,
)
from msopgen_wrap.schedule.kernel_classes import class_name
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, F32, I32, Program, Scalar
from msopgen_wrap.schedule.ranks import AxisNames, Lowered, axis_names, other_ranks, prove_ranks
from msopgen_wrap.schedule.views import View
from msopgen_wrap.spec.model import OpSpec

# The only mode, and the last digit of its tiling key.
MODES = {"attention": 0}
# Products of a step: scores and sums. They share L1 and L0C.
_PRODUCTS = 2
# Rows of a vector core at most, half of a block.
_MOST_ROWS = 64
# Numbers per row: of two blocks the largest score and the sum, of two steps a factor, scratch.
_STATISTICS = 7


@dataclass(frozen=True)
class AttentionBlocks(CubeBlock):
    """The largest base block of both products."""

    def used(self) -> dict[str, int]:
        """Return the bytes of every memory of a cube core."""
        used = super().used()
        return {**used, "L1": _PRODUCTS * used["L1"], "L0C": _PRODUCTS * used["L0C"]}


@dataclass
class AttentionBody(CubeBody):
    """One kernel class: the attention of a variant.

    Attributes:
        attention: the attention.
        numbers: field of the tiling struct -> number, of its steps.
    """

    attention: Attention = field(default_factory=Attention)


@dataclass
class AttentionPlan(OpPlan[AttentionBody]):
    """The plan of an op that is one attention.

    Attributes:
        numbers: what TilingFunc computes for the steps, by the field of the tiling struct.
    """

    numbers: dict[str, Scalar] = field(default_factory=dict)

    def number(self, step: ScoreStep) -> str:
        """Return the field that has the number of a step."""
        return self._field(Scalar(step.number, F32))

    def diagonal(self, step: ScoreStep) -> str:
        """Return the field that has the diagonal of a step."""
        return self._field(Scalar(step.diagonal, I32))

    def _field(self, scalar: Scalar) -> str:
        return next(name for name, known in self.numbers.items() if known == scalar)

    def masks(self) -> dict[str, int]:
        """Return the operands that change scores, with the position of their walk."""
        names: dict[str, None] = {}
        for body in self.bodies:
            names.update(dict.fromkeys(body.attention.masks.values()))
        return {name: i for i, name in enumerate(names)}


def plan_attention(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> AttentionPlan:
    """Plan the attention of every variant and dtype combination.

    Raises:
        OpgenError: OPG420 where the graph is more than one attention, OPG422 for dtypes that the
            cube does not multiply, OPG423 for a SoC without cube cores.
    """
    check_cube_cores(
        spec,
        "OPG423",
        "is an attention",
        "generated attentions run on cube and vector cores of arch 2201 together",
    )
    plan = AttentionPlan(spec, family, variants, [], dict(MODES))
    memories = cube_memories(spec.soc)
    names: dict[View, str] = {}
    for index in plan.served:
        traced = first.get(index) or trace(spec, variants[index])
        reader = _read(spec, traced, names)
        combos = list(range(spec.combos))
        body = AttentionBody(
            class_name(spec, variants, index, combos, 1),
            index,
            tuple(combos),
            Program(),
            Placement(),
            dict(reader.operands),
            attention=reader.attention,
        )
        body.output_views = {p.output: p.view for p in reader.products if p.view is not None}
        for combo in combos:
            dtype = _dtype(spec, reader, combo)
            body.blocks[combo] = _block(dtype, memories)
            body.budgets[combo, "attention"] = _budget(spec, body, combo, dtype)
        plan.bodies.append(body)
    _check_variants(spec, plan)
    for body in plan.bodies:
        _name_numbers(plan, body.attention.steps)
    return plan


def _read(spec: OpSpec, traced: TracedGraph, names: dict[View, str]) -> AttentionReader:
    """Read the attention of a graph, and see that graphs of other ranks have the same one."""
    others = other_ranks(spec, traced)

    def read(graph: TracedGraph, ends: AxisNames, known: dict[View, str]) -> AttentionReader:
        reader = AttentionReader(spec, graph, 0, operand_names=known, axis_names=ends)
        reader.read_attention()
        return reader

    def lower(graph: TracedGraph, ends: AxisNames) -> Lowered:
        return Lowered(Program(), read(graph, ends, {}).operands)

    ends = axis_names(traced, others, lower)
    prove_ranks(spec, traced, others, lower, ends)
    own = read(traced, ends, {})
    for other in others:
        there = read(other, ends.unnamed(), {})
        if _form(there) != _form(own):
            raise OpgenError(_other(spec, "at other ranks of its inputs"))
    return read(traced, ends, names)


def _form(reader: AttentionReader) -> object:
    """Return what tells attentions apart besides their operands and numbers."""
    attention = reader.attention
    steps = [(s.kind, s.where, isinstance(s.number, Const) and s.number) for s in attention.steps]
    return attention.masks, steps, attention.safe, attention.joined


def _other(spec: OpSpec, where: str) -> Diagnostic:
    return Diagnostic(
        "OPG420",
        f"the attention of {spec.op} is another one {where}",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        "one kernel serves all ranks, and one tiling function all variants",
        "fix the rank of the inputs with `rank:`, or split the op",
    )


def _check_variants(spec: OpSpec, plan: AttentionPlan) -> None:
    """Refuse variants that differ in more than what happens to the scores."""

    def shared(body: AttentionBody) -> object:
        own = body.attention
        operands = [body.operands[name] for name in (own.query, own.key, own.value)]
        return operands, own.repeats, own.joined, body.output_views

    if any(shared(body) != shared(plan.bodies[0]) for body in plan.bodies):
        raise OpgenError(_other(spec, "in other variants"))


def _name_numbers(plan: AttentionPlan, steps: Iterable[ScoreStep]) -> None:
    """Give the numbers of steps fields of the tiling struct."""
    stems = {FILL: "filled", FILL_ABOVE: "filled", ADD_WHERE: "added", ADD: "weight"}
    for step in steps:
        wanted = [(stems.get(step.kind, "scale"), Scalar(step.number, F32))]
        if step.kind == FILL_ABOVE:
            wanted.append(("diagonal", Scalar(step.diagonal, I32)))
        for stem, scalar in wanted:
            if scalar in plan.numbers.values() or literal(scalar.expr):
                continue
            same = sum(name.rstrip("0123456789") == stem for name in plan.numbers)
            plan.numbers[stem if not same else f"{stem}{same + 1}"] = scalar


def infinite(number: ScalarExpr) -> bool:
    """Whether a number is an infinity."""
    return isinstance(number, Const) and number.value in (float("inf"), float("-inf"))


def literal(number: ScalarExpr) -> bool:
    """Whether the kernel writes a number itself: an infinity, or 1."""
    return infinite(number) or number == ONE


def _dtype(spec: OpSpec, reader: AttentionReader, combo: int) -> str:
    """Return the dtype of queries, keys and values; the result has it, too, or is float32.

    Raises:
        OpgenError: OPG420 where floats differ (they go through the workspace), else OPG422.
    """
    own = reader.attention
    names = [reader.operands[n].tensor for n in (own.query, own.key, own.value)]
    dtypes = [spec.param(name).dtypes[combo] for name in names]
    result = spec.outputs[0].dtypes[combo]
    masks = {spec.param(reader.operands[n].tensor).dtypes[combo] for n in own.masks.values()}
    same = len(set(dtypes)) == 1 and dtypes[0] in FLOAT_RESULTS
    if same and result in FLOAT_RESULTS[dtypes[0]] and masks <= {*FLOAT_RESULTS, "bool"}:
        return dtypes[0]
    dtypes.append(result)
    known = {*dtypes} <= set(FLOAT_RESULTS)
    raise OpgenError(
        Diagnostic(
            "OPG420" if known else "OPG422",
            f"{spec.op} is an attention of {', '.join(dict.fromkeys((*dtypes, *masks)))}",
            spec.compute.location if spec.compute else spec.outputs[0].location,
            "the cube multiplies matrices of one floating dtype; the result has it, too, or is "
            "float32; masks are bool or floating",
            "give queries, keys, values and result one of float16, bfloat16 and float32",
        )
    )


def _block(dtype: str, memories: dict[str, int]) -> AttentionBlocks:
    """Return the largest base block of both products: each has half of L0C and of L1."""
    size = DTYPE_BYTES[dtype]
    side = 128
    while _PRODUCTS * side * side * 4 > memories["L0C"]:
        side //= 2
    unit = FRACTAL_BYTES // size
    room = min(memories["L0A"], memories["L0B"]) // (COPIES * side * size)
    k = room // unit * unit
    depth = memories["L1"] // (_PRODUCTS * COPIES * 2 * side * k * size)
    return AttentionBlocks(side, side, k, 1 << (depth.bit_length() - 1), size)


def _budget(spec: OpSpec, body: AttentionBody, combo: int, dtype: str) -> Budget:
    """Return what vector cores hold in UB, per score and for the rows."""
    size = DTYPE_BYTES[dtype]
    masks = {
        name: spec.param(body.operands[name].tensor).dtypes[combo]
        for name in body.attention.masks.values()
    }
    buffers = [
        Buffer("inQueue", 4, copies=2),
        Buffer("outQueue", max(size, DTYPE_BYTES[spec.outputs[0].dtypes[combo]]), copies=2),
        Buffer("scratch", 4),
        *(Buffer(f"{name}Queue", DTYPE_BYTES[d], copies=2) for name, d in masks.items()),
        Buffer("statistics", 0, fixed=_STATISTICS * 4 * _MOST_ROWS),
        Buffer("blocks", 0, fixed=32 * _MOST_ROWS),
    ]
    if masks:
        buffers.append(Buffer("wide", 4, fixed=512))
    if "bool" in masks.values():
        buffers.append(Buffer("mask", 0.125, fixed=32))
    return Budget(tuple(buffers), SELECT_RESERVE if "bool" in masks.values() else 0)
