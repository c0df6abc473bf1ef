// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Synchronisation between cores, one scenario per tiling key. Every core writes what it saw.
#include <cassert>

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

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

// ---- kinds of cores -----------------------------------------------------------------------------
// Which cores a kernel gets: declarations by default and by tiling key. Every core counts itself.

__aicore__ inline void CountMe(GM_ADDR y) {
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)y);
    g.SetValue((g_coreType == AIC ? 0 : 32) + GetBlockIdx(), 1);
}

// The default first, as the documentation shows it; a key may override it in its branch.
extern "C" __global__ __aicore__ void kinds(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    if (TILING_KEY_IS(1)) {
        KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIV_ONLY);
    } else if (TILING_KEY_IS(2)) {
        KERNEL_TASK_TYPE(2, KERNEL_TYPE_MIX_AIC_1_1);
    } else if (TILING_KEY_IS(3)) {
        KERNEL_TASK_TYPE(3, KERNEL_TYPE_AIC_ONLY);
    } else if (TILING_KEY_IS(4)) {
        KERNEL_TASK_TYPE(4, KERNEL_TYPE_MIX_AIC_1_2);
    }
    CountMe(y);
}

// The default behind the keys, and a default that is the usual kind anyway.
extern "C" __global__ __aicore__ void kinds_late(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE(1, KERNEL_TYPE_MIX_AIC_1_1);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    CountMe(y);
}

extern "C" __global__ __aicore__ void kinds_twice(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    CountMe(y);
}

// An instruction of the cube core that every core reaches: the vector cores have no L1.
extern "C" __global__ __aicore__ void kinds_fill(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    pipe.InitBuffer(l1, 512);
    Fill(l1.Get<half>(), InitConstValueParams<half>(1, 16, 0, half(1)));
    CountMe(y);
}

// ---- collective communication -------------------------------------------------------------------
// Collective communication in a domain of one rank. Tiling key: which task.

constexpr int64_t kServer = 1;
static constexpr HcclServerConfig kOnVector = {CoreType::ON_AIV, kServer};

// Every core waits for data that one of them sends.
extern "C" __global__ __aicore__ void hccl(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                           GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Hccl<> hccl;
    Hccl<HCCL_SERVER_TYPE_AICPU, kOnVector> other;
    hccl.InitV2(GetHcclContext<HCCL_GROUP_ID_0>(), nullptr);
    other.InitV2(GetHcclContext<1>(), nullptr);
    if (hccl.SetCcTilingV2(0) != HCCL_SUCCESS || hccl.GetRankDim() != 1 || hccl.GetRankId() != 0)
        return;
    constexpr uint64_t n = 16;
    HcclHandle handle = INVALID_HANDLE_ID;
    uint8_t repeat = 2;
    if (TILING_KEY_IS(1)) {
        handle = hccl.AllGather(x, y, n, HCCL_DATA_TYPE_INT32, 64, repeat);
    } else if (TILING_KEY_IS(2)) {
        handle = hccl.AllReduce(x, y, n, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, repeat);
    } else if (TILING_KEY_IS(3)) {
        handle = hccl.ReduceScatter(x, y, n, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, 0, repeat);
    } else if (TILING_KEY_IS(4)) {
        handle = hccl.AlltoAll(x, y, 2 * n, HCCL_DATA_TYPE_INT16, 0, repeat);
    } else if (TILING_KEY_IS(5)) {
        uint64_t counts[1] = {n}, from[1] = {0}, to[1] = {0};
        handle = hccl.AlltoAllV(x, counts, from, HCCL_DATA_TYPE_INT32, y, counts, to,
                                HCCL_DATA_TYPE_INT32, repeat);
    } else if (TILING_KEY_IS(6)) {
        hccl.GetWindowsInAddr(0);
    } else if (TILING_KEY_IS(7)) {
        hccl.Wait(hccl.AllGather(x, y, n, HCCL_DATA_TYPE_INT32, 0));  // never committed
    }
    if (handle < 0 || hccl.Wait(handle + 1) != HCCL_FAILED || hccl.Query(handle) > repeat) return;
    hccl.Commit(handle);
    hccl.Commit(handle);  // the second one has nothing to hand over
    for (int i = 0; i < repeat; ++i) hccl.Wait(handle);
    hccl.Finalize();

    // What arrived goes through UB and a second task, which another core serves, to z.
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<int32_t> local = buffer.Get<int32_t>();
    GlobalTensor<int32_t> received;
    received.SetGlobalBuffer((__gm__ int32_t*)y, 2 * n);
    DataCopy(local, received, 2 * n);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    GlobalTensor<int32_t> shared;
    shared.SetGlobalBuffer((__gm__ int32_t*)workspace, 2 * n);
    if (GetBlockIdx() == kServer) DataCopy(shared, local, 2 * n);
    PipeBarrier<PIPE_ALL>();
    uint16_t slice[1] = {7};
    handle = other.AlltoAll<true>(workspace, z, n, HCCL_DATA_TYPE_INT32, 0, repeat);
    int steps = 0;
    while (other.Iterate<true>(handle, slice, 1) == 1 && slice[0] == 0) ++steps;
    if (steps != repeat) ((__gm__ int32_t*)z)[0] = -1;
    other.Finalize<false>();
}
