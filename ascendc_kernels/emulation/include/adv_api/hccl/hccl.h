// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Collective communication of kernels: tasks prepared, committed and awaited. Source: asc-devkit
// docs, HCCL kernel interface.
//
// One device is emulated, so a communication domain has one rank: what the rank sends it receives.
// Calls that name memory of other ranks (windows, BatchWrite, AlltoAllvWrite) stop the launch.
//
// The guard has CANN's name: tests of kernels define it with stubs of their own.
#ifndef LIB_HCCL_HCCL_H
#define LIB_HCCL_HCCL_H

#include "adv_api/hccl/hccl_common.h"
#include "adv_api/hccl/hccl_context.h"
#include "ascendc_emu/hccl_server.h"
#include "ascendc_emu/system_api.h"
#include "kernel_tiling/kernel_tiling.h"

namespace AscendC {
constexpr int32_t HCCL_SUCCESS = 0;
constexpr int32_t HCCL_FAILED = -1;
constexpr HcclHandle INVALID_HANDLE_ID = -1;

static constexpr HcclServerConfig DEFAULT_CFG = {CoreType::DEFAULT, 0};

template <HcclServerType serverType = HcclServerType::HCCL_SERVER_TYPE_AICPU,
          const auto& config = DEFAULT_CFG>
class Hccl {
    using Loc = ascendc_emu::Loc;
    using Task = ascendc_emu::HcclTask;

 public:
    // Counts are elements of the data type, per rank and task. They return the task's handle, -1
    // when there are too many (63).
    template <bool commit = false>
    __aicore__ inline HcclHandle AllReduce(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t count,
                                           HcclDataType dataType, HcclReduceOp op,
                                           uint8_t repeat = 1, Loc loc = Loc::Here()) {
        (void)op;
        return Prepare<commit>(
            {ascendc_emu::Api::kAllReduce, sendBuf, recvBuf, count * Size(dataType), repeat}, loc);
    }
    template <bool commit = false>
    __aicore__ inline HcclHandle AllGather(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t sendCount,
                                           HcclDataType dataType, uint64_t strideCount,
                                           uint8_t repeat = 1, Loc loc = Loc::Here()) {
        (void)strideCount;  // between the data of ranks
        return Prepare<commit>(
            {ascendc_emu::Api::kAllGather, sendBuf, recvBuf, sendCount * Size(dataType), repeat},
            loc);
    }
    template <bool commit = false>
    __aicore__ inline HcclHandle ReduceScatter(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t recvCount,
                                               HcclDataType dataType, HcclReduceOp op,
                                               uint64_t strideCount, uint8_t repeat = 1,
                                               Loc loc = Loc::Here()) {
        (void)op;
        (void)strideCount;
        return Prepare<commit>({ascendc_emu::Api::kReduceScatter, sendBuf, recvBuf,
                                recvCount * Size(dataType), repeat},
                               loc);
    }
    template <bool commit = false>
    __aicore__ inline HcclHandle AlltoAll(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t dataCount,
                                          HcclDataType dataType, uint64_t strideCount = 0,
                                          uint8_t repeat = 1, Loc loc = Loc::Here()) {
        (void)strideCount;
        return Prepare<commit>(
            {ascendc_emu::Api::kAlltoAll, sendBuf, recvBuf, dataCount * Size(dataType), repeat},
            loc);
    }
    // The arrays have one uint64_t per rank.
    template <bool commit = false>
    __aicore__ inline HcclHandle AlltoAllV(GM_ADDR sendBuf, const void* sendCounts,
                                           const void* sdispls, HcclDataType sendType,
                                           GM_ADDR recvBuf, const void* recvCounts,
                                           const void* rdispls, HcclDataType recvType,
                                           uint8_t repeat = 1, Loc loc = Loc::Here()) {
        const auto first = [](const void* p) { return *static_cast<const uint64_t*>(p); };
        (void)recvCounts;
        return Prepare<commit>(
            {ascendc_emu::Api::kAlltoAllV, sendBuf + first(sdispls) * Size(sendType),
             recvBuf + first(rdispls) * Size(recvType), first(sendCounts) * Size(sendType), repeat},
            loc);
    }
    template <bool commit = false>
    __aicore__ inline HcclHandle BatchWrite(GM_ADDR batchWriteInfo, uint32_t itemNum,
                                            uint16_t queueID = 0U, Loc loc = Loc::Here()) {
        (void)batchWriteInfo;
        (void)itemNum;
        (void)queueID;
        ascendc_emu::HcclRefuse("BatchWrite", loc);
    }
    template <bool commit = false>
    __aicore__ inline HcclHandle AlltoAllvWrite(GM_ADDR usrIn, GM_ADDR sendOffsets,
                                                GM_ADDR sendSizes, uint64_t remoteWinOffset,
                                                uint64_t localDataSize, Loc loc = Loc::Here()) {
        (void)usrIn;
        (void)sendOffsets;
        (void)sendSizes;
        (void)remoteWinOffset;
        (void)localDataSize;
        ascendc_emu::HcclRefuse("AlltoAllvWrite", loc);
    }

