// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Internal functions of the device library that public kernels call all the same.
#ifndef ASCENDC_EMU_INTERNAL_NAMES_H
#define ASCENDC_EMU_INTERNAL_NAMES_H

#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/instruction_names.h"
#include "ascendc_emu/system_api.h"

namespace AscendC {

// Limits and factor of Tanh in float.
constexpr float FP32_MIN_V2 = -8.8f, FP32_MAX_V2 = 8.8f, DOUBLE_X = 2.0f;

template <typename T>
__aicore__ inline void TransDataTo5HDImpl(uint64_t dst[NCHW_CONV_ADDR_LIST_SIZE],
                                          uint64_t src[NCHW_CONV_ADDR_LIST_SIZE],
                                          const TransDataTo5HDParams& params,
                                          Loc loc = Loc::Here()) {
    TransDataTo5HD<T>(dst, src, params, loc);
}
template <typename T>
__aicore__ inline void TransDataTo5HDImpl(T* dst[NCHW_CONV_ADDR_LIST_SIZE],
                                          T* src[NCHW_CONV_ADDR_LIST_SIZE],
                                          const TransDataTo5HDParams& params,
                                          Loc loc = Loc::Here()) {
    uint64_t d[16], s[16];
    for (int i = 0; i < 16; ++i) {
        d[i] = reinterpret_cast<uint64_t>(dst[i]);
        s[i] = reinterpret_cast<uint64_t>(src[i]);
    }
    TransDataTo5HD<T>(d, s, params, loc);
}
template <typename T>
__aicore__ inline void DuplicateImpl(T* dst, const T& value, const int32_t& count,
                                     Loc loc = Loc::Here()) {
    Duplicate(ascendc_emu::FromPointer(dst, loc), value, count, loc);
}

template <typename T, typename Copy, typename Pad>
__aicore__ inline void DataCopyPadGm2UBImpl(T* dst, T* src, const Copy& copy, const Pad& pad,
                                            Loc loc = Loc::Here()) {
    GlobalTensor<T> from;
    from.SetGlobalBuffer(src);
    DataCopyPad(ascendc_emu::FromPointer(dst, loc), from, copy, pad, loc);
}
template <typename T, typename Copy>
__aicore__ inline void DataCopyPadUB2GMImpl(T* dst, T* src, const Copy& copy,
                                            Loc loc = Loc::Here()) {
    GlobalTensor<T> to;
    to.SetGlobalBuffer(dst);
    DataCopyPad(to, ascendc_emu::FromPointer(src, loc), copy, loc);
}

__aicore__ inline int64_t GetBlockIdxImpl() { return GetBlockIdx(); }
__aicore__ inline int64_t GetBlockNumImpl() { return GetBlockNum(); }
__aicore__ inline int64_t GetSubBlockIdxImpl() { return GetSubBlockIdx(); }
__aicore__ inline int64_t GetSubBlockNumImpl() { return GetSubBlockNum(); }
__aicore__ inline int64_t GetTaskRationImpl() { return GetTaskRation(); }

// Reductions and Duplicate with the mask register as it is. The names of the compiler's
// instructions follow below, outside the namespace.
#define OPGEN_SPAN_NAMES(API)                                                                 \
    template <typename T>                                                                     \
    __aicore__ inline void API##IntrinsicsImpl(                                               \
        T* dst, T* src, const int32_t repeat, const int32_t dstRepStride,                     \
        const int32_t srcBlkStride, const int32_t srcRepStride, Loc loc = Loc::Here()) {      \
        API<T, false>(ascendc_emu::FromPointer(dst, loc), ascendc_emu::FromPointer(src, loc), \
                      repeat, int32_t(0), dstRepStride, srcBlkStride, srcRepStride, loc);     \
    }
OPGEN_SPAN_NAMES(BlockReduceSum)
OPGEN_SPAN_NAMES(BlockReduceMax)
OPGEN_SPAN_NAMES(BlockReduceMin)
OPGEN_SPAN_NAMES(PairReduceSum)
#undef OPGEN_SPAN_NAMES
template <typename T>
__aicore__ inline void DuplicateIntrinsicsImpl(T* dst, T value, const uint8_t repeat,
                                               const uint16_t dstBlkStride,
                                               const uint8_t dstRepStride, Loc loc = Loc::Here()) {
    Duplicate<T, false>(ascendc_emu::FromPointer(dst, loc), value, uint64_t(0), repeat,
                        dstBlkStride, dstRepStride, loc);
}

// The bits of a scalar: as a number, or as a scalar of another type of the same size.
template <typename T>
__aicore__ inline uint64_t GetScalarBitcodeValue(T value) {
    return ascendc_emu::RawBits(value);
}
template <typename T, typename U>
__aicore__ inline U GetScalarBitcodeValue(T value) {
    static_assert(sizeof(T) == sizeof(U), "the bits are taken as they are");
    return ascendc_emu::BitCast<U>(value);
}

