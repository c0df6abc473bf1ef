// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "adv_api/matmul/bmm_tiling.h"
#include "adv_api/matmul/matmul_tiling.h"

namespace matmul_tiling {
namespace {

constexpr int32_t kCubeBlock = 16;   // rows and columns of a fractal
constexpr int32_t kFractalBytes = 32;  // K side of a fractal
constexpr int64_t kL1Reserved = 128;   // kept by the framework at the end of L1

// Capacities of arch 2201; used when no platform is given.
constexpr int64_t kL1 = 512 * 1024 - kL1Reserved;
constexpr int64_t kL0a = 64 * 1024;
constexpr int64_t kL0b = 64 * 1024;
constexpr int64_t kL0c = 128 * 1024;
constexpr int64_t kUb = 192 * 1024 - 256;

int32_t CeilDiv(int32_t a, int32_t b) { return b <= 0 ? 0 : (a + b - 1) / b; }
int32_t AlignUp(int32_t a, int32_t b) { return CeilDiv(a, b) * b; }
int32_t AlignDown(int32_t a, int32_t b) { return a / b * b; }

int32_t Bits(DataType type)
{
    const auto found = DTYPE_BIT_TAB.find(type);
    return found == DTYPE_BIT_TAB.end() ? 0 : static_cast<int32_t>(found->second);
}

int64_t Bytes(int64_t elements, DataType type) { return elements * Bits(type) / 8; }

// Elements along K in one fractal.
int32_t KFractal(DataType type)
{
    const int32_t bits = Bits(type);
    return bits == 0 ? kCubeBlock : kFractalBytes * 8 / bits;
}

bool Positive(int32_t a, int32_t b, int32_t c) { return a > 0 && b > 0 && c > 0; }

#define FOR_ALL_CUBE_TILING_FIELDS(X) \
    X(usedCoreNum) \
    X(M) \
    X(N) \
    X(Ka) \
    X(Kb) \
    X(singleCoreM) \
    X(singleCoreN) \
    X(singleCoreK) \
    X(baseM) \
    X(baseN) \
    X(baseK) \
    X(depthA1) \
    X(depthB1) \
    X(stepM) \
    X(stepN) \
    X(isBias) \
    X(transLength) \
    X(iterateOrder) \
    X(shareMode) \
    X(shareL1Size) \
    X(shareL0CSize) \
    X(shareUbSize) \
    X(batchM) \
    X(batchN) \
    X(singleBatchM) \
    X(singleBatchN) \
    X(stepKa) \
    X(stepKb) \
    X(depthAL1CacheUB) \
    X(depthBL1CacheUB) \
    X(dbL0A) \
    X(dbL0B) \
    X(dbL0C) \
    X(ALayoutInfoB) \
    X(ALayoutInfoS) \
    X(ALayoutInfoN) \
    X(ALayoutInfoG) \
    X(ALayoutInfoD) \
    X(BLayoutInfoB) \
    X(BLayoutInfoS) \
    X(BLayoutInfoN) \
    X(BLayoutInfoG) \
    X(BLayoutInfoD) \
    X(CLayoutInfoB) \
    X(CLayoutInfoS1) \
    X(CLayoutInfoN) \
    X(CLayoutInfoG) \
    X(CLayoutInfoS2) \
    X(BatchNum) \
    X(reserved)

void ToTilingData(const ::TCubeTiling& from, optiling::TCubeTiling& to)
{
#define COPY(field) to.set_##field(from.field);
    FOR_ALL_CUBE_TILING_FIELDS(COPY)
#undef COPY
}

::TCubeTiling FromTilingData(optiling::TCubeTiling& from)
{
    ::TCubeTiling to;
#define COPY(field) to.field = from.get_##field();
    FOR_ALL_CUBE_TILING_FIELDS(COPY)
#undef COPY
    return to;
}

}  // namespace

MatmulApiTilingBase::MatmulApiTilingBase() : l1_(kL1), l0c_(kL0c), ub_(kUb), l0a_(kL0a), l0b_(kL0b)
{}

MatmulApiTilingBase::MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& platform)
    : MatmulApiTilingBase()
{
    using platform_ascendc::CoreMemType;
    const auto size = [&platform](CoreMemType type, int64_t fallback) {
        uint64_t bytes = 0;
        platform.GetCoreMemSize(type, bytes);
        return bytes == 0 ? fallback : static_cast<int64_t>(bytes);
    };
    l1_ = size(CoreMemType::L1, kL1 + kL1Reserved) - kL1Reserved;
    l0c_ = size(CoreMemType::L0_C, kL0c);
    ub_ = size(CoreMemType::UB, kUb);
    l0a_ = size(CoreMemType::L0_A, kL0a);
    l0b_ = size(CoreMemType::L0_B, kL0b);
}

