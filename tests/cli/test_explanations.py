"""Every code that the package can report has an explanation, and one meaning."""

from __future__ import annotations

import re
from pathlib import Path

import msopgen_wrap
from msopgen_wrap.explain import all_explanations, find

PACKAGE = Path(msopgen_wrap.__file__).parent


def used_codes() -> dict[str, set[str]]:
    """Return code -> packages that raise it."""
    codes: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        area = path.relative_to(PACKAGE).parts[0]
        for code in re.findall(r'["\'](OPG\d{3})["\']', path.read_text(encoding="utf-8")):
            codes.setdefault(code, set()).add(area)
    return codes


def test_every_code_is_explained() -> None:
    assert sorted(c for c in used_codes() if not find(c)) == []


def test_explanations_are_unique_and_not_empty() -> None:
    codes = [c for e in all_explanations() for c in e.codes]
    assert sorted({c for c in codes if codes.count(c) > 1}) == []
    assert all(e.title and e.body for e in all_explanations())


def test_lowering_and_compiler_have_codes_of_their_own() -> None:
    for code, areas in used_codes().items():
        assert not {"schedule", "build"} <= areas, code