// Register access of the device library.
class AscendCUtils {
 public:
    template <typename T>
    __aicore__ static inline void SetMask(const uint64_t& high, const uint64_t& low) {
        SetVectorMask<T>(high, low);
    }
    template <typename T>
    __aicore__ static inline void SetMask(int32_t length) {
        if (ascendc_emu::Current().regs.counter)
            SetVectorMask<T, MaskMode::COUNTER>(length);
        else
            SetVectorMask<T>(length);
    }
    template <typename T>
    __aicore__ static inline void SetMaskCount() {
        AscendC::SetMaskCount();
    }
    template <typename T>
    __aicore__ static inline void SetMaskNorm() {
        AscendC::SetMaskNorm();
    }
    __aicore__ static inline void ResetMask() { AscendC::ResetMask(); }
    __aicore__ static inline int32_t GetC0Size() { return 32; }
    template <typename T>
    __aicore__ static inline int32_t GetC0Count(const int32_t dtypeSize) {
        return 32 / dtypeSize;
    }
    __aicore__ static inline int32_t GetC0Count(const int32_t dtypeSize) { return 32 / dtypeSize; }
    __aicore__ static inline int32_t GetBitSize(int32_t bytes) { return bytes * 8; }
    __aicore__ static inline int64_t GetRsvdCnt() { return GetGatherMaskRemainCount(); }
    __aicore__ static inline void SetOverflow(uint64_t) {}
};

}  // namespace AscendC

// The register behind SetPadValue: what DataCopyPad pads with.
__aicore__ inline void set_mov_pad_val(uint64_t bits) {
    ascendc_emu::Current().regs.padValue = bits;
}

namespace ascendc_emu {
struct BlockIndex {
    operator int64_t() const { return Current().group; }
};
struct BlockCount {
    operator int64_t() const { return AscendC::GetBlockNum(); }
};
}  // namespace ascendc_emu
// The compiler's variables for what get_block_idx() and get_block_num() return.
inline constexpr ascendc_emu::BlockIndex block_idx{};
inline constexpr ascendc_emu::BlockCount block_num{};

// A number of up to four parts of 16 bits, the lowest first; in a cast to a pointer the place in UB
// with that number: (__ubuf__ half*)get_imm(96).
inline ascendc_emu::UbNumber get_imm(uint64_t part0, uint64_t part1 = 0, uint64_t part2 = 0,
                                     uint64_t part3 = 0) {
    return {part0 + (part1 << 16) + (part2 << 32) + (part3 << 48)};
}

// Instructions by their compiler names, as far as public kernels use them.
// Copies to the stack of the scalar unit, from UB, GM or the stack.
inline void copy_data_align64(uint8_t* dst, const uint8_t* src, uint64_t size) {
    memcpy(dst, src, size);
}
inline void copy_data(uint8_t* dst, const uint8_t* src, uint64_t size) { memcpy(dst, src, size); }
inline void set_mask_count() { AscendC::SetMaskCount(); }
// Hints; there is no instruction cache.
inline void icache_preload(int64_t) {}
#define PRELOAD(...)
inline void set_mask_norm() { AscendC::SetMaskNorm(); }
inline void set_vector_mask(uint64_t high, uint64_t low) {
    AscendC::SetVectorMask<float>(high, low);
}
// Sum of every repeat to dst, or (accumulate) of all of them to the register get_acc_val() reads.
template <typename T>
inline void vcadd(T* dst, T* src, uint8_t repeat, uint16_t dstRepStride, uint16_t srcBlkStride,
                  uint16_t srcRepStride, bool accumulate = false,
                  ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    using namespace ascendc_emu;
    if (Current().kind == CoreKind::kAic) return;
    const auto s = FromPointer(src, loc);
    Form form = ReduceForm(0ull, repeat, dstRepStride, srcBlkStride, srcRepStride, false);
    if (accumulate) {
        RunAccumulate(kDTypeOf<T>, s, form, loc);
    } else {
        const auto d = FromPointer(dst, loc);
        RunReduce(
            {Api::kvcadd, kDTypeOf<T>, ReduceOp::kSum, ReduceSpan::kWhole, 2, &d, &s, form, loc});
    }
}
template <typename T>
inline void vcadd(decltype(nullptr), T* src, uint8_t repeat, uint16_t, uint16_t srcBlkStride,
                  uint16_t srcRepStride, bool = true,
                  ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    vcadd(static_cast<T*>(nullptr), src, repeat, 1, srcBlkStride, srcRepStride, true, loc);
}
#define OPGEN_SPAN_INSTRUCTION(NAME, API)                                                          \
    template <typename T>                                                                          \
    inline void NAME(T* dst, T* src, uint8_t repeat, uint16_t dstRepStride, uint16_t srcBlkStride, \
                     uint16_t srcRepStride, ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {     \
        AscendC::API##IntrinsicsImpl(dst, src, repeat, dstRepStride, srcBlkStride, srcRepStride,   \
                                     loc);                                                         \
    }
OPGEN_SPAN_INSTRUCTION(vcgadd, BlockReduceSum)
OPGEN_SPAN_INSTRUCTION(vcgmax, BlockReduceMax)
OPGEN_SPAN_INSTRUCTION(vcgmin, BlockReduceMin)
OPGEN_SPAN_INSTRUCTION(vcpadd, PairReduceSum)
#undef OPGEN_SPAN_INSTRUCTION
inline int64_t get_acc_val() {
    return static_cast<int64_t>(
        ascendc_emu::BitCast<uint32_t>(ascendc_emu::ResultRegisters().accValue));
}
// Of the last reduction to a maximum or minimum: the bits of the value, and its index 32 bits
// higher.
inline int64_t get_max_min_cnt() {
    const ascendc_emu::Registers& regs = ascendc_emu::ResultRegisters();
    return static_cast<int64_t>((regs.maxMinValue & 0xffffffffu) | regs.maxMinIndex << 32);
}

#endif  // ASCENDC_EMU_INTERNAL_NAMES_H
