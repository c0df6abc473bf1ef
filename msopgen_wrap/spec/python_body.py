"""The body of a function as ``compute``: its own text, with the place of every line."""

from __future__ import annotations

import ast

from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.python_file import PythonFile
from msopgen_wrap.spec.yaml_nodes import Scalar


def statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the body without the docstring."""
    body = function.body
    return body[1:] if ast.get_docstring(function, clean=False) is not None else body


def returned(function: ast.FunctionDef) -> list[ast.expr]:
    """Return the values of the last statement, if it is a return."""
    body = statements(function)
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or last.value is None:
        return []
    return list(last.value.elts) if isinstance(last.value, ast.Tuple) else [last.value]


def body_node(
    function: ast.FunctionDef, outputs: list[str], file: PythonFile, findings: Findings
) -> Scalar | None:
    """Return the text of ``compute``, or None after a report (OPG078).

    The return at the end becomes a last line without ``return``; one that only names the outputs
    is left out.
    """
    body = statements(function)
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or last.value is None:
        findings.error(
            "OPG078",
            f"'{function.name}' does not end with a return of its outputs",
            file.place(last or function),
            why="the body is the formula of the op: statements, then one return",
            fix="end with 'return y'",
        )
        return None
    values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    names = [value.id if isinstance(value, ast.Name) else "" for value in values]
    implied = len(body) > 1 and names == outputs and set(names) <= _assigned(body)
    rows = _rows(file, body[0], body[-2] if implied else last)
    if not implied:
        _drop_return(file, rows, last)
    while rows and not rows[0][1].strip():
        rows.pop(0)
    text = "\n".join(row for _, row in rows)
    columns = tuple(column for column, _ in rows)
    place = file.place(body[0])
    line = body[0].lineno - _comment_lines(file, body[0])
    start = type(place)(file.path, line, columns[0] if columns else 1, place.length)
    return Scalar(text, text, start, start, True, True, columns)


def _assigned(body: list[ast.stmt]) -> set[str]:
    nodes = [node for statement in body for node in ast.walk(statement)]
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _comment_lines(file: PythonFile, first: ast.stmt) -> int:
    """Return how many lines of comments stand right above the first statement."""
    count = 0
    while first.lineno - 2 - count >= 0:
        row = file.lines[first.lineno - 2 - count].strip()
        if not row.startswith("#"):
            break
        count += 1
    return count


def _rows(file: PythonFile, first: ast.stmt, last: ast.stmt) -> list[tuple[int, str]]:
    """Return column and text of each line from the comments above ``first`` to ``last``.

    The indentation of the first statement is taken off; comments behind the last line stay.
    """
    indent = file.chars(first.lineno, first.col_offset)
    begin = first.lineno - _comment_lines(file, first)
    end = last.end_lineno or last.lineno
    rows = []
    for number in range(begin, end + 1):
        row = file.lines[number - 1]
        cut = indent
        if number != first.lineno and row[:indent].strip():
            cut = len(row) - len(row.lstrip())
        text = row[cut:].rstrip()
        if number == end and isinstance(last, ast.Return):
            text = row[cut : file.chars(end, last.end_col_offset or 0)]
        rows.append((cut + 1, text))
    return rows


def _drop_return(file: PythonFile, rows: list[tuple[int, str]], last: ast.Return) -> None:
    """Take the word ``return`` out of its line."""
    index = len(rows) - 1 - ((last.end_lineno or last.lineno) - last.lineno)
    column, text = rows[index]
    start = file.chars(last.lineno, last.col_offset) + 1 - column
    behind = text[start + len("return") :]
    value = behind.lstrip()
    if text[:start].strip():
        rows[index] = (column, text[:start] + value)
    else:
        rows[index] = (column + len(text) - len(value), value)
