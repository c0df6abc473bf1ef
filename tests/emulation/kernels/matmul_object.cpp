// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// The Matmul object in its ways of use, one per tiling key.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

// Matmul's headers have an integer Ceil as well.
__aicore__ inline void RoundUp(LocalTensor<float>& t) { Ceil(t, t, Ceil(64u, 8u)); }

struct MatmulCase {
    TCubeTiling t;
    uint32_t transA, transB, way, atomic;
    uint64_t scalar;
};

template <typename T, CubeFormat format = CubeFormat::ND, LayoutMode layout = LayoutMode::NONE>
using In = MatmulType<TPosition::GM, format, T, true, layout>;

template <typename Mm, typename A, typename C, typename Bias>
__aicore__ inline void RunObject(Mm& mm, GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c,
                                 const MatmulCase& p) {
    const TCubeTiling& t = p.t;
    const int32_t block = GetBlockIdx();
    if (block >= t.usedCoreNum) return;
    const int32_t blocksM = (t.M + t.singleCoreM - 1) / t.singleCoreM;
    const int32_t m0 = block % blocksM * t.singleCoreM, n0 = block / blocksM * t.singleCoreN;
    GlobalTensor<A> aGm, bGm;
    GlobalTensor<C> cGm;
    GlobalTensor<Bias> biasGm;
    aGm.SetGlobalBuffer((__gm__ A*)a);
    bGm.SetGlobalBuffer((__gm__ A*)b);
    cGm.SetGlobalBuffer((__gm__ C*)c);
    biasGm.SetGlobalBuffer((__gm__ Bias*)bias);
    const int32_t m = t.M - m0 < t.singleCoreM ? t.M - m0 : t.singleCoreM;
    const int32_t n = t.N - n0 < t.singleCoreN ? t.N - n0 : t.singleCoreN;
    if (m < t.singleCoreM || n < t.singleCoreN) mm.SetTail(m, n);
    if (p.scalar != 0) mm.SetQuantScalar(p.scalar);
    const auto left = aGm[p.transA ? m0 : m0 * t.Ka], right = bGm[p.transB ? n0 * t.Kb : n0];
    const auto out = cGm[m0 * t.N + n0];
    if (p.way != 5) {
        mm.SetTensorA(left, p.transA != 0);
        mm.SetTensorB(right, p.transB != 0);
    }
    if (t.isBias) mm.SetBias(biasGm[n0]);
    if (p.way == 0) {
        mm.IterateAll(out, uint8_t(p.atomic));
    } else if (p.way == 1) {
        while (mm.Iterate()) mm.GetTensorC(out, uint8_t(p.atomic));
    } else if (p.way == 2) {
        mm.template Iterate<false>();
        const int32_t rounds = ((m + t.baseM - 1) / t.baseM) * ((n + t.baseN - 1) / t.baseN);
        for (int32_t i = 0; i < rounds; ++i) mm.template GetTensorC<false>(out, uint8_t(p.atomic));
    } else if (p.way == 3) {  // base blocks one after another
        mm.IterateAll(cGm[block * t.singleCoreM * t.singleCoreN], 0, true);
    } else if (p.way == 4) {
        mm.IterateBatch(cGm, uint32_t(t.ALayoutInfoN), uint32_t(t.BLayoutInfoN), false);
    } else if (p.way == 5) {  // parts of K are added up in L0C; one block
        const int32_t part = t.singleCoreK;
        for (int32_t k = 0; k < t.Ka; k += part) {
            mm.SetTensorA(aGm[p.transA ? k * t.M : k], p.transA != 0);
            mm.SetTensorB(bGm[p.transB ? k : k * t.N], p.transB != 0);
            mm.Iterate(k != 0);
        }
        mm.GetTensorC(cGm);
    }
    mm.End();
}

// Copies the block from where the default would, with all values doubled rows apart: A is stored
// with twice its row length.
__aicore__ inline void CopyWideA(const LocalTensor<int8_t>& to, const __gm__ void* gm, int row,
                                 int col, int useM, int useK, const uint64_t baseM,
                                 const uint64_t width) {
    GlobalTensor<half> from;
    from.SetGlobalBuffer((__gm__ half*)gm);
    Nd2NzParams p{
        1, uint16_t(useM), uint16_t(useK), 0, uint16_t(width), uint16_t((useM + 15) / 16 * 16), 1,
        0};
    // baseM and baseK are packed into the first word.
    const uint64_t baseK = baseM >> 32;
    DataCopy(to.ReinterpretCast<half>(),
             from[uint64_t(row) * uint32_t(baseM) * width + uint64_t(col) * baseK], p);
}

