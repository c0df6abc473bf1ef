"""A Python file that holds ops: its syntax tree, places in it, its decorated functions.

The file is read, never run: what a spec needs stands in its text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.findings import listed, suggestion

MAX_BYTES = 2 * 1024 * 1024
_TARGET = re.compile(r"(.+\.py)(?::([A-Za-z_]\w*))?\Z")


def python_target(path: str | Path) -> tuple[str, str] | None:
    """Return file and function of ``FILE.py:name`` (function "" for ``FILE.py``), else None."""
    found = _TARGET.match(str(path))
    return (found[1], found[2] or "") if found else None


@dataclass
class PythonFile:
    """A parsed Python file.

    Attributes:
        constants: what the top level assigns once, by name.
    """

    path: str
    text: str
    tree: ast.Module
    lines: list[str] = field(default_factory=list)
    constants: dict[str, ast.expr] = field(default_factory=dict)

    def place(self, node: ast.AST) -> Location:
        """Return where a node starts; columns count characters, the syntax tree counts bytes."""
        line = getattr(node, "lineno", 1)
        column = self.chars(line, getattr(node, "col_offset", 0))
        if getattr(node, "end_lineno", line) == line:
            end = self.chars(line, getattr(node, "end_col_offset", 0))
        else:
            end = len(self.lines[line - 1].rstrip())
        return Location(self.path, line, column + 1, max(1, end - column))

    def chars(self, line: int, offset: int) -> int:
        """Return the characters before a byte of a line."""
        row = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(row.encode("utf-8")[:offset].decode("utf-8", "ignore"))

    def ops(self) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
        """Yield the functions under ``@op`` and that decorator, in file order."""
        names, modules = self._imported_names()
        for node in ast.walk(self.tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if (isinstance(called, ast.Name) and called.id in names) or (
                    isinstance(called, ast.Attribute)
                    and called.attr == "op"
                    and isinstance(called.value, ast.Name)
                    and called.value.id in modules
                ):
                    yield node, decorator  # type: ignore[misc]  # async ones are refused later
                    break

    def _imported_names(self) -> tuple[set[str], set[str]]:
        """Return what the decorator and its package are called in this file."""
        names, modules = set(), set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module in (
                "msopgen_wrap",
                "msopgen_wrap.authoring",
            ):
                names |= {a.asname or a.name for a in node.names if a.name == "op"}
            elif isinstance(node, ast.Import):
                modules |= {a.asname or a.name for a in node.names if a.name == "msopgen_wrap"}
        return names, modules

    def op_called(self, name: str) -> tuple[ast.FunctionDef, ast.expr]:
        """Return a decorated function by name.

        Raises:
            OpgenError: OPG074.
        """
        found = {node.name: (node, decorator) for node, decorator in self.ops()}
        if name in found:
            return found[name]
        plain = [n for n in ast.walk(self.tree) if getattr(n, "name", None) == name]
        if plain:
            what = f"'{name}' is no function under @op"
            raise OpgenError(
                Diagnostic(
                    "OPG074",
                    what,
                    self.place(plain[0]),
                    fix="write 'from msopgen_wrap import op' and '@op' above the function",
                )
            )
        raise OpgenError(
            Diagnostic(
                "OPG074",
                f"{self.path} has no function '{name}'",
                Location(self.path, 1, 1),
                why=f"functions under @op: {listed(found) or 'none'}",
                fix=suggestion(name, found),
            )
        )


def parse_python(text: str, path: str) -> PythonFile:
    """Parse the text of a file.

    Raises:
        OpgenError: OPG074, it is not valid Python.
    """
    if len(text) > MAX_BYTES:
        raise OpgenError(Diagnostic("OPG074", "the file is larger than 2 MiB", Location(path)))
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        place = Location(path, error.lineno or 1, error.offset or 1)
        raise OpgenError(Diagnostic("OPG074", f"not valid Python: {error.msg}", place)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise OpgenError(
            Diagnostic("OPG074", f"not valid Python: {error}", Location(path))
        ) from error
    file = PythonFile(path, text, tree, text.split("\n"))
    repeated = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                if target.id in file.constants:
                    repeated.add(target.id)
                file.constants[target.id] = value
    for name in repeated:
        del file.constants[name]
    return file


def read_python(path: str) -> PythonFile:
    """Read a Python file.

    Raises:
        OpgenError: OPG001 or OPG074.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OpgenError(
            Diagnostic(
                "OPG074", "the file is not UTF-8 text", Location(path), fix="save it as UTF-8"
            )
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OpgenError(
            Diagnostic("OPG001", f"cannot read the file: {reason}", Location(path))
        ) from error
    return parse_python(text.replace("\r\n", "\n"), path)
