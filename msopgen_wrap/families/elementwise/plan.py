"""Plan the elementwise family: pointwise graphs over one broadcast iteration space."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.case_sizes import CaseSizes
from msopgen_wrap.graph.other_traces import traces_with_others
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.graph.sizes import same_size, size_hint
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import allocate
from msopgen_wrap.schedule.kernel_classes import (
    class_name,
    moves_wide,
    needs_slot,
    share_classes,
    slot_order,
    splits_elements,
    uses_select,
)
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.mixed_ranks import prove_mixed_ranks
from msopgen_wrap.schedule.peepholes import divide_directly
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import (
    DIRECT,
    DTYPE_BYTES,
    Program,
    coefficient_blocks,
    eliminate_dead,
    join_group,
    polynomials,
    signature,
)
from msopgen_wrap.schedule.ranks import (
    AxisNames,
    Lowered,
    axis_names,
    other_ranks,
    prove_ranks,
    ranked_input,
)
from msopgen_wrap.schedule.views import Reshaped, Span, StoredShape, View
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.schedule_entries import asked_buffers
from msopgen_wrap.spec.shapes import holds_number
from msopgen_wrap.torch_import import torch

# The last digit of the tiling key.
MODES = {"flat": 0, "broadcast": 1}


@dataclass
class ElementwisePlan(OpPlan[Body]):
    """The plan of an op whose outputs are pointwise functions of its inputs.

    Attributes:
        lists: whether the tensors are lists that are walked together, element by element.
        stretched: whether ``compute`` itself repeats elements (``expand``): an output may be larger
            than its only operand.
    """

    lists: bool = False
    stretched: bool = False

    def broadcasts(self) -> bool:
        """Whether any operand can differ in shape from the output, or lie apart in it."""
        views = self.operands()
        stepped = any(v.steps for v in views.values()) or bool(self.indices())
        stepped |= any(p.slab is not None for p in self.spec.outputs)
        return not self.lists and (len(views) > 1 or stepped or self.stretched)


def plan_pointwise(plan: ElementwisePlan, first: dict[int, TracedGraph]) -> ElementwisePlan:
    """Plan the bodies of every variant and dtype combination.

    Args:
        plan: the plan without bodies.
        first: graphs already traced for combination 0, by variant index.

    Raises:
        OpgenError: the graph cannot be lowered to one walk over one shape.
    """
    spec, variants = plan.spec, plan.variants
    operand_names: dict[View, str] = {}
    stored: list[dict[str, View]] = []
    shapes: list[dict[str, StoredShape]] = []
    indices: dict[str, View] = {}
    narrow: dict[ScalarExpr, None] = {}
    for index in plan.served:
        variant = variants[index]
        groups: list[tuple[Program, dict[str, View], list[int]]] = []
        spans: tuple[Span, ...] = ()
        for combo in range(spec.combos):
            known = first.get(index) if combo == 0 else None
            traced = known or trace(spec, variant, combo)
            if combo == 0:
                _check_structural(spec, traced)
                lower = functools.partial(_lowered, spec)
                others = other_ranks(spec, traced)
                ends = axis_names(traced, others, lower, ranked=ranked_input(spec, traced))
            lowerer = Lowerer(
                spec,
                traced,
                combo,
                operand_names=operand_names,
                scalar_names=plan.scalar_names,
                axis_names=ends,
                splits=not plan.lists,
            )
            program = eliminate_dead(divide_directly(lowerer.run()))
            if combo == 0:
                _check_one_shape(spec, traced, lowerer)
                prove_ranks(spec, traced, others, lower, ends)
                prove_mixed_ranks(spec, traced, lower, ends)
                # an output has its shape from the caller, a temporary from what the pass reads
                spans = lowerer.spans() if any(p.site is not None for p in spec.outputs) else ()
            stored.append(lowerer.output_views)
            shapes.append(lowerer.stored_shapes)
            plan.stretched |= lowerer.stretches
            operands = lowerer.loaded(program)
            indices.update(lowerer.indices)
            narrow.update(lowerer.narrow)
            join_group(groups, program, operands, combo)
        for program, operands, combos in groups:
            body = _body(spec, plan, index, program, operands, combos, len(groups))
            plan.bodies.append(replace(body, spans=spans))
    if any(v != stored[0] for v in stored) or any(s != shapes[0] for s in shapes):
        raise OpgenError(_other_layout(spec))
    for body in plan.bodies:
        body.output_views, body.stored_shapes = stored[0], shapes[0]
        used = [i.mode for i in body.program.insts if i.op == "Index"]
        body.indices = {name: indices[name] for name in dict.fromkeys(used)}
    plan.narrow = list(narrow)
    share_classes(spec, variants, plan.bodies)
    return plan


def _lowered(spec: OpSpec, traced: TracedGraph, names: AxisNames) -> Lowered:
    lowerer = Lowerer(spec, traced, 0, axis_names=names, splits=True)
    program = eliminate_dead(divide_directly(lowerer.run()))
    views = {**lowerer.operands, **lowerer.indices}
    spans = (*lowerer.spans(), *lowerer.stored_spans())
    return Lowered(program, views, spans, stored=lowerer.stored_steps())


def _check_one_shape(spec: OpSpec, traced: TracedGraph, lowerer: Lowerer) -> None:
    """Raise OPG338 when outputs may have different sizes: the kernel has one space."""
    shapes = {}
    cases = CaseSizes(spec, traced)
    slabs = {p.name for p in spec.outputs if p.slab is not None}
    for param in spec.outputs:
        node = traced.outputs[param.name]
        value = lowerer.values.get(node) if isinstance(node, torch.fx.Node) else None
        node = value.value if isinstance(value, Reshaped) else node
        if isinstance(node, torch.fx.Node):
            sizes = [getattr(n, "node", n) for n in node.meta["val"].shape]
            shapes[param.name] = list(itertools.dropwhile(lambda n: size_hint(n) == 1, sizes))
    names = list(shapes)
    for name in names[1:]:
        first, second = shapes[names[0]], shapes[name]
        same = len(first) == len(second) and all(map(same_size, first, second))
        same &= not any(map(cases.differ, first, second))
        if {names[0], name} <= slabs:  # of one size, or of one in the calls that the pass is for
            same = [*map(size_hint, first)] == [*map(size_hint, second)]
        if not same:
            raise OpgenError(
                Diagnostic(
                    "OPG338",
                    f"outputs {names[0]!r} and {name!r} have different shapes",
                    next(p.location for p in spec.outputs if p.name == name),
                    "a pass of a generated kernel works through one shape and writes every output "
                    "in it",
                    "make an op of each output, or write the kernel with `kernel:`",
                )
            )


def _other_layout(spec: OpSpec) -> Diagnostic:
    return Diagnostic(
        "OPG337",
        f"the variants of {spec.op} reshape their results differently",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        "all kernels of an op share one tiling function, which knows one shape to write in",
        "reshape alike in every branch, or split the op",
    )


def _check_structural(spec: OpSpec, traced: TracedGraph) -> None:
    """Prove that attrs without a closed set of values, which shaped the graph, leave the kernel.

    So it is in the gradient of a reduction: what arrives is broadcast over the axes of the attr.

    Raises:
        OpgenError: OPG202.
    """
    # those that count something are back in the graph
    counts = count_attrs(spec)
    names = [n for n in traced.structural if spec.attr(n).type != "str" and n not in counts]
    own = _form(spec, traced) if names else None
    for name in names:
        others = traces_with_others(spec, traced, name)
        if any(_form(spec, other) != own for _, other in others):
            raise OpgenError(_structural(spec, name))


def _form(spec: OpSpec, traced: TracedGraph) -> object:
    """Return what is equal for graphs that have the same kernel and tiling."""
    lowerer = Lowerer(spec, traced, 0, splits=True)
    program = eliminate_dead(divide_directly(lowerer.run()))
    views = {**lowerer.loaded(program), **lowerer.indices, **lowerer.output_views}
    return signature(program), views, lowerer.stored_shapes, lowerer.spans()


def _structural(spec: OpSpec, name: str) -> Diagnostic:
    attr = spec.attr(name)
    return Diagnostic(
        "OPG202",
        f"attr {attr.name!r} shapes the graph of an elementwise op",
        attr.location,
        "its value is used as a dimension, a length or a branch, which tiling data cannot be",
        "give it `allowed:` values, or `min: 1` where it counts something",
    )


def _body(
    spec: OpSpec,
    plan: ElementwisePlan,
    index: int,
    program: Program,
    operands: dict[str, View],
    combos: list[int],
    groups: int,
) -> Body:
    mergeable = {
        p.name: [
            name for name, view in operands.items() if spec.param(view.tensor).dtypes == p.dtypes
        ]
        for p in spec.outputs
    }
    # what is filled once stays as it is
    pinned = any(is_number(spec, view.tensor) for view in operands.values())
    placement = allocate(program, mergeable, pinned=pinned)
    body = Body(
        class_name(spec, plan.variants, index, combos, groups),
        index,
        tuple(combos),
        program,
        placement,
        operands,
        len(spec.outputs),
        asked_buffers=asked_buffers(spec.schedule),
    )
    mixed = [c for c in combos if "int64" in _dtypes(spec, body, c)]
    if splits_elements(spec, body) and not all(moves_wide(spec, body, c) for c in mixed):
        raise OpgenError(_some_converted(spec))
    for combo in combos:
        for mode in MODES:
            body.budgets[combo, mode] = budget(spec, body, combo, mode, keeps_coefficients=True)
    return body


def _dtypes(spec: OpSpec, body: Body, combo: int) -> set[str]:
    read = [spec.param(view.tensor) for view in body.operands.values()]
    return {p.dtypes[combo] for p in (*read, *spec.outputs)}


def _some_converted(spec: OpSpec) -> Diagnostic:
    return Diagnostic(
        "OPG332",
        f"{spec.op} copies int64 in some dtype combinations and converts it in others",
        spec.outputs[0].location,
        "a copy moves each element as two of 32 bits, a conversion reads it as one number, and "
        "both have the same kernel class",
        "make two ops of it",
    )


def is_number(spec: OpSpec, tensor: str) -> bool:
    """Whether an input holds one number for all elements of the tensors it is read with.

    That is a single tensor beside lists, or a list of numbers beside lists of tensors.
    """
    lists = any(p.kind is ParamKind.DYNAMIC for p in spec.inputs)
    single = spec.param(tensor).kind is not ParamKind.DYNAMIC
    return (lists and single) or tensor in number_lists(spec)


def number_lists(spec: OpSpec) -> tuple[str, ...]:
    """Return the inputs that hold a number for each tensor of the lists beside them."""
    lists = [p for p in spec.inputs if p.kind is ParamKind.DYNAMIC]
    numbers = tuple(p.name for p in lists if holds_number(p))
    return numbers if len(numbers) < len(lists) else ()


# ---- UB ----------------------------------------------------------------------------------------


def budget(
    spec: OpSpec, body: Body, combo: int, mode: str, *, keeps_coefficients: bool = False
) -> Budget:
    """Return the UB use of a body for a dtype combination and a mode.

    Args:
        keeps_coefficients: whether the kernel keeps the coefficients of polynomials in UB.
    """
    copies = body.buffers_in_flight()
    buffers = []
    small = False
    for name, view in body.operands.items():
        dtype = spec.param(view.tensor).dtypes[combo]
        if is_number(spec, view.tensor):
            buffers.append(Buffer(f"{name}Buf", DTYPE_BYTES[dtype]))
            continue
        small |= DTYPE_BYTES[dtype] == 1
        queue = f"inputTilesQueue: {name}" if body.packs_operands else f"{name}Queue"
        buffers.append(Buffer(queue, DTYPE_BYTES[dtype], copies))
    for param in spec.outputs:
        dtype = param.dtypes[combo]
        small |= DTYPE_BYTES[dtype] == 1
        queue = f"outputTilesQueue: {param.name}" if body.packs_outputs else f"{param.name}Queue"
        buffers.append(Buffer(queue, DTYPE_BYTES[dtype], copies))
    for slot in range(body.placement.words):
        buffers.append(Buffer.scratch(f"tmp{slot}"))
    for role, name in slot_order(spec, body):
        if needs_slot(spec, body, role, name, combo, mode):
            buffers.append(Buffer.scratch(f"{name} (working copy)"))
    if mode == "broadcast" and _stages(spec, body, combo):
        buffers.append(Buffer.scratch("stage"))
    if small:
        buffers.append(Buffer("bytes", 2))
    for slot in range(body.placement.masks):
        buffers.append(Buffer(f"mask{slot}", 0.125))
    blocks = sum(map(coefficient_blocks, polynomials(body.program))) if keeps_coefficients else 0
    if blocks:
        buffers.append(Buffer("coefficients", 0, fixed=32 * blocks))
    return Budget(tuple(buffers), SELECT_RESERVE if uses_select(spec, body, combo) else 0)


def _stages(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether a broadcast operand is converted before it is spread."""
    return any(spec.param(v.tensor).dtypes[combo] not in DIRECT for v in body.operands.values())
