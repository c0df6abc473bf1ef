// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef ADV_API_MATMUL_BMM_TILING_H
#define ADV_API_MATMUL_BMM_TILING_H

#include "adv_api/matmul/matmul_tiling_base.h"

namespace matmul_tiling {

// Tiling of a Matmul whose M, N (and K, if enabled) are split over cores.
class MultiCoreMatmulTiling : public MatmulApiTilingBase {
 public:
    using MatmulApiTilingBase::MatmulApiTilingBase;

    // Cores that may be used.
    int32_t SetDim(int32_t dim);
    int32_t SetShape(int32_t m, int32_t n, int32_t k) override;
    // Fixes the share of a core.
    virtual int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1);
    virtual int32_t SetSingleRange(int32_t maxM = -1, int32_t maxN = -1, int32_t maxK = -1,
                                   int32_t minM = -1, int32_t minN = -1, int32_t minK = -1);
    int32_t SetAlignSplit(int32_t alignM, int32_t alignN, int32_t alignK);
    int32_t GetSingleShape(int32_t& m, int32_t& n, int32_t& k);
    // Valid after GetTiling.
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim);
    void EnableMultiCoreSplitK(bool flag) { splitK_ = flag; }
    void SetSplitK(bool flag) { splitK_ = flag; }

 protected:
    bool SplitCores() override;

 private:
    int32_t mDim_ = 1, nDim_ = 1;
};

// Tiling of a batch of Matmuls on one core; see SetALayout and SetBatchInfoForNormal.
class BatchMatmulTiling : public MatmulApiTilingBase {
 public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM,
                       int32_t& batchCoreN);

 protected:
    bool SplitCores() override;
};

}  // namespace matmul_tiling

extern "C" {
int32_t MultiCoreMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                     matmul_tiling::SysTilingTempBufSize& bytes);
int32_t BatchMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                 matmul_tiling::SysTilingTempBufSize& bytes);
int32_t MultiCoreMatmulGetTmpBufSizeV2(::TCubeTiling& tiling,
                                       matmul_tiling::SysTilingTempBufSize& bytes);
int32_t BatchMatmulGetTmpBufSizeV2(::TCubeTiling& tiling,
                                   matmul_tiling::SysTilingTempBufSize& bytes);
}

#endif  // ADV_API_MATMUL_BMM_TILING_H
