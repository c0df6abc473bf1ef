"""Host-side types and calls that programs with cube kernels use."""

from __future__ import annotations

from pathlib import Path

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = """
#include "acl/acl.h"
#include <opdev/bfloat16.h>
#include <opdev/fp16_t.h>
#include "kernel_operator.h"
#include <cstdio>
#include <type_traits>
#include <vector>
using op::bfloat16;
using op::fp16_t;

#define CHECK(...) do { if (!(__VA_ARGS__)) { puts(#__VA_ARGS__); return 1; } } while (0)

int main()
{
    fp16_t a = 1.5, b(0.25f), c = uint16_t(0x3c00), d = 70000;
    CHECK(a.val == 0x3e00 && b.val == 0x3400 && float(c) == 1.0f && d.IsInf() == 1);
    CHECK(std::is_same<decltype(a + b), fp16_t>::value);
    CHECK(std::is_same<decltype(a * 2.0f), fp16_t>::value);
    CHECK((a + b) * a == 2.625f && a / b == 6 && -a < b && a - 1 == fp16_t(0.5));
    CHECK(fp16_t(2049) == 2048 && fp16_t(1 / 3.f).val == 0x3555);  // nearest even
    CHECK(2.0f * a == 3.0f && static_cast<int8_t>(a) == 1 && static_cast<double>(b) == 0.25);
    a += b;
    CHECK(a.toFloat() == 1.75f && std::abs(-a) == 1.75f && !std::isnan(a));
    bfloat16 e = 1.0f, f(uint16_t(0x3f80), bfloat16::from_bits());
    CHECK(e == f && e.value == 0x3f80 && bfloat16(257).value == 0x4380 && bfloat16(3) == 3);
    CHECK(bfloat16(fp16_t(0.5)) == 0.5f && fp16_t(bfloat16(0.5)) == 0.5f && (e + f) / 4 == 0.5f);
    std::vector<fp16_t> v(3, fp16_t(2));
    float sum = 0;
    for (const auto& x : v) sum += static_cast<float>(x) * x;
    CHECK(sum == 12.0f && std::numeric_limits<fp16_t>::max() == 65504);
    CHECK(AscendC::SizeOfBits<AscendC::int4b_t>::value == 4);
    CHECK(sizeof(AscendC::fp8_e8m0_t) + sizeof(AscendC::fp8_e4m3fn_t) + sizeof(fp4x2_e2m1_t) == 3);
    CHECK(std::is_same<AscendC::hifloat8_t, ::hifloat8_t>::value && sizeof(fp8_e5m2_t) == 1);
    void* flags = nullptr;
    CHECK(aclrtGetHardwareSyncAddr(&flags) == ACL_SUCCESS && flags != nullptr);
    CHECK(aclrtGetHardwareSyncAddr(nullptr) != ACL_SUCCESS);
    return 0;
}
"""


def test_half_types_and_sync_address(tmp_path: Path):
    source = tmp_path / "p.cpp"
    source.write_text(PROGRAM)
    done = run_program(source, [], ProgramOptions(mode="fast"), cwd=tmp_path)
    assert done.exit_code == 0, done.output
