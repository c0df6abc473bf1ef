// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Lane-wise vector instructions. Each API has three forms: bit mask, contiguous mask (or counter
// mode), element count. Types not supported by arch 2201 are refused at compile time. The regular
// ones are a macro per form, OPGEN_UNARY for `unary`; which APIs have a form, and for which types,
// stands in the table of instructions (emulation/instructions.csv).
#ifndef ASCENDC_EMU_VECTOR_API_H
#define ASCENDC_EMU_VECTOR_API_H

#include "ascendc_emu/vector.h"

// Compile-time refusal of element types the device does not have; names op, arch and types. The
// table of instructions has the types, a macro OPGEN_TYPES_<API> here.
#include "ascendc_emu/element_types.inc"
#define OPGEN_TEXT(...) #__VA_ARGS__
#define OPGEN_TYPES_TEXT(...) OPGEN_TEXT(__VA_ARGS__)
#define OPGEN_REQUIRE_TYPE(NAME, T)                                                             \
    static_assert(                                                                              \
        ::ascendc_emu::IsOneOf<PrimT<T>, OPGEN_TYPES_##NAME>,                                   \
        #NAME " does not support this element type on arch 2201; supported: " OPGEN_TYPES_TEXT( \
            OPGEN_TYPES_##NAME))

namespace AscendC {

// Kernels also pass these functions as template arguments of type void(const LocalTensor<T>&, ...,
// const int32_t&). The overload with an empty pack has exactly that type; in calls the one with the
// source position is more specialised and wins.

// dst[i] = op(src0[i], src1[i]).
#define OPGEN_BINARY_MASKED(NAME)                                                                  \
    template <typename T, bool isSetMask = true, typename... None,                                 \
              std::enable_if_t<sizeof...(None) == 0, bool> = true>                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, uint64_t mask, const uint8_t repeat,   \
                                const BinaryRepeatParams& params, None...) {                       \
        NAME<T, isSetMask>(dst, src0, src1, mask, repeat, params, Loc());                          \
    }                                                                                              \
    template <typename T, typename... None, std::enable_if_t<sizeof...(None) == 0, bool> = true>   \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, const int32_t& count, None...) {       \
        NAME(dst, src0, src1, count, Loc());                                                       \
    }                                                                                              \
    template <typename T, bool isSetMask = true>                                                   \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, uint64_t mask, const uint8_t repeat,   \
                                const BinaryRepeatParams& params, Loc loc = Loc::Here()) {         \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                               \
        using namespace ascendc_emu;                                                               \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src0, &src1, 0, \
                   MaskForm(mask, repeat, params, isSetMask), loc});                               \
    }                                                                                              \
    template <typename T, bool isSetMask = true>                                                   \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, const uint64_t mask[],                 \
                                const uint8_t repeat, const BinaryRepeatParams& params,            \
                                Loc loc = Loc::Here()) {                                           \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                               \
        using namespace ascendc_emu;                                                               \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src0, &src1, 0, \
                   BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), loc});             \
    }

// The count form; a type that the API does not have is processed as OTHER (void: refused).
#define OPGEN_BINARY_COUNT(NAME, OTHER)                                                           \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,            \
                                const LocalTensor<T>& src1, const int32_t& count,                 \
                                Loc loc = Loc::Here()) {                                          \
        using namespace ascendc_emu;                                                              \
        constexpr bool own = IsOneOf<PrimT<T>, OPGEN_TYPES_##NAME> || std::is_void<OTHER>::value; \
        using E = std::conditional_t<own, PrimT<T>, OTHER>;                                       \
        OPGEN_REQUIRE_TYPE(NAME, E);                                                              \
        RunVector({Api::k##NAME, kDTypeOf<E>, kDTypeOf<E>, 0, &dst, &src0, &src1, 0,              \
                   CountForm(count), loc});                                                       \
    }

#define OPGEN_BINARY(NAME)    \
    OPGEN_BINARY_MASKED(NAME) \
    OPGEN_BINARY_COUNT(NAME, void)
