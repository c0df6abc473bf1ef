// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Softmax tiling as the kernel sees it; the fields are part of the host-kernel interface.
#ifndef KERNEL_TILING_SOFTMAX_TILING_H
#define KERNEL_TILING_SOFTMAX_TILING_H

#include <stdint.h>

#include "kernel_tiling/adv_tiling_fields.h"

namespace AscendC {
namespace tiling {

struct SoftMaxTiling {
    uint32_t srcM = 0;  // rows and columns of the source
    uint32_t srcK = 0;
    uint32_t srcSize = 0;
    uint32_t outMaxM = 0;  // of the max and sum tensors
    uint32_t outMaxK = 0;
    uint32_t outMaxSize = 0;
    uint32_t splitM = 0;  // worked on at a time
    uint32_t splitK = 0;
    uint32_t splitSize = 0;
    uint32_t reduceM = 0;
    uint32_t reduceK = 0;
    uint32_t reduceSize = 0;
    uint32_t rangeM = 0;
    uint32_t tailM = 0;
    uint32_t tailSplitSize = 0;
    uint32_t tailReduceSize = 0;
};

struct LogSoftMaxTiling {
#define OPGEN_TILING_FIELD(type, name) type name = 0;
    OPGEN_SOFT_MAX_TILING_FIELDS(OPGEN_TILING_FIELD)
#undef OPGEN_TILING_FIELD
};

}  // namespace tiling
}  // namespace AscendC

using SoftMaxTiling = AscendC::tiling::SoftMaxTiling;
using LogSoftMaxTiling = AscendC::tiling::LogSoftMaxTiling;

#endif  // KERNEL_TILING_SOFTMAX_TILING_H
