// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Enumerations and parameter structs of the AscendC basic API. Names, values, fields and defaults
// are the documented ones (asc-devkit, docs/zh/api).
#ifndef ASCENDC_EMU_ENUMS_H
#define ASCENDC_EMU_ENUMS_H

#include "ascendc_emu/adv_config.h"
#include "ascendc_emu/compiler_enums.h"
#include "ascendc_emu/macros.h"
#include "ascendc_emu/types.h"

// Dimensions a ShapeInfo holds. A macro: programs that need no shapes define it as 0 before the
// include.
#ifndef K_MAX_SHAPE_DIM
#define K_MAX_SHAPE_DIM 8
#endif

namespace AscendC {

using TEventID = int8_t;
using TTagType = int32_t;
using TBufHandle = uint8_t*;

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX,
};
using QuePosition = TPosition;

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    MTE2_M,
    M_MTE2,
    V_MTE1,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_FIX,
    FIX_MTE2,
    FIX_S,
    M_S,
    FIX_MTE3,
    MTE1_FIX,
    FIX_MTE1,
    FIX_FIX,
    FIX_V,
    V_FIX,
    S_M,
    S_FIX,
    MTE1_S,
    S_MTE1,
    MAX,
};
enum class MemoryT : uint8_t { L1 = 0, L0A, L0B, L0C, UB, BIAS };
enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
enum class CacheMode : uint8_t {
    CACHE_MODE_DISABLE = 0,
    CACHE_MODE_NORMAL = 1,
    CACHE_MODE_LAST = 2,
    CACHE_MODE_PERSISTENT = 4
};
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };
enum class RoundMode : uint8_t {
    CAST_NONE = 0,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
    CAST_HYBRID,
    CAST_EVEN = CAST_RINT,
    CAST_ZERO = CAST_TRUNC
};
enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t {
    VSEL_CMPMASK_SPR = 0,
    VSEL_TENSOR_SCALAR_MODE,
    VSEL_TENSOR_TENSOR_MODE
};
enum class BlockMode : uint8_t {
    BLOCK_MODE_NORMAL = 0,
    BLOCK_MODE_MATRIX,
    BLOCK_MODE_VECTOR,
    BLOCK_MODE_SMALL_CHANNEL,
    BLOCK_MODE_DEPTHWISE
};
enum class DeqScale : uint8_t { DEQ_NONE = 0, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
enum class ReduceMode : uint8_t { REDUCE_MAX = 0, REDUCE_MIN, REDUCE_SUM };
enum class ReduceType { NONE = -1, SUM = 0, MAX, MIN };
enum class ReduceOrder : uint8_t {
    ORDER_VALUE_INDEX = 0,
    ORDER_INDEX_VALUE,
    ORDER_ONLY_VALUE,
    ORDER_ONLY_INDEX
};
enum class CLAMPMODE { CLAMP_MAX = 0, CLAMP_MIN };
enum class GatherMaskMode : uint8_t { VERSION_V1 = 0, VERSION_V2 = 1 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;
constexpr GatherMaskMode defaultGahterMaskMode = GatherMaskMode::VERSION_V2;
enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW
};
enum class AtomicDtype {
    ATOMIC_NONE = 0,
    ATOMIC_F32,
    ATOMIC_F16,
    ATOMIC_S16,
    ATOMIC_S32,
    ATOMIC_S8,
    ATOMIC_BF16
};
enum class AtomicOp { ATOMIC_SUM = 0 };
enum class TBufState : uint8_t { FREE = 0, OCCUPIED, ENQUE, DEQUE };
enum class HF32Mode : uint8_t { DISABLE = 0, ENABLE };
enum class HF32TransMode : uint8_t { NEAREST_EVEN = 0, NEAREST_ZERO };

// Sizes of the vector unit.
#ifndef ASCC_PARAM_ONE_BLK_SIZE
#define ASCC_PARAM_ONE_BLK_SIZE
constexpr int32_t ONE_BLK_SIZE = 32;
#endif
constexpr int32_t DEFAULT_C0_SIZE = 32;
constexpr int32_t BYTE_PER_FRACTAL = 512;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
constexpr uint8_t HALF_DEFAULT_REPEAT_STRIDE = 4;
constexpr uint16_t DEFAULT_DATA_COPY_NBURST = 1;
constexpr uint16_t DEFAULT_DATA_COPY_STRIDE = 0;
constexpr int32_t ONE_REPEAT_BYTE_SIZE = 256;
constexpr int32_t ONE_BYTE_BIT_SIZE = 8;
constexpr int32_t MAX_REPEAT_TIMES = 255;
constexpr int32_t MAX_HALF_MASK_LEN = 64;
constexpr int32_t B16_BYTE_SIZE = 2;
constexpr int32_t B32_BYTE_SIZE = 4;
constexpr int32_t B64_BYTE_SIZE = 8;
constexpr int32_t B8_BYTE_SIZE = 1;
constexpr int32_t ONE_BLK_FLOAT_NUM = 8;
constexpr int32_t ONE_BLK_HALF_NUM = 16;
constexpr int32_t ONE_REPEAT_FLOAT_SIZE = 64;
constexpr int32_t ONE_REPEAT_HALF_SIZE = 128;
constexpr uint64_t FULL_MASK = 0xffffffffffffffffull;
constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};
constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;
constexpr int32_t VDEQ_TENSOR_SIZE = 16;
constexpr int32_t K_MAX_DIM = 8;
constexpr int32_t QUE_MAX_EVENT = 8;
constexpr TEventID INVALID_TEVENTID = static_cast<TEventID>(-1);
constexpr int32_t TOTAL_UB_SIZE = 192 * 1024;
constexpr int32_t TMP_UB_SIZE = 8 * 1024;
constexpr int32_t TOTAL_L1_SIZE = 512 * 1024;
constexpr int32_t TOTAL_L0A_SIZE = 64 * 1024;
constexpr int32_t TOTAL_L0B_SIZE = 64 * 1024;
constexpr int32_t TOTAL_L0C_SIZE = 128 * 1024;
#ifndef ASCC_PARAM_BLOCK_CUBE
#define ASCC_PARAM_BLOCK_CUBE
constexpr uint32_t BLOCK_CUBE = 16;
#endif
#ifndef ASCC_PARAM_CUBE_MAX_SIZE
#define ASCC_PARAM_CUBE_MAX_SIZE
constexpr uint32_t CUBE_MAX_SIZE = 256;
#endif
constexpr uint32_t MIX_NUM = 2;

