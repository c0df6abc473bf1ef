"""Imports go one way: a stage imports earlier stages only, and a family's room no other room."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import msopgen_wrap

ROOT = Path(msopgen_wrap.__file__).parent
# Each package may import itself and those before it.
ORDER = ("spec", "graph", "schedule", "render", "families")
# What later stages must not be imported by: everything that compiles, runs or packages.
LATER = {"project", "build", "run", "package", "cann", "torch_ext", "npu", "cli"}
# Rooms that build on another room.
SHARED_ROOMS = {("foreach", "elementwise"), ("foreach", "row")}


def _imports(path: Path) -> list[str]:
    """Return the packages below ``msopgen_wrap`` that a file imports, type checking left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    names = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [n.removeprefix("msopgen_wrap.") for n in names if n.startswith("msopgen_wrap.")]


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ORDER)
def test_a_stage_imports_earlier_stages_only(package):
    later = {*ORDER[ORDER.index(package) + 1 :], *LATER}
    files = _files(package)
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imports(path)
        if name.split(".")[0] in later
    ]
    assert wrong == []


def test_a_room_imports_no_other_room():
    rooms = {p.name for p in (ROOT / "families").iterdir() if p.is_dir() and p.name[0] != "_"}
    assert len(rooms) >= 4
    wrong = []
    for room in sorted(rooms):
        for path in _files(f"families/{room}"):
            for name in _imports(path):
                parts = name.split(".")
                other = parts[1] if parts[0] == "families" and len(parts) > 1 else room
                if other in rooms - {room} and (room, other) not in SHARED_ROOMS:
                    wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_nobody_asks_which_family_a_plan_belongs_to():
    asks = re.compile(
        r"family(?:\.name)?\s*(?:==|!=|\bin\b)|isinstance\([^)]*\b(?:Row|Foreach)\w*\)"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for package in ("schedule", "render", "project", "run", "cli")
        for path in _files(package)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if asks.search(line) and "plan" in line
    ]
    assert found == []
