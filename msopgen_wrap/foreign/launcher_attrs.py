"""Attributes that an OpDef leaves out: names, types and order as the op's aclnn layer passes them.

Ops whose prototype came with CANN itself may declare no attribute in their OpDef; their functions
read them by position. The level-0 source of the aclnn layer hands them over in that order:
``OP_ATTR(static_cast<float>(scale), headNum, ...)`` beside ``OP_INPUT`` and ``OP_OUTPUT``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msopgen_wrap.build.rewriting.source_text import blank_comments, matching, split_list
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.repository_sources import host_sources
from msopgen_wrap.foreign.run_inputs import attr_value

_CAST = re.compile(r"(?:static_cast\s*<\s*([\w:]+)\s*>\s*\(|\(\s*(float|double|bool|int\w*)\s*\))")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_FLOATS = ("float", "double")


@dataclass(frozen=True)
class LauncherAttr:
    """One attribute: the variable's name in the source and its C++ type ("" if not found)."""

    name: str
    type: str


def launcher_attrs(root: Path, op_type: str) -> list[LauncherAttr]:
    """Return the attributes that a project's aclnn layer passes to an op, in order."""
    call = re.compile(rf"\b(?:ADD_TO_LAUNCHER_LIST_AICORE|INFER_SHAPE)\s*(\()\s*{op_type}\s*,")
    for folder in ("op_api", "op_host"):
        for path in host_sources(root / folder):
            text = blank_comments(path.read_text(encoding="utf-8", errors="replace"))
            for match in call.finditer(text):
                arguments = _arguments(text, match.start(1))
                if arguments:
                    before = text[: match.start()]
                    return [_attr(argument, before) for argument in arguments]
    return []


def arranged_attrs(
    root: Path, declared: Mapping[str, Any], attrs: Mapping[str, Any], *, reads_attrs: bool
) -> dict[str | int, Any]:
    """Put attributes that an OpDef leaves out in the order in which the op's functions read them.

    All of them have to be given, as in an aclnn call: functions read them without looking, and
    nothing tells their defaults. Without an aclnn layer they are taken in the order given.

    Args:
        declared: the op's declaration.
        attrs: by name.
        reads_attrs: whether the op's host functions look at attributes at all.

    Returns:
        What the runtime takes: values by name, or by position.

    Raises:
        OpgenError: OPG518, an attribute is unknown or missing.
    """
    if declared["attrs"] or not reads_attrs:
        kinds = {attr["name"]: attr.get("type", "") for attr in declared["attrs"]}
        return {name: attr_value(value, kinds.get(name, "")) for name, value in attrs.items()}
    op = declared["op"]
    known = launcher_attrs(root, op)
    if not known:
        return dict(enumerate(attr_value(value, "") for value in attrs.values()))
    given = {_loose(name): value for name, value in attrs.items()}
    names = [_loose(attr.name) for attr in known]
    place = Location(str(root))
    order = ", ".join(_snake(attr.name) for attr in known)
    why = f"its OpDef declares none; its aclnn layer passes, in this order: {order}"
    for name in attrs:
        if _loose(name) not in names:
            raise OpgenError(Diagnostic("OPG518", f"op {op} has no attr {name}", place, why=why))
    missing = [_snake(attr.name) for attr in known if _loose(attr.name) not in given]
    if missing:
        raise OpgenError(
            Diagnostic(
                "OPG518",
                f"op {op} needs the attr {missing[0]}"
                + (f", and {len(missing) - 1} more" if missing[1:] else ""),
                place,
                why=why + "; its functions may read all of them",
                fix=" ".join(f"--attr {name}=VALUE" for name in missing),
            )
        )
    return {i: _given(given[_loose(attr.name)], attr.type) for i, attr in enumerate(known)}


def _arguments(text: str, begin: int) -> list[str]:
    """Return the arguments of the ``OP_ATTR`` inside a call whose bracket opens at ``begin``."""
    found = re.compile(r"\bOP_ATTR\s*\(").search(text, begin, matching(text, begin))
    if found is None:
        return []
    inside = text[found.end() : matching(text, found.end() - 1) - 1]
    return [part.strip() for part in split_list(inside) if part.strip()]


def _attr(argument: str, before: str) -> LauncherAttr:
    cast = _CAST.match(argument)
    rest = argument[cast.end() :] if cast else argument
    name = _IDENTIFIER.search(rest)
    if name is None:
        return LauncherAttr(argument, "")
    if cast:
        return LauncherAttr(name[0], cast[1] or cast[2])
    declared = re.findall(rf"([\w:]+)\s*[*&]*\s*\b{name[0]}\b\s*[,)=;]", before)
    types = [t for t in declared if t not in ("return", "const")]
    return LauncherAttr(name[0], types[-1] if types else "")


def _given(value: Any, cpp_type: str) -> Any:
    return _typed(attr_value(value, cpp_type), cpp_type)


def _typed(value: Any, cpp_type: str) -> Any:
    if cpp_type in _FLOATS and isinstance(value, int):
        return float(value)
    if cpp_type.startswith(("int", "uint")) and isinstance(value, float) and value.is_integer():
        return int(value)
    return bool(value) if cpp_type == "bool" and isinstance(value, int) else value


def _loose(name: str) -> str:
    lowered = name.replace("_", "").lower()
    return lowered.removesuffix("optional")


def _snake(name: str) -> str:
    plain = name.removesuffix("Optional")
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", plain).lower()
