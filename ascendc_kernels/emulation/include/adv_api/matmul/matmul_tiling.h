// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef ADV_API_MATMUL_MATMUL_TILING_H
#define ADV_API_MATMUL_MATMUL_TILING_H

#include "adv_api/matmul/matmul_tiling_base.h"

namespace matmul_tiling {

// Tiling of a Matmul that runs on one core.
class MatmulApiTiling : public MatmulApiTilingBase {
 public:
    using MatmulApiTilingBase::MatmulApiTilingBase;

 protected:
    bool SplitCores() override;
};

}  // namespace matmul_tiling

extern "C" {
// Bytes of L1, L0C and UB that a Matmul with this tiling needs for itself; 0 on success.
int32_t MatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                            matmul_tiling::SysTilingTempBufSize& bytes);
int32_t MatmulGetTmpBufSizeV2(::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bytes);
}

#endif  // ADV_API_MATMUL_MATMUL_TILING_H
