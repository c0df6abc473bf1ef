"""Instructions by the compiler's names: copies, conversions, reductions, gathers, atomics."""

from __future__ import annotations

import pytest

from msopgen_wrap.build.rewriting.kernel_sources import dialect_flags
from msopgen_wrap.build.rewriting.source_text import blank_comments
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
    auto immediate = (__ubuf__ float*)get_imm(12288 + sizeof(float));
    if (immediate != same || get_imm(96, 1) != 65632 || block_num != get_block_num()) return;
    vmuls(pb, pb, 2.0f, 2, 1, 1, 8, 8);
    vcmax(pc, pb, 2, 1, 1, 8, Order_t::ONLY_VALUE);
    set_flag(PIPE_V, PIPE_S, EVENT_ID0); wait_flag(PIPE_V, PIPE_S, EVENT_ID0);
    float most, place;
    GetReduceMaxMinCount(most, place);
    const uint64_t both = get_max_min_cnt();
    if (most != 256 || *(const float*)&both != most || both >> 32 != *(uint32_t*)&place) return;
    for (int i = 0; i < 64; ++i) o.SetValue(i, (63 - i) * 4);
    set_flag(PIPE_S, PIPE_V, EVENT_ID0); wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
    vgather((__ubuf__ uint32_t*)g.GetPhyAddr(), (__ubuf__ uint32_t*)o.GetPhyAddr(),
            (uint32_t)(uint64_t)pb, 8, 1);
    pipe_barrier(PIPE_V);
    LocalTensor<uint32_t> e(TPosition::VECCALC, 20480, 64);
    vreducev2((__ubuf__ uint32_t*)e.GetPhyAddr(), (__ubuf__ uint32_t*)g.GetPhyAddr(), nullptr, 1, 1,
              2, 8, 0);
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

# Fused, shifting and gathering instructions, and those that count bits.
FUSED = """#include "acl/acl.h"
#include "kernel_operator.h"
extern "C" __global__ __vector__ void k(GM_ADDR out)
{
    auto x = reinterpret_cast<__ubuf__ float*>((uintptr_t)0);
    auto y = reinterpret_cast<__ubuf__ float*>((uintptr_t)1024);
    auto i = reinterpret_cast<__ubuf__ int32_t*>((uintptr_t)8192);
    auto u = reinterpret_cast<__ubuf__ uint32_t*>((uintptr_t)9216);
    auto h = reinterpret_cast<__ubuf__ half*>((uintptr_t)16384);
    static_assert(PAD_NONE == pad_t::PAD_NONE);
    set_mask_norm(); set_vector_mask(0, (uint64_t)-1);
    vector_dup(x, 3.0f, 1, 1, 1, 8, 0); vector_dup(y, -5.0f, 1, 1, 1, 8, 0);
    for (int n = 0; n < 7; ++n) vector_dup(x + 512 + 64 * n, 2.0f, 1, 1, 1, 8, 0);
    vector_dup(i, -20, 1, 1, 1, 8, 0); vector_dup(u, 12u, 1, 1, 1, 8, 0);
    pipe_barrier(PIPE_V);
    __ubuf__ float* r = x + 512;
    vmla(r, x, y, 1, 1, 1, 1, 8, 8, 8);             // 3 * -5 + 2
    vmadd(r + 64, x, y, 1, 1, 1, 1, 8, 8, 8);       // 3 * 2 - 5
    vmaddrelu(r + 128, y, x, 1, 1, 1, 1, 8, 8, 8);  // Relu(-5 * 2 + 3)
    vaxpy(r + 192, x, 4, 1, 1, 1, 8, 8);            // 3 * 4 + 2
    vaddrelu(r + 256, x, y, 1, 1, 1, 1, 8, 8, 8);
    vsubrelu(r + 320, x, y, 1, 1, 1, 1, 8, 8, 8);
    vcopy(r + 384, y, 1, 1, 1, 8, 8);
    vshr(i + 64, i, 2, 1, 1, 1, 8, 8, false);
    vshl(u + 64, u, 3, 1, 1, 1, 8, 8);
    set_vector_mask((uint64_t)-1, (uint64_t)-1);
    vector_dup(h, (half)-2.6, 1, 1, 1, 8, 0);
    pipe_barrier(PIPE_V);
    vconv_f162s4r(h + 256, h, 1, 1, 1, 2, 8);
    pipe_barrier(PIPE_V);
    vconv_s42f16(h + 512, h + 256, 1, 1, 1, 8, 2);
    AscendC::LocalTensor<uint32_t> o(AscendC::TPosition::VECCALC, 9728, 8);
    for (int n = 0; n < 8; ++n) o.SetValue(n, 1024 + 32 * (7 - n));
    set_flag(PIPE_S, PIPE_V, EVENT_ID0); wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
    set_vector_mask(0, (uint64_t)-1);
    vgatherb(u + 192, u + 128, (uint64_t)x, 8, 1, 1);
    // The list of blocks at byte 24576: sources 640 + n, destinations 704 + n.
    AscendC::LocalTensor<uint16_t> blocks(AscendC::TPosition::VECCALC, 24576, 32);
    AscendC::LocalTensor<uint16_t> square(AscendC::TPosition::VECCALC, 640 * 32, 256);
    for (int n = 0; n < 16; ++n) { blocks.SetValue(n, 640 + n); blocks.SetValue(16 + n, 704 + n); }
    for (int n = 0; n < 256; ++n) square.SetValue(n, n);
    set_flag(PIPE_S, PIPE_V, EVENT_ID1); wait_flag(PIPE_S, PIPE_V, EVENT_ID1);
    auto list = reinterpret_cast<__ubuf__ uint64_t*>((uintptr_t)24576);
    vld_va_reg(VA0, list, L128); vld_va_reg(VA1, list, H128);
    vld_va_reg(VA2, list + 4, L128); vld_va_reg(VA3, list + 4, H128);
    scatter_vnchwconv_b16(VA2, VA0, 1, 0, 0);
    set_flag(PIPE_V, PIPE_S, EVENT_ID0); wait_flag(PIPE_V, PIPE_S, EVENT_ID0);
    auto g = (__gm__ float*)out;
    for (int n = 0; n < 7; ++n) g[n] = r[64 * n + 63];
    g[7] = i[64]; g[8] = u[64]; g[9] = h[512]; g[10] = reinterpret_cast<__ubuf__ float*>(u)[192];
    g[11] = bcnt1(0xF0) * 1000 + clz(1ull << 40) * 10 + sff1(8);
    g[12] = AscendC::LocalTensor<uint16_t>(AscendC::TPosition::VECCALC, 704 * 32, 256).GetValue(35);
    dcci(g, 0);
    AscendC::Barrier();
}
int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream s;
    aclrtCreateStream(&s);
    float* g;
    aclrtMalloc((void**)&g, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    k<<<1, nullptr, s>>>((uint8_t*)g);
    aclrtSynchronizeStream(s);
    const float want[13] = {-13, 1, 0, 14, 0, 8, -5, -5, 96, -3, -5, 4233, 50};
    for (int n = 0; n < 13; ++n) {
        if (g[n] != want[n]) { printf("%d: %f\\n", n, g[n]); return n + 2; }
    }
    return 0;
}
"""

