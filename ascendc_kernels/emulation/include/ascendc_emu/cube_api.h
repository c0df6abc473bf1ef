// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Cube instructions of the AscendC basic API: loads into L0, Mmad, Fixpipe and their registers.
// Source: asc-devkit docs, SIMD-API / basic API / matrix computation (ISASI).
#ifndef ASCENDC_EMU_CUBE_API_H
#define ASCENDC_EMU_CUBE_API_H

#include "ascendc_emu/cube_ops.h"
#include "ascendc_emu/cube_params.h"

namespace AscendC {

namespace cube_detail {
using ascendc_emu::kDTypeOf;

inline ascendc_emu::Load2dArgs Convert(const LoadData2DParams& p) {
    ascendc_emu::Load2dArgs a;
    a.start = p.startIndex;
    a.repeat = p.repeatTimes;
    a.srcStride = p.addrMode == 0 ? int32_t(p.srcStride) : -int32_t(p.srcStride);
    a.dstStride = p.dstGap + 1u;
    a.transpose = p.ifTranspose;
    return a;
}

template <typename T>
inline uint64_t Bits(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

inline ascendc_emu::FixpipeArgs Convert(const FixpipeParamsV220& p, CO2Layout format) {
    ascendc_emu::FixpipeArgs a;
    a.n = p.nSize;
    a.m = p.mSize;
    a.srcStride = p.srcStride;
    a.dstStride = p.dstStride;
    a.quant = p.quantPre;
    a.scalar = p.deqScalar;
    a.relu = p.reluEn;
    a.toNd = format == CO2Layout::ROW_MAJOR;
    a.ndNum = p.ndNum;
    a.srcNdStride = p.srcNdStride;
    a.dstNdStride = p.dstNdStride;
    a.channelSplit = p.isChannelSplit;
    a.unitFlag = p.unitFlag;
    return a;
}

// The older parameters count fractal columns of 16 and bursts of 16 elements.
template <typename SrcT>
inline ascendc_emu::FixpipeArgs Convert(const FixpipeParams<SrcT>& p) {
    ascendc_emu::FixpipeArgs a;
    const bool nd = p.nz2ndParams.nz2ndEn;
    a.n = nd && p.nz2ndParams.originalNSize ? p.nz2ndParams.originalNSize : p.cburstNum * 16u;
    if (nd) a.n = p.nz2ndParams.originalNSize ? p.nz2ndParams.originalNSize : p.cburstNum;
    a.m = nd ? uint32_t(p.burstLen) * 32u / (16u * uint32_t(sizeof(SrcT)))
             : uint32_t(p.burstLen) * 32u / (16u * uint32_t(sizeof(SrcT)));
    a.srcStride = a.m + uint32_t(p.srcStride) * 16u;
    a.dstStride = p.dstStride;
    a.quant = p.quantParams.quantPre;
    a.scalar = p.quantParams.deqScalar;
    a.relu = p.reluEn;
    a.toNd = nd;
    a.ndNum = p.nz2ndParams.ndNum;
    a.srcNdStride = p.nz2ndParams.srcNdStride;
    a.dstNdStride = p.nz2ndParams.dstNdStride;
    a.unitFlag = p.unitFlag;
    return a;
}

template <typename P>
inline ascendc_emu::Load3dArgs Convert3d(const P& p) {
    ascendc_emu::Load3dArgs a;
    for (int i = 0; i < PAD_SIZE; ++i) a.pad[i] = p.padList[i];
    a.height = p.l1H;
    a.width = p.l1W;
    a.channels = p.channelSize;
    a.kExtent = p.kExtension;
    a.mExtent = p.mExtension;
    a.kStart = p.kStartPt;
    a.mStart = p.mStartPt;
    a.strideW = p.strideW;
    a.strideH = p.strideH;
    a.filterW = p.filterW + (p.filterSizeW ? 256u : 0u);
    a.filterH = p.filterH + (p.filterSizeH ? 256u : 0u);
    a.dilationW = p.dilationFilterW;
    a.dilationH = p.dilationFilterH;
    a.transpose = p.enTranspose;
    a.padBits = Bits(p.padValue);
    return a;
}
}  // namespace cube_detail

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData2DParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeLoad2d(dst, src, ascendc_emu::kDTypeOf<PrimT<T>>, cube_detail::Convert(params),
                            ascendc_emu::Api::kLoadData, loc);
}

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const LoadData2DParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeLoad2d(dst, src, ascendc_emu::kDTypeOf<PrimT<T>>, cube_detail::Convert(params),
                            ascendc_emu::Api::kLoadData, loc);
}

