"""Plan the row family: reductions over some axes of an iteration space, pointwise work around them.

The host brings every call to rows and columns: the last collapsed dimension is the columns, the
innermost dimension of the other kind (kept or reduced) the rows. A kernel reduces along the columns
or along the rows (vectorised over the columns). If all reduced elements of
a tile fit, the tile is read once (*resident*); otherwise they stream through in chunks, one pass
per level of reductions and one for the outputs (*streamed*), and when there are fewer rows than
cores the chunks of one row are shared by all cores (*split*: the same passes with an exchange
through the workspace after each).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import (  # noqa: F401  (register the lowerings)
    bessel_functions,
    number_parts,
    pointwise,
    special_functions,
)
from msopgen_wrap.schedule.buffers import Place, Placement, allocate
from msopgen_wrap.schedule.elementwise import MAX_OPERANDS, class_name
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import (
    COMPUTE_KIND,
    DIRECT,
    DTYPE_BYTES,
    F32,
    I32,
    MASK,
    Inst,
    Program,
    Scalar,
    Val,
    eliminate_dead,
    share_common,
    signature,
)
from msopgen_wrap.schedule.ranks import AxisNames, Lowered, axis_names, other_ranks, prove_ranks
from msopgen_wrap.schedule.row_lowering import RowLowerer
from msopgen_wrap.schedule.views import FULL, View
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind

# The last digit of the tiling key.
MODES = {"resident": 0, "streamed": 1}
# A row tile holds this part of the elements of a tile.
ROW_SHARE = 8


@dataclass
class Piece:
    """A part of a program with its placement; renders like a body."""

    program: Program
    placement: Placement
    operands: dict[str, View] = field(default_factory=dict)


@dataclass
class Passes:
    """The streamed form of a program.

    Attributes:
        prologue: row instructions before the first pass (loads of row operands).
        full: per pass the instructions on whole tiles, reductions included; the last entry makes
            the full outputs (it may be empty).
        rows: per reduction pass the row instructions after it.
        late: row instructions of any level that no pass needs, only the stores of row outputs.
        row_places: value id -> row slot.
        row_words, row_masks: numbers of row slots.
        row_stores: stores of row outputs.
    """

    prologue: list[Inst]
    full: list[list[Inst]]
    rows: list[list[Inst]]
    late: list[Inst]
    row_stores: list[Inst]
    row_places: dict[int, Place]
    row_words: int
    row_masks: int


def plan_row(spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]) -> OpPlan:
    """Plan every variant and dtype combination of a graph with reductions."""
    if any(p.kind is ParamKind.DYNAMIC for p in spec.inputs):
        raise OpgenError(
            Diagnostic(
                "OPG313",
                "reductions over tensor lists are not generated",
                spec.inputs[0].location,
                fix="use `kernel:`",
            )
        )
    plan = OpPlan(spec, "row", variants, [], dict(MODES))
    operand_names: dict[View, str] = {}
    scalar_names: dict[Scalar, str] = {}
    rules: list[dict[str, Any]] = []
    for index, variant in enumerate(variants):
        groups: list[tuple[Program, RowLowerer, list[int]]] = []
        for combo in range(spec.combos):
            traced = first.get(index) if combo == 0 and index in first else None
            traced = traced or trace(spec, variant, combo)
            if combo == 0:
                lower = functools.partial(_lowered, spec)
                others = other_ranks(spec, traced)
                ends = axis_names(traced, others, lower)
            program, lowerer = _lower(spec, traced, combo, operand_names, scalar_names, ends)
            _check_general(spec, variant, combo, traced, program, lowerer)
            if combo == 0:
                prove_ranks(spec, traced, others, lower, ends)
            for other, _, combos in groups:
                if signature(other) == signature(program):
                    combos.append(combo)
                    break
            else:
                groups.append((program, lowerer, [combo]))
            rules.append(_axes_rule(spec, traced, lowerer))
        for program, lowerer, combos in groups:
            body = _body(spec, plan, index, program, lowerer, combos, len(groups))
            plan.bodies.append(replace(body, spans=lowerer.spans()))
    if any(rule != rules[0] for rule in rules):
        raise OpgenError(
            Diagnostic(
                "OPG335",
                f"the variants of {spec.op} reduce different axes",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "all kernels of an op share one tiling function",
                "make the axes an attr without `allowed:`, or split the op",
            )
        )
    plan.details.update(scalar_names=scalar_names, axes=rules[0])
    return plan


def _lower(
    spec: OpSpec,
    traced: TracedGraph,
    combo: int,
    operand_names: dict[View, str],
    scalar_names: dict[Scalar, str],
    ends: dict[tuple[str, int], int],
) -> tuple[Program, RowLowerer]:
    lowerer = RowLowerer(
        spec,
        traced,
        combo,
        operand_names=operand_names,
        scalar_names=scalar_names,
        axis_names=ends,
    )
    lowerer.find_axes()
    program = lowerer.run()
    program = eliminate_dead(share_common(assign_extents(spec, program, lowerer)))
    return program, lowerer


def _lowered(spec: OpSpec, traced: TracedGraph, names: AxisNames) -> Lowered:
    program, lowerer = _lower(spec, traced, 0, {}, {}, names)
    rule = _axes_rule(spec, traced, lowerer)

    def axes(rank: int) -> set[int]:
        # an axis before the first one is no axis: negative
        return set(range(rank)) if "all" in rule else {a + rank for a in rule["axes"]}

    reduced, rank = lowerer.reduced, lowerer.rank
    by_rank = None if "attr" in rule else axes
    return Lowered(program, lowerer.operands, lowerer.spans(), by_rank, rank, reduced)


def _axes_rule(spec: OpSpec, traced: TracedGraph, lowerer: RowLowerer) -> dict[str, Any]:
    """How the host finds the reduced axes: an attr, all of them, or fixed ones from the end."""
    counts = count_attrs(spec)
    structural = [
        n for n in traced.structural if spec.attr(n).type in ("int", "list_int") and n not in counts
    ]
    dims = [n for n in structural if _is_dim(spec, traced, n, lowerer)]
    if dims:
        return {"attr": dims[0]}
    if len(lowerer.reduced) == lowerer.rank and lowerer.rank > 1:
        return {"all": True}
    return {"axes": tuple(sorted(a - lowerer.rank for a in lowerer.reduced))}


def _is_dim(spec: OpSpec, traced: TracedGraph, name: str, lowerer: RowLowerer) -> bool:
    value = traced.structural[name]
    values = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(v, int) and -lowerer.rank <= v < max(1, lowerer.rank) for v in values):
        return False
    chosen = {int(v) % lowerer.rank for v in values} if values else set(range(lowerer.rank))
    return chosen == set(lowerer.reduced)


def _check_general(
    spec: OpSpec,
    variant: Variant,
    combo: int,
    traced: TracedGraph,
    program: Program,
    first: RowLowerer,
) -> None:
    """Prove that other values of a dim attr give the same program."""
    counts = count_attrs(spec)
    rule = _axes_rule(spec, traced, first)
    for name in traced.structural if combo == 0 else ():
        attr = spec.attr(name)
        for value in [] if name in counts else _other_values(attr, traced):
            try:
                again = trace(spec, variant, combo, {name: value})
                lowerer = RowLowerer(spec, again, combo, axis_names=first.axis_names)
                lowerer.find_axes()
            except OpgenError as error:
                if any(d.code == "OPG201" for d in error.diagnostics):
                    continue  # no axis of the sample
                raise
            second = lowerer.run()
            second = eliminate_dead(share_common(assign_extents(spec, second, lowerer)))
            same_axes = _axes_rule(spec, again, lowerer) == rule
            if not same_axes or signature(second) != signature(program):
                raise OpgenError(
                    Diagnostic(
                        "OPG202",
                        f"attr {name!r} changes what compute does beyond the axes it reduces",
                        attr.location,
                        "the kernel is generated once and must serve every value",
                        "give it `allowed:` values, or use it only as `dim`",
                    )
                )


def _other_values(attr: Attr, traced: TracedGraph) -> list[Any]:
    """Other axes than the sample's, and values around what the code compares the attr with."""
    known = traced.structural[attr.name]
    if attr.type == "list_int":
        return [v for v in ([0], [-1], [0, 1]) if v != list(known)]
    values = [0, -1]
    for number in sorted(traced.numbers.get(attr.name, ())):
        values += [int(number) - 1, int(number), int(number) + 1]
    return [
        v
        for v in dict.fromkeys(values)
        if v != known
        and (attr.minimum is None or v >= attr.minimum)
        and (attr.maximum is None or v <= attr.maximum)
    ]