MatmulApiTilingBase::MatmulApiTilingBase(const PlatformInfo& platform) : MatmulApiTilingBase()
{
    const auto size = [](uint64_t bytes, int64_t fallback) {
        return bytes == 0 ? fallback : static_cast<int64_t>(bytes);
    };
    l1_ = size(platform.l1Size, kL1);
    l0c_ = size(platform.l0CSize, kL0c);
    ub_ = size(platform.ubSize, kUb);
    l0a_ = size(platform.l0ASize, kL0a);
    l0b_ = size(platform.l0BSize, kL0b);
}

MatmulApiTilingBase::~MatmulApiTilingBase() = default;

int32_t MatmulApiTilingBase::SetAType(TPosition pos, CubeFormat type, DataType dataType,
                                      bool isTrans)
{
    a_ = {pos, type, dataType, isTrans, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetBType(TPosition pos, CubeFormat type, DataType dataType,
                                      bool isTrans)
{
    b_ = {pos, type, dataType, isTrans, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetCType(TPosition pos, CubeFormat type, DataType dataType)
{
    c_ = {pos, type, dataType, false, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetBiasType(TPosition pos, CubeFormat type, DataType dataType)
{
    bias_ = {pos, type, dataType, false, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetDequantType(DequantType) { return 0; }

int32_t MatmulApiTilingBase::SetShape(int32_t m, int32_t n, int32_t k)
{
    m_ = m;
    n_ = n;
    k_ = k;
    return 0;
}

int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t k)
{
    return SetOrgShape(m, n, k, k);
}

int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb)
{
    if (!Positive(m, n, ka) || kb <= 0) {
        return -1;
    }
    orgM_ = m;
    orgN_ = n;
    orgKa_ = ka;
    orgKb_ = kb;
    return 0;
}

int32_t MatmulApiTilingBase::SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d)
{
    plain_.ALayoutInfoB = b;
    plain_.ALayoutInfoS = s;
    plain_.ALayoutInfoN = n;
    plain_.ALayoutInfoG = g;
    plain_.ALayoutInfoD = d;
    return 0;
}

int32_t MatmulApiTilingBase::SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d)
{
    plain_.BLayoutInfoB = b;
    plain_.BLayoutInfoS = s;
    plain_.BLayoutInfoN = n;
    plain_.BLayoutInfoG = g;
    plain_.BLayoutInfoD = d;
    return 0;
}

int32_t MatmulApiTilingBase::SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d)
{
    plain_.CLayoutInfoB = b;
    plain_.CLayoutInfoS1 = s;
    plain_.CLayoutInfoN = n;
    plain_.CLayoutInfoG = g;
    plain_.CLayoutInfoS2 = d;
    return 0;
}

int32_t MatmulApiTilingBase::SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m,
                                                   int32_t n, int32_t k)
{
    batchA_ = batchA;
    batchB_ = batchB;
    m_ = m;
    n_ = n;
    k_ = k;
    return 0;
}

int32_t MatmulApiTilingBase::SetBatchNum(int32_t batch)
{
    plain_.BatchNum = batch;
    return 0;
}

int32_t MatmulApiTilingBase::EnableBias(bool isBias)
{
    hasBias_ = isBias;
    return 0;
}

int32_t MatmulApiTilingBase::SetBias(bool isBias) { return EnableBias(isBias); }

int32_t MatmulApiTilingBase::SetFixSplit(int32_t baseM, int32_t baseN, int32_t baseK)
{
    const auto bad = [](int32_t v) { return v != -1 && v <= 0; };
    if (bad(baseM) || bad(baseN) || bad(baseK)) {
        return -1;
    }
    fixM_ = baseM;
    fixN_ = baseN;
    fixK_ = baseK;
    return 0;
}

int32_t MatmulApiTilingBase::SetBufferSpace(int32_t l1Bytes, int32_t l0CBytes, int32_t ubBytes,
                                            int32_t)
{
    // More than the hardware has is refused; -1 keeps what the platform says.
    if (l1Bytes > l1_ + kL1Reserved || l0CBytes > l0c_) {
        return -1;
    }
    l1_ = l1Bytes == -1 ? l1_ : std::min<int64_t>(l1Bytes, l1_);
    l0c_ = l0CBytes == -1 ? l0c_ : l0CBytes;
    ub_ = ubBytes == -1 ? ub_ : ubBytes;
    return 0;
}

int32_t MatmulApiTilingBase::SetTraverse(MatrixTraverse traverse)
{
    traverse_ = traverse;
    return 0;
}

int32_t MatmulApiTilingBase::SetMadType(MatrixMadType madType)
{
    hf32_ = madType == MatrixMadType::HF32;
    return 0;
}

int32_t MatmulApiTilingBase::SetSplitRange(int32_t maxBaseM, int32_t maxBaseN, int32_t maxBaseK,
                                           int32_t, int32_t, int32_t)
{
    maxM_ = maxBaseM;
    maxN_ = maxBaseN;
    maxK_ = maxBaseK;
    return 0;
}

int32_t MatmulApiTilingBase::SetDoubleBuffer(bool a, bool b, bool c, bool bias, bool, bool)
{
    a_.isDB = a;
    b_.isDB = b;
    c_.isDB = c;
    bias_.isDB = bias;
    return 0;
}

void MatmulApiTilingBase::SetMatmulConfigParams(int32_t, bool, ScheduleType,
                                                MatrixTraverse traverse, bool)
{
    if (traverse != MatrixTraverse::NOSET) {
        traverse_ = traverse;
    }
}

void MatmulApiTilingBase::SetMatmulConfigParams(const MatmulConfigParams& params)
{
    SetMatmulConfigParams(params.mmConfigType, params.enableL1CacheUB, params.scheduleType,
                          params.traverse, params.enVecND2NZ);
}

// B is 4:2 compressed; its blocks take half the room, which the split does not use.
int32_t MatmulApiTilingBase::SetSparse(bool) { return 0; }

bool MatmulApiTilingBase::ChooseBase()
{
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
    const int64_t room = std::min({longest(l0a_, baseM, a_.dataType),
                                   longest(l0b_, baseN, b_.dataType), int64_t{4095}});
    const int32_t fullK = std::max(k0, AlignDown(static_cast<int32_t>(room), k0));
    int32_t baseK = pick(fixK_, fullK, k, maxK_, k0);
    const auto fits = [&](int32_t share) {
        return Bytes(static_cast<int64_t>(AlignUp(baseM, kCubeBlock)) * AlignUp(baseK, k0),
                     a_.dataType) * share <= l0a_ &&
               Bytes(static_cast<int64_t>(AlignUp(baseN, kCubeBlock)) * AlignUp(baseK, k0),
                     b_.dataType) * share <= l0b_;
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

bool MatmulApiTilingBase::ChooseDepth()
{
    const int64_t aBlock =
        Bytes(static_cast<int64_t>(AlignUp(plain_.baseM, kCubeBlock)) *
                  AlignUp(plain_.baseK, KFractal(a_.dataType)), a_.dataType);
    const int64_t bBlock =
        Bytes(static_cast<int64_t>(AlignUp(plain_.baseN, kCubeBlock)) *
                  AlignUp(plain_.baseK, KFractal(b_.dataType)), b_.dataType);
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
    plain_.shareL1Size = static_cast<int32_t>(plain_.depthA1 * aBlock + plain_.depthB1 * bBlock + bias);
    plain_.shareL0CSize = 4 * plain_.baseM * plain_.baseN;
    plain_.shareUbSize = 0;
    plain_.transLength = static_cast<int32_t>(std::max(aBlock, bBlock));
    return true;
}

int64_t MatmulApiTilingBase::Compute()
{
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

int64_t MatmulApiTilingBase::GetTiling(::TCubeTiling& tiling)
{
    const int64_t status = Compute();
    if (status == 0) {
        tiling = plain_;
    }
    return status;
}

int64_t MatmulApiTilingBase::GetTiling(optiling::TCubeTiling& tiling)
{
    const int64_t status = Compute();
    if (status == 0) {
        ToTilingData(plain_, tiling);
    }
    return status;
}

bool MatmulApiTiling::SplitCores()
{
    plain_.usedCoreNum = 1;
    plain_.singleCoreM = m_;
    plain_.singleCoreN = n_;
    plain_.singleCoreK = k_;
    return true;
}

bool BatchMatmulTiling::SplitCores()
{
    plain_.usedCoreNum = 1;
    plain_.singleCoreM = m_;
    plain_.singleCoreN = n_;
    plain_.singleCoreK = k_;
    return true;
}

int32_t BatchMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim,
                                      int32_t& batchCoreM, int32_t& batchCoreN)
{
    dim = mDim = nDim = batchCoreM = batchCoreN = 1;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetDim(int32_t dim)
{
    if (dim <= 0) {
        return -1;
    }
    dim_ = dim;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetShape(int32_t m, int32_t n, int32_t k)
{
    return MatmulApiTilingBase::SetShape(m, n, k);
}

int32_t MultiCoreMatmulTiling::SetSingleShape(int32_t m, int32_t n, int32_t k)
{
    singleM_ = m;
    singleN_ = n;
    singleK_ = k;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetSingleRange(int32_t maxM, int32_t maxN, int32_t maxK, int32_t,
                                              int32_t, int32_t)
{
    rangeM_ = maxM;
    rangeN_ = maxN;
    rangeK_ = maxK;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetAlignSplit(int32_t alignM, int32_t alignN, int32_t alignK)
{
    alignM_ = std::max(alignM, 1);
    alignN_ = std::max(alignN, 1);
    alignK_ = std::max(alignK, 1);
    return 0;
}

int32_t MultiCoreMatmulTiling::GetSingleShape(int32_t& m, int32_t& n, int32_t& k)
{
    m = plain_.singleCoreM;
    n = plain_.singleCoreN;
    k = plain_.singleCoreK;
    return 0;
}

int32_t MultiCoreMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim)
{
    dim = plain_.usedCoreNum;
    mDim = mDim_;
    nDim = nDim_;
    return 0;
}

bool MultiCoreMatmulTiling::SplitCores()
{
    const int32_t unitM = std::max(alignM_, std::min(kCubeBlock, m_));
    const int32_t unitN = std::max(alignN_, std::min(kCubeBlock, n_));
    const auto share = [](int32_t extent, int32_t parts, int32_t unit, int32_t limit) {
        int32_t one = AlignUp(CeilDiv(extent, parts), unit);
        if (limit > 0) {
            one = std::min(one, std::max(unit, AlignDown(limit, unit)));
        }
        return std::min(one, std::max(extent, unit));
    };
    // A product that fits into the L0 buffers whole stays on one core, as CANN's tiling leaves it: kernels
    // that keep an operand in TSCM count on that.
    const int64_t mBlocks = CeilDiv(m_, kCubeBlock);
    const int64_t nBlocks = CeilDiv(n_, kCubeBlock);
    const int64_t kBlocks = CeilDiv(k_, KFractal(a_.dataType));
    constexpr int64_t kFractalBytes = 512, kL0cFractalBytes = 1024, kMostBlocks = 32;
    const bool free = singleM_ <= 0 && singleN_ <= 0 && singleK_ <= 0 && rangeM_ <= 0 && rangeN_ <= 0 &&
                      rangeK_ <= 0 && fixM_ <= 0 && fixN_ <= 0 && fixK_ <= 0;
    if (free && mBlocks * nBlocks <= dim_ && mBlocks * kBlocks * kFractalBytes <= l0a_ &&
        nBlocks * kBlocks * kFractalBytes <= l0b_ && mBlocks * nBlocks * kL0cFractalBytes <= l0c_ &&
        std::max(mBlocks, nBlocks) <= kMostBlocks && (!splitK_ || kBlocks <= kMostBlocks)) {
        plain_.singleCoreM = m_;
        plain_.singleCoreN = n_;
        plain_.singleCoreK = k_;
        mDim_ = nDim_ = plain_.usedCoreNum = 1;
        return true;
    }
    // Every split of the cores over M, N (and K); the smallest share of the largest core wins, even
    // splits before others,
    // then the split that reads least (nearly square shares).
    int64_t bestWork = -1;
    int64_t bestRead = 0;
    const int32_t kLimit = splitK_ ? dim_ : 1;
    for (int32_t mParts = 1; mParts <= dim_; ++mParts) {
        for (int32_t nParts = 1; mParts * nParts <= dim_; ++nParts) {
            for (int32_t kParts = 1; kParts <= kLimit && mParts * nParts * kParts <= dim_; ++kParts) {
                const int32_t m = singleM_ > 0 ? singleM_ : share(m_, mParts, unitM, rangeM_);
                const int32_t n = singleN_ > 0 ? singleN_ : share(n_, nParts, unitN, rangeN_);
                const int32_t k0 = std::max(alignK_, KFractal(a_.dataType));
                const int32_t k = singleK_ > 0 ? singleK_
                                  : kParts == 1 ? k_
                                                : std::min(k_, share(k_, kParts, k0, rangeK_));
                const int32_t cores = CeilDiv(m_, m) * CeilDiv(n_, n) * CeilDiv(k_, k);
                const bool fixed = singleM_ > 0 && singleN_ > 0;
                if (cores > dim_ && !fixed) {
                    continue;
                }
                // Many kernels have no code for tails: an even split may cost up to twice as much.
                const bool even = m_ % m == 0 && n_ % n == 0 && k_ % k == 0;
                const int64_t work = static_cast<int64_t>(m) * n * k * (even ? 1 : 2);
                // Where SetFixSplit fixes the base block, a core that has one block along N comes
                // first: its blocks then follow each other along M.
                const bool oneBlock = fixN_ > 0 && n <= fixN_;
                const int64_t read = static_cast<int64_t>(m) + n + (oneBlock || fixN_ <= 0 ? 0 : 1ll << 40);
                if (bestWork >= 0 && (work > bestWork || (work == bestWork && read > bestRead))) {
                    continue;
                }
                bestWork = work;
                bestRead = read;
                plain_.singleCoreM = m;
                plain_.singleCoreN = n;
                plain_.singleCoreK = k;
                mDim_ = CeilDiv(m_, m);
                nDim_ = CeilDiv(n_, n);
                plain_.usedCoreNum = std::min(cores, dim_);
            }
        }
    }
    if (bestWork < 0) {
        fprintf(stderr, "matmul tiling: %dx%dx%d cannot be split over %d cores\n", m_, n_, k_, dim_);
    }
    return bestWork >= 0;
}

}  // namespace matmul_tiling

extern "C" {

int32_t MatmulGetTmpBufSizeV2(::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bytes)
{
    bytes.l1Size = tiling.shareL1Size;
    bytes.l0cSize = tiling.shareL0CSize;
    bytes.ubSize = tiling.shareUbSize;
    return 0;
}

int32_t MatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                            matmul_tiling::SysTilingTempBufSize& bytes)
{
    ::TCubeTiling plain = matmul_tiling::FromTilingData(tiling);
    return MatmulGetTmpBufSizeV2(plain, bytes);
}

int32_t MultiCoreMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                     matmul_tiling::SysTilingTempBufSize& bytes)
{
    return MatmulGetTmpBufSize(tiling, bytes);
}

int32_t BatchMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                 matmul_tiling::SysTilingTempBufSize& bytes)
{
    return MatmulGetTmpBufSize(tiling, bytes);
}

int32_t MultiCoreMatmulGetTmpBufSizeV2(::TCubeTiling& tiling,
                                       matmul_tiling::SysTilingTempBufSize& bytes)
{
    return MatmulGetTmpBufSizeV2(tiling, bytes);
}

int32_t BatchMatmulGetTmpBufSizeV2(::TCubeTiling& tiling,
                                   matmul_tiling::SysTilingTempBufSize& bytes)
{
    return MatmulGetTmpBufSizeV2(tiling, bytes);
}

}  // extern "C"
