// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the host tells kernels about communication; only the library reads it.
#ifndef KERNEL_TILING_HCCL_TILING_H
#define KERNEL_TILING_HCCL_TILING_H

#include <stdint.h>

namespace AscendC {
namespace tiling {

struct Mc2ServerCfg {
    uint32_t version = 0;
    uint8_t debugMode = 0;
    uint8_t sendArgIndex = 0;
    uint8_t recvArgIndex = 0;
    uint8_t commOutArgIndex = 0;
    uint8_t reserved[8] = {};
};

struct Mc2HcommCfg {
    uint8_t skipLocalRankCopy = 0;
    uint8_t skipBufferWindowCopy = 0;
    uint8_t stepSize = 0;
    char reserved[13] = {};
    char groupName[128] = {};
    char algConfig[128] = {};
    uint32_t opType = 0;
    uint32_t reduceType = 0;
};

struct Mc2InitTiling {
    uint8_t reserved[64] = {};
};

struct Mc2CcTiling {
    uint8_t reserved[280] = {};
};

}  // namespace tiling
}  // namespace AscendC

using Mc2ServerCfg = AscendC::tiling::Mc2ServerCfg;
using Mc2HcommCfg = AscendC::tiling::Mc2HcommCfg;
using Mc2InitTiling = AscendC::tiling::Mc2InitTiling;
using Mc2CcTiling = AscendC::tiling::Mc2CcTiling;

#endif  // KERNEL_TILING_HCCL_TILING_H