# C (32 x 48) = A (32 x 64) B (64 x 48), all by instructions on addresses that are numbers, then the
# same in halves and Relu, through L1.
CUBE = """#include "acl/acl.h"
#include "kernel_operator.h"
extern "C" __global__ __cube__ void k(__gm__ half* a, __gm__ half* b, __gm__ float* c,
                                      __gm__ half* d, __gm__ float* bias)
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
    auto l1bias = reinterpret_cast<__cbuf__ float*>((uintptr_t)(128 * 1024));
    copy_gm_to_cbuf(l1bias, bias, 0, 1, 8, 0, 0, PAD_NONE);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    copy_cbuf_to_bt(64, l1bias, 0, 1, 3, 0, 0);
    set_flag(PIPE_MTE2, PIPE_FIX, EVENT_ID1); wait_flag(PIPE_MTE2, PIPE_FIX, EVENT_ID1);
    copy_cbuf_to_fbuf((__fbuf__ void*)0, l1bias, 1, 1, 0, 0);
    if (TRANSPOSE) {
        // A as an image of 4 x 8 places and 64 channels under a window of one place.
        set_fmatrix(uint64_t{4} | uint64_t{8} << 16);
        const uint8_t none[4] = {};
        AscendC::Load3DSetFMatrixBCal(1, 16, none);  // not the registers of A
        AscendC::Load3DSetPaddingCal(half(0));
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
    mad(l0c, l0a, l0b, reinterpret_cast<__biasbuf__ float*>((uintptr_t)64), 32, 64, 48, 0, false,
        true, false);
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
    float *c, *bias;
    aclrtMalloc((void**)&bias, 64 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 64; ++i) bias[i] = i;
    aclrtMalloc((void**)&a, 32 * 64 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&b, 64 * 48 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&c, 32 * 48 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&d, 32 * 50 * sizeof(half), ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 32 * 64; ++i) a[i] = half(i % 13 - 6);
    for (int i = 0; i < 64 * 48; ++i) b[i] = half(i % 7 - 3);
    k<<<1, nullptr, s>>>(a, b, c, d, bias);
    aclrtSynchronizeStream(s);
    for (int i = 0; i < 32; ++i) {
        for (int j = 0; j < 48; ++j) {
            float sum = j;
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


SORTS = """#include "acl/acl.h"
#include "kernel_operator.h"
// 64 descending pairs of x and its places; then bits of x > 0, and x rounded, times a factor.
__global__ __vector__ void k(__gm__ float* x, __gm__ float* y)
{
    auto scores = reinterpret_cast<__ubuf__ float*>((uintptr_t)0);
    auto places = reinterpret_cast<__ubuf__ uint32_t*>((uintptr_t)256);
    auto pairs = reinterpret_cast<__ubuf__ float*>((uintptr_t)512);
    auto merged = reinterpret_cast<__ubuf__ float*>((uintptr_t)1024);
    auto bits = reinterpret_cast<__ubuf__ uint64_t*>((uintptr_t)2048);
    auto whole = reinterpret_cast<__ubuf__ int32_t*>((uintptr_t)2304);
    auto halves = reinterpret_cast<__ubuf__ half*>((uintptr_t)2560);
    copy_gm_to_ubuf(scores, x, 0, 1, 8, 0, 0);
    for (int i = 0; i < 64; ++i) places[i] = i;
    set_flag(PIPE_S, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    set_mask_norm();
    set_vector_mask(0, (uint64_t)-1);
    vbitsort(pairs, scores, places, 2);
    pipe_barrier(PIPE_V);
    __ubuf__ float* lists[4] = {pairs, pairs + 64, pairs, pairs};
    vmrgsort4(merged, lists, (uint64_t)32 | (uint64_t)32 << 16, (uint64_t)1 | (uint64_t)3 << 8);
    pipe_barrier(PIPE_V);
    const int64_t taken = get_vms4_sr();
    vector_dup(merged + 128, 0.0f, 1, 1, 1, 8, 0);
    pipe_barrier(PIPE_V);
    vcmp_gt(scores, merged + 128, 1, 1, 1, 1, 8, 8, 8);
    get_cmpmask(bits);
    vconv_f322s32r(whole, scores, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    set_deqscale((half)0.5);
    vconv_deq(halves, whole, 1, 1, 1, 4, 8);
    dsb(DSB_UB);
    set_flag(PIPE_V, PIPE_S, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_S, EVENT_ID0);
    y[128] = (bits[0] & 1) + 2 * (bits[0] >> 63);
    y[129] = halves[63];
    y[130] = taken == (32 | 32 << 16);
    dcci(y + 128, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(y, merged, 0, 1, 16, 0, 0);
    pipe_barrier(PIPE_ALL);
}
int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream s;
    aclrtCreateStream(&s);
    float *x, *y;
    aclrtMalloc((void**)&x, 64 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&y, 192 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 64; ++i) x[i] = (i * 37 % 64) - 20.25f;
    for (int i = 0; i < 192; ++i) y[i] = 0;
    k<<<1, nullptr, s>>>(x, y);
    aclrtSynchronizeStream(s);
    for (int i = 0; i < 64; ++i) {
        if (y[2 * i] != 63 - i - 20.25f || x[((uint32_t*)y)[2 * i + 1]] != y[2 * i]) return 2;
    }
    // x[0] is -20.25 and x[63] 6.75, which rounds to 7.
    if (y[128] != 2) return 3;
    if (y[129] != 3.5f) return 4;
    return y[130] == 1 ? 0 : 5;
}
"""


@pytest.mark.parametrize("mode", ["check", "fast"])
def test_sorting_comparing_and_dequantising_by_instructions(tmp_path, mode, capfd):
    program = tmp_path / "sorts.asc"
    program.write_text(SORTS)
    assert opgen(["run", str(program), "--mode", mode]) == 0, capfd.readouterr().err


BLOCKS = """#include "acl/acl.h"
#include "kernel_operator.h"
// Of each vector core: its number by the registers and by the API.
__global__ __mix__(1, 2) void k(__gm__ int32_t* y)
{
    if ASCEND_IS_AIV {
        const int64_t core = get_block_idx() * get_subblockdim() + get_subblockid();
        const bool same = block_idx == get_block_idx() && block_num == 3 && get_block_num() == 3;
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
@pytest.mark.parametrize("text", [PROGRAM, FUSED], ids=["plain", "fused"])
def test_a_program_of_instructions(tmp_path, mode, text, capfd):
    program = tmp_path / "names.asc"
    program.write_text(text)
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
        ("    return clz(x);", True),
        ("inline int clz(uint32_t x);\nint y = clz(x);", False),
    ],
)
def test_only_sources_with_such_calls_get_them(text, wanted):
    flags = dialect_flags([blank_comments(text)])
    assert ("ascendc_emu/compiler_names.h" in flags) == wanted
    assert "ascendc_emu/cube_instructions.h" not in flags


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("int f(float x) { return std::ceil(std::log (x)); }", ["cmath"]),
        ("int f(int x) { return std::min<int>(x, 3); }", ["algorithm"]),
        ("bool f(int x) { return std::is_same<int, short>::value && Std::max(x, 3); }", []),
    ],
)
def test_the_standard_library_comes_along(text, wanted):
    flags = dialect_flags([text])
    assert [flag for flag in flags if flag in ("cmath", "algorithm")] == wanted