// Tensors of any type in the count form; count then counts 16-bit words, as in CANN.
#define OPGEN_BINARY_WORDS(NAME) \
    OPGEN_BINARY_MASKED(NAME)    \
    OPGEN_BINARY_COUNT(NAME, int16_t)

// dst[i] = op(dst[i], src0[i], src1[i]); half sources may go into float.
#define OPGEN_BINARY_MIXED(NAME)                                                                   \
    template <typename T, typename U, bool isSetMask = true>                                       \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0,             \
                                const LocalTensor<U>& src1, uint64_t mask, const uint8_t repeat,   \
                                const BinaryRepeatParams& params, Loc loc = Loc::Here()) {         \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                               \
        using namespace ascendc_emu;                                                               \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, 0, &dst, &src0, &src1, 0, \
                   MaskForm(mask, repeat, params, isSetMask), loc});                               \
    }                                                                                              \
    template <typename T, typename U, bool isSetMask = true>                                       \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0,             \
                                const LocalTensor<U>& src1, const uint64_t mask[],                 \
                                const uint8_t repeat, const BinaryRepeatParams& params,            \
                                Loc loc = Loc::Here()) {                                           \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                               \
        using namespace ascendc_emu;                                                               \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, 0, &dst, &src0, &src1, 0, \
                   BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), loc});             \
    }                                                                                              \
    template <typename T, typename U>                                                              \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0,             \
                                const LocalTensor<U>& src1, const int32_t& count,                  \
                                Loc loc = Loc::Here()) {                                           \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                               \
        using namespace ascendc_emu;                                                               \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, 0, &dst, &src0, &src1, 0, \
                   CountForm(count), loc});                                                        \
    }

// dst[i] = op(src[i]).
#define OPGEN_UNARY(NAME)                                                                        \
    template <typename T, bool isSetMask = true, typename... None,                               \
              std::enable_if_t<sizeof...(None) == 0, bool> = true>                               \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                uint64_t mask, const uint8_t repeat,                             \
                                const UnaryRepeatParams& params, None...) {                      \
        NAME<T, isSetMask>(dst, src, mask, repeat, params, Loc());                               \
    }                                                                                            \
    template <typename T, typename... None, std::enable_if_t<sizeof...(None) == 0, bool> = true> \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const int32_t& count, None...) {                                 \
        NAME(dst, src, count, Loc());                                                            \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                uint64_t mask, const uint8_t repeat,                             \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   0, MaskForm(mask, repeat, params, isSetMask), loc});                          \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const uint64_t mask[], const uint8_t repeat,                     \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   0, BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), loc});        \
    }                                                                                            \
    template <typename T>                                                                        \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const int32_t& count, Loc loc = Loc::Here()) {                   \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   0, CountForm(count), loc});                                                   \
    }