struct BinaryRepeatParams {
    __aicore__ constexpr BinaryRepeatParams() {}
    __aicore__ constexpr BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk,
                                            uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dstBlk),
          src0BlkStride(src0Blk),
          src1BlkStride(src1Blk),
          dstRepStride(dstRep),
          src0RepStride(src0Rep),
          src1RepStride(src1Rep) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint8_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct UnaryRepeatParams {
    __aicore__ constexpr UnaryRepeatParams() {}
    __aicore__ constexpr UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep,
                                           uint8_t srcRep, bool halfBlockIn = false)
        : dstBlkStride(dstBlk),
          srcBlkStride(srcBlk),
          dstRepStride(dstRep),
          srcRepStride(srcRep),
          halfBlock(halfBlockIn) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint16_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint16_t srcBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t srcRepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
    bool halfBlock = false;
};

struct BrcbRepeatParams {
    __aicore__ constexpr BrcbRepeatParams() {}
    __aicore__ constexpr BrcbRepeatParams(uint16_t dstBlk, uint16_t dstRep)
        : dstRepStride(dstRep), dstBlkStride(dstBlk) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint16_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint16_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct GatherRepeatParams {
    __aicore__ constexpr GatherRepeatParams() {}
    __aicore__ constexpr GatherRepeatParams(uint8_t dstBlk, uint8_t dstRep)
        : dstRepStride(dstRep), dstBlkStride(dstBlk) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint16_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint8_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct GatherMaskParams {
    __aicore__ constexpr GatherMaskParams() {}
    __aicore__ constexpr GatherMaskParams(uint8_t src0Block, uint16_t repeat, uint16_t src0Repeat,
                                          uint8_t src1Repeat)
        : src0BlockStride(src0Block),
          repeatTimes(repeat),
          src0RepeatStride(src0Repeat),
          src1RepeatStride(src1Repeat) {}
    uint8_t src0BlockStride = DEFAULT_BLK_STRIDE;
    uint16_t repeatTimes = 0;
    uint16_t src0RepeatStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepeatStride = DEFAULT_REPEAT_STRIDE;
};

struct CopyRepeatParams {
    __aicore__ constexpr CopyRepeatParams() {}
    __aicore__ constexpr CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRepeat,
                                          uint16_t srcRepeat)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat) {}
    uint16_t dstStride = DEFAULT_DATA_COPY_STRIDE;
    uint16_t srcStride = DEFAULT_DATA_COPY_STRIDE;
    uint16_t dstRepeatSize = DEFAULT_REPEAT_STRIDE;
    uint16_t srcRepeatSize = DEFAULT_REPEAT_STRIDE;
};

