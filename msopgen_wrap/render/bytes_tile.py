"""The half tile that 8-bit tensors are converted through, and which kernel classes have it."""

from __future__ import annotations

from collections.abc import Iterable

from msopgen_wrap.schedule.plan import Body

ALWAYS = "true"


def bytes_condition(body: Body, types: Iterable[str]) -> str:
    """Return when a kernel class has the tile: empty for never, ``ALWAYS``, or a C++ condition.

    Args:
        body: the body of the class.
        types: the storage types that are its template parameters.
    """
    with_tile = {
        combo
        for (combo, _), budget in body.budgets.items()
        if any(buffer.name == "bytes" for buffer in budget.buffers)
    }
    if not with_tile:
        return ""
    if with_tile >= set(body.combos):
        return ALWAYS
    return " || ".join(f"sizeof({name}) == 1" for name in dict.fromkeys(types))


def bytes_lines(condition: str) -> list[str]:
    """Return the declaration of the tile as ``bytes``; without memory where a class has none."""
    tile = "bytesBuf.template Get<half>()"
    if condition == ALWAYS:
        return [f"LocalTensor<half> bytes = {tile};"]
    lines = ["LocalTensor<half> bytes;"]
    if condition:
        lines += ["if constexpr (kBytes) {", f"    bytes = {tile};", "}"]
    return lines
