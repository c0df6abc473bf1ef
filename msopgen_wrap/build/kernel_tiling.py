"""The header that gives a kernel its 8.x-style tiling structs, as CANN's kernel compiler makes it.

On the host the struct exists only behind ``BEGIN_TILING_DATA_DEF``; the kernel names neither a
header nor the struct in ``GET_TILING_DATA``. The loaded host library knows the exact byte layout,
so nothing is read from source text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.resources import data_dir

_STRUCT = re.compile(r"^\s*struct\s+(?:alignas\s*\(\s*\d+\s*\)\s*)?(\w+)\s*\{", re.MULTILINE)


@lru_cache(maxsize=1)
def library_structs() -> frozenset[str]:
    """Return the tiling structs that ``kernel_tiling/kernel_tiling.h`` defines (TCubeTiling...)."""
    folder = data_dir("ascendc_kernels") / "emulation" / "include" / "kernel_tiling"
    texts = (p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.h")))
    return frozenset(name for text in texts for name in _STRUCT.findall(text))


def registered_keys(op_type: str, defs: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the tiling keys that have a struct of their own (``REGISTER(Op_<key>, ...)``)."""
    pattern = re.compile(re.escape(op_type) + r"_(\d+)\Z")
    return sorted(int(m[1]) for d in defs if (m := pattern.match(d["name"])))


def kernel_tiling_text(
    op_type: str,
    defs: Sequence[Mapping[str, Any]],
    key: int | None = None,
    already: frozenset[str] = frozenset(),
) -> str:
    """Return the header's text; "" when the op has no registered struct.

    Args:
        op_type: CamelCase op type.
        defs: ``OpRuntime.tiling_defs()``.
        key: tiling key whose struct ``GET_TILING_DATA`` uses; None: the op's own.
        already: structs that the kernel defines itself.
    """
    own = re.compile(re.escape(op_type) + r"(_\d+)?\Z")
    chosen = [d for d in defs if own.match(d["name"])]
    if not chosen:
        return ""
    by_class = {d["class"]: d for d in defs}
    order: list[Mapping[str, Any]] = []
    for row in chosen:
        _collect(row, by_class, order)
    names = {d["name"]: d["class"] for d in chosen}
    default = names.get(f"{op_type}_{key}") or names.get(op_type) or chosen[0]["class"]
    lines = [
        "// Tiling structs of the op, in the host's byte layout.",
        "#pragma once",
        "#include <stddef.h>",
        "#include <stdint.h>",
        '#include "kernel_tiling/kernel_tiling.h"',
    ]
    for row in order:
        if row["class"] not in already and row["class"] not in library_structs():
            lines += ["", *_struct(row)]
    if default not in already:
        lines += ["", f"using OpgenDefaultTiling [[maybe_unused]] = {default};"]
    return "\n".join(lines) + "\n"


def kernel_tiling_header(
    op_type: str,
    defs: Sequence[Mapping[str, Any]],
    key: int | None = None,
    kernel: Path | None = None,
    own: frozenset[str] = frozenset(),
) -> Path | None:
    """Write the header into the cache and return its path; None when the op has no struct.

    Args:
        kernel: the kernel source; a struct it defines itself is left out.
        own: structs that its headers define.
    """
    already = own
    if kernel is not None:
        text = kernel.read_text(encoding="utf-8", errors="replace")
        already = own | frozenset(_STRUCT.findall(text))
    text = kernel_tiling_text(op_type, defs, key, already)
    if not text:
        return None

    def build(folder: Path) -> list[Path]:
        (folder / "opgen_kernel_tiling.h").write_text(text, encoding="utf-8")
        return []

    folder, _ = cache.cached("tiling", cache.text_hash(text), f"{op_type} tiling", build)
    return folder / "opgen_kernel_tiling.h"


def _collect(
    row: Mapping[str, Any],
    by_class: Mapping[str, Mapping[str, Any]],
    order: list[Mapping[str, Any]],
) -> None:
    """Append a struct behind the structs it contains."""
    if any(other["class"] == row["class"] for other in order):
        return
    for field in row["fields"]:
        nested = by_class.get(_base_name(field["type"]))
        if field["struct"] and nested is not None:
            _collect(nested, by_class, order)
    order.append(row)


def _base_name(name: str) -> str:
    return str(name).rsplit("::", 1)[-1].strip()


def _struct(row: Mapping[str, Any]) -> list[str]:
    lines, end = [f"struct {row['class']} {{"], 0
    for field in row["fields"]:
        if field["offset"] > end:
            lines.append(f"    uint8_t {field['name']}PH[{field['offset'] - end}];")
        count = f"[{field['count']}]" if field["count"] else ""
        kind = _base_name(field["type"]) if field["struct"] else field["type"]
        lines.append(f"    {kind} {field['name']}{count};")
        end = field["offset"] + field["size"]
    if row["size"] > end:
        lines.append(f"    uint8_t {row['class']}PH[{row['size'] - end}];")
    lines += ["};", f'static_assert(sizeof({row["class"]}) == {row["size"]}, "layout");']
    return lines