// kStep columns of mStep fractals each.
template <typename T, typename Src>
__aicore__ inline void LoadData2dV2(const LocalTensor<T>& dst, const Src& src,
                                    const LoadData2DParamsV2& params, Loc loc) {
    for (uint32_t k = 0; k < params.kStep; ++k) {
        ascendc_emu::Load2dArgs a;
        a.start =
            params.mStartPosition + uint32_t(int32_t(params.kStartPosition + k) * params.srcStride);
        a.repeat = params.mStep;
        a.srcStride = 1;
        a.transpose = params.ifTranspose;
        const auto part =
            dst[uint32_t(k) * params.dstStride * uint32_t(ascendc_emu::ElementsIn<PrimT<T>>(512))];
        ascendc_emu::CubeLoad2d(part, src, ascendc_emu::kDTypeOf<PrimT<T>>, a,
                                ascendc_emu::Api::kLoadData, loc);
    }
}
template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData2DParamsV2& params, Loc loc = Loc::Here()) {
    LoadData2dV2(dst, static_cast<const ascendc_emu::TensorRef&>(src), params, loc);
}
template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const LoadData2DParamsV2& params, Loc loc = Loc::Here()) {
    LoadData2dV2(dst, static_cast<const ascendc_emu::GmRef&>(src), params, loc);
}

template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG,
          typename U = PrimT<T>>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData3DParamsV2<U>& params, Loc loc = Loc::Here()) {
    auto args = cube_detail::Convert3d(params);
    if constexpr (config.isSetFMatrix) {
        ascendc_emu::CubeSetFmatrix(args.height, args.width, args.pad, false);
    } else {
        ascendc_emu::CubeGetFmatrix(params.fMatrixCtrl, args);
    }
    if constexpr (config.isSetPadding) {
        ascendc_emu::CubeSetPadding(args.padBits);
    } else {
        args.padBits = ascendc_emu::CubePadding();
    }
    ascendc_emu::CubeLoad3d(dst, src, ascendc_emu::kDTypeOf<PrimT<T>>, args, loc);
}

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData3DParamsV2Pro& p, Loc loc = Loc::Here()) {
    ascendc_emu::Load3dArgs a;
    ascendc_emu::CubeGetFmatrix(p.fMatrixCtrl, a);
    a.padBits = ascendc_emu::CubePadding();
    a.channels = p.channelSize;
    a.kExtent = uint32_t(p.extConfig & 0xffff);
    a.mExtent = uint32_t((p.extConfig >> 16) & 0xffff);
    a.kStart = uint32_t((p.extConfig >> 32) & 0xffff);
    a.mStart = uint32_t((p.extConfig >> 48) & 0xffff);
    a.strideW = uint32_t(p.filterConfig & 0xff);
    a.strideH = uint32_t((p.filterConfig >> 8) & 0xff);
    a.filterW = uint32_t((p.filterConfig >> 16) & 0xff) + (p.filterSizeW ? 256u : 0u);
    a.filterH = uint32_t((p.filterConfig >> 24) & 0xff) + (p.filterSizeH ? 256u : 0u);
    a.dilationW = uint32_t((p.filterConfig >> 32) & 0xff);
    a.dilationH = uint32_t((p.filterConfig >> 40) & 0xff);
    a.transpose = p.enTranspose;
    ascendc_emu::CubeLoad3d(dst, src, ascendc_emu::kDTypeOf<PrimT<T>>, a, loc);
}

template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                             const LoadData2dTransposeParams& p,
                                             Loc loc = Loc::Here()) {
    ascendc_emu::LoadTransposeArgs a;
    a.start = p.startIndex;
    a.repeat = p.repeatTimes;
    a.srcStride = p.addrMode == 0 ? int32_t(p.srcStride) : -int32_t(p.srcStride);
    a.dstGap = p.dstGap;
    a.dstFracGap = p.dstFracGap;
    ascendc_emu::CubeLoadTranspose(dst, src, ascendc_emu::kDTypeOf<PrimT<T>>, a, loc);
}

