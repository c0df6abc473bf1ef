// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How the tilings of one core, of a batch and of several cores share a product out.
#include <algorithm>
#include <cstdio>

#include "adv_api/matmul/matmul_tiling.h"
#include "host/matmul_tiling_units.h"

namespace matmul_tiling {

bool MatmulApiTiling::SplitCores() {
    plain_.usedCoreNum = 1;
    plain_.singleCoreM = m_;
    plain_.singleCoreN = n_;
    plain_.singleCoreK = k_;
    return true;
}

bool BatchMatmulTiling::SplitCores() {
    plain_.usedCoreNum = 1;
    plain_.singleCoreM = m_;
    plain_.singleCoreN = n_;
    plain_.singleCoreK = k_;
    return true;
}

int32_t BatchMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim,
                                      int32_t& batchCoreM, int32_t& batchCoreN) {
    dim = mDim = nDim = batchCoreM = batchCoreN = 1;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetDim(int32_t dim) {
    if (dim <= 0) {
        return -1;
    }
    dim_ = dim;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetShape(int32_t m, int32_t n, int32_t k) {
    return MatmulApiTilingBase::SetShape(m, n, k);
}

int32_t MultiCoreMatmulTiling::SetSingleShape(int32_t m, int32_t n, int32_t k) {
    singleM_ = m;
    singleN_ = n;
    singleK_ = k;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetSingleRange(int32_t maxM, int32_t maxN, int32_t maxK, int32_t,
                                              int32_t, int32_t) {
    rangeM_ = maxM;
    rangeN_ = maxN;
    rangeK_ = maxK;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetAlignSplit(int32_t alignM, int32_t alignN, int32_t alignK) {
    alignM_ = std::max(alignM, 1);
    alignN_ = std::max(alignN, 1);
    alignK_ = std::max(alignK, 1);
    return 0;
}

int32_t MultiCoreMatmulTiling::GetSingleShape(int32_t& m, int32_t& n, int32_t& k) {
    m = plain_.singleCoreM;
    n = plain_.singleCoreN;
    k = plain_.singleCoreK;
    return 0;
}

int32_t MultiCoreMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) {
    dim = plain_.usedCoreNum;
    mDim = mDim_;
    nDim = nDim_;
    return 0;
}

// A product that fits into the L0 buffers whole stays on one core, as CANN's tiling leaves it:
// kernels that keep an operand in TSCM count on that. A share or a base block that was set says
// otherwise.
bool MultiCoreMatmulTiling::StaysOnOneCore() const {
    const int64_t mBlocks = CeilDiv(m_, kCubeBlock);
    const int64_t nBlocks = CeilDiv(n_, kCubeBlock);
    const int64_t kBlocks = CeilDiv(k_, KFractal(a_.dataType));
    constexpr int64_t kFractalBytes = 512, kL0cFractalBytes = 1024, kMostBlocks = 32;
    const bool free = singleM_ <= 0 && singleN_ <= 0 && singleK_ <= 0 && rangeM_ <= 0 &&
                      rangeN_ <= 0 && rangeK_ <= 0 && fixM_ <= 0 && fixN_ <= 0 && fixK_ <= 0;
    return free && mBlocks * nBlocks <= dim_ && mBlocks * kBlocks * kFractalBytes <= l0a_ &&
           nBlocks * kBlocks * kFractalBytes <= l0b_ &&
           mBlocks * nBlocks * kL0cFractalBytes <= l0c_ &&
           std::max(mBlocks, nBlocks) <= kMostBlocks && (!splitK_ || kBlocks <= kMostBlocks);
}

// What a core gets of an extent that is cut into `parts`, in whole units and at most `limit` (0:
// any).
static int32_t PartOf(int32_t extent, int32_t parts, int32_t unit, int32_t limit) {
    int32_t one = AlignUp(CeilDiv(extent, parts), unit);
    if (limit > 0) {
        one = std::min(one, std::max(unit, AlignDown(limit, unit)));
    }
    return std::min(one, std::max(extent, unit));
}

MultiCoreMatmulTiling::CoreShare MultiCoreMatmulTiling::ShareOf(int32_t mParts, int32_t nParts,
                                                                int32_t kParts) const {
    const int32_t unitM = std::max(alignM_, std::min(kCubeBlock, m_));
    const int32_t unitN = std::max(alignN_, std::min(kCubeBlock, n_));
    const int32_t unitK = std::max(alignK_, KFractal(a_.dataType));
    CoreShare share;
    share.m = singleM_ > 0 ? singleM_ : PartOf(m_, mParts, unitM, rangeM_);
    share.n = singleN_ > 0 ? singleN_ : PartOf(n_, nParts, unitN, rangeN_);
    share.k = singleK_ > 0  ? singleK_
              : kParts == 1 ? k_
                            : std::min(k_, PartOf(k_, kParts, unitK, rangeK_));
    share.cores = CeilDiv(m_, share.m) * CeilDiv(n_, share.n) * CeilDiv(k_, share.k);
    // Many kernels have no code for tails: an even split may cost up to twice as much.
    const bool even = m_ % share.m == 0 && n_ % share.n == 0 && k_ % share.k == 0;
    share.work = static_cast<int64_t>(share.m) * share.n * share.k * (even ? 1 : 2);
    // Where SetFixSplit fixes the base block, a core that has one block along N comes first: its
    // blocks then follow each other along M.
    const bool oneBlock = fixN_ > 0 && share.n <= fixN_;
    share.read = static_cast<int64_t>(share.m) + share.n + (oneBlock || fixN_ <= 0 ? 0 : 1ll << 40);
    return share;
}

bool MultiCoreMatmulTiling::SplitCores() {
    if (StaysOnOneCore()) {
        plain_.singleCoreM = m_;
        plain_.singleCoreN = n_;
        plain_.singleCoreK = k_;
        mDim_ = nDim_ = plain_.usedCoreNum = 1;
        return true;
    }
    // Every split of the cores over M, N (and K); the smallest share of the largest core wins, even
    // splits before others, then the split that reads least (nearly square shares).
    CoreShare best;
    const bool fixed = singleM_ > 0 && singleN_ > 0;
    const int32_t kLimit = splitK_ ? dim_ : 1;
    for (int32_t mParts = 1; mParts <= dim_; ++mParts) {
        for (int32_t nParts = 1; mParts * nParts <= dim_; ++nParts) {
            for (int32_t kParts = 1; kParts <= kLimit && mParts * nParts * kParts <= dim_;
                 ++kParts) {
                const CoreShare share = ShareOf(mParts, nParts, kParts);
                const bool better = best.work < 0 || share.work < best.work ||
                                    (share.work == best.work && share.read <= best.read);
                if (better && (share.cores <= dim_ || fixed)) {
                    best = share;
                }
            }
        }
    }
    if (best.work < 0) {
        fprintf(stderr, "matmul tiling: %dx%dx%d cannot be split over %d cores\n", m_, n_, k_,
                dim_);
        return false;
    }
    plain_.singleCoreM = best.m;
    plain_.singleCoreN = best.n;
    plain_.singleCoreK = best.k;
    mDim_ = CeilDiv(m_, best.m);
    nDim_ = CeilDiv(n_, best.n);
    plain_.usedCoreNum = std::min(best.cores, dim_);
    return true;
}

}  // namespace matmul_tiling
