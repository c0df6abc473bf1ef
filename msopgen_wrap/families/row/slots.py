"""Where the scratch tiles of a row kernel lie: constants of its class."""

from __future__ import annotations

from msopgen_wrap.families.row.body import RowBody, covers, expands_operands, pass_words, spare_rows
from msopgen_wrap.render.kernel import constant, member_name, type_name
from msopgen_wrap.schedule.kernel_classes import slot_order
from msopgen_wrap.schedule.plan import RESIDENT, STREAMED
from msopgen_wrap.schedule.program import MASK, STORED_KIND
from msopgen_wrap.spec.model import OpSpec, TensorParam


def compute_kinds(spec: OpSpec, body: RowBody) -> dict[tuple[str, str], str]:
    """Return the type that each full operand and output is computed in, by role and name."""
    combo = body.combos[0]
    kinds: dict[tuple[str, str], str] = {}
    for role, name in slot_order(spec, body):
        dtype = _param(spec, body, role, name).dtypes[combo]
        kinds[role, name] = STORED_KIND[dtype]
    return {key: kind for key, kind in kinds.items() if kind != MASK}


def _param(spec: OpSpec, body: RowBody, role: str, name: str) -> TensorParam:
    if role == "input":
        return spec.param(body.operands[name].tensor)
    return next(p for p in spec.outputs if p.name == name)


def slot_lines(spec: OpSpec, body: RowBody) -> list[str]:
    """Return the constants: the first slot of every part of the scratch buffer, and its length.

    Operands come first, then intermediate values, then outputs: the passes that only reduce have
    no outputs, and may use their slots for more intermediate values.
    """
    lines: list[str] = []
    kinds = compute_kinds(spec, body)
    first = "0"

    def part(name: str, slots: str) -> None:
        nonlocal first
        lines.append(f"uint32_t {name}Slot = {first}")
        first = f"{name}Slot + {slots}" if slots != "0" else f"{name}Slot"

    def own(role: str, name: str) -> str:
        storage = type_name(_param(spec, body, role, name), role == "output", spec)
        return f"opgen::kOwnSlots<{kinds[role, name]}, {storage}>"

    for role, name in kinds:
        if role == "input":
            part(constant(name), own(role, name) if covers(body, name) else "1")
    words = body.placement.words
    more = pass_words(body) > words
    if words or more:
        part("kTmp", str(words))
    for role, name in kinds:
        if role == "output":
            prefix = constant(member_name(_param(spec, body, role, name), True, spec))
            shared = body.placement.shared.get(name)
            if shared is None:
                part(prefix, own(role, name))
            else:
                lines.append(f"uint32_t {prefix}Slot = {constant(shared.name)}Slot")
    if more:
        lines.append(f"uint32_t kOutputsEnd = {first}")
        lines.append(f"uint32_t kPassesEnd = kTmpSlot + {pass_words(body)}")
        first = "(kResident || kOutputsEnd > kPassesEnd ? kOutputsEnd : kPassesEnd)"
    if any(expands_operands(spec, body, combo) for combo in body.combos):
        part("kStage", f"({_stage_condition(spec, body, kinds)} ? 1 : 0)")
    lines.append(f"uint32_t kSlots = {first}")
    rows = body.row_words
    resident, streamed = (rows + spare_rows(body, m) for m in (RESIDENT, STREAMED))
    lines.append(f"uint32_t kRows = kResident ? {max(1, resident)} : {streamed}")
    return lines


def _stage_condition(spec: OpSpec, body: RowBody, kinds: dict[tuple[str, str], str]) -> str:
    conditions = []
    for name, view in body.operands.items():
        if name in body.kept or covers(body, name) or view.extent != "full":
            continue
        kind = kinds.get(("input", name), "half")
        storage = type_name(spec.param(view.tensor), False, spec)
        conditions.append(f"!opgen::Same<{kind}, {storage}>::value")
    return " || ".join(dict.fromkeys(conditions))
