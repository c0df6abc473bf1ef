// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host types of ATVOSS's reduction templates, which are for arch 35 alone and not here: ops that
// have a kernel for another architecture besides keep members of these types.
#ifndef OP_COMMON_ATVOSS_REDUCE_REDUCE_TILING_H
#define OP_COMMON_ATVOSS_REDUCE_REDUCE_TILING_H

#include <cstdint>
#include <vector>

#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"
#include "util/platform_util.h"

namespace Ops {
namespace Base {

// Bytes of UB that the templates keep for themselves.
constexpr uint64_t CACHE_BUF_SIZE = 16 * 1024;

struct ReduceOpCompileInfo {
    uint64_t vectorCoreNum = 0;
    uint64_t ubSize = 0;
    uint64_t cacheLineSize = 0;
    uint64_t ubBlockSize = 0;
    uint64_t vRegSize = 0;
};

struct ReduceOpInputParam {
    ge::DataType inputDtype = ge::DT_UNDEFINED;
    ge::DataType promoteDtpye = ge::DT_UNDEFINED;
    std::vector<int64_t> axes;
    std::vector<int64_t> shape;
};

struct ReduceTilingKey {
    uint32_t patternID = 0;
    uint32_t loopARCount = 0;
    uint32_t loopInnerARCount = 0;
};

}  // namespace Base
}  // namespace Ops

#endif  // OP_COMMON_ATVOSS_REDUCE_REDUCE_TILING_H
