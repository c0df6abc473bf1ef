"""Undocumented names of the device library that public kernels use, by their values."""

from __future__ import annotations

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

# Prints the value of the expression whose number is its argument; the copies go through UB.
PROGRAM = r"""
#include <algorithm>
#include <string.h>
#include "tikicpulib.h"
#include "impl/dav_c220/kfc/kfc_log.h"
#include "kernel_log.h"
#include "kernel_operator_dump_tensor_intf_impl.h"
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "platform/platform_ascendc.h"
#include "utils/debug/asc_time.h"
#include "utils/log/asc_cpu_log.h"
#include "version/asc_devkit_version.h"
using namespace std;
using namespace AscendC;
using namespace matmul;
// Names that kernels define themselves, because the device library has none of them.
constexpr int32_t MASK_LEN = 64, SRC_STRIDE_UNIT = 2, DEFAULT_REPEAT_SIZE = 1;

namespace Kernel {
constexpr int TWO = 1;
}

// Kernels' own names win over those of the Matmul headers.
template <typename T>
T Align(T a, T b)
{
    return a - b;
}

int Choose(TrueType) { return 1; }
int Choose(FalseType) { return 0; }
constexpr TransDataTo5HDParams kParams(true, false, 3, 1, 1);
using Operand = MatmulType<TPosition::GM, CubeFormat::ND, half, true>;

uint64_t CopiedPipe()
{
    TPipe pipe, copy;
    TBuf<TPosition::VECCALC> first, second;
    pipe.InitBuffer(first, 64);
    copy = pipe;
    copy.InitBuffer(second, 64);
    return second.Get<uint8_t>().GetPhyAddr() - first.Get<uint8_t>().GetPhyAddr();
}

// The device's addresses fit in 32 bits, and kernels take what is left of UB from them.
uint32_t LeftOfBuffer()
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, rest;
    pipe.InitBuffer(first, 64);
    const auto end = first.Get<uint8_t>()[64].GetPhyAddr();
    pipe.InitBuffer(rest, 190 * 1024 - end);
    return rest.Get<uint8_t>().GetSize();
}

int PointerCopies(uint8_t* x, uint8_t* y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 32);
    auto t = buf.Get<int32_t>();
    DataCopyExtParams copy{1, 12, 0, 0, 0};
    DataCopyPadGm2UBImpl((__ubuf__ int32_t*)t.GetPhyAddr(), (__gm__ int32_t*)x, copy,
                         DataCopyPadExtParams<int32_t>{false, 0, 0, 0});
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopyPadUB2GMImpl((__gm__ int32_t*)y, (__ubuf__ int32_t*)t.GetPhyAddr(), copy);
    return 0;
}

int GlobalAddress(uint8_t* x)
{
    GlobalTensor<int32_t> t, other;
    t.SetGlobalBuffer((__gm__ int32_t*)x, 8);
    __gm__ int32_t* second = t[1].address_;
    other.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(t[4].oriAddress_), 2);
    t.SetAddr(2);
    const int moved = t.GetValue(0);
    t.address_ = other.address_;
    return *second + 10 * other.GetValue(1) + 100 * moved + 1000 * t.GetValue(0);
}

int BufferAddresses()
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second;
    TQue<TPosition::VECIN, 2> queue;
    pipe.InitBuffer(first, 64);
    pipe.InitBuffer(second, 96);
    pipe.InitBuffer(queue, 2, 32);
    auto a = queue.AllocTensor<int32_t>(), b = queue.AllocTensor<int32_t>();
    LocalTensor<int32_t> t, u;
    t.SetAddr(second.GetBufferAddr(second.Get<int32_t>().GetBufferHandle()));
    const TBuffAddr behind = queue.GetBufferAddr(b.GetBufferHandle());
    u.SetAddr(behind);
    const int sizes = t.GetSize() + 100 * u.GetSize();
    const int at = (t.GetPhyAddr() - first.Get<int32_t>().GetPhyAddr()) +
                   100 * (u.GetPhyAddr() - t.GetPhyAddr());
    queue.FreeTensor(a);
    queue.FreeTensor(b);
    return sizes + 1000 * at;
}

int BlockMaxima(bool instruction)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 512);
    auto src = buf.Get<float>();
    auto dst = src[64];
    for (int i = 0; i < 64; ++i) src.SetValue(i, i % 9);
    SetFlag<HardEvent::S_V>(EVENT_ID0);
    WaitFlag<HardEvent::S_V>(EVENT_ID0);
    AscendCUtils::SetMaskCount<float>();
    SetVectorMask<float, MaskMode::COUNTER>(0, 16);
    auto d = (__ubuf__ float*)dst.GetPhyAddr();
    auto s = (__ubuf__ float*)src.GetPhyAddr();
    if (instruction) {
        vcgmin(d, s, 1, 1, 1, 8);
    } else {
        BlockReduceMaxIntrinsicsImpl(d, s, 1, 1, 1, 8);
    }
    AscendCUtils::SetMaskNorm<float>();
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
    return 10 * (int)dst.GetValue(0) + (int)dst.GetValue(1);
}

int Quantised()
{
    FixpipeParams<float> params;
    params.quantParams = {QuantMode_t::F322F16};
    return params.quantParams.quantPre == QuantMode_t::F322F16;
}

int PartOfSuperKernel(GM_ADDR y);

extern "C" __global__ __aicore__ void values(GM_ADDR x, GM_ADDR y, double* out, int which)
{
    uint64_t base = 7;
    uint8_t factor = 17;
    MIX_LOG("%d", which);
    ASSERT_MSG(which >= 0, "case %d", which);
    switch (which) {
CASES
    }
}

// The kernel as a part of a super kernel.
struct RingArguments {
    GM_ADDR y;
};
template <int split>
__sk__ __mix__(1, 2) void ring_sk(const RingArguments* args, sk::SkSystemArgs* system)
{
    args->y[split] = system->SkGetNumBlocks() + system->skNumBlocks;
}
extern "C" __global__ __aicore__ void ring(GM_ADDR y);
SK_BIND(ring, 4, ring_sk<0>, ring_sk<1>);

int PartOfSuperKernel(GM_ADDR y)
{
    const RingArguments arguments = {y};
    sk::SkSystemArgs system = {2};
    ring_sk<0>(&arguments, &system);
    ASC_CPU_LOG_DEBUG("%d blocks", 2);
    return y[0];
}

extern "C" __global__ __aicore__ void ring(GM_ADDR y)
{
    if ASCEND_IS_AIC {
        WaitEvent(3);
        y[0] = 5;
        NotifyEvent<PIPE_FIX>(SYNC_AIC_FLAG);
    } else {
        if (GetSubBlockIdx() == 0) y[1] = 6;
        NotifyEvent<PIPE_MTE3>(3);
        WaitEvent<PIPE_S>(SYNC_AIC_FLAG);
    }
}

int main(int, char** argv)
{
    int32_t* x = (int32_t*)GmAlloc(32);
    int32_t* y = (int32_t*)GmAlloc(32);
    double* out = (double*)GmAlloc(32);
    for (int i = 0; i < 8; ++i) x[i] = i + 1;
    SetKernelMode(KernelMode::AIV_MODE);
    ICPU_RUN_KF(values, 1, (uint8_t*)x, (uint8_t*)y, out, atoi(argv[1]));
    printf("%g %d %d %d %d\n", *out, y[0], y[1], y[2], y[3]);
    uint8_t* z = (uint8_t*)GmAlloc(32);
    SetKernelMode(KernelMode::MIX_MODE);
    ICPU_RUN_KF(ring, 1, z);
    printf("%d %d\n", z[0], z[1]);
}
"""
COPIED = "1 2 3 0"
NOTHING = "0 0 0 0"


