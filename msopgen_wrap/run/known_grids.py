"""The case grid of a spec, with what ``compute`` accepts kept in the build cache.

Asking ``compute`` runs it on meta tensors, for which torch imports its compiler: as long as torch
itself takes. A second run of the same spec asks nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.run.cases import TestCase, case_grid
from msopgen_wrap.run.rendered_specs import kit_hash
from msopgen_wrap.spec.model import OpSpec

_FILE = "accepted.json"


def known_grid(spec: OpSpec, *, large: bool = False) -> list[TestCase]:
    """Return the grid as ``case_grid`` does.

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
    answers = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return case_grid(spec, large=large, answers=answers)
