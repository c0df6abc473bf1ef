"""Plan the elementwise family: pointwise graphs over one broadcast iteration space."""

from __future__ import annotations

import functools
import itertools

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import (  # noqa: F401  (register the lowerings)
    bessel_functions,
    number_parts,
    pointwise,
    special_functions,
)
from msopgen_wrap.schedule.buffers import Placement, allocate
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import (
    DIRECT,
    DTYPE_BYTES,
    MASK,
    Program,
    Scalar,
    Val,
    signature,
)
from msopgen_wrap.schedule.ranks import AxisNames, Lowered, axis_names, other_ranks, prove_ranks
from msopgen_wrap.schedule.views import Reshaped, View
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.names import camel_case
from msopgen_wrap.torch_ext.torch_import import torch

# The last digit of the tiling key.
MODES = {"flat": 0, "broadcast": 1}
MAX_OPERANDS = 8


def plan_elementwise(
    spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph] | None = None
) -> OpPlan:
    """Plan every variant and dtype combination.

    Args:
        spec: the op.
        variants: its variants.
        first: graphs already traced for combination 0, by variant index.
    """
    family = "foreach" if any(p.kind is ParamKind.DYNAMIC for p in spec.inputs) else "elementwise"
    if family == "foreach":
        _check_lists(spec)
    plan = OpPlan(spec, family, variants, [], dict(MODES))
    operand_names: dict[View, str] = {}
    scalar_names: dict[Scalar, str] = {}
    stored: list[dict[str, View]] = []
    for index, variant in enumerate(variants):
        traced_by: dict[tuple[str, ...], TracedGraph] = {}
        groups: list[tuple[Program, dict[str, View], list[int]]] = []
        for combo in range(spec.combos):
            traced = _traced(spec, variant, combo, traced_by, (first or {}).get(index))
            if combo == 0:
                lower = functools.partial(_lowered, spec)
                others = other_ranks(spec, traced)
                ends = axis_names(traced, others, lower)
                prove_ranks(spec, traced, others, lower, ends)
            lowerer = Lowerer(
                spec,
                traced,
                combo,
                operand_names=operand_names,
                scalar_names=scalar_names,
                axis_names=ends,
            )
            program = lowerer.run()
            if combo == 0:
                _check_one_shape(spec, traced, lowerer)
            stored.append(lowerer.output_views)
            plan.stretched |= lowerer.stretches
            order = [p.name for p in spec.inputs]
            names = sorted(
                (i.mode for i in program.loads),
                key=lambda n: order.index(lowerer.operands[n].tensor),
            )
            operands = {name: lowerer.operands[name] for name in names}
            for other, _, combos in groups:
                if signature(other) == signature(program):
                    combos.append(combo)
                    break
            else:
                groups.append((program, operands, [combo]))
        for program, operands, combos in groups:
            plan.bodies.append(_body(spec, plan, index, program, operands, combos, len(groups)))
    plan.details["scalar_names"] = scalar_names
    if any(views != stored[0] for views in stored):
        raise OpgenError(_other_layout(spec))
    for body in plan.bodies:
        body.output_views = stored[0]
    return plan


def _lowered(spec: OpSpec, traced: TracedGraph, names: AxisNames) -> Lowered:
    lowerer = Lowerer(spec, traced, 0, axis_names=names)
    return Lowered(lowerer.run(), lowerer.operands, lowerer.spans())


