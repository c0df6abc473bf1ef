"""Numbers of the device library's header of TopK in kernels that use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.build.rewriting.kernel_sources import topk_flags

HEADER = ["-include", "ascendc_emu/topk_numbers.h"]


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("int x = EIGHTY;", []),
        ("int x = EIGHT;", HEADER),
        ("constexpr int EIGHT = 8;\nint x = EIGHT;", []),
        ("const uint32_t ONE = 1, EIGHT = 8;\nint x = EIGHT;", []),
        ("enum { ONE, EIGHT };\nint x = EIGHT;", []),
        ("#define EIGHT 8\nint x = EIGHT;", []),
        ("namespace {\nconstexpr int EIGHT = 8;\n}\nint x = EIGHT;", []),
        ("namespace K {\nconstexpr int EIGHT = 8;\n}\nint x = EIGHT;", HEADER),
        ("namespace K {\nconst int EIGHT = 8;\n}\nusing namespace K;\nint x = EIGHT;", []),
        ("void f() { const int EIGHT = 9; }\nint x = EIGHT;", HEADER),
        ("struct S { static constexpr int EIGHT = 8; };\nint x = EIGHT;", HEADER),
        ("const int TWO = 2;\nint x = TWO + EIGHT;", [*HEADER, "-DOPGEN_OWN_TWO"]),
        ("int x = Other::EIGHT;", []),
        ("constexpr int A = EIGHT, B = 1;", HEADER),
        ("const int a[] = {EIGHT, TWO};", HEADER),
        ("enum { A = EIGHT, B };", HEADER),
    ],
)
def test_flags(text: str, flags: list[str]) -> None:
    assert topk_flags([text]) == flags


def test_a_kernels_own_numbers_are_its_own(tmp_path: Path) -> None:
    kernel = tmp_path / "numbers.cpp"
    kernel.write_text(
        """#include "kernel_operator.h"
constexpr uint32_t TWO = 20;
#define SIX 60
namespace K {
constexpr uint32_t FOUR = 40;
}
using namespace K;
static_assert(TWO == 20 && SIX == 60 && FOUR == 40 && EIGHT == 8 && MIN_SORT32_SIZE == 32, "");
extern "C" __global__ __aicore__ void numbers(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR t) {}
""",
        encoding="utf-8",
    )
    assert compile_kernel(kernel).is_file()
