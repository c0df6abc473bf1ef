// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// DataCopy, DataCopyPad and what belongs to them: movement between global memory and the on-chip
// buffers by the MTE pipes, and between buffers.
#ifndef ASCENDC_EMU_COPY_API_H
#define ASCENDC_EMU_COPY_API_H

#include "ascendc_emu/vector.h"

namespace ascendc_emu {

// Blocks of bytes between two operands; gaps are tail-to-head, in bytes.
struct CopyCall {
    Api api;
    DType type;
    uint32_t blocks;
    uint64_t blockBytes;
    int64_t srcGap, dstGap;
    Loc loc;
    bool widens = false;  // half read, float written: the bias on its way from L1 to the bias table
};
void RunCopyIn(const CopyCall& c, const TensorRef& dst, const GmRef& src);
void RunCopyOut(const CopyCall& c, const GmRef& dst, const TensorRef& src);
void RunCopyLocal(const CopyCall& c, const TensorRef& dst, const TensorRef& src);

// DataCopyPad from GM: every block is padded to whole 32-byte units; gaps: src bytes, dst units.
struct CopyPadCall {
    CopyCall copy;
    bool isPad;
    uint32_t left, right;  // elements
    uint64_t value;        // raw bits of one element
};
void RunPadIn(const CopyPadCall& c, const TensorRef& dst, const GmRef& src);
void RunPadOut(const CopyCall& c, const GmRef& dst, const TensorRef& src);

void RunNd2Nz(DType type, const TensorRef& dst, const GmRef& src, const AscendC::Nd2NzParams& p,
              Loc loc);
void RunNd2NzLocal(DType type, const TensorRef& dst, const TensorRef& src,
                   const AscendC::Nd2NzParams& p, Loc loc);
void RunPadNd2Nz(DType type, const TensorRef& dst, const TensorRef& src,
                 const AscendC::DataCopyExtParams& copy, const AscendC::Nd2NzParams& nz, Loc loc);
void RunNz2Nd(DType type, const GmRef& dst, const TensorRef& src, const AscendC::Nz2NdParamsFull& p,
              Loc loc);
void RunCopyFromL0c(const TensorRef& dst, DType dstType, const TensorRef& src, DType srcType,
                    const AscendC::DataCopyParams& p, const AscendC::DataCopyEnhancedParams& e,
                    Loc loc);
void RunCopyToL0c(const TensorRef& dst, DType dstType, const TensorRef& src, DType srcType,
                  const AscendC::DataCopyParams& p, const AscendC::DataCopyEnhancedParams& e,
                  Loc loc);
void RunSliceIn(DType type, const TensorRef& dst, const GmRef& src, const AscendC::SliceInfo* d,
                const AscendC::SliceInfo* s, uint32_t dims, Loc loc);
void RunSliceOut(DType type, const GmRef& dst, const TensorRef& src, const AscendC::SliceInfo* d,
                 const AscendC::SliceInfo* s, uint32_t dims, Loc loc);
// Writes `count` elements of `value` to GM the way InitGlobalMemory does (V + MTE3).
void RunGmFill(Api api, DType type, const GmRef& dst, uint64_t count, uint64_t value, Loc loc);

template <typename T>
inline CopyCall Count(Api api, uint64_t n, Loc loc) {
    return CopyCall{api, kDTypeOf<T>, 1, BytesOf<T>(n), 0, 0, loc};
}
template <typename T>
inline CopyCall Blocks(Api api, const AscendC::DataCopyParams& p, Loc loc) {
    return CopyCall{
        api, kDTypeOf<T>, p.blockCount, p.blockLen * 32ull, p.srcStride * 32ll, p.dstStride * 32ll,
        loc};
}

// Into the bias table lengths and destination gaps count 64 bytes, into the fixpipe buffer 128.
inline CopyCall LocalBlocks(CopyCall c, const TensorRef& dst) {
    const int64_t unit = dst.mem == Mem::kBt ? 2 : dst.mem == Mem::kFb ? 4 : 1;
    c.blockBytes *= unit;
    c.dstGap *= unit;
    return c;
}

}  // namespace ascendc_emu

