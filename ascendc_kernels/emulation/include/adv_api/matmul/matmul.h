// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The Matmul object. On the device it feeds the cube through L1 and L0, in mixed kernels by
// messages to the AIC; here the calling core computes. Interface: asc-devkit docs, "Matmul
// kernel-side interface".
#ifndef ADV_API_MATMUL_MATMUL_H
#define ADV_API_MATMUL_MATMUL_H

#include "adv_api/matmul/matmul_operands.h"
#include "adv_api/matmul/matmul_config.h"
#include "adv_api/matmul/matmul_names.h"
#include "ascendc_emu/copy_api.h"

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE,
          const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto&, typename, typename, typename, typename, typename> class POLICY =
              Impl::Detail::MatmulPolicy>
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

    // The template argument is a MatmulApiStaticTiling: shapes are constants, a null tiling will
    // do.
    static constexpr bool kStaticTiling =
        !std::is_same<std::remove_cv_t<std::remove_reference_t<decltype(MM_CFG)>>,
                      MatmulConfig>::value;

    __aicore__ MatmulImpl() {}

    __aicore__ void Init(const ::TCubeTiling* tiling, TPipe* = nullptr) {
        if constexpr (kOwnPolicy) {
            ascendc_emu::Trap(
                ascendc_emu::Current(), ascendc_emu::Loc::Here(), "Matmul",
                "has a policy that replaces parts of CANN's implementation, which are "
                "not emulated");
        }
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
    __aicore__ void SetOrgShape(int m, int n, int ka, int kb, int kc = 0) {
        orgM_ = uint32_t(m);
        orgN_ = uint32_t(n);
        orgKa_ = uint32_t(ka);
        orgKb_ = uint32_t(kb);
        orgKc_ = uint32_t(kc);
    }
    __aicore__ void SetSingleShape(int m, int n, int k) {
        singleM_ = uint32_t(m);
        singleN_ = uint32_t(n);
        singleK_ = uint32_t(k);
        Restart();
    }
    __aicore__ void SetTail(int m = -1, int n = -1, int k = -1) {
        if (m != -1) singleM_ = uint32_t(m);
        if (n != -1) singleN_ = uint32_t(n);
        if (k != -1) singleK_ = uint32_t(k);
        Restart();
    }

    __aicore__ void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false) {
        Restart();
        a_ = matmul_detail::MatrixOf(gm, matmul_detail::FormatOf(A_TYPE::format), isTransposeA);
    }
    __aicore__ void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false) {
        Restart();
        b_ = matmul_detail::MatrixOf(gm, matmul_detail::FormatOf(B_TYPE::format), isTransposeB);
    }
    __aicore__ void SetTensorA(const LocalTensor<SrcAT>& local, bool isTransposeA = false) {
        Restart();
        a_ = matmul_detail::MatrixOf(local, matmul_detail::FormatOf(A_TYPE::format), isTransposeA);
    }
    __aicore__ void SetTensorB(const LocalTensor<SrcBT>& local, bool isTransposeB = false) {
        Restart();
        b_ = matmul_detail::MatrixOf(local, matmul_detail::FormatOf(B_TYPE::format), isTransposeB);
    }
    __aicore__ void SetTensorA(SrcAT scalar) {
        Restart();
        a_ = matmul_detail::MatrixOf(scalar);
    }
    __aicore__ void SetTensorB(SrcBT scalar) {
        Restart();
        b_ = matmul_detail::MatrixOf(scalar);
    }

    __aicore__ void SetBias(const GlobalTensor<BiasT>& gm) {
        bias_ = matmul_detail::MatrixOf(gm, ascendc_emu::MatrixFormat::kNd);
        hasBias_ = true;
    }
    __aicore__ void SetBias(const LocalTensor<BiasT>& local) {
        bias_ = matmul_detail::MatrixOf(local, ascendc_emu::MatrixFormat::kNd);
        hasBias_ = true;
    }
    __aicore__ void ClearBias() { hasBias_ = false; }
    __aicore__ void DisableBias() { hasBias_ = false; }

    __aicore__ void SetQuantScalar(const uint64_t scalar) {
        quantScalar_ = scalar;
        quantVector_ = nullptr;
        quantised_ = true;
    }
    __aicore__ void SetQuantVector(const GlobalTensor<uint64_t>& table) {
        quantVector_ = reinterpret_cast<const uint64_t*>(table.ptr);
        quantised_ = true;
    }
    __aicore__ void SetQuantVector(const LocalTensor<uint64_t>& table) {
        quantVector_ = reinterpret_cast<const uint64_t*>(table.ptr);
        quantised_ = true;
    }
    // Positions of B's values in their groups of four, 2 bits each, in NZ fractals of 16 x 8 bytes.
    __aicore__ void SetSparseIndex(const GlobalTensor<uint8_t>& index) {
        static_assert(kSparse, "SetSparseIndex needs a SparseMatmulType as B");
        sparseIndex_ = index;
    }
    __aicore__ void SetHF32(bool on = false, int32_t = 0) { hf32_ = on; }

    template <class T>
    __aicore__ void SetSelfDefineData(T data) {
        static_assert(sizeof(T) <= sizeof(uint64_t), "self-defined data is a pointer or a number");
        memcpy(&user_.data, &data, sizeof(T));
    }
    __aicore__ void SetUserDefInfo(const uint64_t tiling) { user_.tiling = tiling; }
    template <class T>
    __aicore__ void SetWorkspace(__gm__ const T* address, int bytes) {
        GlobalTensor<T> t;
        t.SetGlobalBuffer(const_cast<__gm__ T*>(address), uint64_t(bytes) / sizeof(T));
        workspace_ = t;
    }
    template <class T>
    __aicore__ void SetWorkspace(GlobalTensor<T>& t) {
        workspace_ = t;
    }
    __aicore__ void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    __aicore__ void SetBatchNum(int32_t batchA, int32_t batchB) {
        batchA_ = batchA;
        batchB_ = batchB;
    }

    // Computes the next baseM x baseN block; false when all are done.
    template <bool sync = true>
    __aicore__ bool Iterate(bool enPartialSum = false, Loc = Loc::Here()) {
        const uint32_t blocks = BlocksM() * BlocksN() * PartsK();
        if (next_ >= blocks) {
            Restart();
            return false;
        }
        if (enPartialSum) Accumulate();
        // Asynchronous: one Iterate starts all blocks and every GetTensorC fetches the next.
        async_ = !sync;
        current_ = sync ? next_++ : next_;
        partial_ = enPartialSum;
        lastA_ = a_;
        lastB_ = b_;
        return true;
    }
    // The next block goes to the caller's L0C memory.
    template <bool sync = true, class T>
    __aicore__ bool Iterate(bool enPartialSum, const LocalTensor<T>& co1, Loc loc = Loc::Here()) {
        if (!Iterate<true>(enPartialSum, loc)) return false;
        ascendc_emu::MatrixRef c;
        c = matmul_detail::MatrixOf(co1, ascendc_emu::MatrixFormat::kNz);
        c.nzWidth = 16;
        WriteBlock(c, 0, true, true, loc);
        return true;
    }

    template <bool sync = true>
    __aicore__ void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, Loc loc = Loc::Here()) {
        ascendc_emu::MatrixRef c;
        SetC(c, gm);
        WriteBlock(c, enAtomic, enSequentialWrite, false, loc);
    }
    template <bool sync = true>
    __aicore__ void GetTensorC(const LocalTensor<DstT>& local, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, Loc loc = Loc::Here()) {
        ascendc_emu::MatrixRef c;
        SetC(c, local);
        (void)enSequentialWrite;
        WriteBlock(c, enAtomic, true, true, loc);
    }
    template <bool sync = true>
    __aicore__ void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& local,
                               uint8_t enAtomic = 0, bool enSequentialWrite = false,
                               Loc loc = Loc::Here()) {
        GetTensorC<sync>(gm, enAtomic, enSequentialWrite, loc);
        GetTensorC<sync>(local, 0, true, loc);
    }
    // The next block, in the workspace: its place there. For Iterate<false> and SetWorkspace.
    template <bool sync = false>
    __aicore__ GlobalTensor<DstT> GetTensorC(uint8_t enAtomic = 0, bool enSequentialWrite = false,
                                             Loc loc = Loc::Here()) {
        (void)enSequentialWrite;
        const uint64_t block = async_ ? next_ : current_;
        const GlobalTensor<DstT> to =
            Workspace()[block * uint64_t(tiling_.baseM) * uint32_t(tiling_.baseN)];
        GetTensorC<true>(to, enAtomic, true, loc);
        return to;
    }
    template <bool sync, bool doPad>
    __aicore__ void GetTensorC(const LocalTensor<DstT>& local, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, uint32_t height = 0,
                               uint32_t width = 0, uint32_t srcGap = 0, uint32_t dstGap = 0,
                               Loc loc = Loc::Here()) {
        (void)height, (void)srcGap;
        if constexpr (doPad) {
            // Rows of `width` elements, padded to 32 bytes, dstGap blocks of 32 bytes between them.
            ascendc_emu::MatrixRef c;
            SetC(c, local);
            (void)enSequentialWrite;
            const uint32_t block = matmul_detail::BlockElements<DstT>();
            WriteBlock(c, enAtomic, true, true, loc,
                       matmul_detail::Align(width, block) + dstGap * block);
        } else {
            (void)width, (void)dstGap;
            GetTensorC<sync>(local, enAtomic, enSequentialWrite, loc);
        }
    }
    __aicore__ void WaitGetTensorC() {}
    __aicore__ void WaitIterateAll() {}
    __aicore__ void WaitIterateBatch() {}
    __aicore__ void AsyncGetTensorC(const LocalTensor<DstT>& local, Loc loc = Loc::Here()) {
        GetTensorC(local, 0, true, loc);
    }
    template <bool isTurnOnDebug = true>
    __aicore__ MatrixOffset GetOffsetC() {
        const uint32_t m0 = RowOfBlock(current_ / PartsK()) * uint32_t(tiling_.baseM);
        const uint32_t n0 = ColumnOfBlock(current_ / PartsK()) * uint32_t(tiling_.baseN);
        const uint32_t m = singleM_ - m0, n = singleN_ - n0;
        return MatrixOffset{int32_t(m0 * StrideC() + n0), int32_t(m0), int32_t(n0),
                            int32_t(m < uint32_t(tiling_.baseM) ? m : uint32_t(tiling_.baseM)),
                            int32_t(n < uint32_t(tiling_.baseN) ? n : uint32_t(tiling_.baseN))};
    }

    template <bool sync = true>
    __aicore__ void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0,
                               bool enSequentialWrite = false, bool waitIterateAll = false,
                               bool fakeMsg = false, Loc loc = Loc::Here()) {
        (void)waitIterateAll;
        (void)fakeMsg;
        if (!enSequentialWrite && kTriangle == 0 && !MM_CB::copiesOut) {
            ascendc_emu::MatrixRef c;
            SetC(c, gm);
            c.stride = StrideC();
            Compute(c, 0, singleM_, 0, singleN_, 0, 0, enAtomic, false,
                    ascendc_emu::Api::kMatmulIterateAll, loc);
            return;
        }
        Restart();
        uint64_t offset = 0;
        while (Iterate()) {
            if (kTriangle != 0 && Skipped(current_)) continue;
            if (!enSequentialWrite) {
                GetTensorC(gm, enAtomic, false, loc);
                continue;
            }
            // Every block has room for [baseM, baseN]; a tail fills part of its rows.
            ascendc_emu::MatrixRef c;
            SetC(c, gm[offset]);
            WriteBlock(c, enAtomic, true, false, loc, uint64_t(tiling_.baseN));
            offset += uint64_t(tiling_.baseM) * uint32_t(tiling_.baseN);
        }
    }
    template <bool sync = true>
    __aicore__ void IterateAll(const LocalTensor<DstT>& local, uint8_t enAtomic = 0,
                               Loc loc = Loc::Here()) {
        ascendc_emu::MatrixRef c;
        SetC(c, local);
        c.stride = LocalStride(singleM_, singleN_);
        Compute(c, 0, singleM_, 0, singleN_, 0, 0, enAtomic, false,
                ascendc_emu::Api::kMatmulIterateAll, loc);
    }

    template <bool sync = true, bool waitIterateBatch = false>
    __aicore__ void IterateBatch(const GlobalTensor<DstT>& gm, uint32_t batchA, uint32_t batchB,
                                 bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                 const uint32_t matrixStrideB = 0, const uint32_t matrixStrideC = 0,
                                 const bool enPartialSum = false, const uint8_t enAtomic = 0,
                                 Loc loc = Loc::Here()) {
        (void)enSequentialWrite;
        partial_ = enPartialSum;
        Batch(gm, 0, batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC, enAtomic, loc);
    }
    __aicore__ void IterateBatch(const LocalTensor<DstT>& local, uint32_t batchA, uint32_t batchB,
                                 bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                 const uint32_t matrixStrideB = 0, const uint32_t matrixStrideC = 0,
                                 const bool enPartialSum = false, const uint8_t enAtomic = 0,
                                 Loc loc = Loc::Here()) {
        (void)enSequentialWrite;
        partial_ = enPartialSum;
        Batch(local, 0, batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC, enAtomic, loc);
    }
    template <bool sync = true, bool waitIterateBatch = false>
    __aicore__ void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB,
                                  bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                  const uint32_t matrixStrideB = 0,
                                  const uint32_t matrixStrideC = 0, const bool enPartialSum = false,
                                  const uint8_t enAtomic = 0, Loc loc = Loc::Here()) {
        (void)enSequentialWrite;
        partial_ = enPartialSum;
        const GlobalTensor<DstT> to = Workspace();
        for (uint32_t i = 0; i < batchLoop; ++i) {
            Batch(to, i, batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC, enAtomic,
                  loc);
        }
        fetched_ = 0;
    }
    // The next group of batches of an IterateNBatch: its place in the workspace.
    template <bool sync = true>
    __aicore__ GlobalTensor<DstT> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool = false) {
        const uint32_t batches = batchA > batchB ? batchA : batchB;
        return Workspace()[BatchIndexC(fetched_++ * batches, 0)];
    }
    template <bool sync = true>
    __aicore__ GlobalTensor<DstT> GetBatchC(uint32_t batchA, uint32_t batchB, bool = false) {
        return GetBatchTensorC<sync>(batchA, batchB);
    }
    // The same, copied to UB.
    template <bool sync = true>
    __aicore__ void GetBatchTensorC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                                    bool enSequentialWrite = false, Loc loc = Loc::Here()) {
        const uint32_t batches = batchA > batchB ? batchA : batchB;
        const GlobalTensor<DstT> from = GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite);
        DataCopy(c, from, batches * singleM_ * singleN_, loc);
    }
    template <bool sync = true>
    __aicore__ void GetBatchC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                              bool enSequentialWrite = false, Loc loc = Loc::Here()) {
        GetBatchTensorC<sync>(c, batchA, batchB, enSequentialWrite, loc);
    }
    __aicore__ void End() { Restart(); }

 private:
    static constexpr MatmulConfig kConfig = ToMatmulConfig(MM_CFG);
    // 1: blocks below the diagonal are skipped, 2: those above.
    using Policy = POLICY<MM_CFG, int, A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE>;
    static constexpr int kTriangle = Policy::triangle;
    static constexpr bool kOwnPolicy =
        Impl::Detail::kReplacesCopyIn<Policy> || Impl::Detail::kReplacesCopyOut<Policy>;
    static constexpr bool kSparse = B_TYPE::isSparse;
    using SumT = typename GetMmDstType<SrcAT>::Type;
    static constexpr int kScratchSums = 0, kScratchA = 1, kScratchB = 2;

    __aicore__ bool Skipped(uint32_t block) const {
        const uint32_t m = RowOfBlock(block), n = ColumnOfBlock(block);
        return kTriangle == 1 ? m > n : m < n;
    }
    __aicore__ uint32_t RowOfBlock(uint32_t block) const {
        return AlongNFirst() ? block / BlocksN() : block % BlocksM();
    }
    __aicore__ uint32_t ColumnOfBlock(uint32_t block) const {
        return AlongNFirst() ? block % BlocksN() : block / BlocksM();
    }

    // Keeps what the last Iterate left in L0C, for the Iterate that adds to it.
    __aicore__ void Accumulate() {
        const uint32_t m = singleM_, n = singleN_;
        uint8_t* sums =
            ascendc_emu::MatmulScratch(this, kScratchSums, uint64_t(m) * n * sizeof(SumT));
        if (lastA_.data == nullptr && lastA_.format != ascendc_emu::MatrixFormat::kScalar) {
            memset(sums, 0, uint64_t(m) * n * sizeof(SumT));
            return;
        }
        const ascendc_emu::MatrixRef a = a_, b = b_;
        a_ = lastA_;
        b_ = lastB_;
        ascendc_emu::MatrixRef to = Sums(sums);
        ascendc_emu::MatmulArgs args = Arguments(to, 0, m, 0, n, partial_);
        args.quant = 0;
        args.relu = false;
        args.atomic = ascendc_emu::kPlainStore;
        ascendc_emu::MatmulCompute(args, ascendc_emu::Api::kMatmulIterate, Loc::Here());
        a_ = a;
        b_ = b;
    }
    __aicore__ ascendc_emu::MatrixRef Sums(uint8_t* data) const {
        ascendc_emu::MatrixRef m;
        m.data = data;
        m.type = ascendc_emu::kDTypeOf<SumT>;
        m.stride = singleN_;
        m.hidden = true;
        return m;
    }

    template <typename Tensor>
    __aicore__ void SetC(ascendc_emu::MatrixRef& c, const Tensor& t) {
        c = matmul_detail::MatrixOf(t, matmul_detail::FormatOf(C_TYPE::format));
        c.nzWidth = sizeof(DstT) == 1                                   ? 32
                    : sizeof(DstT) == 4 && kConfig.isEnableChannelSplit ? 8
                                                                        : 16;
    }

    __aicore__ void ApplyStaticTiling() {
        if constexpr (kStaticTiling) {
            const auto set = [](int32_t& to, int32_t from) {
                if (from > 0) to = from;
            };
            set(tiling_.baseM, MM_CFG.baseM);
            set(tiling_.baseN, MM_CFG.baseN);
            set(tiling_.baseK, MM_CFG.baseK);
            set(tiling_.singleCoreM, MM_CFG.singleCoreM);
            set(tiling_.singleCoreN, MM_CFG.singleCoreN);
            set(tiling_.singleCoreK, MM_CFG.singleCoreK);
            if (tiling_.M <= 0) tiling_.M = tiling_.singleCoreM;
            if (tiling_.N <= 0) tiling_.N = tiling_.singleCoreN;
            if (tiling_.Ka <= 0) tiling_.Ka = tiling_.singleCoreK;
            if (tiling_.Kb <= 0) tiling_.Kb = tiling_.singleCoreK;
        }
    }

    __aicore__ void Restart() {
        next_ = 0;
        async_ = false;
    }

    __aicore__ uint32_t BlocksM() const {
        return (singleM_ + uint32_t(tiling_.baseM) - 1) / uint32_t(tiling_.baseM);
    }
    __aicore__ uint32_t BlocksN() const {
        return (singleN_ + uint32_t(tiling_.baseN) - 1) / uint32_t(tiling_.baseN);
    }
    __aicore__ bool AlongNFirst() const {
        if (kConfig.iterateOrder != IterateOrder::UNDEF) {
            return kConfig.iterateOrder == IterateOrder::ORDER_N;
        }
        return tiling_.iterateOrder == 1;
    }
    __aicore__ uint64_t StrideC() const {
        if (C_TYPE::format == CubeFormat::NZ) {
            // As many rows as SetOrgShape said, also where that is no multiple of 16.
            const bool whole = kConfig.isEnableChannelSplit && A_TYPE::format == CubeFormat::ND;
            return whole ? matmul_detail::Align(orgM_, 16) : orgM_;
        }
        const uint32_t n = orgKc_ != 0 ? orgKc_ : orgN_;
        return C_TYPE::format == CubeFormat::ND_ALIGN
                   ? matmul_detail::Align(n, matmul_detail::BlockElements<DstT>())
                   : n;
    }
    __aicore__ uint64_t LocalStride(uint32_t m, uint32_t n) const {
        return C_TYPE::format == CubeFormat::NZ
                   ? matmul_detail::Align(m, 16)
                   : matmul_detail::Align(n, matmul_detail::BlockElements<DstT>());
    }

    __aicore__ void WriteBlock(ascendc_emu::MatrixRef& c, uint8_t atomic, bool sequential,
                               bool local, Loc loc, uint64_t padded = 0) {
        if (async_) current_ = next_++;
        const uint32_t mi = RowOfBlock(current_ / PartsK());
        const uint32_t ni = ColumnOfBlock(current_ / PartsK());
        const uint32_t m0 = mi * uint32_t(tiling_.baseM);
        const uint32_t n0 = ni * uint32_t(tiling_.baseN);
        const uint32_t m =
            m0 + uint32_t(tiling_.baseM) > singleM_ ? singleM_ - m0 : uint32_t(tiling_.baseM);
        const uint32_t n =
            n0 + uint32_t(tiling_.baseN) > singleN_ ? singleN_ - n0 : uint32_t(tiling_.baseN);
        if (local) {
            c.stride = padded != 0 ? padded : LocalStride(m, n);
        } else if (sequential) {
            // The rows of a tail follow each other, too.
            c.stride = C_TYPE::format == CubeFormat::NZ ? matmul_detail::Align(m, 16)
                       : padded != 0                    ? padded
                                                        : n;
        } else {
            c.stride = StrideC();
        }
        Compute(c, m0, m, n0, n, sequential ? 0 : m0, sequential ? 0 : n0, atomic, partial_,
                ascendc_emu::Api::kMatmulGetTensorC, loc);
    }

    __aicore__ void Compute(ascendc_emu::MatrixRef& c, uint32_t m0, uint32_t m, uint32_t n0,
                            uint32_t n, uint32_t cRow, uint32_t cColumn, uint8_t atomic,
                            bool partial, ascendc_emu::Api api, Loc loc) {
        ascendc_emu::MatrixRef a = a_, b = b_;
        if constexpr (kSparse) {
            static_assert(IsSameType<SrcBT, int8_t>::value && B_TYPE::isTrans,
                          "a sparse B is int8_t and transposed");
            uint8_t* memory =
                ascendc_emu::MatmulScratch(this, kScratchB, uint64_t(singleN_) * singleK_);
            b_ = matmul_detail::Decompressed(b, sparseIndex_.ptr, memory, singleN_, singleK_, orgN_,
                                             orgKb_);
        }
        if constexpr (MM_CB::CopyA1Func != nullptr) {
            const uint64_t bytes = uint64_t(singleM_) * singleK_ * sizeof(SrcAT);
            a_ = matmul_detail::CopiedIn<SrcAT>(
                a, ascendc_emu::MatmulScratch(this, kScratchA, bytes), singleM_, singleK_,
                uint32_t(tiling_.baseM), uint32_t(tiling_.baseK), user_, MM_CB::CopyA1Func);
        }
        if constexpr (MM_CB::CopyB1Func != nullptr) {
            const uint64_t bytes = uint64_t(singleK_) * singleN_ * sizeof(SrcBT);
            b_ = matmul_detail::CopiedIn<SrcBT>(
                b, ascendc_emu::MatmulScratch(this, kScratchB, bytes), singleK_, singleN_,
                uint32_t(tiling_.baseK), uint32_t(tiling_.baseN), user_, MM_CB::CopyB1Func);
        }
        ascendc_emu::MatmulArgs args = Arguments(c, m0, m, n0, n, partial);
        if constexpr (kConfig.isPartialOutput) {
            // The parts of a block along K follow each other and are not summed.
            const uint32_t part = uint32_t(current_ % PartsK()), base = uint32_t(tiling_.baseK);
            args.k = singleK_ - part * base < base ? singleK_ - part * base : base;
            args.hasBias = args.hasBias && part == 0;
            matmul_detail::SkipK(args.a, args.a.transposed, part * base);
            matmul_detail::SkipK(args.b, !args.b.transposed, part * base);
        }
        args.cRow = cRow;
        args.cColumn = cColumn;
        args.atomic = atomic;
        const uint32_t baseM = uint32_t(tiling_.baseM), baseN = uint32_t(tiling_.baseN);
        if (baseM != 0 && baseN != 0) {
            args.blocks = ((m + baseM - 1) / baseM) * ((n + baseN - 1) / baseN);
        }
        if constexpr (MM_CB::copiesOut) {
            matmul_detail::CopyOut<SumT, DstT>(args, user_, MM_CB::DataCopyOutFunc, loc);
        } else {
            ascendc_emu::MatmulCompute(args, api, loc);
        }
        a_ = a;
        b_ = b;
    }

    // MatmulConfig::isPartialOutput: results of one base block along K each.
    __aicore__ uint32_t PartsK() const {
        if constexpr (kConfig.isPartialOutput) {
            const uint32_t base = uint32_t(tiling_.baseK);
            return base == 0 || singleK_ <= base ? 1 : (singleK_ + base - 1) / base;
        }
        return 1;
    }
    __aicore__ ascendc_emu::MatmulArgs Arguments(const ascendc_emu::MatrixRef& c, uint32_t m0,
                                                 uint32_t m, uint32_t n0, uint32_t n,
                                                 bool partial) {
        ascendc_emu::MatmulArgs args;
        args.a = a_;
        args.b = b_;
        args.bias = bias_;
        args.c = c;
        if (!a_.hidden) {
            args.a.stride = matmul_detail::StrideOf(
                a_, a_.transposed ? orgKa_ : orgM_, a_.transposed ? orgM_ : orgKa_,
                A_TYPE::pos != TPosition::GM, singleM_, singleK_);
        }
        if (!b_.hidden) {
            args.b.stride = matmul_detail::StrideOf(
                b_, b_.transposed ? orgN_ : orgKb_, b_.transposed ? orgKb_ : orgN_,
                B_TYPE::pos != TPosition::GM, singleK_, singleN_);
        }
        args.hasBias = hasBias_ && !partial;
        args.m0 = m0;
        args.m = m;
        args.n0 = n0;
        args.n = n;
        args.k = singleK_;
        args.partial = partial;
        if (partial) {
            args.initial = Sums(ascendc_emu::MatmulScratch(
                this, kScratchSums, uint64_t(singleM_) * singleN_ * sizeof(SumT)));
        }
        args.hf32 = hf32_;
        args.relu = kConfig.enableRelu;
        args.quant = QuantMode();
        args.quantScalar = quantScalar_;
        args.quantVector = quantVector_;
        return args;
    }

    __aicore__ int32_t QuantMode() const {
        constexpr bool integer =
            IsSameType<SrcAT, int8_t>::value || IsSameType<SrcAT, int4b_t>::value;
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

    __aicore__ GlobalTensor<DstT> Workspace() const {
        GlobalTensor<DstT> t;
        static_cast<ascendc_emu::GmRef&>(t) = workspace_;
        return t;
    }
    __aicore__ uint64_t BatchIndexC(uint32_t index, uint32_t stride) const {
        return matmul_detail::BatchOffset(C_TYPE::layout, index,
                                          tiling_.CLayoutInfoN * tiling_.CLayoutInfoG,
                                          tiling_.CLayoutInfoS1, tiling_.CLayoutInfoS2,
                                          stride ? stride : uint64_t(singleM_) * singleN_);
    }

    // Group `loop` of max(batchA, batchB) products.
    template <typename Destination>
    __aicore__ void Batch(const Destination& dst, uint32_t loop, uint32_t batchA, uint32_t batchB,
                          uint32_t strideA, uint32_t strideB, uint32_t strideC, uint8_t enAtomic,
                          Loc loc) {
        const uint32_t batches = batchA > batchB ? batchA : batchB;
        const ascendc_emu::MatrixRef a = a_, b = b_, bias = bias_;
        const uint32_t m = orgM_, n = orgN_, ka = orgKa_, kb = orgKb_;
        for (uint32_t i = 0; i < batches; ++i) {
            // The side with fewer batches is used again by every group of the other.
            const uint32_t ia = loop * batchA + i / (batches / (batchA ? batchA : 1));
            const uint32_t ib = loop * batchB + i / (batches / (batchB ? batchB : 1));
            const uint64_t atA = matmul_detail::BatchOffset(
                A_TYPE::layout, ia, tiling_.ALayoutInfoN * tiling_.ALayoutInfoG,
                tiling_.ALayoutInfoS, tiling_.ALayoutInfoD,
                strideA ? strideA : uint64_t(singleM_) * singleK_);
            const uint64_t atB = matmul_detail::BatchOffset(
                B_TYPE::layout, ib, tiling_.BLayoutInfoN * tiling_.BLayoutInfoG,
                tiling_.BLayoutInfoS, tiling_.BLayoutInfoD,
                strideB ? strideB : uint64_t(singleN_) * singleK_);
            a_ = matmul_detail::Shifted(a, ascendc_emu::BytesOf<SrcAT>(atA));
            b_ = matmul_detail::Shifted(b, ascendc_emu::BytesOf<SrcBT>(atB));
            if (hasBias_ && kConfig.isBiasBatch) {
                bias_ = matmul_detail::Shifted(
                    bias, ascendc_emu::BytesOf<BiasT>(uint64_t(loop * batches + i) * singleN_));
            }
            const uint64_t cOffset = BatchIndexC(loop * batches + i, strideC);
            SetBatchShapes();
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
    __aicore__ void IterateAll(const GlobalTensor<T>& gm, uint8_t enAtomic, Loc loc) {
        IterateAll<true>(gm, enAtomic, false, false, false, loc);
    }
    __aicore__ void SetBatchShapes() {
        orgM_ = singleM_;
        orgN_ = singleN_;
        orgKa_ = orgKb_ = singleK_;
        if (matmul_detail::IsInterleaved(A_TYPE::layout)) {
            (a_.transposed ? orgM_ : orgKa_) = matmul_detail::BatchRow(
                A_TYPE::layout, tiling_.ALayoutInfoB, tiling_.ALayoutInfoN * tiling_.ALayoutInfoG,
                tiling_.ALayoutInfoD);
        }
        orgKc_ = singleN_;
        if (matmul_detail::IsInterleaved(B_TYPE::layout)) {
            (b_.transposed ? orgKb_ : orgN_) = matmul_detail::BatchRow(
                B_TYPE::layout, tiling_.BLayoutInfoB, tiling_.BLayoutInfoN * tiling_.BLayoutInfoG,
                tiling_.BLayoutInfoD);
        }
        if (matmul_detail::IsInterleaved(C_TYPE::layout)) {
            orgKc_ = matmul_detail::BatchRow(C_TYPE::layout, tiling_.CLayoutInfoB,
                                             tiling_.CLayoutInfoN * tiling_.CLayoutInfoG,
                                             tiling_.CLayoutInfoS2);
        }
    }
    ::TCubeTiling tiling_;
    ascendc_emu::MatrixRef a_, b_, bias_, lastA_, lastB_;
    uint32_t orgM_ = 0, orgN_ = 0, orgKa_ = 0, orgKb_ = 0, orgKc_ = 0;
    uint32_t singleM_ = 0, singleN_ = 0, singleK_ = 0;
    uint32_t next_ = 0, current_ = 0;
    bool hasBias_ = false, biasEnabled_ = false, partial_ = false, hf32_ = false,
         quantised_ = false;
    bool async_ = false;
    uint64_t quantScalar_ = 0;
    const uint64_t* quantVector_ = nullptr;
    matmul_detail::UserData user_;
    int32_t batchA_ = 0, batchB_ = 0;
    ascendc_emu::GmRef workspace_, sparseIndex_;
    uint32_t fetched_ = 0;  // groups of batches handed out
    uint8_t subBlock_ = 0;
};

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE,
          const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto&, typename, typename, typename, typename, typename> class POLICY =
              Impl::Detail::MatmulPolicy>
using Matmul = MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, POLICY>;

}  // namespace AscendC

namespace matmul = AscendC;

#endif  // ADV_API_MATMUL_MATMUL_H
