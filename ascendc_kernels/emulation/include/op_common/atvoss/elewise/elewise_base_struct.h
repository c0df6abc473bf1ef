// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling structs of ATVOSS's element-wise templates, which are for arch 35 alone and not here: ops
// that have a kernel for another architecture besides name them in headers that all their sources
// share.
#ifndef OP_COMMON_ATVOSS_ELEWISE_ELEWISE_BASE_STRUCT_H
#define OP_COMMON_ATVOSS_ELEWISE_ELEWISE_BASE_STRUCT_H

#include <cstdint>

namespace Ops {
namespace Base {

struct EleBaseTilingDataV2 {
    int64_t dim0;
    int64_t blockFormer;
    int64_t ubFormer;
    int64_t ubLoopOfFormerBlock;
    int64_t ubLoopOfTailBlock;
    int64_t ubTailOfFormerBlock;
    int64_t ubTailOfTailBlock;
    int64_t elemNum;
    int64_t blockNum;
    int64_t scheMode;
};

struct EleBaseTilingData16B {
    int64_t dim0;
    int32_t blockNum;
    int32_t coreNum;
};

struct EleBaseTilingData32B {
    int64_t dim0;
    int64_t blockFormer;
    int64_t blockNum;
    int64_t ubFormer;
};

}  // namespace Base
}  // namespace Ops

#endif  // OP_COMMON_ATVOSS_ELEWISE_ELEWISE_BASE_STRUCT_H