// B stored with twice its row length; the words as above, with base K and base N.
__aicore__ inline void CopyWideB(const LocalTensor<int8_t>& to, const __gm__ void* gm, int row,
                                 int col, int useK, int useN, const uint64_t base,
                                 const uint64_t width) {
    GlobalTensor<half> from;
    from.SetGlobalBuffer((__gm__ half*)gm);
    Nd2NzParams p{
        1, uint16_t(useK), uint16_t(useN), 0, uint16_t(width), uint16_t((useK + 15) / 16 * 16), 1,
        0};
    DataCopy(to.ReinterpretCast<half>(),
             from[uint64_t(row) * uint32_t(base) * width + uint64_t(col) * (base >> 32)], p);
}

__aicore__ inline void CopyOutShifted(const __gm__ void* gm, const LocalTensor<int8_t>& co1,
                                      const void* params, const uint64_t, const uint64_t) {
    const DataCopyOutParams* p = reinterpret_cast<const DataCopyOutParams*>(params);
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float*)gm);
    FixpipeParams<float> q(p->cBurstNum, p->burstLen, p->srcStride, p->dstStride);
    q.nz2ndParams = {true, 1, 0, 0, p->oriNSize};
    q.reluEn = true;
    Fixpipe(to, co1.ReinterpretCast<float>(), q);
}

template <typename A, typename C, typename Bias, CubeFormat fa = CubeFormat::ND,
          CubeFormat fc = CubeFormat::ND, LayoutMode layout = LayoutMode::NONE,
          const auto& config = CFG_NORM, class Callback = MatmulCallBackFunc<>,
          template <const auto&, typename, typename, typename, typename, typename> class Policy =
              MatmulPolicy>
__aicore__ inline void RunCase(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const MatmulCase& p) {
    TPipe pipe;
    Matmul<In<A, fa, layout>, In<A, fa, layout>, MatmulType<TPosition::GM, fc, C, false, layout>,
           MatmulType<TPosition::GM, CubeFormat::ND, Bias>, config, Callback, Policy>
        mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &p.t);
    constexpr bool copiesB = Callback::CopyB1Func != nullptr;
    mm.SetUserDefInfo(copiesB ? uint64_t(p.t.baseK) | uint64_t(p.t.baseN) << 32
                              : uint64_t(p.t.baseM) | uint64_t(p.t.baseK) << 32);
    mm.SetSelfDefineData(uint64_t(2 * (copiesB ? p.t.N : p.t.Ka)));
    RunObject<decltype(mm), A, C, Bias>(mm, a, b, bias, c, p);
}

constexpr MatmulFuncParams kSplit{
    false, false, false, false, 0,   IterateOrder::UNDEF, ScheduleType::INNER_PRODUCT,
    true,  false, false, false, true};
constexpr MatmulConfig kSplitConfig = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(kSplit);

extern "C" __global__ __aicore__ void matmul_object(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c,
                                                    GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    const MatmulCase p = *reinterpret_cast<__gm__ MatmulCase*>(tiling);
    constexpr CubeFormat nd = CubeFormat::ND, nz = CubeFormat::NZ;
    if (TILING_KEY_IS(1)) {
        RunCase<half, float, float>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(2)) {
        RunCase<half, half, float>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(3)) {
        RunCase<bfloat16_t, float, float>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(4)) {
        RunCase<float, float, float>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(5)) {
        RunCase<int8_t, int32_t, int32_t>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(6)) {
        RunCase<int8_t, half, int32_t>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(7)) {
        RunCase<half, float, float, nz, nz>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(8)) {
        RunCase<half, float, float, nd, nz, LayoutMode::NONE, kSplitConfig>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(9)) {
        RunCase<half, float, float, nd, nd, LayoutMode::NORMAL>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(10)) {
        RunCase<half, float, float, nd, nd, LayoutMode::BSNGD>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(11)) {
        RunCase<half, float, float, nd, nd, LayoutMode::NONE, CFG_NORM,
                MatmulCallBackFunc<nullptr, CopyWideA, nullptr>>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(12)) {
        RunCase<half, float, float, nd, nd, LayoutMode::NONE, CFG_NORM,
                MatmulCallBackFunc<CopyOutShifted, nullptr, nullptr>>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(13)) {
        RunCase<half, float, float, nd, nd, LayoutMode::NONE, CFG_NORM, MatmulCallBackFunc<>,
                Impl::Detail::TrianUpperMatmulPolicy>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(14)) {
        RunCase<half, float, float, nd, nd, LayoutMode::NONE, CFG_NORM, MatmulCallBackFunc<>,
                Impl::Detail::TrianLowerMatmulPolicy>(a, b, bias, c, p);
    } else if (TILING_KEY_IS(16)) {
        RunCase<half, float, float, nd, nd, LayoutMode::NONE, CFG_NORM,
                MatmulCallBackFunc<nullptr, nullptr, CopyWideB>>(a, b, bias, c, p);
    }
}

