"""Fixpipe's parameters per column, where its results overwrite them in L1."""

from __future__ import annotations

from msopgen_wrap.cli.app import run as opgen

# y[16, 32] int8 = x[16, 16] * 1, scaled by 2 in the first 16 columns and by 4 in the others.
PROGRAM = """
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;

__global__ __cube__ void scale(GM_ADDR x, GM_ADDR w, GM_ADDR table, GM_ADDR y)
{
    GlobalTensor<half> left, right;
    GlobalTensor<uint64_t> factors;
    GlobalTensor<int8_t> out;
    left.SetGlobalBuffer((__gm__ half*)x);
    right.SetGlobalBuffer((__gm__ half*)w);
    factors.SetGlobalBuffer((__gm__ uint64_t*)table);
    out.SetGlobalBuffer((__gm__ int8_t*)y);
    LocalTensor<half> a1(TPosition::A1, 1024, 256), b1(TPosition::B1, 2048, 512);
    LocalTensor<half> a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 512);
    LocalTensor<float> c(TPosition::CO1, 0, 512);
    LocalTensor<uint64_t> parameters(TPosition::C1, 0, 32);
    LocalTensor<int8_t> result(TPosition::A1, 0, 512);
    DataCopy(a1, left, Nd2NzParams{1, 16, 16, 0, 16, 16, 1, 0});
    DataCopy(b1, right, Nd2NzParams{1, 16, 32, 0, 32, 16, 1, 0});
    DataCopy(parameters, factors, 32);
    SetFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
    LoadData2DParams load;
    load.repeatTimes = 1;
    LoadData(a2, a1, load);
    load.repeatTimes = 2;
    load.srcStride = 1;
    load.ifTranspose = true;
    LoadData(b2, b1, load);
    SetFlag<HardEvent::MTE1_M>(EVENT_ID0);
    WaitFlag<HardEvent::MTE1_M>(EVENT_ID0);
    MmadParams product;
    product.m = product.k = 16;
    product.n = 32;
    Mmad(c, a2, b2, product);
    SetFlag<HardEvent::M_FIX>(EVENT_ID0);
    WaitFlag<HardEvent::M_FIX>(EVENT_ID0);
    SetFlag<HardEvent::MTE2_FIX>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_FIX>(EVENT_ID0);
    FixpipeParamsV220 fix;
    fix.nSize = 32;
    fix.mSize = fix.srcStride = fix.dstStride = 16;
    fix.quantPre = QuantMode_t::VQF322B8_PRE;
    Fixpipe<int8_t, float, CFG_NZ>(result, c, parameters, fix);
    SetFlag<HardEvent::FIX_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::FIX_MTE3>(EVENT_ID0);
    DataCopy(out, result, 512);
}

int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream s;
    aclrtCreateStream(&s);
    half *x, *w;
    uint64_t* table;
    int8_t* y;
    aclrtMalloc((void**)&x, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&w, 1024, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&table, 256, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&y, 512, ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 256; ++i) x[i] = half(i % 17 == 0 ? 1 : 0);
    for (int i = 0; i < 512; ++i) w[i] = half(i % 29 - 14);
    // A factor is a float; bit 46 makes the results signed.
    const uint64_t factor[2] = {0x40000000, 0x40800000};
    for (int i = 0; i < 32; ++i) table[i] = factor[i / 16] | uint64_t(1) << 46;
    scale<<<1, nullptr, s>>>((uint8_t*)x, (uint8_t*)w, (uint8_t*)table, (uint8_t*)y);
    aclrtSynchronizeStream(s);
    for (int i = 0; i < 512; ++i) {
        if (y[i] != (i % 29 - 14) * (i % 32 < 16 ? 2 : 4)) return 2;
    }
    return 0;
}
"""


def test_results_may_go_where_the_parameters_lie(tmp_path, capfd):
    program = tmp_path / "scale.asc"
    program.write_text(PROGRAM)
    assert opgen(["run", str(program), "--mode", "fast"]) == 0, capfd.readouterr().err
    assert opgen(["run", str(program)]) == 0, capfd.readouterr().err