def _check_one_shape(spec: OpSpec, traced: TracedGraph, lowerer: Lowerer) -> None:
    """Raise OPG338 when the sample's outputs have different sizes: the kernel has one space."""
    shapes = {}
    for param in spec.outputs:
        node = traced.outputs[param.name]
        value = lowerer.values.get(node) if isinstance(node, torch.fx.Node) else None
        node = value.value if isinstance(value, Reshaped) else node
        if isinstance(node, torch.fx.Node):
            sizes = [getattr(getattr(n, "node", None), "hint", n) for n in node.meta["val"].shape]
            shapes[param.name] = tuple(itertools.dropwhile(lambda n: n == 1, sizes))
    names = list(shapes)
    for name in names[1:]:
        if shapes[name] != shapes[names[0]]:
            raise OpgenError(
                Diagnostic(
                    "OPG338",
                    f"outputs {names[0]!r} and {name!r} have different shapes",
                    next(p.location for p in spec.outputs if p.name == name),
                    "a generated pointwise kernel works through one shape and writes every output "
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


def _check_lists(spec: OpSpec) -> None:
    for param in (*spec.inputs, *spec.outputs):
        if param.kind is not ParamKind.DYNAMIC:
            raise OpgenError(
                Diagnostic(
                    "OPG313",
                    f"{param.name!r} is a single tensor beside tensor lists",
                    param.location,
                    "a foreach kernel walks all lists together, element by element",
                    "make it a list too, pass a number as an attr, or use `kernel:`",
                )
            )


def _traced(
    spec: OpSpec,
    variant: Variant,
    combo: int,
    known: dict[tuple[str, ...], TracedGraph],
    first: TracedGraph | None,
) -> TracedGraph:
    key = tuple(
        {"float16": "float32", "bfloat16": "float32"}.get(p.dtypes[combo], p.dtypes[combo])
        for p in spec.inputs
    )
    if key not in known:
        known[key] = first if combo == 0 and first is not None else trace(spec, variant, combo)
        if known[key].structural:
            _refuse_structural(spec, known[key])
    return known[key]


def _refuse_structural(spec: OpSpec, traced: TracedGraph) -> None:
    names = [n for n in traced.structural if spec.attr(n).type != "str"]
    if not names:
        return
    attr = spec.attr(names[0])
    raise OpgenError(
        Diagnostic(
            "OPG202",
            f"attr {attr.name!r} shapes the graph of an elementwise op",
            attr.location,
            "its value is used as a dimension, a length or a branch, which tiling data cannot be",
            "give it `allowed:` values",
        )
    )


def _body(
    spec: OpSpec,
    plan: OpPlan,
    index: int,
    program: Program,
    operands: dict[str, View],
    combos: list[int],
    groups: int,
) -> Body:
    if len(operands) > MAX_OPERANDS:
        raise OpgenError(
            Diagnostic(
                "OPG311",
                f"{spec.op} reads {len(operands)} tensors at once; a kernel has {MAX_OPERANDS} "
                "input queues",
                spec.inputs[MAX_OPERANDS].location
                if len(spec.inputs) > MAX_OPERANDS
                else spec.inputs[0].location,
                "each queue needs its own event ids and there are 8 per pipe pair",
                "split the op, or write the kernel with `kernel:`",
            )
        )
    mergeable = {
        p.name: [
            name for name, view in operands.items() if spec.param(view.tensor).dtypes == p.dtypes
        ]
        for p in spec.outputs
    }
    placement = allocate(program, mergeable)
    body = Body(
        class_name(spec, plan.variants, index, combos, groups),
        index,
        tuple(combos),
        program,
        placement,
        operands,
        len(spec.outputs),
    )
    for combo in combos:
        for mode in MODES:
            body.budgets[combo, mode] = budget(spec, body, combo, mode)
    return body


def class_name(
    spec: OpSpec, variants: list[Variant], index: int, combos: list[int], groups: int
) -> str:
    """Return ``Kernel``, ``KernelTanh``, ``KernelWithoutBias``, ``KernelInt32`` ..."""
    parts = ["Kernel"]
    if len(variants) > 1:
        words = [_variant_words(spec, variant) for variant in variants]
        parts.append(words[index])
        # values that differ only in signs a name cannot have
        parts += [f"Variant{index}"] if words.count(words[index]) > 1 else []
    if groups > 1:
        params = (*spec.inputs, *spec.outputs)
        names = dict.fromkeys(p.dtypes[combos[0]] for p in params)
        parts.append("".join(_camel(n) for n in names))
    return "".join(parts)


def _variant_words(spec: OpSpec, variant: Variant) -> str:
    parts = []
    for name, value in variant.attrs:
        text = value if isinstance(value, str) else f"{name}_{value}"
        parts.append(_camel(str(text)))
    for param in spec.inputs:
        if param.kind is ParamKind.OPTIONAL:
            word = "With" if param.name in variant.present else "Without"
            parts.append(word + _camel(param.name))
    return "".join(parts)


def _camel(text: str) -> str:
    return camel_case(text.replace("-", " minus "))


# ---- UB ----------------------------------------------------------------------------------------


def slot_order(spec: OpSpec, body: Body) -> list[tuple[str, str]]:
    """Return the working tiles that may need a scratch slot, as (role, name), inputs first."""
    used = {p.name for p in body.placement.of.values() if p.role == "input"}
    order = [("input", name) for name in body.operands if name in used]
    produced = {p.name for p in body.placement.of.values() if p.role == "output"}
    order += [("output", p.name) for p in spec.outputs if p.name in produced]
    return order


def needs_slot(spec: OpSpec, body: Body, role: str, name: str, combo: int, mode: str) -> bool:
    """Whether a working tile is a scratch slot rather than the queue's own tile."""
    tensor = body.operands[name].tensor if role == "input" else name
    direct = spec.param(tensor).dtypes[combo] in DIRECT
    if role == "output":
        return not direct and name not in body.placement.shared
    return not direct or mode == "broadcast"


def budget(spec: OpSpec, body: Body, combo: int, mode: str) -> Budget:
    """Return the UB use of a body for a dtype combination and a mode."""
    copies = body.buffers_in_flight()
    buffers = []
    small = False
    for name, view in body.operands.items():
        dtype = spec.param(view.tensor).dtypes[combo]
        small |= DTYPE_BYTES[dtype] == 1
        buffers.append(Buffer(f"{name}Queue", DTYPE_BYTES[dtype], copies))
    for param in spec.outputs:
        dtype = param.dtypes[combo]
        small |= DTYPE_BYTES[dtype] == 1
        buffers.append(Buffer(f"{param.name}Queue", DTYPE_BYTES[dtype], copies))
    for slot in range(body.placement.words):
        buffers.append(Buffer(f"tmp{slot}", 4))
    for role, name in slot_order(spec, body):
        if needs_slot(spec, body, role, name, combo, mode):
            buffers.append(Buffer(f"{name} (working copy)", 4))
    if mode == "broadcast" and _stages(spec, body, combo):
        buffers.append(Buffer("stage", 4))
    if small:
        buffers.append(Buffer("bytes", 2))
    for slot in range(body.placement.masks):
        buffers.append(Buffer(f"mask{slot}", 0.125))
    return Budget(tuple(buffers), SELECT_RESERVE if uses_select(spec, body, combo) else 0)


def _stages(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether a broadcast operand is converted before it is spread."""
    return any(spec.param(v.tensor).dtypes[combo] not in DIRECT for v in body.operands.values())


def uses_select(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether Select in a tensor mode may run: it needs UB at the top."""
    return body.program.uses_masks or any(
        isinstance(a, Val) and a.kind == MASK for i in body.program.insts for a in i.args
    )


def placement_of(body: Body) -> Placement:
    """Return the placement of a body (for reports)."""
    return body.placement