static_assert(ToMatmulConfig(CFG_MDL).doMultiDataLoad, "a configuration is its own");
static_assert(
    [] {
        MatmulApiStaticTiling tiling;
        tiling.cfg = CFG_MDL;
        return ToMatmulConfig(tiling).doMultiDataLoad &&
               !ToMatmulConfig(MatmulApiStaticTiling{}).doMultiDataLoad;
    }(),
    "and that of a static tiling is inside");

// B is 4:2 compressed; its index matrix takes the place of the bias.
extern "C" __global__ __aicore__ void matmul_sparse(GM_ADDR a, GM_ADDR b, GM_ADDR index, GM_ADDR c,
                                                    GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    const MatmulCase p = *reinterpret_cast<__gm__ MatmulCase*>(tiling);
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, int8_t>,
           SparseMatmulType<TPosition::GM, TPosition::GM, CubeFormat::ND, int8_t, true>,
           MatmulType<TPosition::GM, CubeFormat::ND, int32_t>,
           MatmulType<TPosition::GM, CubeFormat::ND, int32_t>, CFG_MDL>
        mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &p.t);
    const TCubeTiling& t = p.t;
    const int32_t n0 = GetBlockIdx() * t.singleCoreN;
    GlobalTensor<int8_t> aGm, bGm;
    GlobalTensor<uint8_t> indexGm;
    GlobalTensor<int32_t> cGm;
    aGm.SetGlobalBuffer((__gm__ int8_t*)a);
    bGm.SetGlobalBuffer((__gm__ int8_t*)b);
    indexGm.SetGlobalBuffer((__gm__ uint8_t*)index);
    cGm.SetGlobalBuffer((__gm__ int32_t*)c);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm[n0 * t.Kb / 2], true);
    mm.SetSparseIndex(indexGm[n0 * 8]);
    mm.IterateAll(cGm[n0]);
    mm.End();
}

// A waits in the TSCM of a vector core: way 0 copied from GM as NZ, way 1 from UB.
extern "C" __global__ __aicore__ void matmul_tscm(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c,
                                                  GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    const MatmulCase p = *reinterpret_cast<__gm__ MatmulCase*>(tiling);
    TPipe pipe;
    Matmul<MatmulType<TPosition::TSCM, CubeFormat::NZ, half>,
           MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>>
        mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &p.t);
    const TCubeTiling& t = p.t;
    if (GetBlockIdx() >= t.usedCoreNum) return;
    const int32_t size = t.singleCoreM * t.Ka;
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ float*)c);
    aGm = aGm[GetBlockIdx() * size];
    TSCM<TPosition::GM, 1> fromGm;
    TSCM<TPosition::VECIN, 1> fromUb;
    TQue<TPosition::VECIN, 1> in;
    LocalTensor<half> left;
    if (p.way == 0) {
        pipe.InitBuffer(fromGm, 1, size * sizeof(half));
        left = fromGm.AllocTensor<half>();
        DataCopy(left, aGm, size);
        fromGm.EnQue(left);
        left = fromGm.DeQue<half>();
    } else {
        pipe.InitBuffer(in, 1, size * sizeof(half));
        pipe.InitBuffer(fromUb, 1, size * sizeof(half));
        LocalTensor<half> ub = in.AllocTensor<half>();
        DataCopy(ub, aGm, size);
        in.EnQue(ub);
        ub = in.DeQue<half>();
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        left = fromUb.AllocTensor<half>();
        DataCopy(left, ub, size);
        fromUb.EnQue(left);
        left = fromUb.DeQue<half>();
        in.FreeTensor(ub);
    }
    mm.SetTensorA(left);
    mm.SetTensorB(bGm);
    const auto out = cGm[GetBlockIdx() * t.singleCoreM * t.N];
    while (mm.Iterate()) {
        const MatrixOffset at = mm.GetOffsetC();
        ASSERT(at.offset == at.row * t.N + at.col);
        ASSERT(at.width <= t.baseN && at.row + at.height <= t.singleCoreM);
        mm.GetTensorC(out);
    }
    mm.End();
    if (p.way == 0)
        fromGm.FreeTensor(left);
    else
        fromUb.FreeTensor(left);
}

