// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Vector instructions that use the scale of SetDeqScale. Source: asc-devkit docs, basic API /
// compound computation (CastDequant, AddDeqRelu).
#ifndef ASCENDC_EMU_DEQUANT_API_H
#define ASCENDC_EMU_DEQUANT_API_H

#include "ascendc_emu/vector_api.h"

namespace ascendc_emu {

// int16 -> int8 (signed scale) or uint8: src * scale + offset, rounded to nearest even, saturated.
// 16 sources fill one half of a 32-byte block of dst; the other half keeps its content.
struct CastDequantCall {
    Api api;
    DType dt;
    const TensorRef* dst;
    const TensorRef* src;
    bool vector;     // parameter i % 16 of the table that SetDeqScale wrote, else the register
    bool upperHalf;  // bytes 16..31 of a block
    Form form;
    Loc loc;
};
void RunCastDequant(const CastDequantCall& call);

}  // namespace ascendc_emu

namespace AscendC {

namespace dequant_detail {
template <typename D, typename S, bool isVecDeq, bool halfBlock>
inline void CastDequant(ascendc_emu::Api api, const LocalTensor<D>& dst, const LocalTensor<S>& src,
                        const ascendc_emu::Form& form, Loc loc) {
    using namespace ascendc_emu;
    constexpr DType to = kDTypeOf<PrimT<D>>, from = kDTypeOf<PrimT<S>>;
    static_assert((from == DType::kI32 && to == DType::kF16) ||
                      (from == DType::kI16 && (to == DType::kI8 || to == DType::kU8)),
                  "CastDequant on arch 2201: int32_t -> half, int16_t -> int8_t, uint8_t");
    if constexpr (from == DType::kI32) {
        RunVector({api, to, from, 0, &dst, &src, nullptr, 0, form, loc});
    } else {
        RunCastDequant({api, to, &dst, &src, isVecDeq, halfBlock, form, loc});
    }
}
}  // namespace dequant_detail

#define OPGEN_CAST_DEQUANT(NAME)                                                                 \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true,               \
              bool halfBlock = true>                                                             \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const int32_t mask, uint8_t repeat,                              \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        dequant_detail::CastDequant<T, U, isVecDeq, halfBlock>(                                  \
            ascendc_emu::Api::k##NAME, dst, src,                                                 \
            ascendc_emu::MaskForm(static_cast<uint64_t>(mask), repeat, params, isSetMask), loc); \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true,               \
              bool halfBlock = true>                                                             \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const uint64_t mask[], uint8_t repeat,                           \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        dequant_detail::CastDequant<T, U, isVecDeq, halfBlock>(                                  \
            ascendc_emu::Api::k##NAME, dst, src,                                                 \
            ascendc_emu::BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<U>)), loc);      \
    }                                                                                            \
    template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>               \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const uint32_t count, Loc loc = Loc::Here()) {                   \
        dequant_detail::CastDequant<T, U, isVecDeq, halfBlock>(                                  \
            ascendc_emu::Api::k##NAME, dst, src, ascendc_emu::CountForm(count), loc);            \
    }
OPGEN_CAST_DEQUANT(CastDequant)
OPGEN_CAST_DEQUANT(CastDeq)
#undef OPGEN_CAST_DEQUANT

namespace dequant_detail {
template <typename D, typename S>
inline void AddDeqRelu(const LocalTensor<D>& dst, const LocalTensor<S>& src0,
                       const LocalTensor<S>& src1, const ascendc_emu::Form& form, Loc loc) {
    using namespace ascendc_emu;
    static_assert(kDTypeOf<PrimT<S>> == DType::kI32 && kDTypeOf<PrimT<D>> == DType::kF16,
                  "AddDeqRelu on arch 2201: int32_t -> half");
    RunVector({Api::kAddDeqRelu, DType::kF16, DType::kI32, 0, &dst, &src0, &src1, 0, form, loc});
}
}  // namespace dequant_detail

// dst[i] = max(half((src0[i] + src1[i]) * scale), 0).
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                                  const LocalTensor<U>& src1, uint64_t mask, const uint8_t repeat,
                                  const BinaryRepeatParams& params, Loc loc = Loc::Here()) {
    dequant_detail::AddDeqRelu(dst, src0, src1,
                               ascendc_emu::MaskForm(mask, repeat, params, isSetMask), loc);
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                                  const LocalTensor<U>& src1, const uint64_t mask[],
                                  const uint8_t repeat, const BinaryRepeatParams& params,
                                  Loc loc = Loc::Here()) {
    dequant_detail::AddDeqRelu(dst, src0, src1,
                               ascendc_emu::BitsForm(mask, repeat, params, isSetMask, 4), loc);
}
template <bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                  const LocalTensor<int32_t>& src1, uint64_t mask,
                                  const uint8_t repeat, const BinaryRepeatParams& params,
                                  Loc loc = Loc::Here()) {
    AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeat, params, loc);
}
template <bool isSetMask = true>
__aicore__ inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                  const LocalTensor<int32_t>& src1, const uint64_t mask[],
                                  const uint8_t repeat, const BinaryRepeatParams& params,
                                  Loc loc = Loc::Here()) {
    AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeat, params, loc);
}
template <typename T, typename U>
__aicore__ inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                                  const LocalTensor<U>& src1, const int32_t& count,
                                  Loc loc = Loc::Here()) {
    dequant_detail::AddDeqRelu(dst, src0, src1, ascendc_emu::CountForm(count), loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_DEQUANT_API_H
