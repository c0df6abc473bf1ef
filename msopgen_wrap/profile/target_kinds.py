"""What ``opgen profile`` can be given, and which options mean something for each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from msopgen_wrap.foreign.program_sources import SOURCE_SUFFIXES, folder_sources
from msopgen_wrap.manifest import MANIFEST

LAUNCHES_SUFFIX = ".jsonl"
_SPEC_SUFFIXES = (".yaml", ".yml")


class TargetKind(Enum):
    """Kinds of targets, by the name that messages give them."""

    LAUNCHES = "a file of launches"
    PROJECT = "a scaffolded project"
    PROGRAM_FOLDER = "a folder with a program"
    OP_FOLDER = "an op folder"
    PROGRAM = "a program"
    SPEC = "a spec"


_OF_SPEC = {"op", "shapes", "case", "dtype", "attrs", "block_dim", "records", "soc"}
_OF_PROGRAM = {"arguments", "defines", "includes", "records", "soc"}
_USED = {
    TargetKind.LAUNCHES: set[str](),
    TargetKind.PROJECT: _OF_SPEC,
    TargetKind.PROGRAM_FOLDER: _OF_PROGRAM,
    TargetKind.OP_FOLDER: {
        *("op", "case", "inputs", "outputs", "attrs"),
        *("block_dim", "defines", "includes", "records", "soc"),
    },
    TargetKind.PROGRAM: _OF_PROGRAM,
    TargetKind.SPEC: _OF_SPEC,
}
# Options whose name is not that of the value.
_OPTIONS = {
    **{"shapes": "--shape", "attrs": "--attr", "inputs": "--input", "outputs": "--output"},
    **{"defines": "--define", "includes": "--include", "block_dim": "--block-dim"},
}


def target_kind(target: Path) -> TargetKind | None:
    """Return what a target is; None where it is nothing that can be profiled."""
    if target.suffix == LAUNCHES_SUFFIX:
        return TargetKind.LAUNCHES
    if (target / MANIFEST).is_file():
        return TargetKind.PROJECT
    if target.is_dir() and folder_sources(target):
        return TargetKind.PROGRAM_FOLDER
    if target.is_dir() and (target / "op_host").is_dir():
        return TargetKind.OP_FOLDER
    if target.suffix in SOURCE_SUFFIXES and target.is_file():
        return TargetKind.PROGRAM
    if target.suffix in _SPEC_SUFFIXES or ".py" in target.name or target.is_dir():
        return TargetKind.SPEC
    return None


def unused_options(kind: TargetKind, given: Mapping[str, Any]) -> list[str]:
    """Return the options and arguments that a target of this kind would pass over.

    Args:
        given: values by the names of ``ProfileOptions``; empty ones were not given.
    """
    unused: list[str] = []
    for name in ("arguments", *sorted(set().union(*_USED.values()) - {"arguments"})):
        if not given.get(name) or name in _USED[kind]:
            continue
        unused += given[name] if name == "arguments" else [_OPTIONS.get(name, f"--{name}")]
    return unused