// Unit of repeatStride: 16 rows (mode 0, along M) or 32 bytes of columns (mode 1, along K).
__aicore__ inline void SetLoadDataRepeat(const LoadDataRepeatParam& p) {
    ascendc_emu::CubeSetLoadRepeat(p.repeatTime, p.repeatStride, p.repeatMode != 0);
}
// Compressed B and its index matrix for MmadWithSparse; only startIndex and repeatTimes count.
template <typename T = int8_t, typename U = uint8_t>
__aicore__ inline void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                          const LocalTensor<U>& idx, const LoadData2DParams& p,
                                          Loc loc = Loc::Here()) {
    static_assert(std::is_same<PrimT<T>, int8_t>::value && std::is_same<PrimT<U>, uint8_t>::value,
                  "LoadDataWithSparse: int8_t data, uint8_t index");
    ascendc_emu::CubeLoadSparse(dst, src, idx, p.startIndex, p.repeatTimes, loc);
}

__aicore__ inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4],
                                  const FmatrixMode& mode) {
    ascendc_emu::CubeSetFmatrix(l1H, l1W, padList, mode == FmatrixMode::FMATRIX_RIGHT);
}
// Older names, which public kernels call too: the left and the right feature map registers.
__aicore__ inline void Load3DSetFMatrixCal(uint16_t l1H, uint16_t l1W, const uint8_t padList[4]) {
    ascendc_emu::CubeSetFmatrix(l1H, l1W, padList, false);
}
__aicore__ inline void Load3DSetFMatrixBCal(uint16_t l1H, uint16_t l1W, const uint8_t padList[4]) {
    ascendc_emu::CubeSetFmatrix(l1H, l1W, padList, true);
}
template <typename T>
__aicore__ inline void SetLoadDataPaddingValue(const T value) {
    ascendc_emu::CubeSetPadding(cube_detail::Bits(value));
}
template <typename T>
__aicore__ inline void Load3DSetPaddingCal(const T padValue) {
    SetLoadDataPaddingValue(padValue);
}
// Bytes of L1 behind which image-to-column loads begin again at its start; 0, no boundary, is the
// only value that is emulated.
__aicore__ inline void SetLoadDataBoundary(uint32_t boundaryValue, Loc loc = Loc::Here()) {
    if (boundaryValue != 0) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "SetLoadDataBoundary",
                          "a boundary in L1 is not emulated");
    }
}

namespace cube_detail {
inline ascendc_emu::MmadArgs Convert(const MmadParams& p) {
    ascendc_emu::MmadArgs a;
    a.m = p.m;
    a.n = p.n;
    a.k = p.k;
    a.initZero = p.cmatrixInitVal && !p.isBias;
    a.fromBias = !a.initZero && p.cmatrixSource;
    a.kAlign16 = p.kDirectionAlign;
    a.unitFlag = p.unitFlag;
    return a;
}

// Source: the type tables of the Mmad page.
template <typename D, typename A, typename B>
constexpr bool MmadTypes() {
    constexpr bool same = IsSameType<A, B>::value;
    constexpr bool isHalf = IsSameType<A, half>::value && same;
    constexpr bool isInt = (IsSameType<A, int8_t>::value || IsSameType<A, int4b_t>::value) && same;
#if OPGEN_INSTRUCTIONS == 2002
    constexpr bool isByte = IsSameType<A, uint8_t>::value && (same || IsSameType<B, int8_t>::value);
    return (isHalf && (IsSameType<D, half>::value || IsSameType<D, float>::value)) ||
           ((isInt || isByte) && IsSameType<D, int32_t>::value);
#else
    constexpr bool isFloat =
        (IsSameType<A, bfloat16_t>::value || IsSameType<A, float>::value) && same;
    return ((isHalf || isFloat) && IsSameType<D, float>::value) ||
           (isInt && IsSameType<D, int32_t>::value);
#endif
}
#if OPGEN_INSTRUCTIONS == 2002
#define OPGEN_MMAD_TYPES                                                                      \
    "Mmad on arch 2002: half gives half or float; int8_t, int4b_t, uint8_t, or uint8_t with " \
    "int8_t, give int32_t"
#else
#define OPGEN_MMAD_TYPES \
    "Mmad on arch 2201: half, bfloat16_t or float give float, int8_t or int4b_t give int32_t"
#endif
}  // namespace cube_detail

template <typename T, typename U, typename S>
__aicore__ inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm,
                            const LocalTensor<S>& filter, const MmadParams& params,
                            Loc loc = Loc::Here()) {
    static_assert(cube_detail::MmadTypes<PrimT<T>, PrimT<U>, PrimT<S>>(), OPGEN_MMAD_TYPES);
    ascendc_emu::CubeMmad(dst, ascendc_emu::kDTypeOf<PrimT<T>>, fm, ascendc_emu::kDTypeOf<PrimT<U>>,
                          filter, ascendc_emu::kDTypeOf<PrimT<S>>, nullptr,
                          cube_detail::Convert(params), loc);
}

