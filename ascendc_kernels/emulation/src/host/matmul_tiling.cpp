// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The share of one core: base block, depths of the buffers in L1, and the struct that tells a
// kernel.
#include <algorithm>
#include <cstdio>

#include "adv_api/matmul/matmul_tiling.h"
#include "host/matmul_tiling_units.h"

namespace matmul_tiling {
namespace {

#define FOR_ALL_CUBE_TILING_FIELDS(X) \
    X(usedCoreNum)                    \
    X(M)                              \
    X(N)                              \
    X(Ka)                             \
    X(Kb)                             \
    X(singleCoreM)                    \
    X(singleCoreN)                    \
    X(singleCoreK)                    \
    X(baseM)                          \
    X(baseN)                          \
    X(baseK)                          \
    X(depthA1)                        \
    X(depthB1)                        \
    X(stepM)                          \
    X(stepN)                          \
    X(isBias)                         \
    X(transLength)                    \
    X(iterateOrder)                   \
    X(shareMode)                      \
    X(shareL1Size)                    \
    X(shareL0CSize)                   \
    X(shareUbSize)                    \
    X(batchM)                         \
    X(batchN)                         \
    X(singleBatchM)                   \
    X(singleBatchN)                   \
    X(stepKa)                         \
    X(stepKb)                         \
    X(depthAL1CacheUB)                \
    X(depthBL1CacheUB)                \
    X(dbL0A)                          \
    X(dbL0B)                          \
    X(dbL0C)                          \
    X(ALayoutInfoB)                   \
    X(ALayoutInfoS)                   \
    X(ALayoutInfoN)                   \
    X(ALayoutInfoG)                   \
    X(ALayoutInfoD)                   \
    X(BLayoutInfoB)                   \
    X(BLayoutInfoS)                   \
    X(BLayoutInfoN)                   \
    X(BLayoutInfoG)                   \
    X(BLayoutInfoD)                   \
    X(CLayoutInfoB)                   \
    X(CLayoutInfoS1)                  \
    X(CLayoutInfoN)                   \
    X(CLayoutInfoG)                   \
    X(CLayoutInfoS2)                  \
    X(BatchNum)                       \
    X(reserved)

void ToTilingData(const ::TCubeTiling& from, optiling::TCubeTiling& to) {
#define COPY(field) to.set_##field(from.field);
    FOR_ALL_CUBE_TILING_FIELDS(COPY)
#undef COPY
}

::TCubeTiling FromTilingData(optiling::TCubeTiling& from) {
    ::TCubeTiling to;
#define COPY(field) to.field = from.get_##field();
    FOR_ALL_CUBE_TILING_FIELDS(COPY)
#undef COPY
    return to;
}

}  // namespace

bool MatmulApiTilingBase::ChooseBase() {
    const int32_t k0 = KFractal(a_.dataType);
    const int32_t m = AlignUp(plain_.singleCoreM, kCubeBlock);
    const int32_t n = AlignUp(plain_.singleCoreN, kCubeBlock);
    const int32_t k = AlignUp(plain_.singleCoreK, k0);
    const auto pick = [](int32_t fixed, int32_t wanted, int32_t extent, int32_t limit,
                         int32_t align) {
        if (fixed > 0) {
            return fixed;
        }
        int32_t base = std::min(wanted, extent);
        if (limit > 0) {
            base = std::min(base, std::max(align, AlignDown(limit, align)));
        }
        return std::max(base, align);
    };
    // L0A and L0B hold two blocks (double buffering), L0C one of fp32 or int32.
    int32_t baseM = pick(fixM_, 128, m, maxM_, kCubeBlock);
    int32_t baseN = pick(fixN_, 256, n, maxN_, kCubeBlock);
    while (fixN_ <= 0 && 4LL * baseM * baseN > l0c_ && baseN > kCubeBlock) {
        baseN = AlignUp(baseN / 2, kCubeBlock);
    }
    while (fixM_ <= 0 && 4LL * baseM * baseN > l0c_ && baseM > kCubeBlock) {
        baseM = AlignUp(baseM / 2, kCubeBlock);
    }
    // The longest K of which L0A and L0B hold two blocks; Mmad takes at most 4095.
    const auto longest = [&](int64_t bytes, int32_t side, DataType type) {
        return bytes / 2 * 8 / (static_cast<int64_t>(AlignUp(side, kCubeBlock)) * Bits(type));
    };
    const int64_t room = std::min(
        {longest(l0a_, baseM, a_.dataType), longest(l0b_, baseN, b_.dataType), int64_t{4095}});
    const int32_t fullK = std::max(k0, AlignDown(static_cast<int32_t>(room), k0));
    int32_t baseK = pick(fixK_, fullK, k, maxK_, k0);
    const auto fits = [&](int32_t share) {
        return Bytes(static_cast<int64_t>(AlignUp(baseM, kCubeBlock)) * AlignUp(baseK, k0),
                     a_.dataType) *
                       share <=
                   l0a_ &&
               Bytes(static_cast<int64_t>(AlignUp(baseN, kCubeBlock)) * AlignUp(baseK, k0),
                     b_.dataType) *
                       share <=
                   l0b_;
    };
    while (fixK_ <= 0 && !fits(2) && baseK > k0) {
        baseK = AlignUp(baseK / 2, k0);
    }
    if (!fits(1) || 4LL * baseM * baseN > l0c_) {
        fprintf(stderr,
                "matmul tiling: base block %dx%dx%d does not fit: L0A %lld, L0B %lld, L0C %lld "
                "bytes\n",
                baseM, baseN, baseK, static_cast<long long>(l0a_), static_cast<long long>(l0b_),
                static_cast<long long>(l0c_));
        return false;
    }
    plain_.baseM = baseM;
    plain_.baseN = baseN;
    plain_.baseK = baseK;
    plain_.dbL0A = plain_.dbL0B = fits(2) ? 2 : 1;
    plain_.dbL0C = 8LL * baseM * baseN <= l0c_ ? 2 : 1;
    return true;
}

bool MatmulApiTilingBase::ChooseDepth() {
    const int64_t aBlock = Bytes(static_cast<int64_t>(AlignUp(plain_.baseM, kCubeBlock)) *
                                     AlignUp(plain_.baseK, KFractal(a_.dataType)),
                                 a_.dataType);
    const int64_t bBlock = Bytes(static_cast<int64_t>(AlignUp(plain_.baseN, kCubeBlock)) *
                                     AlignUp(plain_.baseK, KFractal(b_.dataType)),
                                 b_.dataType);
    const int64_t bias = hasBias_ ? 4LL * plain_.baseN : 0;
    const int64_t room = l1_ - bias;
    const int32_t kBlocks = CeilDiv(plain_.singleCoreK, plain_.baseK);
    int32_t step = 1;
    // As many K blocks per load as leave room for the next load (double buffering).
    while (step < kBlocks && step < 8 && 2 * (step * 2) * (aBlock + bBlock) <= room) {
        step *= 2;
    }
    step = std::min(step, kBlocks);
    int32_t buffers = 2 * step * (aBlock + bBlock) <= room ? 2 : 1;
    if (buffers * step * (aBlock + bBlock) > room) {
        fprintf(stderr, "matmul tiling: blocks of %lld + %lld bytes do not fit L1 (%lld bytes)\n",
                static_cast<long long>(aBlock), static_cast<long long>(bBlock),
                static_cast<long long>(room));
        return false;
    }
    if (kBlocks == step) {
        buffers = 1;  // all of K is there: nothing to load ahead
    }
    plain_.stepM = plain_.stepN = 1;
    plain_.stepKa = plain_.stepKb = step;
    plain_.depthA1 = plain_.depthB1 = buffers * step;
    plain_.shareMode = 0;
    plain_.shareL1Size =
        static_cast<int32_t>(plain_.depthA1 * aBlock + plain_.depthB1 * bBlock + bias);
    plain_.shareL0CSize = 4 * plain_.baseM * plain_.baseN;
    plain_.shareUbSize = 0;
    plain_.transLength = static_cast<int32_t>(std::max(aBlock, bBlock));
    return true;
}

int64_t MatmulApiTilingBase::Compute() {
    if (!Positive(m_, n_, k_) && Positive(orgM_, orgN_, orgKa_)) {
        SetShape(orgM_, orgN_, orgKa_);
    }
    if (!Positive(m_, n_, k_) || Bits(a_.dataType) == 0 || Bits(b_.dataType) == 0) {
        fprintf(stderr, "matmul tiling: shape %dx%dx%d is not set or a type is not supported\n", m_,
                n_, k_);
        return -1;
    }
    plain_.M = orgM_ > 0 ? orgM_ : m_;
    plain_.N = orgN_ > 0 ? orgN_ : n_;
    plain_.Ka = orgKa_ > 0 ? orgKa_ : k_;
    plain_.Kb = orgKb_ > 0 ? orgKb_ : k_;
    plain_.isBias = hasBias_ ? 1 : 0;
    plain_.iterateOrder = traverse_ == MatrixTraverse::FIRSTN ? 1 : 0;
    plain_.batchM = std::max(batchA_, 1);
    plain_.batchN = std::max(batchB_, 1);
    plain_.singleBatchM = plain_.batchM;
    plain_.singleBatchN = plain_.batchN;
    plain_.depthAL1CacheUB = plain_.depthBL1CacheUB = 0;
    return SplitCores() && ChooseBase() && ChooseDepth() ? 0 : -1;
}

int64_t MatmulApiTilingBase::GetTiling(::TCubeTiling& tiling) {
    const int64_t status = Compute();
    if (status == 0) {
        tiling = plain_;
    }
    return status;
}

int64_t MatmulApiTilingBase::GetTiling(optiling::TCubeTiling& tiling) {
    const int64_t status = Compute();
    if (status == 0) {
        ToTilingData(plain_, tiling);
    }
    return status;
}

}  // namespace matmul_tiling