# ---- extents -----------------------------------------------------------------------------------


def assign_extents(spec: OpSpec, program: Program, lowerer: RowLowerer) -> Program:
    """Mark row values as such and insert ``Expand`` where a full instruction reads one.

    Constants (``Fill``) take the extent of their reader.
    """
    result = Program([], dict(program.scalars), program._next)
    at: dict[tuple[int, str], Val] = {}
    source: dict[int, Inst] = {}
    natural: dict[int, str] = {}

    def expand(value: Val) -> Val:
        if value.kind == MASK:
            one = result.emit("Fill", F32, Scalar(Const(1.0)), extent="row")
            number = result.emit("Selects", F32, value, one, Scalar(Const(0.0)), extent="row")
            wide = expand(number)
            zero = result.emit("Compares", MASK, wide, Scalar(Const(0.0)), mode="EQ", extent="full")
            return result.emit("MaskNot", MASK, zero, extent="full")
        stage = result.value(F32)
        dst = result.value(value.kind)
        result.insts.append(Inst("Expand", dst, (value,), "", (stage,), "to every element"))
        return dst

    def get(value: Val, extent: str) -> Val:
        key = (value.id, extent)
        if key in at:
            return at[key]
        inst = source[value.id]
        if inst.op == "Fill":
            at[key] = result.emit("Fill", value.kind, *inst.args, note=inst.note, extent=extent)
        elif extent == "full":
            at[key] = expand(at[value.id, "row"])
        else:
            raise AssertionError("a full value is read as a row")
        return at[key]

    outputs = {p.name: p for p in spec.outputs}
    for inst in program.insts:
        if inst.dst is not None:
            source[inst.dst.id] = inst
        values = [a for a in inst.args if isinstance(a, Val)]
        if inst.op == "Store":
            value = values[0]
            full = natural.get(value.id) != "row"
            if source[value.id].op == "Fill":
                full = _output_is_full(lowerer, outputs[inst.mode].name)
            elif not full and _output_is_full(lowerer, inst.mode):
                full = True
            stored = get(value, "full" if full else "row")
            result.insts.append(replace(inst, args=(stored,)))
            continue
        assert inst.dst is not None
        if inst.op == "Fill":
            continue
        if inst.op == "Load":
            extent = "row" if inst.dst.id in lowerer.row_loads else "full"
        elif inst.op == "Position":
            extent = "full"
        elif inst.op == "Reduce":
            extent = "row"
        else:
            kinds = {natural[v.id] for v in values if v.id in natural}
            extent = "row" if kinds == {"row"} else "full"
        natural[inst.dst.id] = extent
        read = "full" if inst.op == "Reduce" else extent
        args = tuple(get(a, read) if isinstance(a, Val) else a for a in inst.args)
        dst = result.value(inst.dst.kind, extent)
        temps = tuple(
            result.value(t.kind, "full" if inst.op == "Reduce" else extent) for t in inst.temps
        )
        result.insts.append(replace(inst, dst=dst, args=args, temps=temps))
        at[inst.dst.id, extent] = dst
    return result


