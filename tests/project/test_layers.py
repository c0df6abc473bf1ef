"""Imports go one way: a stage imports earlier stages only, and a family's room no other room."""

from __future__ import annotations

import functools
import re
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
from importlinter.cli import lint_imports

import msopgen_wrap

ROOT = Path(msopgen_wrap.__file__).parent
# Rooms that build on another room.
SHARED_ROOMS = {("foreach", "elementwise"), ("foreach", "row"), ("scan", "elementwise")}
SHARED_ROOMS |= {("attention", "contract")}  # reads its products


@functools.lru_cache(maxsize=1)
def imports() -> dict[str, set[str]]:
    """Return what each module imports, inside functions too, but not for type checking only."""
    graph = grimp.build_graph(ROOT.name, exclude_type_checking_imports=True, cache_dir=None)
    return {m: graph.find_modules_directly_imported_by(m) for m in sorted(graph.modules)}


def test_a_stage_imports_earlier_stages_only(capsys):
    """The contract is in pyproject.toml."""
    failed = lint_imports(str(ROOT.parent / "pyproject.toml"), no_cache=True, no_logo=True)
    assert not failed, capsys.readouterr().out


def test_every_stage_is_in_the_contract():
    contract = (ROOT.parent / "pyproject.toml").read_text(encoding="utf-8").split("layers = [")[1]
    stages = {p.parent.name for p in ROOT.glob("*/__init__.py")} - {"explain"}
    assert stages == set(re.findall(r"\w+", contract.split("]")[0]))


def test_no_module_imports_itself_through_others():
    assert len(imports()) > 200
    TopologicalSorter(imports()).prepare()


def test_a_room_imports_no_other_room():
    families = f"{ROOT.name}.families"
    rooms = {p.name for p in (ROOT / "families").iterdir() if p.is_dir() and p.name[0] != "_"}
    assert len(rooms) >= 4
    wrong = []
    for module, names in imports().items():
        room = module.removeprefix(f"{families}.").split(".")[0]
        for name in names if room in rooms else ():
            other = name.removeprefix(f"{families}.").split(".")[0]
            if other in rooms - {room} and (room, other) not in SHARED_ROOMS:
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_nobody_asks_which_family_a_plan_belongs_to():
    asks = re.compile(
        r"family(?:\.name)?\s*(?:==|!=|\bin\b)|isinstance\([^)]*\b(?:Row|Foreach)\w*\)"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for package in ("schedule", "render", "project", "run", "cli")
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if asks.search(line) and "plan" in line
    ]
    assert found == []