// dst[i] = op(src[i], scalar). As on the device the scalar must have the tensor's element type
// unless the template argument is given.
#define OPGEN_SCALAR(NAME)                                                                       \
    template <typename T, bool isSetMask = true, typename... None,                               \
              std::enable_if_t<sizeof...(None) == 0, bool> = true>                               \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const T& scalar, uint64_t mask, const uint8_t repeat,            \
                                const UnaryRepeatParams& params, None...) {                      \
        NAME<T, isSetMask>(dst, src, scalar, mask, repeat, params, Loc());                       \
    }                                                                                            \
    template <typename T, bool isSetMask = true, typename... None,                               \
              std::enable_if_t<sizeof...(None) == 0, bool> = true>                               \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const T& scalar, const int32_t& count, None...) {                \
        NAME<T, isSetMask>(dst, src, scalar, count, Loc());                                      \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const T& scalar, uint64_t mask, const uint8_t repeat,            \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        const PrimT<T> value = scalar;                                                           \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   RawBits(value), MaskForm(mask, repeat, params, isSetMask), loc});             \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const T& scalar, const uint64_t mask[], const uint8_t repeat,    \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        const PrimT<T> value = scalar;                                                           \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   RawBits(value), BitsForm(mask, repeat, params, isSetMask, sizeof(value)),     \
                   loc});                                                                        \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const T& scalar, const int32_t& count, Loc loc = Loc::Here()) {  \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        const PrimT<T> value = scalar;                                                           \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   RawBits(value), CountForm(count), loc});                                      \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true,                                     \
              std::enable_if_t<IsSameType<PrimT<T>, U>::value, bool> = true>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const U& scalar, uint64_t mask, const uint8_t repeat,            \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        const PrimT<T> value = scalar;                                                           \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   RawBits(value), MaskForm(mask, repeat, params, isSetMask), loc});             \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true,                                     \
              std::enable_if_t<IsSameType<PrimT<T>, U>::value, bool> = true>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const U& scalar, const uint64_t mask[], const uint8_t repeat,    \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        const PrimT<T> value = scalar;                                                           \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   RawBits(value), BitsForm(mask, repeat, params, isSetMask, sizeof(value)),     \
                   loc});                                                                        \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true,                                     \
              std::enable_if_t<IsSameType<PrimT<T>, U>::value, bool> = true>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const U& scalar, const int32_t& count, Loc loc = Loc::Here()) {  \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        const PrimT<T> value = scalar;                                                           \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, \
                   RawBits(value), CountForm(count), loc});                                      \
    }

// dst[i] = src[i] >> scalar; roundEn adds the last bit shifted out (signed types).
template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const T& scalar, uint64_t mask, const uint8_t repeat,
                                  const UnaryRepeatParams& params, bool roundEn = false,
                                  Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ShiftRight, T);
    using namespace ascendc_emu;
    RunVector({Api::kShiftRight, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>,
               static_cast<uint8_t>(roundEn), &dst, &src, nullptr, RawBits(scalar),
               MaskForm(mask, repeat, params, isSetMask), loc});
}
template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const T& scalar, const uint64_t mask[], const uint8_t repeat,
                                  const UnaryRepeatParams& params, bool roundEn = false,
                                  Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ShiftRight, T);
    using namespace ascendc_emu;
    RunVector({Api::kShiftRight, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>,
               static_cast<uint8_t>(roundEn), &dst, &src, nullptr, RawBits(scalar),
               BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), loc});
}
template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const T& scalar, const int32_t& count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ShiftRight, T);
    using namespace ascendc_emu;
    RunVector({Api::kShiftRight, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr,
               RawBits(scalar), CountForm(count), loc});
}

// The same with the scalar's type spelled out, for tensors of a TensorTrait.
template <typename T, typename U, bool isSetMask = true,
          std::enable_if_t<IsSameType<PrimT<T>, U>::value, bool> = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const U& scalar, uint64_t mask, const uint8_t repeat,
                                  const UnaryRepeatParams& params, bool roundEn = false,
                                  Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ShiftRight, T);
    using namespace ascendc_emu;
    RunVector({Api::kShiftRight, kDTypeOf<U>, kDTypeOf<U>, static_cast<uint8_t>(roundEn), &dst,
               &src, nullptr, RawBits(scalar), MaskForm(mask, repeat, params, isSetMask), loc});
}
template <typename T, typename U, bool isSetMask = true,
          std::enable_if_t<IsSameType<PrimT<T>, U>::value, bool> = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const U& scalar, const uint64_t mask[], const uint8_t repeat,
                                  const UnaryRepeatParams& params, bool roundEn = false,
                                  Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ShiftRight, T);
    using namespace ascendc_emu;
    RunVector({Api::kShiftRight, kDTypeOf<U>, kDTypeOf<U>, static_cast<uint8_t>(roundEn), &dst,
               &src, nullptr, RawBits(scalar), BitsForm(mask, repeat, params, isSetMask, sizeof(U)),
               loc});
}
template <typename T, typename U, bool isSetMask = true,
          std::enable_if_t<IsSameType<PrimT<T>, U>::value, bool> = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const U& scalar, const int32_t& count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ShiftRight, T);
    using namespace ascendc_emu;
    RunVector({Api::kShiftRight, kDTypeOf<U>, kDTypeOf<U>, 0, &dst, &src, nullptr, RawBits(scalar),
               CountForm(count), loc});
}