namespace AscendC {

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const uint32_t count, Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyIn(ascendc_emu::Count<PrimT<T>>(ascendc_emu::Api::kDataCopy, count, loc),
                           dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const uint32_t count, Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyOut(ascendc_emu::Count<PrimT<T>>(ascendc_emu::Api::kDataCopy, count, loc),
                            dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const uint32_t count, Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyLocal(ascendc_emu::Count<PrimT<T>>(ascendc_emu::Api::kDataCopy, count, loc),
                              dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const DataCopyParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyIn(ascendc_emu::Blocks<PrimT<T>>(ascendc_emu::Api::kDataCopy, params, loc),
                           dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyOut(ascendc_emu::Blocks<PrimT<T>>(ascendc_emu::Api::kDataCopy, params, loc),
                            dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyLocal(
        ascendc_emu::LocalBlocks(
            ascendc_emu::Blocks<PrimT<T>>(ascendc_emu::Api::kDataCopy, params, loc), dst),
        dst, src);
}
// Different element types (L1 -> BT, L1 -> FB): a half bias becomes float on the way, blockLen
// counts 64 bytes of the source; every other pair moves bytes as they are. Source: API page
// "DataCopy (L1 to BiasTable Buffer)", data types.
template <typename D, typename S>
__aicore__ inline void DataCopy(const LocalTensor<D>& dst, const LocalTensor<S>& src,
                                const DataCopyParams& params, Loc loc = Loc::Here()) {
    auto call = ascendc_emu::LocalBlocks(
        ascendc_emu::Blocks<PrimT<S>>(ascendc_emu::Api::kDataCopy, params, loc), dst);
    call.widens = dst.mem == ascendc_emu::Mem::kBt && std::is_same_v<PrimT<S>, half> &&
                  std::is_same_v<PrimT<D>, float>;
    ascendc_emu::RunCopyLocal(call, dst, src);
}
// From L0C, on unified cores (arch 2002), results go to UB: by fractals of 16 x 16 elements or by
// the first row of each, converted on the way; a bias or an earlier sum goes back the same way.
// Elsewhere the copy is the one without these parameters. Source: API page "DataCopy (L0C Buffer to
// UB)".
template <typename D, typename S>
__aicore__ inline void DataCopy(const LocalTensor<D>& dst, const LocalTensor<S>& src,
                                const DataCopyParams& params,
                                const DataCopyEnhancedParams& enhanced, Loc loc = Loc::Here()) {
    if (src.mem == ascendc_emu::Mem::kL0c) {
        ascendc_emu::RunCopyFromL0c(dst, ascendc_emu::kDTypeOf<PrimT<D>>, src,
                                    ascendc_emu::kDTypeOf<PrimT<S>>, params, enhanced, loc);
        return;
    }
    if (dst.mem == ascendc_emu::Mem::kL0c) {
        ascendc_emu::RunCopyToL0c(dst, ascendc_emu::kDTypeOf<PrimT<D>>, src,
                                  ascendc_emu::kDTypeOf<PrimT<S>>, params, enhanced, loc);
        return;
    }
    DataCopy(dst, src, params, loc);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const DataCopyParams& params, const DataCopyEnhancedParams&,
                                Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyIn(ascendc_emu::Blocks<PrimT<T>>(ascendc_emu::Api::kDataCopy, params, loc),
                           dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& params, const DataCopyEnhancedParams&,
                                Loc loc = Loc::Here()) {
    ascendc_emu::RunCopyOut(ascendc_emu::Blocks<PrimT<T>>(ascendc_emu::Api::kDataCopy, params, loc),
                            dst, src);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& params,
                                const DataCopyEnhancedParams& enhanced, Loc loc = Loc::Here()) {
    DataCopy<T, T>(dst, src, params, enhanced, loc);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const Nd2NzParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunNd2Nz(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, params, loc);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const Nd2NzParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunNd2NzLocal(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, params, loc);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const Nz2NdParamsFull& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunNz2Nd(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, params, loc);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const SliceInfo dstSlice[], const SliceInfo srcSlice[],
                                const uint32_t dims = 1, Loc loc = Loc::Here()) {
    ascendc_emu::RunSliceIn(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, dstSlice, srcSlice, dims,
                            loc);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const SliceInfo dstSlice[], const SliceInfo srcSlice[],
                                const uint32_t dims = 1, Loc loc = Loc::Here()) {
    ascendc_emu::RunSliceOut(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, dstSlice, srcSlice, dims,
                             loc);
}

// UB to L1 with the change to NZ. CANN goes through the workspace of a Matmul object: DataCopyPad
// to GM (gaps of `copy`: source 32 bytes, destination bytes), then ND2NZ from there. Here the rows
// go directly to L1, so `copy` and `nz` must describe the same rows. Source: page DataCopyPad (UB
// to L1, unaligned).
template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyExtParams& copy, const Nd2NzParams& nz,
                                   Loc loc = Loc::Here()) {
    ascendc_emu::RunPadNd2Nz(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, copy, nz, loc);
}
template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyParams& copy, const Nd2NzParams& nz,
                                   Loc loc = Loc::Here()) {
    DataCopyPad(
        dst, src,
        DataCopyExtParams(copy.blockCount, copy.blockLen, copy.srcStride, copy.dstStride, 0), nz,
        loc);
}

// Global memory to UB, blockLen in bytes, any alignment in GM.
template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyParams& params, const DataCopyPadParams& pad,
                                   Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunPadIn({{Api::kDataCopyPad, kDTypeOf<PrimT<T>>, params.blockCount, params.blockLen,
               params.srcStride, params.dstStride, loc},
              pad.isPad,
              pad.leftPadding,
              pad.rightPadding,
              pad.paddingValue},
             dst, src);
}
template <typename T, typename U>
__aicore__ inline auto DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyExtParams& params,
                                   const DataCopyPadExtParams<U>& pad, Loc loc = Loc::Here())
    -> std::enable_if_t<IsSameType<PrimT<T>, U>::value> {
    using namespace ascendc_emu;
    RunPadIn({{Api::kDataCopyPad, kDTypeOf<PrimT<T>>, params.blockCount, params.blockLen,
               params.srcStride, params.dstStride, loc},
              pad.isPad,
              pad.leftPadding,
              pad.rightPadding,
              RawBits(pad.paddingValue)},
             dst, src);
}
// Braced or defaulted pad parameters.
template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyExtParams& params,
                                   const DataCopyPadExtParams<T>& pad, Loc loc = Loc::Here()) {
    DataCopyPad<T, T>(dst, src, params, pad, loc);
}
// UB to global memory.
template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyParams& params, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunPadOut({Api::kDataCopyPad, kDTypeOf<PrimT<T>>, params.blockCount, params.blockLen,
               params.srcStride, params.dstStride, loc},
              dst, src);
}
template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyExtParams& params, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunPadOut({Api::kDataCopyPad, kDTypeOf<PrimT<T>>, params.blockCount, params.blockLen,
               params.srcStride, params.dstStride, loc},
              dst, src);
}

