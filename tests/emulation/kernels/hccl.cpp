// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Collective communication in a domain of one rank. Tiling key: which task.
#include "kernel_operator.h"
#include "lib/hccl/hccl.h"
using namespace AscendC;

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