struct DataCopyParams {
    __aicore__ constexpr DataCopyParams() {}
    __aicore__ constexpr DataCopyParams(uint16_t count, uint16_t len, uint16_t src, uint16_t dst)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst) {}
    uint16_t blockCount = DEFAULT_DATA_COPY_NBURST;
    uint16_t blockLen = 0;
    union {
        uint16_t srcStride = DEFAULT_DATA_COPY_STRIDE;
        uint16_t srcGap;
    };
    union {
        uint16_t dstStride = DEFAULT_DATA_COPY_STRIDE;
        uint16_t dstGap;
    };
};

struct DataCopyEnhancedParams {
    __aicore__ constexpr DataCopyEnhancedParams() {}
    __aicore__ constexpr DataCopyEnhancedParams(BlockMode block, DeqScale deq, uint64_t value,
                                                uint8_t sid, bool relu, pad_t pad, uint64_t padVal)
        : blockMode(block),
          deqScale(deq),
          deqValue(value),
          sidStoreMode(sid),
          isRelu(relu),
          padMode(pad),
          padValue(padVal) {}
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    pad_t padMode = pad_t::PAD_NONE;
    uint64_t padValue = 0;
    uint64_t deqTensorAddr = 0;
};

struct DataCopyCO12DstParams {
    __aicore__ constexpr DataCopyCO12DstParams() {}
    __aicore__ constexpr DataCopyCO12DstParams(uint16_t n, uint16_t m, uint32_t dst, uint16_t src,
                                               QuantMode_t quant, uint8_t relu, bool split,
                                               bool nz2nd)
        : nSize(n),
          mSize(m),
          dstStride(dst),
          srcStride(src),
          quantPre(quant),
          reluPre(relu),
          channelSplit(split),
          nz2ndEn(nz2nd) {}
    uint8_t sid = 0;
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint32_t dstStride = DEFAULT_DATA_COPY_STRIDE;
    uint16_t srcStride = DEFAULT_DATA_COPY_STRIDE;
    uint8_t unitFlag = 0;
    uint8_t clipReluPre = 0;
    uint8_t eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false;
    bool nz2ndEn = false;
};

struct DataCopyPadParams {
    __aicore__ constexpr DataCopyPadParams() {}
    __aicore__ constexpr DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    uint64_t paddingValue = 0;
};