template <typename T, typename U, typename S, typename V>
__aicore__ inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm,
                            const LocalTensor<S>& filter, const LocalTensor<V>& bias,
                            const MmadParams& params, Loc loc = Loc::Here()) {
    static_assert(cube_detail::MmadTypes<PrimT<T>, PrimT<U>, PrimT<S>>(), OPGEN_MMAD_TYPES);
    auto args = cube_detail::Convert(params);
    args.initZero = false;
    args.fromBias = true;
    ascendc_emu::CubeMmad(dst, ascendc_emu::kDTypeOf<PrimT<T>>, fm, ascendc_emu::kDTypeOf<PrimT<U>>,
                          filter, ascendc_emu::kDTypeOf<PrimT<S>>, &bias, args, loc);
}

#if OPGEN_INSTRUCTIONS == 2002
// Copies a row vector in UB to all rows of L0C fractals, for the bias of a product.
// blockLen: 16 elements; srcGap: 32 bytes; dstGap: 256 elements.
template <typename T, typename U>
__aicore__ inline void BroadCastVecToMM(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                        const int32_t blockCount, const uint8_t blockLen,
                                        const uint8_t srcGap, const uint8_t dstGap,
                                        Loc loc = Loc::Here()) {
    static_assert(sizeof(PrimT<T>) == sizeof(PrimT<U>),
                  "BroadCastVecToMM: operands of one data type");
    ascendc_emu::CubeBroadcast(dst, src, ascendc_emu::kDTypeOf<PrimT<T>>, blockCount, blockLen,
                               srcGap, dstGap, loc);
}
#endif