// dst[i] = op(dst[i], src[i], scalar); half sources may go into float.
#define OPGEN_SCALAR_MIXED(NAME)                                                                 \
    template <typename T, typename U, bool isSetMask = true>                                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const U& scalar, uint64_t mask, const uint8_t repeat,            \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, 0, &dst, &src, nullptr, \
                   RawBits(scalar), MaskForm(mask, repeat, params, isSetMask), loc});            \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const U& scalar, const uint64_t mask[], const uint8_t repeat,    \
                                const UnaryRepeatParams& params, Loc loc = Loc::Here()) {        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, 0, &dst, &src, nullptr, \
                   RawBits(scalar), BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), \
                   loc});                                                                        \
    }                                                                                            \
    template <typename T, typename U>                                                            \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const U& scalar, const int32_t& count, Loc loc = Loc::Here()) {  \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, 0, &dst, &src, nullptr, \
                   RawBits(scalar), CountForm(count), loc});                                     \
    }

// The APIs of these forms, from the table.
#include "ascendc_emu/vector_forms.inc"
#undef OPGEN_BINARY
#undef OPGEN_BINARY_COUNT
#undef OPGEN_BINARY_MASKED
#undef OPGEN_BINARY_MIXED
#undef OPGEN_BINARY_WORDS
#undef OPGEN_SCALAR
#undef OPGEN_SCALAR_MIXED
#undef OPGEN_UNARY

// dst[i] = scalar.
template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalar, uint64_t mask,
                                 const uint8_t repeat, const uint16_t dstBlkStride,
                                 const uint8_t dstRepStride, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Duplicate, T);
    using namespace ascendc_emu;
    UnaryRepeatParams p(dstBlkStride, 1, dstRepStride, 8);
    RunVector({Api::kDuplicate, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, nullptr, nullptr,
               RawBits(scalar), MaskForm(mask, repeat, p, isSetMask), loc});
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalar, uint64_t mask[],
                                 const uint8_t repeat, const uint16_t dstBlkStride,
                                 const uint8_t dstRepStride, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Duplicate, T);
    using namespace ascendc_emu;
    UnaryRepeatParams p(dstBlkStride, 1, dstRepStride, 8);
    RunVector({Api::kDuplicate, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, nullptr, nullptr,
               RawBits(scalar), BitsForm(mask, repeat, p, isSetMask, sizeof(PrimT<T>)), loc});
}
template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalar, const int32_t& count,
                                 Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Duplicate, T);
    using namespace ascendc_emu;
    RunVector({Api::kDuplicate, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, nullptr, nullptr,
               RawBits(scalar), CountForm(count), loc});
}

// dst[i] = src[i], UB to UB through the vector unit.
template <typename T, bool isSetMask = true>
__aicore__ inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const uint64_t mask, const uint8_t repeat,
                            const CopyRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Copy, T);
    using namespace ascendc_emu;
    Form f = MaskForm(mask, repeat, UnaryRepeatParams(), isSetMask);
    f.dstBlk = params.dstStride;
    f.src0Blk = params.srcStride;
    f.dstRep = params.dstRepeatSize;
    f.src0Rep = params.srcRepeatSize;
    RunCopy(
        {Api::kCopy, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, 0, f, loc});
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const uint64_t mask[], const uint8_t repeat,
                            const CopyRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Copy, T);
    using namespace ascendc_emu;
    Form f = BitsForm(mask, repeat, UnaryRepeatParams(), isSetMask, sizeof(PrimT<T>));
    f.dstBlk = params.dstStride;
    f.src0Blk = params.srcStride;
    f.dstRep = params.dstRepeatSize;
    f.src0Rep = params.srcRepeatSize;
    RunCopy(
        {Api::kCopy, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, 0, &dst, &src, nullptr, 0, f, loc});
}

}  // namespace AscendC