struct DataCopyExtParams {
    __aicore__ constexpr DataCopyExtParams() {}
    __aicore__ constexpr DataCopyExtParams(uint16_t count, uint32_t len, uint32_t src, uint32_t dst,
                                           uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(reserved) {}
    uint16_t blockCount = DEFAULT_DATA_COPY_NBURST;
    uint32_t blockLen = 0;
    uint32_t srcStride = DEFAULT_DATA_COPY_STRIDE;
    uint32_t dstStride = DEFAULT_DATA_COPY_STRIDE;
    uint32_t rsv = 0;
};

template <typename T>
struct DataCopyPadExtParams {
    __aicore__ constexpr DataCopyPadExtParams() {}
    __aicore__ constexpr DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    // A number for an element type that none converts to (int4b_t).
    template <typename V,
              std::enable_if_t<std::is_arithmetic<V>::value && !std::is_convertible<V, T>::value,
                               bool> = true>
    __aicore__ constexpr DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, V value)
        : isPad(pad),
          leftPadding(left),
          rightPadding(right),
          paddingValue{static_cast<int8_t>(value)} {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    T paddingValue = T();
};

struct Nd2NzParams {
    __aicore__ constexpr Nd2NzParams() {}
    __aicore__ constexpr Nd2NzParams(uint16_t nd, uint16_t n, uint16_t d, uint16_t srcNd,
                                     uint16_t srcD, uint16_t c0Stride, uint16_t nStride,
                                     uint16_t matrixStride)
        : ndNum(nd),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(srcNd),
          srcDValue(srcD),
          dstNzC0Stride(c0Stride),
          dstNzNStride(nStride),
          dstNzMatrixStride(matrixStride) {}
    uint16_t ndNum = 0;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 0;
    uint16_t srcDValue = 0;
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    uint16_t dstNzMatrixStride = 0;
};

struct Nz2NdParamsFull {
    __aicore__ constexpr Nz2NdParamsFull() {}
    __aicore__ constexpr Nz2NdParamsFull(uint16_t nd, uint16_t n, uint16_t d, uint16_t srcNd,
                                         uint16_t srcN, uint16_t dstD, uint16_t dstNd)
        : ndNum(nd),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(srcNd),
          srcNStride(srcN),
          dstDStride(dstD),
          dstNdMatrixStride(dstNd) {}
    uint16_t ndNum = 1;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 1;
    uint16_t srcNStride = 0;
    uint16_t dstDStride = 0;
    uint16_t dstNdMatrixStride = 1;
};

struct SliceInfo {
    __aicore__ constexpr SliceInfo() {}
    __aicore__ constexpr SliceInfo(uint32_t start, uint32_t end, uint32_t strideIn, uint32_t burst,
                                   uint32_t shape = 0)
        : startIndex(start), endIndex(end), stride(strideIn), burstLen(burst), shapeValue(shape) {}
    uint32_t startIndex = 0;
    uint32_t endIndex = ONE_BLK_SIZE - 1;
    uint32_t stride = 0;
    uint32_t burstLen = ONE_BLK_SIZE;
    uint32_t shapeValue = 0;
};

struct TransDataTo5HDParams {
    __aicore__ constexpr TransDataTo5HDParams() {}
    __aicore__ constexpr TransDataTo5HDParams(bool dstHigh, bool srcHigh, uint8_t repeat,
                                              uint16_t dstRep, uint16_t srcRep)
        : dstHighHalf(dstHigh),
          srcHighHalf(srcHigh),
          repeatTimes(repeat),
          dstRepStride(dstRep),
          srcRepStride(srcRep) {}
    bool dstHighHalf = false;
    bool srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0;
    uint16_t srcRepStride = 0;
};

struct TransposeParamsExt {
    __aicore__ constexpr TransposeParamsExt() {}
    __aicore__ constexpr TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w,
                                            TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
    uint16_t nSize = 0;
    uint16_t cSize = 0;
    uint16_t hSize = 0;
    uint16_t wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

struct VdeqInfo {
    __aicore__ constexpr VdeqInfo() {}
    __aicore__ constexpr VdeqInfo(const float scale[VDEQ_TENSOR_SIZE],
                                  const int16_t offset[VDEQ_TENSOR_SIZE],
                                  const bool sign[VDEQ_TENSOR_SIZE]) {
        for (int32_t i = 0; i < VDEQ_TENSOR_SIZE; ++i) {
            vdeqScale[i] = scale[i];
            vdeqOffset[i] = offset[i];
            vdeqSignMode[i] = sign[i];
        }
    }
    float vdeqScale[VDEQ_TENSOR_SIZE] = {0};
    int16_t vdeqOffset[VDEQ_TENSOR_SIZE] = {0};
    bool vdeqSignMode[VDEQ_TENSOR_SIZE] = {0};
};

struct MrgSort4Info {
    __aicore__ constexpr MrgSort4Info() {}
    __aicore__ constexpr MrgSort4Info(const uint16_t lengths[MRG_SORT_ELEMENT_LEN], bool suspend,
                                      uint16_t valid, uint16_t repeat)
        : ifExhaustedSuspension(suspend),
          validBit(valid),
          repeatTimes(static_cast<uint8_t>(repeat)) {
        for (int32_t i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) elementLengths[i] = lengths[i];
    }
    uint16_t elementLengths[MRG_SORT_ELEMENT_LEN] = {0};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint8_t repeatTimes = 1;
};

template <bool condition, typename A, typename B>
struct Conditional {
    using type = A;
};
template <typename A, typename B>
struct Conditional<false, A, B> {
    using type = B;
};
template <bool b>
struct BoolInst {
    using Type = BoolInst<b>;
    static constexpr bool value = b;
};
using TrueType = BoolInst<true>;
using FalseType = BoolInst<false>;
template <typename T, typename U>
struct IsSameType : public BoolInst<std::is_same<T, U>::value> {};
template <typename... Args>
struct Tuple {};

}  // namespace AscendC

namespace ascendc_emu {

// Memory behind a logical position; unified cores (arch 2002) have CO2 in UB.
constexpr Mem MemOf(AscendC::TPosition pos, bool unified) {
    using P = AscendC::TPosition;
    switch (pos) {
        case P::GM:
            return Mem::kGm;
        case P::CO2:
            return unified ? Mem::kUb : Mem::kGm;
        case P::A1:
        case P::B1:
        case P::C1:
        case P::SPM:
        case P::TSCM:
            return Mem::kL1;
        case P::A2:
            return Mem::kL0a;
        case P::B2:
            return Mem::kL0b;
        case P::C2:
            return Mem::kBt;
        case P::CO1:
            return Mem::kL0c;
        case P::C2PIPE2GM:
        case P::C2PIPE2LOCAL:
            return Mem::kFb;
        default:
            return Mem::kUb;
    }
}

struct PipePair {
    Pipe src, dst;
};

// Source and destination pipe of a HardEvent. One case per event: the enum's order says nothing.
constexpr PipePair PipesOf(AscendC::HardEvent e) {
    using E = AscendC::HardEvent;
    switch (e) {
        case E::MTE2_MTE1:
            return {Pipe::kMte2, Pipe::kMte1};
        case E::MTE1_MTE2:
            return {Pipe::kMte1, Pipe::kMte2};
        case E::MTE1_M:
            return {Pipe::kMte1, Pipe::kM};
        case E::M_MTE1:
            return {Pipe::kM, Pipe::kMte1};
        case E::MTE2_V:
            return {Pipe::kMte2, Pipe::kV};
        case E::V_MTE2:
            return {Pipe::kV, Pipe::kMte2};
        case E::MTE3_V:
            return {Pipe::kMte3, Pipe::kV};
        case E::V_MTE3:
            return {Pipe::kV, Pipe::kMte3};
        case E::M_V:
            return {Pipe::kM, Pipe::kV};
        case E::V_M:
            return {Pipe::kV, Pipe::kM};
        case E::V_V:
            return {Pipe::kV, Pipe::kV};
        case E::MTE3_MTE1:
            return {Pipe::kMte3, Pipe::kMte1};
        case E::MTE1_MTE3:
            return {Pipe::kMte1, Pipe::kMte3};
        case E::MTE1_V:
            return {Pipe::kMte1, Pipe::kV};
        case E::MTE2_M:
            return {Pipe::kMte2, Pipe::kM};
        case E::M_MTE2:
            return {Pipe::kM, Pipe::kMte2};
        case E::V_MTE1:
            return {Pipe::kV, Pipe::kMte1};
        case E::M_FIX:
            return {Pipe::kM, Pipe::kFix};
        case E::FIX_M:
            return {Pipe::kFix, Pipe::kM};
        case E::MTE3_MTE2:
            return {Pipe::kMte3, Pipe::kMte2};
        case E::MTE2_MTE3:
            return {Pipe::kMte2, Pipe::kMte3};
        case E::S_V:
            return {Pipe::kS, Pipe::kV};
        case E::V_S:
            return {Pipe::kV, Pipe::kS};
        case E::S_MTE2:
            return {Pipe::kS, Pipe::kMte2};
        case E::MTE2_S:
            return {Pipe::kMte2, Pipe::kS};
        case E::S_MTE3:
            return {Pipe::kS, Pipe::kMte3};
        case E::MTE3_S:
            return {Pipe::kMte3, Pipe::kS};
        case E::MTE2_FIX:
            return {Pipe::kMte2, Pipe::kFix};
        case E::FIX_MTE2:
            return {Pipe::kFix, Pipe::kMte2};
        case E::FIX_S:
            return {Pipe::kFix, Pipe::kS};
        case E::M_S:
            return {Pipe::kM, Pipe::kS};
        case E::FIX_MTE3:
            return {Pipe::kFix, Pipe::kMte3};
        case E::MTE1_FIX:
            return {Pipe::kMte1, Pipe::kFix};
        case E::FIX_MTE1:
            return {Pipe::kFix, Pipe::kMte1};
        case E::FIX_V:
            return {Pipe::kFix, Pipe::kV};
        case E::V_FIX:
            return {Pipe::kV, Pipe::kFix};
        case E::S_M:
            return {Pipe::kS, Pipe::kM};
        case E::S_FIX:
            return {Pipe::kS, Pipe::kFix};
        case E::MTE1_S:
            return {Pipe::kMte1, Pipe::kS};
        case E::S_MTE1:
            return {Pipe::kS, Pipe::kMte1};
        default:
            return {Pipe::kFix, Pipe::kFix};
    }
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_ENUMS_H
