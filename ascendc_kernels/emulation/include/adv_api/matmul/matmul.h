// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The Matmul object. On the device it feeds the cube through L1 and L0, in mixed kernels by messages to
// the AIC; here the calling core computes. Interface: asc-devkit docs, "Matmul kernel-side interface".
#ifndef ADV_API_MATMUL_MATMUL_H
#define ADV_API_MATMUL_MATMUL_H

#include "adv_api/matmul/matmul_config.h"
#include "ascendc_emu/matmul_ops.h"
#include "ascendc_emu/pipe.h"

namespace AscendC {

namespace matmul_detail {
constexpr ascendc_emu::MatrixFormat FormatOf(CubeFormat f)
{
    return f == CubeFormat::NZ       ? ascendc_emu::MatrixFormat::kNz
           : f == CubeFormat::SCALAR ? ascendc_emu::MatrixFormat::kScalar
                                     : ascendc_emu::MatrixFormat::kNd;
}
inline uint32_t Align(uint32_t v, uint32_t to) { return (v + to - 1) / to * to; }
template <typename T>
constexpr uint32_t BlockElements()
{
    return uint32_t(ascendc_emu::ElementsIn<T>(32));
}
template <typename Config>
constexpr const MatmulConfig& PlainConfig(const Config& c)
{
    if constexpr (std::is_same<Config, MatmulConfig>::value) return c;
    else return c.cfg;
}
}  // namespace matmul_detail

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE,
          const auto& MM_CFG = CFG_NORM, class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          typename... POLICY>
class MatmulImpl {
public:
    using AType = A_TYPE;
    using BType = B_TYPE;
    using CType = C_TYPE;
    using BiasType = BIAS_TYPE;
    using SrcT = typename A_TYPE::T;
    using SrcAT = typename A_TYPE::T;
    using SrcBT = typename B_TYPE::T;
    using DstT = typename C_TYPE::T;
    using BiasT = typename BIAS_TYPE::T;

    __aicore__ MatmulImpl() {}

    __aicore__ void Init(const ::TCubeTiling* tiling, TPipe* = nullptr)
    {
        tiling_ = tiling != nullptr ? *tiling : ::TCubeTiling();
        ApplyStaticTiling();
        orgM_ = uint32_t(tiling_.M);
        orgN_ = uint32_t(tiling_.N);
        orgKa_ = uint32_t(tiling_.Ka);
        orgKb_ = uint32_t(tiling_.Kb);
        orgKc_ = 0;
        SetSingleShape(tiling_.singleCoreM, tiling_.singleCoreN, tiling_.singleCoreK);
        hasBias_ = false;
        biasEnabled_ = tiling_.isBias != 0;
    }
    __aicore__ void SetSubBlockIdx(uint8_t index) { subBlock_ = index; }
    __aicore__ uint8_t GetSubBlockIdx() { return subBlock_; }

    __aicore__ void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
    __aicore__ void SetOrgShape(int m, int n, int ka, int kb, int kc = 0)
    {
        orgM_ = uint32_t(m);
        orgN_ = uint32_t(n);
        orgKa_ = uint32_t(ka);
        orgKb_ = uint32_t(kb);
        orgKc_ = uint32_t(kc);
    }
    __aicore__ void SetSingleShape(int m, int n, int k)
    {
        singleM_ = uint32_t(m);
        singleN_ = uint32_t(n);
        singleK_ = uint32_t(k);
        Restart();
    }
    __aicore__ void SetTail(int m = -1, int n = -1, int k = -1)
    {
        if (m != -1) singleM_ = uint32_t(m);
        if (n != -1) singleN_ = uint32_t(n);
        if (k != -1) singleK_ = uint32_t(k);
        Restart();
    }