def _output_is_full(lowerer: RowLowerer, name: str) -> bool:
    node = lowerer.traced.outputs[name]
    axes = lowerer.axes.get(node, ())
    return any(a in lowerer.reduced for a in axes if a is not None)


# ---- passes ------------------------------------------------------------------------------------


def split_passes(program: Program) -> Passes:
    """Cut a program into passes over the reduced elements."""
    level: dict[int, int] = {}
    defined: dict[int, Inst] = {}
    for inst in program.insts:
        if inst.dst is None:
            continue
        own = max((level[a.id] for a in inst.args if isinstance(a, Val)), default=0)
        level[inst.dst.id] = own + 1 if inst.op == "Reduce" else own
        defined[inst.dst.id] = inst
    levels = max((level[i.dst.id] for i in program.insts if i.op == "Reduce" and i.dst), default=0)
    full: list[list[Inst]] = []
    for step in range(1, levels + 1):
        roots = [i for i in program.insts if i.op == "Reduce" and i.dst and level[i.dst.id] == step]
        full.append(_slice(program, defined, roots))
    final = [s for s in program.stores if _value(s).extent == "full"]
    row_stores = [s for s in program.stores if _value(s).extent == "row"]
    full.append(_slice(program, defined, final))
    row_insts = [
        i for i in program.insts if i.dst is not None and i.dst.extent == "row" and i.op != "Reduce"
    ]
    late = _late(row_insts, full)
    # level 0 comes before the first pass, the others each after one
    rows: list[list[Inst]] = [[] for _ in range(levels + 1)]
    for inst in row_insts:
        if inst not in late:
            assert inst.dst is not None
            rows[level[inst.dst.id]].append(inst)
    prologue, *rows = rows
    places, words, masks = _row_places(prologue, full, rows, late, row_stores)
    return Passes(prologue, full, rows, late, row_stores, places, words, masks)