// Value of the pad elements when isPad is false.
template <typename T, TPosition pos = TPosition::MAX>
__aicore__ inline void SetPadValue(T value, Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSetPadValue);
    ascendc_emu::Current().regs.padValue = ascendc_emu::RawBits(value);
}

// Sets `size` elements of GM to `value` (through UB, like the device's helper).
template <typename T, typename U>
__aicore__ inline void InitGlobalMemory(GlobalTensor<T>& gm, const uint64_t size, const U value,
                                        Loc loc = Loc::Here()) {
    const PrimT<T> v = static_cast<PrimT<T>>(value);
    ascendc_emu::RunGmFill(ascendc_emu::Api::kInitGlobalMemory, ascendc_emu::kDTypeOf<PrimT<T>>, gm,
                           size, ascendc_emu::RawBits(v), loc);
}
template <typename T>
__aicore__ inline void InitOutput(GlobalTensor<T> gm, uint32_t size, T value = 0,
                                  Loc loc = Loc::Here()) {
    ascendc_emu::RunGmFill(ascendc_emu::Api::kInitOutput, ascendc_emu::kDTypeOf<PrimT<T>>, gm, size,
                           ascendc_emu::RawBits(value), loc);
}
template <typename T>
__aicore__ inline void Fill(GlobalTensor<T>& gm, const uint64_t size, const T value,
                            Loc loc = Loc::Here()) {
    ascendc_emu::RunGmFill(ascendc_emu::Api::kFill, ascendc_emu::kDTypeOf<PrimT<T>>, gm, size,
                           ascendc_emu::RawBits(value), loc);
}

// Stores to GM add to / take the max / min with what is there, until SetAtomicNone().
template <typename T>
__aicore__ inline void SetAtomicAdd(Loc loc = Loc::Here()) {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.atomicLoc = loc;
    r.atomicOp = r.lastAtomicOp = 1;
    r.atomicType = ascendc_emu::kDTypeOf<T>;
}
template <typename T>
__aicore__ inline void SetAtomicMax(Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSetAtomicMax);
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.atomicLoc = loc;
    r.atomicOp = r.lastAtomicOp = 2;
    r.atomicType = ascendc_emu::kDTypeOf<T>;
}
template <typename T>
__aicore__ inline void SetAtomicMin(Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSetAtomicMin);
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.atomicLoc = loc;
    r.atomicOp = r.lastAtomicOp = 3;
    r.atomicType = ascendc_emu::kDTypeOf<T>;
}
// Having a type is what makes stores atomic: SetAtomicNone() takes the type away and leaves the
// operation, so a type alone brings back the last operation, at first an addition.
template <typename T>
__aicore__ inline void SetAtomicType(Loc loc = Loc::Here()) {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    if (r.atomicOp == 0) {
        r.atomicLoc = loc;
        r.atomicOp = r.lastAtomicOp;
    }
    r.atomicType = ascendc_emu::kDTypeOf<T>;
}
__aicore__ inline void SetAtomicNone() { ascendc_emu::Current().regs.atomicOp = 0; }
__aicore__ inline void DisableDmaAtomic() { SetAtomicNone(); }
__aicore__ inline void GetStoreAtomicConfig(uint16_t& type, uint16_t& op) {
    using ascendc_emu::DType;
    constexpr DType types[] = {DType::kNone, DType::kF32, DType::kF16, DType::kI16,
                               DType::kI32,  DType::kI8,  DType::kBf16};
    const ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    type = 0;
    for (uint16_t i = 1; i < 7; ++i) {
        if (r.atomicOp != 0 && types[i] == r.atomicType) type = i;
    }
    op = 0;
}
template <AtomicDtype type, AtomicOp op>
__aicore__ inline void SetStoreAtomicConfig(Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSetStoreAtomicConfig);
    using ascendc_emu::DType;
    constexpr DType types[] = {DType::kNone, DType::kF32, DType::kF16, DType::kI16,
                               DType::kI32,  DType::kI8,  DType::kBf16};
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.atomicLoc = loc;
    r.atomicType = types[static_cast<int>(type)];
    r.lastAtomicOp = 1;
    r.atomicOp = type == AtomicDtype::ATOMIC_NONE ? 0 : 1;
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_COPY_API_H
