// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the context of a communication domain holds (GetHcclContext), for kernels that read it
// themselves: addresses of every rank's windows. The domain here has one rank and no windows.
#ifndef ADV_API_HCCL_HCCL_CONTEXT_H
#define ADV_API_HCCL_HCCL_CONTEXT_H

#include <stdint.h>

#include "ascendc_emu/types.h"

namespace AscendC {
constexpr uint32_t HCCL_MAX_RANK_NUM = 32;

struct MemDetails {
    uint64_t size;
    uint64_t addr;
    uint32_t key;
};

struct IbVerbsData {
    MemDetails remoteInput, remoteOutput, localInput, localOutput;
    uint8_t res[24];
};

struct HcclCombineOpParam {
    uint64_t workSpace, workSpaceSize;  // shared with the server; bytes
    uint32_t rankId, rankNum;
    uint64_t winSize;  // bytes of a window
    uint64_t windowsIn[HCCL_MAX_RANK_NUM], windowsOut[HCCL_MAX_RANK_NUM];
    uint8_t res[8328];
    uint8_t multiFlag;
    __gm__ IbVerbsData* data;
};

namespace HcclContextDef {
struct HcclRankRelationResV2 {
    uint32_t remoteUsrRankId = 0, remoteWorldRank = 0;
    uint64_t windowsIn = 0, windowsOut = 0, windowsExp = 0;
};

struct RemoteResPtr {
    HcclRankRelationResV2* nextHostPtr;
    HcclRankRelationResV2* nextDevicePtr;
};

struct HcclOpResParam {
    uint64_t workSpace, workSpaceSize;
    uint32_t rankId, rankNum;
    uint64_t winSize, localWindowsIn, localWindowsOut;
    char hcomId[128];
    uint64_t winExpSize, localWindowsExp;
    uint32_t rWinStart;
};
}  // namespace HcclContextDef
}  // namespace AscendC

#endif  // ADV_API_HCCL_HCCL_CONTEXT_H