    // Context and tiling describe the ranks and algorithms of a real domain.
    __aicore__ inline void Init(GM_ADDR context, __gm__ void* initTiling = nullptr) {
        (void)context;
        (void)initTiling;
        object_ = ascendc_emu::HcclOpen();
        tasks_ = 0;
    }
    __aicore__ inline void InitV2(GM_ADDR context, const void* initTiling) {
        (void)initTiling;
        Init(context);
    }
    __aicore__ inline int32_t SetCcTiling(__gm__ void* ccOpTilingData) {
        (void)ccOpTilingData;
        return HCCL_SUCCESS;
    }
    __aicore__ inline int32_t SetCcTilingV2(uint64_t offset) {
        (void)offset;
        return HCCL_SUCCESS;
    }

    __aicore__ inline void Commit(HcclHandle handleId, Loc loc = Loc::Here()) {
        if (!Valid(handleId) || pending_[handleId].repeat == 0) return;
        const Task task = pending_[handleId];
        pending_[handleId].repeat = 0;
        if (Serves()) ascendc_emu::HcclServe(object_, handleId, task, loc);
    }
    // Once per repeat of the task.
    __aicore__ inline int32_t Wait(HcclHandle handleId, Loc loc = Loc::Here()) {
        if (!Valid(handleId)) return HCCL_FAILED;
        ascendc_emu::HcclAwait(object_, handleId, ++waits_[handleId], loc);
        return HCCL_SUCCESS;
    }
    // How many repeats are done; -1 for a wrong handle.
    __aicore__ inline int32_t Query(HcclHandle handleId, Loc loc = Loc::Here()) {
        return Valid(handleId) ? ascendc_emu::HcclServed(object_, handleId, loc) : -1;
    }
    // Tasks run in the order they are committed; there is nothing to wait for between groups.
    __aicore__ inline void InterHcclGroupSync(int8_t srcGroupID, HcclHandle srcHandleID) {
        (void)srcGroupID;
        (void)srcHandleID;
    }
    template <ScopeType type = ScopeType::ALL>
    __aicore__ inline void QueueBarrier(uint16_t queueID) {
        (void)queueID;
    }
    // The data blocks of the next step, which with one rank is the next repeat; 0 after the last.
    template <bool sync = true>
    __aicore__ inline int32_t Iterate(HcclHandle handleId, uint16_t* seqSlices,
                                      uint16_t seqSliceLen, Loc loc = Loc::Here()) {
        if (!Valid(handleId) || steps_[handleId] == repeats_[handleId]) return 0;
        ++steps_[handleId];
        if constexpr (sync) ascendc_emu::HcclAwait(object_, handleId, steps_[handleId], loc);
        for (uint16_t i = 0; i < seqSliceLen; ++i) seqSlices[i] = 0;
        return seqSliceLen;
    }
    template <bool sync = true>
    __aicore__ inline void Finalize() {}

    __aicore__ inline GM_ADDR GetWindowsInAddr(uint32_t rankId, Loc loc = Loc::Here()) {
        (void)rankId;
        ascendc_emu::HcclRefuse("GetWindowsInAddr", loc);
    }
    __aicore__ inline GM_ADDR GetWindowsOutAddr(uint32_t rankId, Loc loc = Loc::Here()) {
        (void)rankId;
        ascendc_emu::HcclRefuse("GetWindowsOutAddr", loc);
    }
    __aicore__ inline uint32_t GetRankId() { return 0; }
    __aicore__ inline uint32_t GetRankDim() { return 1; }
    __aicore__ inline uint16_t GetQueueNum() { return 1; }

 private:
    static constexpr int kMaxTasks = 63;  // documented limit of a domain

    static constexpr uint64_t Size(HcclDataType type) {
        switch (type) {
            case HCCL_DATA_TYPE_FP16:
            case HCCL_DATA_TYPE_BFP16:
            case HCCL_DATA_TYPE_INT16:
            case HCCL_DATA_TYPE_UINT16:
                return 2;
            case HCCL_DATA_TYPE_FP32:
            case HCCL_DATA_TYPE_INT32:
            case HCCL_DATA_TYPE_UINT32:
                return 4;
            case HCCL_DATA_TYPE_FP64:
            case HCCL_DATA_TYPE_INT64:
            case HCCL_DATA_TYPE_UINT64:
                return 8;
            case HCCL_DATA_TYPE_INT128:
                return 16;
            default:
                return 1;
        }
    }
    bool Valid(HcclHandle handle) const { return handle >= 0 && handle < tasks_; }
    // Whether this core hands the tasks over; the others only count them.
    bool Serves() const {
        const bool cube = ascendc_emu::Current().kind == ascendc_emu::CoreKind::kAic;
        if (config.type != CoreType::DEFAULT && cube != (config.type == CoreType::ON_AIC))
            return false;
        return GetBlockIdx() == config.blockId;
    }
    template <bool commit>
    HcclHandle Prepare(const Task& task, Loc loc) {
        if (tasks_ == kMaxTasks || object_ < 0) return INVALID_HANDLE_ID;
        const HcclHandle handle = static_cast<HcclHandle>(tasks_++);
        pending_[handle] = task;
        repeats_[handle] = static_cast<uint8_t>(task.repeat);
        waits_[handle] = steps_[handle] = 0;
        if constexpr (commit) Commit(handle, loc);
        return handle;
    }

    int object_ = -1;  // Init not called
    int tasks_ = 0;
    Task pending_[kMaxTasks];
    uint8_t repeats_[kMaxTasks] = {};
    uint8_t steps_[kMaxTasks] = {};
    uint8_t waits_[kMaxTasks] = {};
};
}  // namespace AscendC

#endif  // LIB_HCCL_HCCL_H
