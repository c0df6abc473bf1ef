"""Cases reach every statement of the building blocks that a project copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from block_coverage import BLOCKS, block_lines, statements, unreached

ROOT = Path(__file__).resolve().parents[2]
# Together they use all blocks. What no op of the library needs has a spec beside this file.
TOUR = [
    *sorted((Path(__file__).parent / "block_tour").glob("*.yaml")),
    *(
        ROOT / "op_specs" / name
        for name in (
            "elementwise/masked_scale.yaml",
            "foreach/foreach_addcdiv_scalar.yaml",
            "foreach/foreach_mul_tensor.yaml",
            "foreach/foreach_norm.yaml",
            "norm/rms_norm.yaml",
            "reduce/arg_max_row.yaml",
            "reduce/reduce_max.yaml",
        )
    ),
]

HEADER = """
#ifndef A
// a comment; f(x);
template <typename T>
__aicore__ inline void Copy(const Tile& to,
                            uint32_t count) {
    constexpr uint32_t kBlock = Size(32);
    if constexpr (Same<T, half>::value) {
        Move(to,
             count);  // half
    } else if (count > 1) {
        to.at = count;
        return;
    }
}
uint32_t first = 0;
"""


def test_statements_of_a_header() -> None:
    spans = [(s.start, s.stop - 1) for s in statements(HEADER)]
    assert spans == [(9, 10), (11, 11), (12, 12), (13, 13)]


def test_statements_without_an_execution_are_named(tmp_path: Path) -> None:
    (tmp_path / "copy.h").write_text(HEADER, encoding="utf-8")
    # the second line of a statement counts for all of it; line 13 is in no kernel
    lines = {"copy.h": {10: 4, 11: 2, 12: 0}}
    assert unreached(lines, tmp_path) == {"copy.h": [12, 13]}
    assert unreached({}, tmp_path) == {"copy.h": [9, 11, 12, 13]}


@pytest.mark.slow
def test_cases_reach_every_statement_of_the_blocks() -> None:
    missing = unreached(block_lines(TOUR))
    texts = {name: (BLOCKS / name).read_text(encoding="utf-8").splitlines() for name in missing}
    assert not missing, [
        f"{name}:{number}: {texts[name][number - 1].strip()}"
        for name, numbers in missing.items()
        for number in numbers
    ]