extern "C" {

int32_t MatmulGetTmpBufSizeV2(::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bytes) {
    bytes.l1Size = tiling.shareL1Size;
    bytes.l0cSize = tiling.shareL0CSize;
    bytes.ubSize = tiling.shareUbSize;
    return 0;
}

int32_t MatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                            matmul_tiling::SysTilingTempBufSize& bytes) {
    ::TCubeTiling plain = matmul_tiling::FromTilingData(tiling);
    return MatmulGetTmpBufSizeV2(plain, bytes);
}

int32_t MultiCoreMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                     matmul_tiling::SysTilingTempBufSize& bytes) {
    return MatmulGetTmpBufSize(tiling, bytes);
}

int32_t BatchMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                 matmul_tiling::SysTilingTempBufSize& bytes) {
    return MatmulGetTmpBufSize(tiling, bytes);
}

int32_t MultiCoreMatmulGetTmpBufSizeV2(::TCubeTiling& tiling,
                                       matmul_tiling::SysTilingTempBufSize& bytes) {
    return MatmulGetTmpBufSizeV2(tiling, bytes);
}

int32_t BatchMatmulGetTmpBufSizeV2(::TCubeTiling& tiling,
                                   matmul_tiling::SysTilingTempBufSize& bytes) {
    return MatmulGetTmpBufSizeV2(tiling, bytes);
}

}  // extern "C"
