"""Where a node of compute stands in the spec file."""

from __future__ import annotations

import ast

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.model import Code


def place_of(code: Code, node: ast.AST) -> Location:
    """Return where ``node`` of the parsed ``code`` stands in the spec file."""
    line = getattr(node, "lineno", 1)
    return locate(
        code,
        line,
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", line),
        getattr(node, "end_col_offset", None),
    )


def locate(
    code: Code, line: int, column: int = 0, end_line: int | None = None, end: int | None = None
) -> Location:
    """Return the file location of a line (from 1) and UTF-8 byte column (from 0) of ``code``."""
    start = code.location
    if not code.literal:
        return start
    rows = code.text.split("\n")
    if not 1 <= line <= len(rows):
        return start
    row = rows[line - 1]
    chars = len(row.encode("utf-8")[:column].decode("utf-8", "ignore"))
    length = max(1, len(row.rstrip()) - chars)
    if end is not None and end_line == line:
        length = max(1, len(row.encode("utf-8")[:end].decode("utf-8", "ignore")) - chars)
    return Location(start.file, start.line + line - 1, start.column + chars, length)
