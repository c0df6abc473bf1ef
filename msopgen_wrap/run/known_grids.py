"""The case grid of a spec, with what ``compute`` accepts kept in the build cache.

Asking ``compute`` runs it on meta tensors, for which torch imports its compiler: as long as torch
itself takes. A second run of the same spec asks nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.rendered_specs import kit_hash
from msopgen_wrap.spec.model import OpSpec

_FILE = "accepted.json"


def known_grid(
    spec: OpSpec, *, large: bool = False, answers: dict[str, bool] | None = None
) -> list[TestCase]:
    """Return the grid as ``case_grid`` does.

    Args:
        answers: what ``accepted_shapes`` gave, where that is known.

    Raises:
        OpgenError: the cache cannot be written.
    """
    return case_grid(
        spec, large=large, answers=accepted_shapes(spec) if answers is None else dict(answers)
    )


def accepted_shapes(spec: OpSpec) -> dict[str, bool]:
    """Return which of the shapes that the grid tries ``compute`` takes.

    Raises:
        OpgenError: the cache cannot be written.
    """

    def build(folder: Path) -> list[Path]:
        answers: dict[str, bool] = {}
        case_grid(spec, answers=answers)
        (folder / _FILE).write_text(json.dumps(answers, indent=0) + "\n", encoding="utf-8")
        return []

    key = cache.text_hash(kit_hash(), spec.source)
    folder = cache.cached("grid", key, f"{spec.op}: shapes that compute takes", build)[0]
    answers: dict[str, bool] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return answers