// C = A x B with B in the form that LoadDataWithSparse leaves in L0B; k counts A's columns.
template <typename T = int32_t, typename U = int8_t>
__aicore__ inline void MmadWithSparse(const LocalTensor<T>& dst, const LocalTensor<U>& fm,
                                      const LocalTensor<U>& filter, const MmadParams& params,
                                      Loc loc = Loc::Here()) {
    static_assert(std::is_same<PrimT<T>, int32_t>::value && std::is_same<PrimT<U>, int8_t>::value,
                  "MmadWithSparse: int8_t gives int32_t");
    auto args = cube_detail::Convert(params);
    args.sparse = true;
    ascendc_emu::CubeMmad(dst, ascendc_emu::DType::kI32, fm, ascendc_emu::DType::kI8, filter,
                          ascendc_emu::DType::kI8, nullptr, args, loc);
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const FixpipeParamsV220& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(
        dst, ascendc_emu::kDTypeOf<PrimT<T>>, src, ascendc_emu::kDTypeOf<PrimT<U>>, nullptr,
        cube_detail::Convert(params, config.format), ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR,
          typename S = uint64_t,
          std::enable_if_t<IsSameType<PrimT<S>, uint64_t>::value, bool> = true>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<S>& table, const FixpipeParamsV220& params,
                               Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(
        dst, ascendc_emu::kDTypeOf<PrimT<T>>, src, ascendc_emu::kDTypeOf<PrimT<U>>, &table,
        cube_detail::Convert(params, config.format), ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                               const FixpipeParamsV220& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(
        dst, ascendc_emu::kDTypeOf<PrimT<T>>, src, ascendc_emu::kDTypeOf<PrimT<U>>, nullptr,
        cube_detail::Convert(params, CO2Layout::NZ), ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR,
          typename S = uint64_t,
          std::enable_if_t<IsSameType<PrimT<S>, uint64_t>::value, bool> = true>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<S>& table, const FixpipeParamsV220& params,
                               Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(
        dst, ascendc_emu::kDTypeOf<PrimT<T>>, src, ascendc_emu::kDTypeOf<PrimT<U>>, &table,
        cube_detail::Convert(params, CO2Layout::NZ), ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, typename V>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const FixpipeParams<V>& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(dst, ascendc_emu::kDTypeOf<PrimT<T>>, src,
                             ascendc_emu::kDTypeOf<PrimT<U>>, nullptr, cube_detail::Convert(params),
                             ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, typename V>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<uint64_t>& table, const FixpipeParams<V>& params,
                               Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(dst, ascendc_emu::kDTypeOf<PrimT<T>>, src,
                             ascendc_emu::kDTypeOf<PrimT<U>>, &table, cube_detail::Convert(params),
                             ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, typename V>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                               const FixpipeParams<V>& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(dst, ascendc_emu::kDTypeOf<PrimT<T>>, src,
                             ascendc_emu::kDTypeOf<PrimT<U>>, nullptr, cube_detail::Convert(params),
                             ascendc_emu::Api::kFixpipe, loc);
}
template <typename T, typename U, typename V>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<uint64_t>& table, const FixpipeParams<V>& params,
                               Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(dst, ascendc_emu::kDTypeOf<PrimT<T>>, src,
                             ascendc_emu::kDTypeOf<PrimT<U>>, &table, cube_detail::Convert(params),
                             ascendc_emu::Api::kFixpipe, loc);
}

namespace cube_detail {
inline ascendc_emu::FixpipeArgs Convert(const DataCopyCO12DstParams& p) {
    ascendc_emu::FixpipeArgs a;
    a.n = p.nSize;
    a.m = p.mSize;
    a.srcStride = p.srcStride;
    a.dstStride = p.dstStride;
    a.quant = p.quantPre;
    a.scalar = ascendc_emu::CubeFixpipeQuant();
    a.relu = p.reluPre != 0;
    a.toNd = p.nz2ndEn;
    a.channelSplit = p.channelSplit;
    a.unitFlag = p.unitFlag;
    if (p.nz2ndEn) ascendc_emu::CubeGetFixpipeNd(a);
    return a;
}
}  // namespace cube_detail

template <typename T, typename U>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                                const DataCopyCO12DstParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(dst, ascendc_emu::kDTypeOf<PrimT<T>>, src,
                             ascendc_emu::kDTypeOf<PrimT<U>>, ascendc_emu::CubeFixpipeTable(),
                             cube_detail::Convert(params), ascendc_emu::Api::kDataCopy, loc);
}
template <typename T, typename U>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                const DataCopyCO12DstParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::CubeFixpipe(dst, ascendc_emu::kDTypeOf<PrimT<T>>, src,
                             ascendc_emu::kDTypeOf<PrimT<U>>, ascendc_emu::CubeFixpipeTable(),
                             cube_detail::Convert(params), ascendc_emu::Api::kDataCopy, loc);
}

template <typename T, typename U = PrimT<T>>
__aicore__ inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& p,
                            Loc loc = Loc::Here()) {
    ascendc_emu::CubeFill(dst, ascendc_emu::kDTypeOf<PrimT<T>>, cube_detail::Bits(p.initValue),
                          p.repeatTimes, p.blockNum, p.dstGap, loc);
}
template <typename T, typename U = PrimT<T>>
__aicore__ inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& p,
                                      Loc loc = Loc::Here()) {
    Fill(dst, p, loc);
}

__aicore__ inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride,
                                           uint32_t dstNdStride) {
    ascendc_emu::CubeSetFixpipeNd(ndNum, srcNdStride, dstNdStride);
}
// The register behind it: number of ND matrices, then their source and destination strides.
__aicore__ inline void SetNdParaImpl(uint64_t config) {
    SetFixpipeNz2ndFlag(static_cast<uint16_t>(config), static_cast<uint16_t>(config >> 16),
                        static_cast<uint16_t>(config >> 32));
}
__aicore__ inline void SetFixpipePreQuantFlag(uint64_t config) {
    ascendc_emu::CubeSetFixpipeQuant(config);
}
// The table of per-channel quantisation for the next fixpipe instructions. The table of a
// per-channel leaky Relu (setRelu, reluPre) is refused.
template <typename T, bool setRelu = false>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& preData, bool isUnitFlag = false,
                                        Loc loc = Loc::Here()) {
    (void)isUnitFlag;
    if constexpr (setRelu) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "SetFixPipeConfig",
                          "a Relu factor per channel is not emulated");
    }
    ascendc_emu::CubeSetFixpipeTable(preData);
}
template <typename T>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& reluPre,
                                        const LocalTensor<T>& quantPre, bool isUnitFlag = false) {
    (void)reluPre, (void)isUnitFlag;
    ascendc_emu::CubeSetFixpipeTable(quantPre);
}
template <typename T, bool setRelu = false>
__aicore__ inline void SetFixPipeConfigImpl(const LocalTensor<T>& preData, bool isUnitFlag = false,
                                            Loc loc = Loc::Here()) {
    SetFixPipeConfig<T, setRelu>(preData, isUnitFlag, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_CUBE_API_H
