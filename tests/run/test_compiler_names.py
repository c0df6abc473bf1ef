"""Instructions by the compiler's names: copies, conversions, reductions, gathers, atomics."""

from __future__ import annotations

import pytest

from msopgen_wrap.build.kernel_sources import dialect_flags
from msopgen_wrap.build.source_text import blank_comments
from msopgen_wrap.cli.app import run as opgen

PROGRAM = """#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __vector__ void k(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<half> a(TPosition::VECCALC, 0, 128);
    LocalTensor<float> b(TPosition::VECCALC, 512, 128), c(TPosition::VECCALC, 1536, 64);
    LocalTensor<uint32_t> o(TPosition::VECCALC, 2048, 64);
    LocalTensor<float> g(TPosition::VECCALC, 4096, 64);
    __ubuf__ half* pa = (__ubuf__ half*)a.GetPhyAddr();
    __ubuf__ float* pb = (__ubuf__ float*)b.GetPhyAddr();
    __ubuf__ float* pc = (__ubuf__ float*)c.GetPhyAddr();
    copy_gm_to_ubuf_align_b16(pa, (__gm__ half*)x, 0, 1, 128 * 2, 0, 0, 0, 0);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    set_mask_norm(); set_vector_mask(0, (uint64_t)-1);
    vconv_f162f32(pb, pa, 2, 1, 1, 8, 4);
    pipe_barrier(PIPE_V);
    vadds(pb, pb, 1.0f, 2, 1, 1, 8, 8);
    // Memory may also be named by its number.
    vector_dup((__ubuf__ float*)8192, 0, 1, 1, 1, 8, 0);
    vmuls(pb, pb, 2.0f, 2, 1, 1, 8, 8);
    vcmax(pc, pb, 2, 1, 1, 8, Order_t::ONLY_VALUE);
    for (int i = 0; i < 64; ++i) o.SetValue(i, (63 - i) * 4);
    set_flag(PIPE_S, PIPE_V, EVENT_ID0); wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
    vgather((__ubuf__ uint32_t*)g.GetPhyAddr(), (__ubuf__ uint32_t*)o.GetPhyAddr(),
            (uint32_t)(uint64_t)pb, 8, 1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    set_atomic_add(); set_atomic_f32();
    copy_ubuf_to_gm_align_b32((__gm__ float*)y, pc, 0, 1, 8, 0, 0, 0, 0);
    set_atomic_none();
    copy_ubuf_to_gm((__gm__ float*)y + 8, (__ubuf__ float*)g.GetPhyAddr(), 0, 1, 8, 0, 0);
    pipe_barrier(PIPE_ALL);
}
int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream s;
    aclrtCreateStream(&s);
    half* x;
    float* y;
    aclrtMalloc((void**)&x, 128 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&y, 72 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 128; ++i) x[i] = half(i);
    for (int i = 0; i < 72; ++i) y[i] = 1;
    k<<<1, nullptr, s>>>((uint8_t*)x, (uint8_t*)y); 
    aclrtSynchronizeStream(s);
    // The largest of each 64 of (x + 1) * 2, added to 1; then the first 64 backwards.
    if (y[0] != 129 || y[1] != 257) return 2;
    for (int i = 0; i < 64; ++i) {
        if (y[8 + i] != 2 * (64 - i)) return 3;
    }
    return 0;
}
"""


@pytest.mark.parametrize("mode", ["check", "fast"])
def test_a_program_of_instructions(tmp_path, mode, capfd):
    program = tmp_path / "names.asc"
    program.write_text(PROGRAM)
    assert opgen(["run", str(program), "--mode", mode]) == 0, capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("vadds(p, p, s, 1, 1, 1, 8, 8);", True),
        ("  copy_gm_to_ubuf (a, b, 0, 1, 1, 0, 0);", True),
        ("// vadds(p)", False),
        ("op.vexp(p);", False),
        ("ns::vexp(p);", False),
        ("template <class T> void vexp(T* p) {}\nvexp(p);", False),
    ],
)
def test_only_sources_with_such_calls_get_them(text, wanted):
    assert ("ascendc_emu/compiler_names.h" in dialect_flags([blank_comments(text)])) == wanted
