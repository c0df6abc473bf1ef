"""The HTML report: the picture of the errors, the worst element, what was covered and what not."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

from msopgen_wrap.run.report import write_report
from msopgen_wrap.run.report_figures import coverage_matrix, error_picture, worst_case
from msopgen_wrap.run.results import FAILED, PASSED, CaseResult, OpResult, TestReport
from msopgen_wrap.run.worst_elements import neighbourhood, worst_index

TRAITS = {
    "elements": 1000,
    "ranks": [2],
    "aligned": True,
    "empty": False,
    "one": False,
    "broadcast": False,
    "absent": [],
    "values": "normal",
}


def case(dtype: str, maximum: float, status: str = PASSED, **fields: Any) -> CaseResult:
    own = {"traits": TRAITS, "rules": {"y": "relative"}, "cores": 2, "tiles": 1, **fields}
    return CaseResult("Demo", f"{dtype} <{maximum}>", dtype, status, maximum=maximum, **own)


def wrong_at(*index: int) -> tuple[torch.Tensor, torch.Tensor]:
    golden = torch.arange(1, 25, dtype=torch.float64).reshape(2, 3, 4)
    actual = golden.float()
    actual[index] += 0.5
    return actual, golden


def test_the_worst_element_stands_in_its_neighbourhood() -> None:
    actual, golden = wrong_at(1, 2, 0)
    assert worst_index(actual, golden) == ((1, 2, 0), 1)
    shown = neighbourhood("y", actual, golden)
    assert (shown["index"], shown["differing"], shown["total"]) == ([1, 2, 0], 1, 24)
    assert [row["index"] for row in shown["rows"]] == [1, 2]
    cell = shown["rows"][1]["cells"][0]
    assert (cell["got"], cell["expected"], cell["worst"]) == ("21.5", "21", True)
    assert sum(c["worst"] for row in shown["rows"] for c in row["cells"]) == 1


@pytest.mark.parametrize("shape", [(), (1,), (9,), (2, 2, 2, 2)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.bool])
def test_every_rank_and_dtype_has_one(shape, dtype) -> None:
    actual = torch.ones(shape, dtype=dtype)
    shown = neighbourhood("y", actual, torch.zeros(shape, dtype=torch.float64).to(dtype))
    assert shown["total"] == shown["differing"] == actual.numel()


def test_infinities_and_nan_that_agree_are_no_error() -> None:
    golden = torch.tensor([float("inf"), float("nan"), 2.0], dtype=torch.float64)
    assert worst_index(golden.float(), golden)[1] == 0
    lost = torch.tensor([float("inf"), 1.0, 2.0])
    assert worst_index(lost, golden) == ((1,), 1)


def test_marks_lie_by_size_and_error() -> None:
    small, large = TRAITS | {"elements": 10}, TRAITS | {"elements": 10**6}
    drawn = error_picture(
        OpResult(
            "Demo",
            "demo.yaml",
            [
                case("float16", 1e-4, traits=small),
                case("float16", 1e-2, FAILED, traits=large),
                case("float32", 0.0, traits=large),
                case("float32", float("inf"), FAILED, traits=large),
                CaseResult("Demo", "refused", "float32", "not applicable"),
            ],
        )
    )
    assert drawn is not None and drawn.series == ["float16", "float32"]
    first, second, exact, infinite = drawn.points
    assert first.x < second.x and first.y > second.y  # y grows downwards
    assert exact.y == drawn.bottom and infinite.y == drawn.top
    assert [p.failed for p in drawn.points] == [False, True, False, True]
    assert error_picture(OpResult("Demo", "demo.yaml", [])) is None


def test_what_no_case_had_is_named() -> None:
    odd = TRAITS | {"aligned": False, "ranks": [1]}
    op = OpResult(
        "Demo", "d.yaml", [case("float16", 0.0, traits=odd), case("float32", 0.0, FAILED)]
    )
    matrix = coverage_matrix(op)
    table = {dtype: dict(zip(matrix.kinds, counts, strict=True)) for dtype, counts in matrix.rows}
    assert table["float16"]["rank 1"] == table["float16"]["unaligned tail"] == 1
    assert table["float16"]["rank 2"] == table["float16"]["aligned tail"] == 0
    assert not any(table["float32"].values())
    assert "aligned tail" in matrix.missing[0] and "1 cases of float32" in matrix.missing[-1]


class Page(HTMLParser):
    """Counts tags and finds those that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_holds_all_of_it_and_needs_nothing_else(tmp_path: Path) -> None:
    failed = case("float16", 0.5, FAILED, reason="y: 1 normal elements over the bound")
    failed.worst = neighbourhood("y", *wrong_at(1, 2, 0))
    passed = case("float32", 1e-6)
    passed.worst = neighbourhood("y", *wrong_at(0, 0, 0))
    op = OpResult("Demo", "demo.yaml", [passed, failed])
    assert worst_case(op.cases) is failed
    write_report(TestReport([op]), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == [] and "svg" in page.tags and "script" not in page.tags
    assert not re.search(r"https?://|<link|@import|url\(", text)
    for part in ("Errors by dtype and size", "The worst element", "y[1, 2, 0]", "21.5", "none"):
        assert part in text, part
    for part in ("What it did not cover", "prefers-color-scheme: dark", "float16 &lt;0.5&gt;"):
        assert part in text, part