// The AIVs call; on the device the AIC would compute.
extern "C" __global__ __aicore__ void matmul_mixed(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c,
                                                   GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    const MatmulCase p = *reinterpret_cast<__gm__ MatmulCase*>(tiling);
    RunCase<half, float, float>(a, b, bias, c, p);
}

static_assert(GetNormalConfig(false, true, false, BatchMode::BATCH_LARGE_THAN_L1, true,
                              IterateOrder::ORDER_N)
                  .iterateOrder == IterateOrder::ORDER_N);
static_assert(GetNormalConfig(false, true).isNBatch && !GetNormalConfig().isNBatch);
static_assert(GetMDLConfig(false, false, 2).doMTE2Preload == 2 && GetMDLConfig().doMultiDataLoad);
static_assert(GetBasicConfig(64, 32, 16).basicN == 32);
static_assert(GetSpecialBasicConfig(64, 32, 16, 128, 64, 32, 2, 4).stepN == 4);
static_assert(GetIBShareNormConfig(false, false, false, BatchMode::NONE, true).enableDoubleCache);

// c[64, 96] = a[64, 64] * b[64, 96]; all shapes are constants of the type.
using ConstantA = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using ConstantC = MatmulType<TPosition::GM, CubeFormat::ND, float>;
constexpr MatmulShapeParams kConstantShape = {64, 96, 64, 32, 48, 32};
constexpr auto kConstantTiling =
    AscendC::GetMatmulApiTiling<ConstantA, ConstantA, ConstantC, ConstantC>(
        GetMMConfig<MatmulConfigMode::CONFIG_NORM>(kConstantShape));
extern "C" __global__ __aicore__ void matmul_constant(GM_ADDR a, GM_ADDR b, GM_ADDR c,
                                                      GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    Matmul<ConstantA, ConstantA, ConstantC, ConstantC, kConstantTiling> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, (TCubeTiling*)nullptr);
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, 64 * 64);
    bGm.SetGlobalBuffer((__gm__ half*)b, 64 * 96);
    cGm.SetGlobalBuffer((__gm__ float*)c, 64 * 96);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);
    mm.IterateAll(cGm);
    mm.End();
}

// The same product in parts of 32 along K, one after the other: c is [block][part][baseM][baseN].
constexpr MatmulFuncParams kPartialParams = [] {
    MatmulFuncParams p;
    p.isPartialOutput = true;
    return p;
}();
constexpr MatmulConfig kPartial = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(kPartialParams);
extern "C" __global__ __aicore__ void matmul_parts(GM_ADDR a, GM_ADDR b, GM_ADDR c,
                                                   GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TCubeTiling t;
    t.usedCoreNum = 1;
    t.M = t.singleCoreM = 64;
    t.N = t.singleCoreN = 96;
    t.Ka = t.Kb = t.singleCoreK = 64;
    t.baseM = t.baseK = 32;
    t.baseN = 48;
    Matmul<ConstantA, ConstantA, ConstantC, ConstantC, kPartial> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, 64 * 64);
    bGm.SetGlobalBuffer((__gm__ half*)b, 64 * 96);
    cGm.SetGlobalBuffer((__gm__ float*)c, 2 * 64 * 96);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);
    for (uint32_t i = 0; mm.Iterate(); ++i) mm.GetTensorC(cGm[i * 32 * 48], 0, true);
    mm.End();
}
