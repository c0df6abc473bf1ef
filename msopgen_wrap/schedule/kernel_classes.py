"""Kernel classes of an op: what their names say, and which working tiles they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import DIRECT, MASK, Val, only_moves
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.names import camel_case


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
        params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
        names = dict.fromkeys(p.dtypes[combos[0]] for p in params)
        parts.append("".join(_camel(n) for n in names))
    return "".join(parts)


def share_classes(spec: OpSpec, variants: list[Variant], bodies: Sequence[Body]) -> None:
    """Give bodies that are the same for all variants one class, named without them.

    Variants may differ in what their tiling or their output shapes read alone.
    """
    for combos in dict.fromkeys(body.combos for body in bodies):
        equal = [body for body in bodies if body.combos == combos]
        plain = [replace(body, class_name="", variant=0) for body in equal]
        served = {body.variant for body in bodies}
        if len(served) > 1 and len(equal) == len(served) and all(b == plain[0] for b in plain):
            groups = sum(body.variant == equal[0].variant for body in bodies)
            for body in equal:
                body.class_name = class_name(spec, variants[:1], 0, list(combos), groups)


def _variant_words(spec: OpSpec, variant: Variant) -> str:
    parts = []
    for name, value in variant.attrs:
        parts.append(words(name, value))
    for param in spec.inputs:
        if param.kind is ParamKind.OPTIONAL:
            word = "With" if param.name in variant.present else "Without"
            parts.append(word + _camel(param.name))
    return "".join(parts)


def words(name: str, value: Any) -> str:
    """Return the value of an attr for a CamelCase name: ``Tanh``, ``KeepdimTrue``, ``Axis0``."""
    return _camel(value if isinstance(value, str) else f"{name}_{value}")


def _camel(text: str) -> str:
    return camel_case(text.replace("-", " minus "))


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


def splits_elements(spec: OpSpec, body: Body) -> bool:
    """Whether a body moves elements of 64 bits, as two of 32 each: nothing is converted."""
    moves = bool(body.program.insts) and only_moves(body.program)
    return moves and any(moves_wide(spec, body, c) for c in body.combos)


def moves_wide(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether all tensors of a combination are int64."""
    read = [spec.param(view.tensor) for view in body.operands.values()]
    return {p.dtypes[combo] for p in (*read, *spec.outputs)} == {"int64"}


def uses_select(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether Select in a tensor mode may run: it needs UB at the top."""
    return body.program.uses_masks or any(
        isinstance(a, Val) and a.kind == MASK for i in body.program.insts for a in i.args
    )