namespace ascendc_emu {
// Pairs Cast supports on arch 2201 (documentation of Cast, table for Atlas A2).
constexpr bool CastSupported(DType from, DType to) {
    switch (from) {
        case DType::kF16:
            return Set(DType::kF32, DType::kI32, DType::kI16, DType::kI8, DType::kU8, DType::kI4) >>
                       static_cast<int>(to) &
                   1u;
        case DType::kF32:
            return Set(DType::kF32, DType::kF16, DType::kBf16, DType::kI64, DType::kI32,
                       DType::kI16) >>
                       static_cast<int>(to) &
                   1u;
        case DType::kBf16:
            return Set(DType::kF32, DType::kI32) >> static_cast<int>(to) & 1u;
        case DType::kI4:
            return to == DType::kF16;
        case DType::kU8:
        case DType::kI8:
            return to == DType::kF16;
        case DType::kI16:
            return Set(DType::kF16, DType::kF32) >> static_cast<int>(to) & 1u;
        case DType::kI32:
            return Set(DType::kF32, DType::kI64, DType::kI16, DType::kF16) >> static_cast<int>(to) &
                   1u;
        case DType::kI64:
            return Set(DType::kI32, DType::kF32) >> static_cast<int>(to) & 1u;
        default:
            return false;
    }
}
}  // namespace ascendc_emu

namespace AscendC {

#define OPGEN_REQUIRE_CAST(TO, FROM)                                                           \
    static_assert(::ascendc_emu::CastSupported(::ascendc_emu::kDTypeOf<PrimT<FROM>>,           \
                                               ::ascendc_emu::kDTypeOf<PrimT<TO>>),            \
                  "Cast does not support this pair of element types on arch 2201; go through " \
                  "another type, e.g. int8_t -> half -> float")

// dst[i] = conversion of src[i] with the given rounding.
template <typename D, typename S, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src,
                            const RoundMode& mode, const uint64_t mask, const uint8_t repeat,
                            const UnaryRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_CAST(D, S);
    using namespace ascendc_emu;
    RunVector({Api::kCast, kDTypeOf<PrimT<D>>, kDTypeOf<PrimT<S>>, static_cast<uint8_t>(mode), &dst,
               &src, nullptr, 0, MaskForm(mask, repeat, params, isSetMask), loc});
}
template <typename D, typename S, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src,
                            const RoundMode& mode, const uint64_t mask[], const uint8_t repeat,
                            const UnaryRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_CAST(D, S);
    using namespace ascendc_emu;
    constexpr uint32_t wide =
        sizeof(PrimT<D>) > sizeof(PrimT<S>) ? sizeof(PrimT<D>) : sizeof(PrimT<S>);
    RunVector({Api::kCast, kDTypeOf<PrimT<D>>, kDTypeOf<PrimT<S>>, static_cast<uint8_t>(mode), &dst,
               &src, nullptr, 0, BitsForm(mask, repeat, params, isSetMask, wide), loc});
}
template <typename D, typename S>
__aicore__ inline void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src,
                            const RoundMode& mode, const uint32_t count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_CAST(D, S);
    using namespace ascendc_emu;
    RunVector({Api::kCast, kDTypeOf<PrimT<D>>, kDTypeOf<PrimT<S>>, static_cast<uint8_t>(mode), &dst,
               &src, nullptr, 0, CountForm(count), loc});
}