    __aicore__ void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false)
    {
        Restart();
        SetGm(a_, gm, ascendc_emu::kDTypeOf<SrcAT>, matmul_detail::FormatOf(A_TYPE::format),
              isTransposeA);
    }
    __aicore__ void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false)
    {
        Restart();
        SetGm(b_, gm, ascendc_emu::kDTypeOf<SrcBT>, matmul_detail::FormatOf(B_TYPE::format),
              isTransposeB);
    }
    __aicore__ void SetTensorA(const LocalTensor<SrcAT>& local, bool isTransposeA = false)
    {
        Restart();
        SetLocal(a_, local, ascendc_emu::kDTypeOf<SrcAT>, matmul_detail::FormatOf(A_TYPE::format),
                 isTransposeA);
    }
    __aicore__ void SetTensorB(const LocalTensor<SrcBT>& local, bool isTransposeB = false)
    {
        Restart();
        SetLocal(b_, local, ascendc_emu::kDTypeOf<SrcBT>, matmul_detail::FormatOf(B_TYPE::format),
                 isTransposeB);
    }
    __aicore__ void SetTensorA(SrcAT scalar)
    {
        Restart();
        SetScalar(a_, scalar);
    }
    __aicore__ void SetTensorB(SrcBT scalar)
    {
        Restart();
        SetScalar(b_, scalar);
    }

    __aicore__ void SetBias(const GlobalTensor<BiasT>& gm)
    {
        SetGm(bias_, gm, ascendc_emu::kDTypeOf<BiasT>, ascendc_emu::MatrixFormat::kNd, false);
        hasBias_ = true;
    }
    __aicore__ void SetBias(const LocalTensor<BiasT>& local)
    {
        SetLocal(bias_, local, ascendc_emu::kDTypeOf<BiasT>, ascendc_emu::MatrixFormat::kNd, false);
        hasBias_ = true;
    }
    __aicore__ void ClearBias() { hasBias_ = false; }
    __aicore__ void DisableBias() { hasBias_ = false; }

    __aicore__ void SetQuantScalar(const uint64_t scalar)
    {
        quantScalar_ = scalar;
        quantVector_ = nullptr;
        quantised_ = true;
    }
    __aicore__ void SetQuantVector(const GlobalTensor<uint64_t>& table)
    {
        quantVector_ = reinterpret_cast<const uint64_t*>(table.ptr);
        quantised_ = true;
    }
    __aicore__ void SetQuantVector(const LocalTensor<uint64_t>& table)
    {
        quantVector_ = reinterpret_cast<const uint64_t*>(table.ptr);
        quantised_ = true;
    }
    __aicore__ void SetHF32(bool on = false, int32_t = 0) { hf32_ = on; }

    template <class T>
    __aicore__ void SetSelfDefineData(T data)
    {
        static_assert(sizeof(T) <= sizeof(uint64_t), "self-defined data is a pointer or a number");
        memcpy(&userData_, &data, sizeof(T));
    }
    __aicore__ void SetUserDefInfo(const uint64_t tiling) { userTiling_ = tiling; }
    template <class T>
    __aicore__ void SetWorkspace(__gm__ const T*, int)
    {
    }
    template <class T>
    __aicore__ void SetWorkspace(GlobalTensor<T>&)
    {
    }
    __aicore__ void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    __aicore__ void SetBatchNum(int32_t batchA, int32_t batchB)
    {
        batchA_ = batchA;
        batchB_ = batchB;
    }

    // Computes the next baseM x baseN block; false when all are done.
    template <bool sync = true>
    __aicore__ bool Iterate(bool enPartialSum = false, Loc = Loc::Here())
    {
        const uint32_t blocks = BlocksM() * BlocksN();
        if (next_ >= blocks) {
            Restart();
            return false;
        }
        // Asynchronous: one Iterate starts all blocks and every GetTensorC fetches the next.
        async_ = !sync;
        current_ = sync ? next_++ : next_;
        partial_ = enPartialSum;
        return true;
    }

    template <bool sync = true>
    __aicore__ void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, Loc loc = Loc::Here())
    {
        ascendc_emu::MatrixRef c;
        SetGm(c, gm, ascendc_emu::kDTypeOf<DstT>, matmul_detail::FormatOf(C_TYPE::format), false);
        WriteBlock(c, enAtomic, enSequentialWrite, false, loc);
    }
    template <bool sync = true>
    __aicore__ void GetTensorC(const LocalTensor<DstT>& local, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, Loc loc = Loc::Here())
    {
        ascendc_emu::MatrixRef c;
        SetLocal(c, local, ascendc_emu::kDTypeOf<DstT>, matmul_detail::FormatOf(C_TYPE::format),
                 false);
        (void)enSequentialWrite;
        WriteBlock(c, enAtomic, true, true, loc);
    }
    template <bool sync = true>
    __aicore__ void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& local,
                               uint8_t enAtomic = 0, bool enSequentialWrite = false,
                               Loc loc = Loc::Here())
    {
        GetTensorC<sync>(gm, enAtomic, enSequentialWrite, loc);
        GetTensorC<sync>(local, 0, true, loc);
    }
    __aicore__ void WaitGetTensorC() {}
    __aicore__ void WaitIterateAll() {}
    __aicore__ void WaitIterateBatch() {}
    __aicore__ void AsyncGetTensorC(const LocalTensor<DstT>& local, Loc loc = Loc::Here())
    {
        GetTensorC(local, 0, true, loc);
    }
    template <bool isTurnOnDebug = true>
    __aicore__ MatrixOffset GetOffsetC()
    {
        return MatrixOffset{};
    }

    template <bool sync = true>
    __aicore__ void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, bool waitIterateAll = false,
                               bool fakeMsg = false, Loc loc = Loc::Here())
    {
        (void)waitIterateAll;
        (void)fakeMsg;
        if (!enSequentialWrite) {
            ascendc_emu::MatrixRef c;
            SetGm(c, gm, ascendc_emu::kDTypeOf<DstT>, matmul_detail::FormatOf(C_TYPE::format), false);
            c.stride = StrideC();
            Compute(c, 0, singleM_, 0, singleN_, 0, 0, enAtomic, false, "Matmul::IterateAll", loc);
            return;
        }
        Restart();
        uint64_t offset = 0;
        while (Iterate()) {
            GetTensorC(gm[offset], enAtomic, true, loc);
            offset += uint64_t(tiling_.baseM) * uint32_t(tiling_.baseN);
        }
    }
    template <bool sync = true>
    __aicore__ void IterateAll(const LocalTensor<DstT>& local, uint8_t enAtomic = 0,
                               Loc loc = Loc::Here())
    {
        ascendc_emu::MatrixRef c;
        SetLocal(c, local, ascendc_emu::kDTypeOf<DstT>, matmul_detail::FormatOf(C_TYPE::format),
                 false);
        c.stride = LocalStride(singleM_, singleN_);
        Compute(c, 0, singleM_, 0, singleN_, 0, 0, enAtomic, false, "Matmul::IterateAll", loc);
    }

    template <typename Destination>
    __aicore__ void IterateBatch(const Destination& dst, uint32_t batchA, uint32_t batchB,
                                 bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                 const uint32_t matrixStrideB = 0, const uint32_t matrixStrideC = 0,
                                 const bool enPartialSum = false, const uint8_t enAtomic = 0,
                                 Loc loc = Loc::Here())
    {
        (void)enSequentialWrite;
        (void)matrixStrideA;
        (void)matrixStrideB;
        partial_ = enPartialSum;
        Batch(dst, batchA, batchB, matrixStrideC, enAtomic, loc);
    }
    template <bool sync = true, bool waitIterateBatch = false>
    __aicore__ void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB,
                                  bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                  const uint32_t matrixStrideB = 0,
                                  const uint32_t matrixStrideC = 0, Loc loc = Loc::Here())
    {
        (void)enSequentialWrite;
        (void)matrixStrideA;
        (void)matrixStrideB;
        nBatch_ = batchLoop;
        nBatchA_ = batchA;
        nBatchB_ = batchB;
        nStrideC_ = matrixStrideC;
        (void)loc;
    }
    __aicore__ void End() { Restart(); }

