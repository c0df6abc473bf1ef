"""Files that the documentation names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    wrong = [name for name in links if "://" not in name and not (page.parent / name).exists()]
    assert not wrong


def test_the_programs_of_tutorials_have_their_tests() -> None:
    text = (ROOT / "docs" / "tutorials.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:op_specs|tests|scripts)/[^`]+)`", text))
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]
