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
    // Memory may also be named by its number, and used as memory.
    vector_dup((__ubuf__ float*)8192, 0, 1, 1, 1, 8, 0);
    auto numbered = reinterpret_cast<__ubuf__ float*>((uintptr_t)12288);
    numbered[1] = 3;
    auto same = reinterpret_cast<const __ubuf__ float *>(reinterpret_cast<uintptr_t>(numbered + 1));
    if (numbered != reinterpret_cast<__ubuf__ float*>(numbered) || *same != 3) return;
    vmuls(pb, pb, 2.0f, 2, 1, 1, 8, 8);
    vcmax(pc, pb, 2, 1, 1, 8, Order_t::ONLY_VALUE);
    for (int i = 0; i < 64; ++i) o.SetValue(i, (63 - i) * 4);
    set_flag(PIPE_S, PIPE_V, EVENT_ID0); wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
    vgather((__ubuf__ uint32_t*)g.GetPhyAddr(), (__ubuf__ uint32_t*)o.GetPhyAddr(),
            (uint32_t)(uint64_t)pb, 8, 1);
    pipe_barrier(PIPE_V);
    LocalTensor<uint32_t> e(TPosition::VECCALC, 20480, 64);
    vreducev2((__ubuf__ uint32_t*)e.GetPhyAddr(), (__ubuf__ uint32_t*)g.GetPhyAddr(), nullptr, 1, 1, 2,
              8, 0);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    set_atomic_add(); set_atomic_f32();
    copy_ubuf_to_gm_align_b32((__gm__ float*)y, pc, 0, 1, 8, 0, 0, 0, 0);
    set_atomic_none();
    copy_ubuf_to_gm((__gm__ float*)y + 8, (__ubuf__ float*)g.GetPhyAddr(), 0, 1, 8, 0, 0);
    copy_ubuf_to_gm((__gm__ uint32_t*)y + 72, (__ubuf__ uint32_t*)e.GetPhyAddr(), 0, 1, 4, 0, 0);
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
    aclrtMalloc((void**)&y, 104 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 128; ++i) x[i] = half(i);
    for (int i = 0; i < 104; ++i) y[i] = 1;
    k<<<1, nullptr, s>>>((uint8_t*)x, (uint8_t*)y); 
    aclrtSynchronizeStream(s);
    // The largest of each 64 of (x + 1) * 2, added to 1; then the first 64 backwards.
    if (y[0] != 129 || y[1] != 257) return 2;
    for (int i = 0; i < 64; ++i) {
        if (y[8 + i] != 2 * (64 - i)) return 3;
        if (i % 2 && y[72 + i / 2] != 2 * (64 - i)) return 4;
    }
    return 0;
}
"""

# C (32 x 48) = A (32 x 64) B (64 x 48), all by instructions on addresses that are numbers, then the
# same in halves and Relu, through L1.
CUBE = """#include "acl/acl.h"
#include "kernel_operator.h"
extern "C" __global__ __cube__ void k(__gm__ half* a, __gm__ half* b, __gm__ float* c,
                                      __gm__ half* d)
{
    auto l1a = reinterpret_cast<__cbuf__ half*>((uintptr_t)0);
    auto l1b = reinterpret_cast<__cbuf__ half*>((uintptr_t)(64 * 1024));
    auto l0a = reinterpret_cast<__ca__ half*>((uintptr_t)0);
    auto l0b = reinterpret_cast<__cb__ half*>((uintptr_t)(32 * 1024));
    auto l0c = reinterpret_cast<__cc__ float*>((uintptr_t)(64 * 1024));
    set_padding(0);
    create_ca_matrix(l0a, (int64_t)(8 << 16 | 1), half(1));  // overwritten below
    pipe_barrier(PIPE_ALL);
    set_nd_para(uint64_t(1));
    copy_gm_to_cbuf_multi_nd2nz_b16(l1a, a, 0, 1, 32, 64, 0, 64, 32, 1, 0);
    copy_gm_to_cbuf_multi_nd2nz_b16(l1b, b, 0, 1, 64, 48, 0, 48, 64, 1, 0);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    if (TRANSPOSE) {
        // A as an image of 4 x 8 places and 64 channels under a window of one place.
        set_fmatrix(uint64_t{4} | uint64_t{8} << 16);
        set_l3d_rpt(0x10000);
        img2colv2_cbuf_to_ca(l0a, l1a, 64, 32, 0, 0, 1, 1, 1, 1, 1, 1, false, false, false, false,
                             64);
    }
    for (int row = 0; row < 2 && !TRANSPOSE; ++row) {
        load_cbuf_to_ca(l0a + row * 4 * 256, l1a + row * 256, 0, 4, 2, 0, 0, false, inc);
    }
    for (int row = 0; row < 4; ++row) {
        if (TRANSPOSE) {
            load_cbuf_to_cb_transpose(l0b + row * 3 * 256, l1b + row * 256, 0, 3, 4, 0, inc, 0);
        } else {
            load_cbuf_to_cb(l0b + row * 3 * 256, l1b + row * 256, 0, 3, 4, 0, 0, true, inc);
        }
    }
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    mad(l0c, l0a, l0b, 32, 64, 48, 0, false, false, true);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    copy_matrix_cc_to_gm(c, l0c, 0, 48, 32, 48, 32, 0, NoQuant, 0, false, true);
    copy_matrix_cc_to_gm(d, l0c, 0, 48, 32, 50, 32, 0, F322F16, 1, false, true);
    pipe_barrier(PIPE_ALL);
}
int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream s;
    aclrtCreateStream(&s);
    half *a, *b, *d;
    float* c;
    aclrtMalloc((void**)&a, 32 * 64 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&b, 64 * 48 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&c, 32 * 48 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&d, 32 * 50 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 32 * 64; ++i) a[i] = half(i % 13 - 6);
    for (int i = 0; i < 64 * 48; ++i) b[i] = half(i % 7 - 3);
    k<<<1, nullptr, s>>>(a, b, c, d);
    aclrtSynchronizeStream(s);
    for (int i = 0; i < 32; ++i) {
        for (int j = 0; j < 48; ++j) {
            float sum = 0;
            for (int l = 0; l < 64; ++l) sum += float(a[i * 64 + l]) * float(b[l * 48 + j]);
            if (c[i * 48 + j] != sum) return 2;
            if (float(d[i * 50 + j]) != (sum < 0 ? 0 : sum)) return 3;
        }
    }
    return 0;
}
"""


@pytest.mark.parametrize("transpose", ["0", "1"])
@pytest.mark.parametrize("mode", ["check", "fast"])
def test_a_product_of_instructions(tmp_path, mode, transpose, capfd):
    program = tmp_path / "product.asc"
    program.write_text(CUBE.replace("TRANSPOSE", transpose))
    assert opgen(["run", str(program), "--mode", mode]) == 0, capfd.readouterr().err


BLOCKS = """#include "acl/acl.h"
#include "kernel_operator.h"
// Of each vector core: its number by the registers and by the API.
__global__ __mix__(1, 2) void k(__gm__ int32_t* y)
{
    if ASCEND_IS_AIV {
        const int64_t core = get_block_idx() * get_subblockdim() + get_subblockid();
        const bool same = block_idx == get_block_idx();
        y[core * 16] = same ? 100 * AscendC::GetBlockIdx() + core : -1;
        dcci(y + core * 16, SINGLE_CACHE_LINE);
    }
}
int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream s;
    aclrtCreateStream(&s);
    int32_t *y, host[96];
    aclrtMalloc((void**)&y, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST);
    k<<<3, nullptr, s>>>(y);
    aclrtSynchronizeStream(s);
    aclrtMemcpy(host, sizeof(host), y, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST);
    for (int i = 0; i < 6; ++i) {
        if (host[i * 16] != 101 * i) return 2 + i;
    }
    return 0;
}
"""


def test_block_of_a_mixed_kernel(tmp_path, capfd):
    program = tmp_path / "blocks.asc"
    program.write_text(BLOCKS)
    assert opgen(["run", str(program)]) == 0, capfd.readouterr().err


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
    flags = dialect_flags([blank_comments(text)])
    assert ("ascendc_emu/compiler_names.h" in flags) == wanted
    assert "ascendc_emu/cube_instructions.h" not in flags