private:
    static constexpr MatmulConfig kConfig = matmul_detail::PlainConfig(MM_CFG);

    __aicore__ void ApplyStaticTiling()
    {
        using Config = std::remove_cv_t<std::remove_reference_t<decltype(MM_CFG)>>;
        if constexpr (!std::is_same<Config, MatmulConfig>::value) {
            const auto set = [](int32_t& to, int32_t from) {
                if (from > 0) to = from;
            };
            set(tiling_.baseM, MM_CFG.baseM);
            set(tiling_.baseN, MM_CFG.baseN);
            set(tiling_.baseK, MM_CFG.baseK);
            set(tiling_.singleCoreM, MM_CFG.singleCoreM);
            set(tiling_.singleCoreN, MM_CFG.singleCoreN);
            set(tiling_.singleCoreK, MM_CFG.singleCoreK);
        }
    }

    template <typename T>
    __aicore__ void SetGm(ascendc_emu::MatrixRef& m, const GlobalTensor<T>& gm,
                          ascendc_emu::DType type, ascendc_emu::MatrixFormat format, bool transposed)
    {
        m = ascendc_emu::MatrixRef();
        m.data = gm.ptr;
        m.gm = gm;
        m.type = type;
        m.format = format;
        m.transposed = transposed;
    }
    template <typename T>
    __aicore__ void SetLocal(ascendc_emu::MatrixRef& m, const LocalTensor<T>& local,
                             ascendc_emu::DType type, ascendc_emu::MatrixFormat format,
                             bool transposed)
    {
        m = ascendc_emu::MatrixRef();
        m.data = local.ptr;
        m.local = local;
        m.onChip = true;
        m.type = type;
        m.format = format;
        m.transposed = transposed;
    }
    template <typename T>
    __aicore__ void SetScalar(ascendc_emu::MatrixRef& m, T value)
    {
        m = ascendc_emu::MatrixRef();
        m.format = ascendc_emu::MatrixFormat::kScalar;
        m.type = ascendc_emu::kDTypeOf<T>;
        m.scalar = double(float(value));
    }
    __aicore__ void Restart()
    {
        next_ = 0;
        async_ = false;
    }

    __aicore__ uint32_t BlocksM() const
    {
        return (singleM_ + uint32_t(tiling_.baseM) - 1) / uint32_t(tiling_.baseM);
    }
    __aicore__ uint32_t BlocksN() const
    {
        return (singleN_ + uint32_t(tiling_.baseN) - 1) / uint32_t(tiling_.baseN);
    }
    __aicore__ bool AlongNFirst() const
    {
        if (kConfig.iterateOrder != IterateOrder::UNDEF) {
            return kConfig.iterateOrder == IterateOrder::ORDER_N;
        }
        return tiling_.iterateOrder == 1;
    }
    __aicore__ uint64_t StrideC() const
    {
        if (C_TYPE::format == CubeFormat::NZ) return matmul_detail::Align(orgM_, 16);
        const uint32_t n = orgKc_ != 0 ? orgKc_ : orgN_;
        return C_TYPE::format == CubeFormat::ND_ALIGN
                   ? matmul_detail::Align(n, matmul_detail::BlockElements<DstT>())
                   : n;
    }
    __aicore__ uint64_t LocalStride(uint32_t m, uint32_t n) const
    {
        return C_TYPE::format == CubeFormat::NZ
                   ? matmul_detail::Align(m, 16)
                   : matmul_detail::Align(n, matmul_detail::BlockElements<DstT>());
    }

    __aicore__ void WriteBlock(ascendc_emu::MatrixRef& c, uint8_t atomic, bool sequential, bool local,
                               Loc loc)
    {
        const uint32_t blocksM = BlocksM();
        const uint32_t blocksN = BlocksN();
        if (async_) current_ = next_++;
        const uint32_t mi = AlongNFirst() ? current_ / blocksN : current_ % blocksM;
        const uint32_t ni = AlongNFirst() ? current_ % blocksN : current_ / blocksM;
        const uint32_t m0 = mi * uint32_t(tiling_.baseM);
        const uint32_t n0 = ni * uint32_t(tiling_.baseN);
        const uint32_t m = m0 + uint32_t(tiling_.baseM) > singleM_ ? singleM_ - m0 : uint32_t(tiling_.baseM);
        const uint32_t n = n0 + uint32_t(tiling_.baseN) > singleN_ ? singleN_ - n0 : uint32_t(tiling_.baseN);
        if (local) {
            c.stride = LocalStride(m, n);
        } else if (sequential) {
            c.stride = C_TYPE::format == CubeFormat::NZ ? matmul_detail::Align(m, 16)
                                                        : uint64_t(tiling_.baseN);
        } else {
            c.stride = StrideC();
        }
        Compute(c, m0, m, n0, n, sequential ? 0 : m0, sequential ? 0 : n0, atomic, partial_,
                "Matmul::GetTensorC", loc);
    }

    __aicore__ void Compute(ascendc_emu::MatrixRef& c, uint32_t m0, uint32_t m, uint32_t n0, uint32_t n,
                            uint32_t cRow, uint32_t cColumn, uint8_t atomic, bool partial,
                            const char* op, Loc loc)
    {
        static_assert(!MM_CB::any, "MatmulCallBackFunc is not emulated yet");
        ascendc_emu::MatmulArgs args;
        args.a = a_;
        args.b = b_;
        args.bias = bias_;
        args.c = c;
        args.a.stride = StrideOf(a_, a_.transposed ? orgKa_ : orgM_, a_.transposed ? orgM_ : orgKa_,
                                 A_TYPE::pos != TPosition::GM, singleM_, singleK_);
        args.b.stride = StrideOf(b_, b_.transposed ? orgN_ : orgKb_, b_.transposed ? orgKb_ : orgN_,
                                 B_TYPE::pos != TPosition::GM, singleK_, singleN_);
        args.hasBias = hasBias_ && !partial;
        args.m0 = m0;
        args.m = m;
        args.n0 = n0;
        args.n = n;
        args.k = singleK_;
        args.cRow = cRow;
        args.cColumn = cColumn;
        args.partial = partial;
        args.atomic = atomic;
        args.hf32 = hf32_;
        args.relu = kConfig.enableRelu;
        args.quant = QuantMode();
        args.quantScalar = quantScalar_;
        args.quantVector = quantVector_;
        ascendc_emu::MatmulCompute(args, op, loc);
    }

    // rows x columns as stored; on the chip a matrix has the single-core shape.
    __aicore__ uint64_t StrideOf(const ascendc_emu::MatrixRef& m, uint32_t rows, uint32_t columns,
                                 bool local, uint32_t singleRows, uint32_t singleColumns) const
    {
        if (m.format == ascendc_emu::MatrixFormat::kNz) {
            const uint32_t r = local ? (m.transposed ? singleColumns : singleRows) : rows;
            return matmul_detail::Align(r, 16);
        }
        return columns;
    }

    __aicore__ int32_t QuantMode() const
    {
        constexpr bool integer = IsSameType<SrcAT, int8_t>::value || IsSameType<SrcAT, int4b_t>::value;
        const bool table = quantVector_ != nullptr;
        if constexpr (IsSameType<DstT, int8_t>::value || IsSameType<DstT, uint8_t>::value) {
            if (integer) return table ? QuantMode_t::VREQ8 : QuantMode_t::REQ8;
            return table ? QuantMode_t::VQF322B8_PRE : QuantMode_t::QF322B8_PRE;
        }
        if constexpr (integer && IsSameType<DstT, half>::value) {
            return table ? QuantMode_t::VDEQF16 : QuantMode_t::DEQF16;
        }
        return QuantMode_t::NoQuant;
    }

    template <typename Destination>
    __aicore__ void Batch(const Destination& dst, uint32_t batchA, uint32_t batchB,
                          uint32_t matrixStrideC, uint8_t enAtomic, Loc loc)
    {
        const uint32_t batches = batchA > batchB ? batchA : batchB;
        const ascendc_emu::MatrixRef a = a_, b = b_, bias = bias_;
        const uint32_t m = orgM_, n = orgN_, ka = orgKa_, kb = orgKb_;
        for (uint32_t i = 0; i < batches; ++i) {
            // The side with fewer batches is used again by every group of the other.
            const uint32_t ia = batchA >= batchB ? i : i / (batches / (batchA ? batchA : 1));
            const uint32_t ib = batchB >= batchA ? i : i / (batches / (batchB ? batchB : 1));
            a_ = Shifted(a, BatchOffset<SrcAT>(A_TYPE::layout, ia, tiling_.ALayoutInfoN,
                                               tiling_.ALayoutInfoG, tiling_.ALayoutInfoD,
                                               uint64_t(singleM_) * singleK_));
            b_ = Shifted(b, BatchOffset<SrcBT>(B_TYPE::layout, ib, tiling_.BLayoutInfoN,
                                               tiling_.BLayoutInfoG, tiling_.BLayoutInfoD,
                                               uint64_t(singleN_) * singleK_));
            if (hasBias_ && kConfig.isBiasBatch) {
                bias_ = Shifted(bias, ascendc_emu::BytesOf<BiasT>(uint64_t(i) * singleN_));
            }
            uint64_t cOffset = uint64_t(i) * (matrixStrideC ? matrixStrideC
                                                            : uint64_t(singleM_) * singleN_);
            SetBatchShapes();
            if (IsInterleaved(C_TYPE::layout)) {
                cOffset = uint64_t(i) * uint32_t(tiling_.CLayoutInfoS2);
                orgKc_ = uint32_t(tiling_.CLayoutInfoN * tiling_.CLayoutInfoG * tiling_.CLayoutInfoS2);
            }
            const uint32_t next = next_;
            IterateAll(dst[cOffset], enAtomic, loc);
            next_ = next;
            orgKc_ = 0;
        }
        a_ = a;
        b_ = b;
        bias_ = bias;
        orgM_ = m;
        orgN_ = n;
        orgKa_ = ka;
        orgKb_ = kb;
    }
    template <typename T>
    __aicore__ void IterateAll(const GlobalTensor<T>& gm, uint8_t enAtomic, Loc loc)
    {
        IterateAll<true>(gm, enAtomic, false, false, false, loc);
    }
    static constexpr bool IsInterleaved(LayoutMode mode)
    {
        return mode == LayoutMode::BSNGD || mode == LayoutMode::SBNGD;
    }
    // BSNGD and SBNGD keep the heads of one row next to each other.
    template <typename T>
    __aicore__ uint64_t BatchOffset(LayoutMode mode, uint32_t index, int32_t, int32_t, int32_t d,
                                    uint64_t matrix) const
    {
        return ascendc_emu::BytesOf<T>(IsInterleaved(mode) ? uint64_t(index) * uint32_t(d)
                                                           : uint64_t(index) * matrix);
    }
    __aicore__ void SetBatchShapes()
    {
        orgM_ = singleM_;
        orgN_ = singleN_;
        orgKa_ = orgKb_ = singleK_;
        if (IsInterleaved(A_TYPE::layout)) {
            const uint32_t row = uint32_t(tiling_.ALayoutInfoN * tiling_.ALayoutInfoG * tiling_.ALayoutInfoD);
            (a_.transposed ? orgM_ : orgKa_) = row;
        }
        if (IsInterleaved(B_TYPE::layout)) {
            const uint32_t row = uint32_t(tiling_.BLayoutInfoN * tiling_.BLayoutInfoG * tiling_.BLayoutInfoD);
            (b_.transposed ? orgKb_ : orgN_) = row;
            orgKc_ = b_.transposed ? 0 : singleN_;
        }
    }
    __aicore__ static ascendc_emu::MatrixRef Shifted(ascendc_emu::MatrixRef m, uint64_t bytes)
    {
        m.data += bytes;
        m.gm.ptr += m.onChip ? 0 : bytes;
        m.local.addr += m.onChip ? uint32_t(bytes) : 0;
        return m;
    }

    ::TCubeTiling tiling_;
    ascendc_emu::MatrixRef a_, b_, bias_;
    uint32_t orgM_ = 0, orgN_ = 0, orgKa_ = 0, orgKb_ = 0, orgKc_ = 0;
    uint32_t singleM_ = 0, singleN_ = 0, singleK_ = 0;
    uint32_t next_ = 0, current_ = 0;
    bool hasBias_ = false, biasEnabled_ = false, partial_ = false, hf32_ = false, quantised_ = false;
    bool async_ = false;
    uint64_t quantScalar_ = 0;
    const uint64_t* quantVector_ = nullptr;
    uint64_t userData_ = 0, userTiling_ = 0;
    int32_t batchA_ = 0, batchB_ = 0;
    uint32_t nBatch_ = 0, nBatchA_ = 0, nBatchB_ = 0, nStrideC_ = 0;
    uint8_t subBlock_ = 0;
};

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE,
          const auto& MM_CFG = CFG_NORM, class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          typename... POLICY>
