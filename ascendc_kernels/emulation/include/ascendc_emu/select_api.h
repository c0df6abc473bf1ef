// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Compare, CompareScalar / Compares, Select and the compare-mask register.
#ifndef ASCENDC_EMU_SELECT_API_H
#define ASCENDC_EMU_SELECT_API_H

#include "ascendc_emu/vector_api.h"

namespace ascendc_emu {
void ReadCmpMask(const TensorRef& dst, Loc loc);
void WriteCmpMask(const TensorRef& src, Loc loc);
}  // namespace ascendc_emu

namespace AscendC {

// Bit i of dst = src0[i] <cmp> src1[i], little endian.
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                               const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask[],
                               uint8_t repeat, const BinaryRepeatParams& params,
                               Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Compare, T);
    using namespace ascendc_emu;
    RunCompare({Api::kCompare, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &src0, &src1,
                0, BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), loc});
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                               const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask,
                               uint8_t repeat, const BinaryRepeatParams& params,
                               Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Compare, T);
    using namespace ascendc_emu;
    RunCompare({Api::kCompare, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &src0, &src1,
                0, MaskForm(mask, repeat, params, isSetMask), loc});
}
template <typename T, typename U>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                               const LocalTensor<T>& src1, CMPMODE mode, uint32_t count,
                               Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Compare, T);
    using namespace ascendc_emu;
    RunCompare({Api::kCompare, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &src0, &src1,
                0, CountForm(count), loc});
}
// One repeat; the bits go to the compare-mask register.
template <typename T, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
                               const uint64_t mask[], const BinaryRepeatParams& params,
                               Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Compare, T);
    using namespace ascendc_emu;
    RunCompare({Api::kCompare, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), nullptr, &src0,
                &src1, 0, BitsForm(mask, 1, params, isSetMask, sizeof(PrimT<T>)), loc});
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
                               const uint64_t mask, const BinaryRepeatParams& params,
                               Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Compare, T);
    using namespace ascendc_emu;
    RunCompare({Api::kCompare, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), nullptr, &src0,
                &src1, 0, MaskForm(mask, 1, params, isSetMask), loc});
}

#define OPGEN_COMPARE_SCALAR(NAME)                                                              \
    template <typename T, typename U, bool isSetMask = true>                                    \
    __aicore__ inline void NAME(const LocalTensor<U>& dst, const LocalTensor<T>& src0,          \
                                const PrimT<T> scalar, CMPMODE mode, const uint64_t mask[],     \
                                uint8_t repeat, const UnaryRepeatParams& params,                \
                                Loc loc = Loc::Here()) {                                        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                            \
        using namespace ascendc_emu;                                                            \
        RunCompare({Api::k##NAME, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &src0,  \
                    nullptr, RawBits(scalar),                                                   \
                    BitsForm(mask, repeat, params, isSetMask, sizeof(scalar)), loc});           \
    }                                                                                           \
    template <typename T, typename U, bool isSetMask = true>                                    \
    __aicore__ inline void NAME(const LocalTensor<U>& dst, const LocalTensor<T>& src0,          \
                                const PrimT<T> scalar, CMPMODE mode, const uint64_t mask,       \
                                uint8_t repeat, const UnaryRepeatParams& params,                \
                                Loc loc = Loc::Here()) {                                        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                            \
        using namespace ascendc_emu;                                                            \
        RunCompare({Api::k##NAME, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &src0,  \
                    nullptr, RawBits(scalar), MaskForm(mask, repeat, params, isSetMask), loc}); \
    }                                                                                           \
    template <typename T, typename U>                                                           \
    __aicore__ inline void NAME(const LocalTensor<U>& dst, const LocalTensor<T>& src0,          \
                                const PrimT<T> scalar, CMPMODE mode, uint32_t count,            \
                                Loc loc = Loc::Here()) {                                        \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                            \
        using namespace ascendc_emu;                                                            \
        RunCompare({Api::k##NAME, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &src0,  \
                    nullptr, RawBits(scalar), CountForm(count), loc});                          \
    }
OPGEN_COMPARE_SCALAR(CompareScalar)
OPGEN_COMPARE_SCALAR(Compares)
#undef OPGEN_COMPARE_SCALAR

template <typename T>
__aicore__ inline void GetCmpMask(const LocalTensor<T>& dst, Loc loc = Loc::Here()) {
    ascendc_emu::ReadCmpMask(dst, loc);
}
template <typename T>
__aicore__ inline void SetCmpMask(const LocalTensor<T>& src, Loc loc = Loc::Here()) {
    ascendc_emu::WriteCmpMask(src, loc);
}

// dst[i] = bit i of mask ? src0[i] : src1[i] (or the scalar).
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode,
                              const uint64_t mask[], uint8_t repeat,
                              const BinaryRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &sel, &src0,
               &src1, 0, BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)), loc});
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode,
                              uint64_t mask, uint8_t repeat, const BinaryRepeatParams& params,
                              Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &sel, &src0,
               &src1, 0, MaskForm(mask, repeat, params, isSetMask), loc});
}
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode,
                              uint32_t count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &sel, &src0,
               &src1, 0, CountForm(count), loc});
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, PrimT<T> src1, SELMODE mode,
                              const uint64_t mask[], uint8_t repeat,
                              const BinaryRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &sel, &src0,
               nullptr, RawBits(src1), BitsForm(mask, repeat, params, isSetMask, sizeof(PrimT<T>)),
               loc});
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, PrimT<T> src1, SELMODE mode,
                              uint64_t mask, uint8_t repeat, const BinaryRepeatParams& params,
                              Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &sel, &src0,
               nullptr, RawBits(src1), MaskForm(mask, repeat, params, isSetMask), loc});
}
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, PrimT<T> src1, SELMODE mode,
                              uint32_t count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, &sel, &src0,
               nullptr, RawBits(src1), CountForm(count), loc});
}
// Mask and lane selection from registers (SetCmpMask, SetVectorMask).
template <typename T, SELMODE mode>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, uint8_t repeat,
                              const BinaryRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>, static_cast<uint8_t>(mode), &dst, nullptr, &src0,
               &src1, 0, MaskForm(0, repeat, params, false), loc});
}
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& sel,
                              const LocalTensor<T>& src0, uint8_t repeat,
                              const BinaryRepeatParams& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Select, T);
    using namespace ascendc_emu;
    // The scalar operand comes from the compare-mask register's first element.
    RunSelect({Api::kSelect, kDTypeOf<PrimT<T>>,
               static_cast<uint8_t>(SELMODE::VSEL_TENSOR_SCALAR_MODE), &dst, &sel, &src0, nullptr,
               Current().regs.cmpMask[0], MaskForm(0, repeat, params, false), loc});
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_SELECT_API_H