def _late(row_insts: list[Inst], passes: list[list[Inst]]) -> list[Inst]:
    """Return the row instructions whose results no pass needs.

    When all cores share an item, only the core that stores its rows executes them: the others
    would compute what nobody reads.
    """
    needed = {a.id for group in passes for i in group for a in i.args if isinstance(a, Val)}
    late = []
    for inst in reversed(row_insts):
        assert inst.dst is not None
        if inst.dst.id in needed:
            needed.update(a.id for a in inst.args if isinstance(a, Val))
        else:
            late.append(inst)
    return late[::-1]


def _value(store: Inst) -> Val:
    value = store.args[0]
    assert isinstance(value, Val)
    return value


def _slice(program: Program, defined: dict[int, Inst], roots: list[Inst]) -> list[Inst]:
    """The full instructions that the roots need, and the roots."""
    wanted: set[int] = set()
    pending = [a for r in roots for a in r.args if isinstance(a, Val)]
    while pending:
        value = pending.pop()
        if value.extent == "row" or value.id in wanted:
            continue
        wanted.add(value.id)
        pending += [a for a in defined[value.id].args if isinstance(a, Val)]
    chosen = {id(r) for r in roots}
    return [
        i for i in program.insts if id(i) in chosen or (i.dst is not None and i.dst.id in wanted)
    ]


def _row_places(
    prologue: list[Inst],
    full: list[list[Inst]],
    rows: list[list[Inst]],
    late: list[Inst],
    stores: list[Inst],
) -> tuple[dict[int, Place], int, int]:
    """Give row values slots by linear scan over the order of execution."""
    order: list[list[Inst]] = [[i] for i in prologue]
    for index, slice_ in enumerate(full):
        order.append(slice_)
        if index < len(rows):
            order += [[i] for i in rows[index]]
    order += [[i] for i in late]
    order.append(stores)
    last: dict[int, int] = {}
    for position, group in enumerate(order):
        for inst in group:
            for value in (*inst.args, inst.dst, *inst.temps):
                if isinstance(value, Val) and value.extent == "row":
                    last[value.id] = position
    places: dict[int, Place] = {}
    free: dict[str, list[Place]] = {"row": [], "rowmask": []}
    count = {"row": 0, "rowmask": 0}
    for position, group in enumerate(order):
        for inst in group:
            for value in (inst.dst, *inst.temps):
                if value is None or value.extent != "row" or value.id in places:
                    continue
                role = "rowmask" if value.kind == MASK else "row"
                if free[role]:
                    places[value.id] = free[role].pop()
                else:
                    name = "rowMask" if role == "rowmask" else "row"
                    places[value.id] = Place(role, f"{name}{count[role]}")
                    count[role] += 1
        for value_id in [v for v, p in last.items() if p == position and v in places]:
            place = places[value_id]
            free[place.role].append(place)
    return places, count["row"], count["rowmask"]


def resident_order(program: Program, passes: Passes) -> Program:
    """The whole program in pass order, every instruction once."""
    seen: set[int] = set()
    insts: list[Inst] = []

    def add(group: list[Inst]) -> None:
        for inst in group:
            if id(inst) not in seen:
                seen.add(id(inst))
                insts.append(inst)

    add(passes.prologue)
    for index, group in enumerate(passes.full):
        add([i for i in group if i.op != "Store"])
        if index < len(passes.rows):
            add(passes.rows[index])
    add(passes.late)
    add([i for i in program.insts if i.op == "Store"])
    return Program(insts, dict(program.scalars), program._next)