VALUES = [
    ("min(base, base - 1) + max(base, base - 1)", "13", NOTHING),
    ("AscendC::min(half(2), half(3))", "2", NOTHING),
    ("Cast(bfloat16_t(1.5f)) + (float)Cast(1.00001f)", "2.5", NOTHING),
    ("kParams.repeatTimes", "3", NOTHING),
    ("Choose(IsSameType<half, half>()) + 2 * Choose(IsSameType<half, float>())", "1", NOTHING),
    ("CopiedPipe()", "64", NOTHING),
    ("LeftOfBuffer()", "194496", NOTHING),
    ("PointerCopies(x, y)", "0", COPIED),
    ("AlignUp(5, B32_DATA_NUM_PER_BLOCK) + B32_DATA_NUM_PER_REPEAT", "72", NOTHING),
    (
        "Ceil(factor, 32 / sizeof(half)) + 10 * DivCeil(9, 4) + 100 * ConstCeil(9, 3)",
        "332",
        NOTHING,
    ),
    ("CeilDiv(65537, 4) + CeilAlign(3, 4)", "5", NOTHING),
    ("AscendC::Align(5, 4) + 10 * Align(5, 4) + 100 * AlignDown(5, 4)", "418", NOTHING),
    ("CeilT(5, 4) + 10 * CeilAlignT(5, 4) + 100 * CeilNoLog(9, 4)", "382", NOTHING),
    ("MaxValue(3, 5, 4) + 10 * MinValue(3, 5)", "35", NOTHING),
    ("Operand::isTrans + 2 * Operand::ibShare", "1", NOTHING),
    ("is_same<__bf16, bfloat16_t>::value", "1", NOTHING),
    ("GlobalAddress(x)", "5362", NOTHING),
    ("LoadData2dParams{0, 2, 1, 0, 0, false, ::dec}.addrMode + inc", "1", NOTHING),
    ("BufferAddresses()", "1.28648e+07", NOTHING),
    ("BlockMaxima(false)", "78", NOTHING),
    ("BlockMaxima(true)", "0", NOTHING),
    ("Quantised()", "1", NOTHING),
    ("QuantMode_t::QF322F16_PRE != QuantMode_t::F322F16", "1", NOTHING),
    ("MASK_LEN + SRC_STRIDE_UNIT + DEFAULT_REPEAT_SIZE", "67", NOTHING),
    ("ASC_DEVKIT_MAJOR", "9", NOTHING),
    ("FP32_MAX_V2 + FP32_MIN_V2 + DOUBLE_X", "2", NOTHING),
    ("EIGHT * SIXTEEN + MIN_SORT32_SIZE + Kernel::TWO", "161", NOTHING),
    ("sizeof(IbVerbsData) + sizeof(Mc2InitTiling) + HCCL_MAX_RANK_NUM", "216", NOTHING),
    ("HcclContextDef::HcclOpResParam{0, 0, 3, 4}.rankNum", "4", NOTHING),
    ("RESERVED_WORKSPACE", "1.67772e+07", NOTHING),
    ("TOTAL_UB_SIZE - TOTAL_VEC_LOCAL_SIZE + TMP_UB_OFFSET - TOTAL_UB_SIZE", "0", NOTHING),
    ("PartOfSuperKernel(y) + 10 * (clock() > 0)", "14", "4 0 0 0"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    cases = [f"case {i}: *out = {row[0]}; break;" for i, row in enumerate(VALUES)]
    source = tmp_path_factory.mktemp("names") / "names.cpp"
    source.write_text(PROGRAM.replace("CASES", "\n".join(cases)), encoding="utf-8")
    return source


@pytest.mark.parametrize("number", range(len(VALUES)), ids=[row[0] for row in VALUES])
def test_values(program, number):
    _, value, copied = VALUES[number]
    options = ProgramOptions(mode="check", opt="-O0", timeout=120)
    result = run_program(program, [str(number)], options, cwd=program.parent)
    assert result.output.split("\n")[:2] == [f"{value} {copied}", "5 6"], result.output
    assert result.clean, result.findings