using Matmul = MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, POLICY...>;

namespace matmul_detail {
inline void Register() {}
template <class M, typename... Rest>
inline void Register(M& mm, Rest&&... rest);
template <class M, typename... Rest>
inline void RegisterWith(M& mm, const ::TCubeTiling* tiling, Rest&&... rest)
{
    if (tiling != nullptr) mm.Init(tiling);
    Register(rest...);
}
// Arguments come as object, tiling, object, tiling ...; the tiling may be left out.
template <class M>
inline void Register(M& mm)
{
    (void)mm;
}
template <class M, typename Second, typename... Rest>
inline void RegisterPair(M& mm, Second&& second, Rest&&... rest)
{
    if constexpr (std::is_convertible<Second, const ::TCubeTiling*>::value) {
        RegisterWith(mm, static_cast<const ::TCubeTiling*>(second), rest...);
    } else {
        Register(second, rest...);
    }
}
template <class M, typename... Rest>
inline void Register(M& mm, Rest&&... rest)
{
    RegisterPair(mm, rest...);
}
}  // namespace matmul_detail

}  // namespace AscendC

// Matmul objects of a mixed kernel belong to the vector cores; its cube cores only serve them.
#ifdef ASCENDC_CUBE_ONLY
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) AscendC::matmul_detail::Register(__VA_ARGS__)
#else
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)               \
    if (ascendc_emu::IsMatmulServer(ascendc_emu::Loc::Here())) {                       \
        return;                                                \
    }                                                          \
    AscendC::matmul_detail::Register(__VA_ARGS__)
#endif
#define REGIST_MATMUL_OBJ_STATIC REGIST_MATMUL_OBJ
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ

namespace matmul = AscendC;

#endif  // ADV_API_MATMUL_MATMUL_H
