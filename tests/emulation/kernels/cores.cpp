// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Synchronisation between cores, one scenario per tiling key. Every core writes what it saw.
#include <cassert>

#include "kernel_operator.h"

using namespace AscendC;

__aicore__ inline void Write(GM_ADDR y, int64_t at, int32_t value) {
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)y);
    g.SetValue(at, value);
}
__aicore__ inline int32_t Read(GM_ADDR y, int64_t at) {
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)y);
    return g.GetValue(at);
}

// Polled without any API call, as public kernels with a fixed order of their sums do.
inline volatile __gm__ int32_t g_turn = 0;

extern "C" __global__ __aicore__ void cores(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                            GM_ADDR tiling) {
    const int32_t i = GetBlockIdx(), n = GetBlockNum();
    if (TILING_KEY_IS(1)) {  // each block reads its neighbour's value after the barrier
        for (int round = 0; round < 3; ++round) {
            Write(x, i, i * 10 + round);
            SyncAll();
            const int32_t seen = Read(x, (i + 1) % n);
            SyncAll();
            Write(y, i * 3 + round, seen);
        }
    } else if (TILING_KEY_IS(2)) {  // block i waits for block i - 1
        GlobalTensor<int32_t> flags;
        flags.SetGlobalBuffer((__gm__ int32_t*)workspace);
        LocalTensor<int32_t> ub(TPosition::VECIN, 0, 64);
        if (i > 0) IBWait(flags, ub, i - 1, 0);
        Write(y, i, i == 0 ? 1 : Read(y, i - 1) * 2);
        IBSet(flags, ub, i, 0);
    } else if (TILING_KEY_IS(3)) {  // AIC produces, both AIVs consume, AIC sees both done
        KERNEL_TASK_TYPE(3, KERNEL_TYPE_MIX_AIC_1_2);
        if ASCEND_IS_AIC {
            Write(x, i, 100 + i);
            CrossCoreSetFlag<2, PIPE_MTE3>(3);
            CrossCoreWaitFlag(4);
            Write(y, i, Read(x, 100 + 2 * i) + Read(x, 101 + 2 * i));
        } else {
            CrossCoreWaitFlag(3);
            const int64_t group = i / GetTaskRation();
            Write(x, 100 + i, Read(x, group) + GetSubBlockIdx());
            CrossCoreSetFlag<2, PIPE_MTE3>(4);
        }
    } else if (TILING_KEY_IS(4)) {  // all AIVs, then all AICs, by mode 0
        KERNEL_TASK_TYPE(4, KERNEL_TYPE_MIX_AIC_1_1);
        Write(x, i + (g_coreType == AIC ? 0 : 50), i);
        CrossCoreSetFlag<0, PIPE_MTE3>(1);
        CrossCoreWaitFlag(1);
        int32_t sum = 0;
        for (int k = 0; k < n; ++k) sum += Read(x, k + (g_coreType == AIC ? 0 : 50));
        Write(y, i + (g_coreType == AIC ? 0 : 50), sum);
    } else if (TILING_KEY_IS(5)) {  // nobody sets the flag
        KERNEL_TASK_TYPE(5, KERNEL_TYPE_MIX_AIC_1_2);
        if ASCEND_IS_AIV {
            CrossCoreWaitFlag(6);
        }
    } else if (TILING_KEY_IS(6)) {  // one block leaves before the barrier
        if (i != 1) SyncAll();
    } else if (TILING_KEY_IS(7)) {  // polls memory another block writes later
        if (i == 0) {
            while (Read(y, 1) == 0) {
            }
            Write(y, 0, 5);
        } else if (i == n - 1) {
            Write(y, 1, 7);
        }
    } else if (TILING_KEY_IS(8)) {  // a barrier over cube and vector cores
        KERNEL_TASK_TYPE(8, KERNEL_TYPE_MIX_AIC_1_2);
        if ASCEND_IS_AIC {
            Write(x, i, i + 1);
        }
        SyncAll<false>();
        if ASCEND_IS_AIV {
            Write(y, i, Read(x, i / 2));
        }
    } else if (TILING_KEY_IS(9)) {
        ASSERT(i < 2 && "too many blocks");
    } else if (TILING_KEY_IS(31) || TILING_KEY_IS(32)) {  // all poll one flag per block by copies
        GlobalTensor<int32_t> flags;
        flags.SetGlobalBuffer((__gm__ int32_t*)y);
        LocalTensor<int32_t> ub(TPosition::VECIN, 0, 256);
        ub.SetValue(0, 9);
        DataCopyPad(flags[i * 8], ub, {1, 32, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
        for (int missing = 1; missing > 0;) {
            if (TILING_KEY_IS(31)) {
                DataCopy(ub, flags, n * 8);
            } else {
                DataCopyPad(ub, flags, {1, static_cast<uint32_t>(n * 32), 0, 0, 0},
                            {false, 0, 0, 0});
            }
            PipeBarrier<PIPE_ALL>();
            missing = 0;
            for (int k = 0; k < n; ++k) missing += ub.GetValue(k * 8) != 9;
        }
    } else if (TILING_KEY_IS(39)) {  // the first block polls the flags of all in turn
        GlobalTensor<int32_t> flags;
        flags.SetGlobalBuffer((__gm__ int32_t*)y);
        LocalTensor<int32_t> ub(TPosition::VECIN, 0, 256);
        int missing = i == 0 ? n : 0;
        while (missing > 1) {
            missing = 0;
            for (int k = 0; k < n; ++k) {
                DataCopy(ub, flags[k * 8], 8);
                PipeBarrier<PIPE_ALL>();
                missing += ub.GetValue(0) != 9;
            }
        }
        ub.SetValue(0, 9);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(flags[i * 8], ub, {1, 32, 0, 0, 0});
    } else if (TILING_KEY_IS(30)) {  // the C library's assert
        TPipe pipe;
        TBuf<> buf;
        pipe.InitBuffer(buf, 32);
        asc_dump_ubuf((__ubuf__ int32_t*)buf.Get<int32_t>().GetPhyAddr(), 7, 8);
        assert(i < 2 && "too many blocks");
    } else if (TILING_KEY_IS(12)) {  // the producer is 40 sets ahead of a slow consumer
        KERNEL_TASK_TYPE(12, KERNEL_TYPE_MIX_AIC_1_1);
        for (int k = 0; k < 40; ++k) {
            if ASCEND_IS_AIC {
                CrossCoreSetFlag<2, PIPE_FIX>(8);
            }
            if ASCEND_IS_AIV {
                CrossCoreWaitFlag(8);
            }
        }
        if ASCEND_IS_AIV {
            Write(y, i, 40);
        }
    } else if (TILING_KEY_IS(13)) {  // nobody waits
        KERNEL_TASK_TYPE(13, KERNEL_TYPE_MIX_AIC_1_1);
        for (int k = 0; k < 16; ++k) {
            if ASCEND_IS_AIC {
                CrossCoreSetFlag<2, PIPE_FIX>(8);
            }
        }
    } else if (TILING_KEY_IS(14)) {  // cores of the caller's kind in an AI core
        KERNEL_TASK_TYPE(14, KERNEL_TYPE_MIX_AIC_1_2);
        Write(y, i + (g_coreType == AIC ? 0 : 8),
              100 * GetSubBlockNum() + 10 * GetTaskRatio() + get_subblockdim());
    } else if (TILING_KEY_IS(10)) {
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
    } else if (TILING_KEY_IS(11)) {  // atomic adds from every block
        LocalTensor<float> ub(TPosition::VECCALC, 0, 64);
        GlobalTensor<float> out;
        out.SetGlobalBuffer((__gm__ float*)y, 64);
        Duplicate(ub, 1.0f, 64);
        PipeBarrier<PIPE_ALL>();
        SetAtomicAdd<float>();
        DataCopy(out, ub, 64);
        SetAtomicNone();
    } else if (TILING_KEY_IS(
                   15)) {  // a type alone: the first addition, no more, the last operation
        LocalTensor<float> ub(TPosition::VECCALC, 0, 64);
        GlobalTensor<float> out;
        out.SetGlobalBuffer((__gm__ float*)y, 192);
        Duplicate(ub, 1.0f, 64);
        PipeBarrier<PIPE_ALL>();
        SetAtomicType<float>();
        DataCopy(out, ub, 64);
        SetAtomicNone();
        DataCopy(out[64], ub, 64);
        SetAtomicMax<float>();
        SetAtomicNone();
        SetAtomicType<float>();
        DataCopy(out[128], ub, 64);
        SetAtomicNone();
    } else if (TILING_KEY_IS(33)) {  // the last block is the first one whose turn it is
        bool came = false;
        for (int64_t tries = 0; tries < (int64_t(1) << 32) && !came; ++tries)
            came = g_turn % n == n - 1 - i;
        Write(y, i, came ? g_turn % n : -1);
        g_turn = g_turn + 1;
    }
}
