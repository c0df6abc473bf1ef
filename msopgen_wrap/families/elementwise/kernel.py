"""Render kernels of the elementwise family and of tensor lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.elementwise.plan import (
    MODES,
    ElementwisePlan,
    is_number,
    number_lists,
)
from msopgen_wrap.render.entry_values import entry_values
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    MAX_TENSORS,
    KernelClass,
    KernelPart,
    bytes_lines,
    class_bodies,
    class_values,
    constant,
    entry_branches,
    mask_tile,
    member_name,
    output_param,
    type_name,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file
from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.render.value_names import ValueNames, variables
from msopgen_wrap.schedule.kernel_classes import slot_order
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.schedule.program import (
    COMPUTE_KIND,
    DIRECT,
    MASK,
    STORED_KIND,
    coefficient_blocks,
    polynomials,
)
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.names import cpp_local


@dataclass(frozen=True)
class _Tile:
    """The tile of an operand or output.

    Attributes:
        role, name: ``input`` or ``output``, and which.
        member: what the members of the tensor start with.
        kind: the C++ type that it is computed in.
        storage: the template parameter of its storage type.
        dtypes: the dtypes that it has in the kernel class.
    """

    role: str
    name: str
    member: str
    kind: str
    storage: str
    dtypes: frozenset[str]


class TileSlots:
    """Where the operands, outputs and intermediate values of a body are computed."""

    def __init__(self, spec: OpSpec, body: Body, broadcast: bool):
        """Place them.

        Args:
            broadcast: whether the kernel class has a mode for boxes.
        """
        self._body, self._broadcast = body, broadcast
        self._tiles = [_tile(spec, body, role, name) for role, name in slot_order(spec, body)]
        self._tiles = [t for t in self._tiles if t.kind != MASK]
        self._operands = [_tile(spec, body, "input", name) for name in body.operands]

    @property
    def direct(self) -> frozenset[tuple[str, str]]:
        """Those whose queue tile always serves: no dtype is converted, and no box expanded."""
        if self._broadcast:
            return frozenset()
        return frozenset((t.role, t.name) for t in self._tiles if t.dtypes <= DIRECT.keys())

    @property
    def staged(self) -> bool:
        """Whether operands of a box may be widened before they are expanded."""
        return self._broadcast and any(not t.dtypes <= DIRECT.keys() for t in self._operands)

    def _masks(self) -> bool:
        """Whether an operand is a bool tensor."""
        return any(t.kind == MASK for t in self._operands)

    def constants(self) -> list[str]:
        """Return the members that say where the slots lie: intermediate values come first."""
        lines, first = [], str(self._body.placement.words)
        for tile in self._slotted():
            prefix = constant(tile.member)
            shared = self._body.placement.shared.get(tile.name) if tile.role == "output" else None
            if shared is not None:
                lines.append(f"uint32_t {prefix}Slot = {constant(shared.name)}Slot")
                continue
            lines.append(f"uint32_t {prefix}Slot = {first}")
            boxed = self._broadcast and tile.role == "input"
            own = "opgen::kOperandSlots<kBroadcast, " if boxed else "opgen::kOwnSlots<"
            first = f"{prefix}Slot + {own}{tile.kind}, {tile.storage}>"
        if lines:
            lines.append(f"uint32_t kSlots = {first}")
        if self.staged:
            condition = "" if self._masks() else f" && ({self._conversions()})"
            lines.append(f"uint32_t kStages = kBroadcast{condition} ? 1 : 0")
        return lines

    def _conversions(self) -> str:
        inputs = [t for t in self._operands if t.kind != MASK]
        texts = [f"!opgen::Same<{t.kind}, {t.storage}>::value" for t in inputs]
        return " || ".join(dict.fromkeys(texts))

    def scratch(self) -> dict[str, str]:
        """Return how many slots the scratch buffer has, and when it has any; empty for none."""
        words = self._body.placement.words
        slots = ["kSlots"] if self._slotted() else [str(words)] if words else []
        slots += ["kStages"] if self.staged else []
        if not slots:
            return {}
        count = " + ".join(slots)
        return {
            "slots": count,
            "condition": "" if words else f"{count} > 0",
        }

    def stage(self) -> str:
        """Return the slot of the stage."""
        return "kSlots" if self._slotted() else str(self._body.placement.words)

    def declarations(self) -> list[str]:
        """Return the variables of the tiles that are not those of queues."""
        lines = []
        for tile in self._slotted():
            given = f"{tile.member}Local, scratch, {constant(tile.member)}Slot, tileLength"
            call = f"opgen::ComputeTile<{tile.kind}>({given})"
            if self._broadcast and tile.role == "input":
                call = f"opgen::OperandTile<kBroadcast, {tile.kind}>({given}, {tile.member}Walk)"
            lines.append(f"LocalTensor<{tile.kind}> {cpp_local(tile.member)} = {call};")
        return lines

    def _slotted(self) -> list[_Tile]:
        return [t for t in self._tiles if (t.role, t.name) not in self.direct]


def _tile(spec: OpSpec, body: Body, role: str, name: str) -> _Tile:
    param: TensorParam
    if role == "input":
        param, member = spec.param(body.operands[name].tensor), name
        kind = COMPUTE_KIND[param.dtypes[body.combos[0]]]
    else:
        param = output_param(spec, name)
        member = member_name(param, True, spec)
        kind = STORED_KIND[param.dtypes[body.combos[0]]]
    storage = type_name(param, role == "output", spec)
    return _Tile(role, name, member, kind, storage, frozenset(param.dtypes[c] for c in body.combos))


@dataclass(kw_only=True)
class ElementwiseKernel(KernelClass):
    """Template values of one kernel class.

    Attributes:
        declarations, statements: the body of its Compute method.
        coefficients: what writes the coefficients of polynomials to UB.
        coefficient_blocks: how many blocks of 32 bytes they take.
        slots, scratch: where tiles of scratch lie, and the buffer that holds them.
        copies: how many tiles each queue has.
        packed_operands, packed_outputs: whether all of them share one queue.
    """

    declarations: list[str]
    statements: list[str]
    coefficients: list[str]
    coefficient_blocks: int
    slots: list[str]
    scratch: dict[str, str]
    copies: int
    packed_operands: bool
    packed_outputs: bool


def render_kernel(plan: ElementwisePlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("elementwise", plan.spec.name, _values(plan, style))


def kernel_part(plan: ElementwisePlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("elementwise", _values(plan, style))


def _values(plan: ElementwisePlan, style: str) -> dict[str, Any]:
    spec, broadcast = plan.spec, plan.broadcasts()
    kernels = [kernel_values(spec, plan, body, broadcast) for body in class_bodies(plan)]
    modes = MODES if broadcast else {"flat": MODES["flat"]}
    branches = entry_branches(plan, modes, "broadcast" if broadcast else "")
    return {
        **entry_values(spec, style, branches),
        "kernels": kernels,
        "broadcast": broadcast,
        "foreach": plan.lists,
        "max_tensors": MAX_TENSORS,
    }


def kernel_values(
    spec: OpSpec,
    plan: OpPlan[Any],
    body: Body,
    broadcast: bool,
    *,
    transposes: bool = True,
    keeps_coefficients: bool = True,
    text_of: Callable[..., ProgramText] = ProgramText,
) -> ElementwiseKernel:
    """Return the template values of one kernel class.

    Args:
        spec: the op.
        plan: its plan.
        body: the body that the class is made of.
        broadcast: whether the class has a mode for boxes.
        transposes: whether boxes may hold operands transposed.
        keeps_coefficients: whether UB holds the coefficients of polynomials.
        text_of: makes the text of the program.
    """
    operands: list[dict[str, Any]] = [
        {
            "name": name,
            "tensor": view.tensor,
            "type": type_name(spec.param(view.tensor), False, spec),
            "placed": view.placed,
            "transposable": transposes and view.transposable,
            "at": "",
            "number": is_number(spec, view.tensor),
            "each": view.tensor in number_lists(spec),
        }
        for name, view in body.operands.items()
    ]
    used = {view.tensor for view in body.operands.values()}
    inputs = [p for p in spec.inputs if p.name in used]
    outputs: list[dict[str, Any]] = [
        {"name": member_name(p, True, spec), "type": type_name(p, True, spec), "number": False}
        for p in spec.outputs
    ]
    # What is no list is read once; the numbers of a list are read with their tensors.
    numbers = {o["tensor"] for o in operands if o["number"] and not o["each"]}
    for packed, tensors in ((body.packs_operands, operands), (body.packs_outputs, outputs)):
        _place_tiles([t for t in tensors if not t["number"]], packed)
    gm = [{"name": p.name, "type": type_name(p, False, spec)} for p in inputs] + outputs
    gm = [
        {**row, "argument": cpp_local(row["name"]), "number": row["name"] in numbers} for row in gm
    ]
    shared = class_values(spec, plan, body, gm, operands, outputs)
    slots = TileSlots(spec, body, broadcast)
    text = _program_text(
        plan, body, slots, text_of, small=bool(shared["bytes"]), broadcast=broadcast
    )
    text.coefficients = polynomials(body.program) if keeps_coefficients else {}
    text.transposable = frozenset(o["name"] for o in operands if o["transposable"])
    statements = [part for line in text.render() for part in line.split("\n")]
    statements = [s for s in statements if s]
    declared = _declarations(body, text, slots, shared["bytes"], statements)
    return ElementwiseKernel(
        **shared,
        declarations=[*_counts(statements), *declared],
        statements=statements,
        coefficients=text.coefficient_statements(),
        coefficient_blocks=sum(map(coefficient_blocks, text.coefficients)),
        slots=slots.constants(),
        scratch=slots.scratch(),
        copies=body.buffers_in_flight(),
        packed_operands=body.packs_operands,
        packed_outputs=body.packs_outputs,
    )


def _program_text(
    plan: OpPlan[Any],
    body: Body,
    slots: TileSlots,
    text_of: Callable[..., ProgramText],
    *,
    small: bool,
    broadcast: bool,
) -> ProgramText:
    """Return the text of a body, with the names of its values and the kinds of its outputs."""
    spec = plan.spec
    members = {p.name: member_name(p, True, spec) for p in spec.outputs}
    filled = (name for name, view in body.operands.items() if is_number(spec, view.tensor))
    text = text_of(
        body,
        plan.scalar_names,
        members,
        covering=frozenset() if broadcast else frozenset(body.operands),
        direct=slots.direct,
        filled=frozenset(filled),
        small=small,
        staged=slots.staged,
    )
    names = ValueNames(
        body.program.insts, [*body.operands, *members.values(), *body.program.scalars]
    )
    text.variables = variables(body.program.insts, body.placement, names)
    combo = body.combos[0]
    for place in body.placement.of.values():
        if place.role == "output":
            dtype = output_param(spec, place.name).dtypes[combo]
            text.base_kinds[place] = STORED_KIND[dtype]
    return text


def _place_tiles(tensors: list[dict[str, Any]], packed: bool) -> None:
    """Say where tiles lie that share a buffer: a constant, and the bytes per element before it.

    Both are empty for tensors that have queues of their own.
    """
    before = "0"
    for tensor in tensors:
        tensor["at"] = f"{constant(tensor['name'])}At" if packed else ""
        tensor["before"] = before if packed else ""
        before = f"{tensor['at']} + sizeof({tensor['type']})"


def _counts(statements: list[str]) -> list[str]:
    """Declare the element counts that the statements name."""
    joined = "\n".join(statements)
    lines = []
    if re.search(r"(?<!part\.)\bcount\b", joined):
        lines.append("const uint32_t count = part.count;")
    if re.search(r"\blanes\b", joined):
        lines.append(
            "const uint32_t lanes = opgen::AlignLanes(part.count);"
            "  // comparisons work on whole repeats"
        )
    return lines


def _declarations(
    body: Body, text: ProgramText, slots: TileSlots, small: str, statements: list[str]
) -> list[str]:
    """Return the tiles of Compute that are not those of queues."""
    lines = []
    joined = "\n".join(statements)
    if re.search(r"\bbytes\b", joined):
        lines += bytes_lines(small)
    for name, cpp in {"stage": "float", "stageInt": "int32_t", "stageHalf": "half"}.items():
        if re.search(rf"\b{name}\b", joined):
            suffix = "" if cpp == "float" else f".template ReinterpretCast<{cpp}>()"
            lines.append(f"LocalTensor<{cpp}> {name};")
            lines.append("if constexpr (kStages > 0) {")
            slot = f"opgen::ScratchTile<float>(scratch, {slots.stage()}, tileLength){suffix}"
            lines += [f"    {name} = {slot};", "}"]
    if text.coefficients:
        lines.append("LocalTensor<float> coefficients = coefficientBuf.template Get<float>();")
    lines += slots.declarations()
    words = [(name, place) for name, place in text.tiles.items() if place.role == "word"]
    for name, place in sorted(words, key=lambda item: (int(item[1].name[3:]), item[0])):
        slot = place.name.removeprefix("tmp")
        lines.append(
            f"LocalTensor<float> {name} = opgen::ScratchTile<float>(scratch, {slot}, tileLength);"
        )
    lines += [
        mask_tile(f"mask{slot}", "maskBuf", "tileLength", slot, body.placement.masks)
        for slot in range(body.placement.masks)
    ]
    return lines + [text.aliases[a] for a in sorted(text.aliases)]
