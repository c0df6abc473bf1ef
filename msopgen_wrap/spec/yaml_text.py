"""Write spec nodes as YAML text in the style of the op library."""

from __future__ import annotations

import json
import re
from typing import Any

from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence, resolve

# Line ends of YAML and Unicode that JSON leaves as they are.
_LINE_ENDS = {"\x85": "\\N", "\u2028": "\\L", "\u2029": "\\P", "\ufeff": "\\uFEFF"}
_PLAIN = re.compile(r"[A-Za-z_(](?:[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff]*\S)?")
_INSIDE_FLOW = re.compile(r"[A-Za-z_][\w./()+ -]*")


def spec_yaml(root: Mapping) -> str:
    """Return the text of a spec: one key a line, parameters and cases a line each."""
    lines: list[str] = []
    for key, node in root.entries:
        lines += _top_level(str(key.value), node)
    return "\n".join(lines) + "\n"


def _top_level(key: str, node: Node) -> list[str]:
    if isinstance(node, Mapping):
        rows = [line for k, v in node.entries for line in _row("  ", str(k.value), v)]
        return [f"{key}:", *rows] if rows else [f"{key}: {{}}"]
    if isinstance(node, Sequence) and any(isinstance(item, Mapping) for item in node.items):
        return [f"{key}:", *(f"  - {_flow(item)}" for item in node.items)]
    return _row("", key, node)


def _row(indent: str, key: str, node: Node) -> list[str]:
    """Return ``key: value``; text of several lines is a block."""
    head = f"{indent}{_scalar(key, inside_flow=False)}:"
    if isinstance(node, Scalar) and isinstance(node.value, str):
        if "\n" in node.value.strip("\n"):
            rows = node.value.strip("\n").split("\n")
            return [f"{head} |", *(f"{indent}  {row}" if row.strip() else "" for row in rows)]
        return [f"{head} {_scalar(node.value.strip(), inside_flow=False)}"]
    return [f"{head} {_flow(node)}"]


def _flow(node: Node) -> str:
    if isinstance(node, Mapping):
        inside = ", ".join(f"{_scalar(str(k.value))}: {_flow(v)}" for k, v in node.entries)
        return f"{{{inside}}}"
    if isinstance(node, Sequence):
        return f"[{', '.join(_flow(item) for item in node.items)}]"
    return _scalar(node.value)


def _scalar(value: Any, *, inside_flow: bool = True) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(repr(value), repr(value))
    if not isinstance(value, str):
        return str(value)
    plain = _INSIDE_FLOW if inside_flow else _PLAIN
    if (
        plain.fullmatch(value)
        and resolve(value) == value
        and ": " not in value
        and " #" not in value
        and not value.endswith((":", " "))
    ):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return "".join(_LINE_ENDS.get(char, char) for char in text)
