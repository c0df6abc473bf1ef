"""A tour of the building blocks: its cases reach every statement, and need no automatic order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from block_coverage import BLOCKS, block_lines, statements, unreached

from msopgen_wrap.build.emulation_library import load_emulation_library
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.case_runner import run_case
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.preparation import load_op
from msopgen_wrap.run.worker import elements
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.spec.names import snake_case

ROOT = Path(__file__).resolve().parents[2]
#: file name -> spec; what no op of the library needs
TOUR = {
    snake_case(re.findall(r"^op: (\w+)$", text, re.M)[0]): text
    for text in Path(__file__).with_name("block_tour.yaml").read_text("utf-8").split("---\n")[1:]
}
# Together with the tour they use all blocks.
LIBRARY = [
    ROOT / "op_specs" / name
    for name in (
        "activation/gelu.yaml",
        "attention/gqa_attention.yaml",
        "attention/scaled_dot_product_attention.yaml",
        "conv/conv2d.yaml",
        "conv/conv3d.yaml",
        "conv/conv_transpose2d.yaml",
        "conv/depthwise_conv_2d.yaml",
        "elementwise/masked_scale.yaml",
        "foreach/foreach_addcdiv_scalar.yaml",
        "foreach/foreach_mul_tensor.yaml",
        "foreach/foreach_norm.yaml",
        "index/embedding.yaml",
        "index/gather_elements.yaml",
        "index/index_add.yaml",
        "index/scatter_add.yaml",
        "matmul/grouped_matmul.yaml",
        "matmul/linear.yaml",
        "norm/rms_norm.yaml",
        "order/kth_value_row.yaml",
        "order/median_row.yaml",
        "order/sort_row.yaml",
        "order/top_k_row.yaml",
        "recurrence/exponential_average.yaml",
        "recurrence/gru.yaml",
        "recurrence/lstm.yaml",
        "reduce/arg_max_row.yaml",
        "reduce/reduce_max.yaml",
        "scan/cummax.yaml",
        "scan/cumprod.yaml",
        "scan/cumsum.yaml",
        "scan/logcumsumexp.yaml",
        "window/adaptive_avg_pool2d.yaml",
        "window/avg_pool2d.yaml",
        "window/max_pool1d.yaml",
        "window/max_pool2d.yaml",
        "window/max_pool2d_with_indices.yaml",
    )
]
LARGEST = 1 << 17


def write(name: str, folder: Path) -> Path:
    """Write a spec of the tour."""
    path = folder / f"{name}.yaml"
    path.write_text(TOUR[name], encoding="utf-8")
    return path


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
def test_cases_reach_every_statement_of_the_blocks(tmp_path: Path) -> None:
    missing = unreached(block_lines([write(name, tmp_path) for name in TOUR] + LIBRARY))
    texts = {name: (BLOCKS / name).read_text(encoding="utf-8").splitlines() for name in missing}
    assert not missing, [
        f"{name}:{number}: {texts[name][number - 1].strip()}"
        for name, numbers in missing.items()
        for number in numbers
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", TOUR)
def test_no_instruction_overwrites_what_another_may_still_read(name: str, tmp_path: Path) -> None:
    """Blocks order their instructions themselves: the tour of them without auto-sync."""
    (spec,) = load_specs([write(name, tmp_path)])
    runtime = load_op(spec, rendered_spec(spec, "opgen"))
    library = load_emulation_library()
    cases = [c for c in case_grid(spec) if elements(c.shapes) <= LARGEST]
    assert cases
    assert library.opgen_sanitizer_option(b"auto-sync=off") == 0
    try:
        for case in cases:
            result = run_case(spec, case, runtime, soc="ascend910b3", mode="check")
            errors = [f for f in result.findings if f["severity"] == "error"]
            assert errors == [], case.label(spec)
    finally:
        library.opgen_sanitizer_option(b"auto-sync=on")