// dst[i] = narrowing conversion of an arithmetic result (dst type differs from the sources').
#define OPGEN_BINARY_CAST(NAME, OK, TEXT)                                                          \
    template <typename D, typename S, bool isSetMask = true>                                       \
    __aicore__ inline void NAME(const LocalTensor<D>& dst, const LocalTensor<S>& src0,             \
                                const LocalTensor<S>& src1, uint64_t mask, const uint8_t repeat,   \
                                const BinaryRepeatParams& params, Loc loc = Loc::Here()) {         \
        using namespace ascendc_emu;                                                               \
        static_assert(OK(kDTypeOf<PrimT<S>>, kDTypeOf<PrimT<D>>), #NAME " on arch 2201: " TEXT);   \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<D>>, kDTypeOf<PrimT<S>>, 0, &dst, &src0, &src1, 0, \
                   MaskForm(mask, repeat, params, isSetMask), loc});                               \
    }                                                                                              \
    template <typename D, typename S, bool isSetMask = true>                                       \
    __aicore__ inline void NAME(const LocalTensor<D>& dst, const LocalTensor<S>& src0,             \
                                const LocalTensor<S>& src1, const uint64_t mask[],                 \
                                const uint8_t repeat, const BinaryRepeatParams& params,            \
                                Loc loc = Loc::Here()) {                                           \
        using namespace ascendc_emu;                                                               \
        static_assert(OK(kDTypeOf<PrimT<S>>, kDTypeOf<PrimT<D>>), #NAME " on arch 2201: " TEXT);   \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<D>>, kDTypeOf<PrimT<S>>, 0, &dst, &src0, &src1, 0, \
                   BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<S>)), loc});             \
    }                                                                                              \
    template <typename D, typename S>                                                              \
    __aicore__ inline void NAME(const LocalTensor<D>& dst, const LocalTensor<S>& src0,             \
                                const LocalTensor<S>& src1, const uint32_t count,                  \
                                Loc loc = Loc::Here()) {                                           \
        using namespace ascendc_emu;                                                               \
        static_assert(OK(kDTypeOf<PrimT<S>>, kDTypeOf<PrimT<D>>), #NAME " on arch 2201: " TEXT);   \
        RunVector({Api::k##NAME, kDTypeOf<PrimT<D>>, kDTypeOf<PrimT<S>>, 0, &dst, &src0, &src1, 0, \
                   CountForm(count), loc});                                                        \
    }

}  // namespace AscendC

namespace ascendc_emu {
constexpr bool ReluCastSupported(DType from, DType to) {
    return (from == DType::kF16 && to == DType::kI8) ||
           (from == DType::kF32 && to == DType::kF16) || (from == DType::kI16 && to == DType::kI8);
}
constexpr bool MulCastSupported(DType from, DType to) {
    return from == DType::kF16 && (to == DType::kI8 || to == DType::kU8);
}
}  // namespace ascendc_emu

namespace AscendC {

OPGEN_BINARY_CAST(AddReluCast, ReluCastSupported,
                  "half -> int8_t, float -> half, int16_t -> int8_t")
OPGEN_BINARY_CAST(SubReluCast, ReluCastSupported,
                  "half -> int8_t, float -> half, int16_t -> int8_t")
OPGEN_BINARY_CAST(MulCast, MulCastSupported, "half -> int8_t, uint8_t")
#undef OPGEN_BINARY_CAST

// dst = first, first + 1, ... over the lanes.
template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T> dst, const T& first, uint32_t count,
                                      Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunVectorIndex(kDTypeOf<PrimT<T>>, dst, RawBits(first), CountForm(count), loc);
}
template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T>& dst, const T& first, uint64_t mask,
                                      uint8_t repeat, uint16_t dstBlkStride, uint8_t dstRepStride,
                                      Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunVectorIndex(
        kDTypeOf<PrimT<T>>, dst, RawBits(first),
        MaskForm(mask, repeat, UnaryRepeatParams(dstBlkStride, 1, dstRepStride, 8), true), loc);
}
template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T>& dst, const T& first, uint64_t mask[],
                                      uint8_t repeat, uint16_t dstBlkStride, uint8_t dstRepStride,
                                      Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunVectorIndex(kDTypeOf<PrimT<T>>, dst, RawBits(first),
                   BitsForm(mask, repeat, UnaryRepeatParams(dstBlkStride, 1, dstRepStride, 8), true,
                            sizeof(PrimT<T>)),
                   loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_VECTOR_API_H