# ---- bodies and UB -----------------------------------------------------------------------------


def _body(
    spec: OpSpec,
    plan: OpPlan,
    index: int,
    program: Program,
    lowerer: RowLowerer,
    combos: list[int],
    groups: int,
) -> Body:
    order = [p.name for p in spec.inputs]
    names = sorted(
        dict.fromkeys(i.mode for i in program.loads),
        key=lambda n: order.index(lowerer.operands[n].tensor),
    )
    operands = {name: lowerer.operands[name] for name in names}
    # one event id stays free for the exchange between cores
    most = MAX_OPERANDS - 1
    if len(operands) > most:
        raise OpgenError(
            Diagnostic(
                "OPG311",
                f"{spec.op} reads {len(operands)} tensors at once; a kernel with reductions has "
                f"{most} input queues",
                spec.inputs[most].location if len(spec.inputs) > most else spec.inputs[0].location,
                "each queue needs its own event id, and the exchange between cores one: there are "
                "8 per pipe pair; an input that is read in two ways counts twice",
                "split the op, or write the kernel with `kernel:`",
            )
        )
    passes = split_passes(program)
    mergeable: dict[str, list[str]] = {}
    whole = resident_order(program, passes)
    placement = allocate(whole, mergeable, passes.row_places)
    pieces = []
    for group in passes.full:
        part = Program(group, dict(program.scalars), program._next)
        pieces.append(
            Piece(
                part,
                allocate(part, mergeable, passes.row_places),
                {i.mode: operands[i.mode] for i in part.loads},
            )
        )
    words = max([placement.words, *(p.placement.words for p in pieces)])
    masks = max([placement.masks, *(p.placement.masks for p in pieces)])
    placement.words, placement.masks = words, masks
    row_operands = [i.mode for i in program.loads if i.dst is not None and i.dst.extent == "row"]
    row_outputs = [s.mode for s in passes.row_stores]
    body = Body(
        class_name(spec, plan.variants, index, combos, groups),
        index,
        tuple(combos),
        whole,
        placement,
        operands,
        len(spec.outputs),
    )
    body.details.update(
        passes=passes,
        pieces=pieces,
        row_operands=row_operands,
        row_outputs=row_outputs,
    )
    for combo in combos:
        body.budgets[combo, "row"] = row_budget(spec, body, combo)
    return body


def row_budget(spec: OpSpec, body: Body, combo: int) -> Budget:
    """Return the UB use of a row body; the same buffers serve every mode."""
    copies = body.buffers_in_flight()
    passes: Passes = body.details["passes"]
    share = 1 / ROW_SHARE
    buffers = []
    small = False
    for name, view in body.operands.items():
        dtype = spec.param(view.tensor).dtypes[combo]
        small |= DTYPE_BYTES[dtype] == 1
        row = view.extent != FULL
        buffers.append(Buffer(f"{name}Queue", DTYPE_BYTES[dtype], 1 if row else copies))
        if COMPUTE_KIND[dtype] != MASK and not row:
            buffers.append(Buffer(f"{name} (working copy)", 4))
    for param in spec.outputs:
        dtype = param.dtypes[combo]
        small |= DTYPE_BYTES[dtype] == 1
        size = DTYPE_BYTES[dtype] * (share if param.name in body.details["row_outputs"] else 1)
        buffers.append(Buffer(f"{param.name}Queue", size, copies))
        if param.name not in body.details["row_outputs"] and dtype not in DIRECT:
            buffers.append(Buffer(f"{param.name} (working copy)", 4))
    for slot in range(body.placement.words):
        buffers.append(Buffer(f"tmp{slot}", 4))
    buffers.append(Buffer("stage", 4))
    if small:
        buffers.append(Buffer("bytes", 2))
    for slot in range(body.placement.masks):
        buffers.append(Buffer(f"mask{slot}", 0.125))
    # one more row slot takes the partial result of a chunk
    for slot in range(passes.row_words + 1):
        buffers.append(Buffer(f"row{slot}", 4 * share))
    for slot in range(passes.row_masks):
        buffers.append(Buffer(f"rowMask{slot}", 0.125 * share))
    reserved = SELECT_RESERVE if body.program.uses_masks else 0
    return Budget(tuple(buffers), reserved)


__all__ = ["I32", "MODES", "Passes", "Piece", "plan_row"]
