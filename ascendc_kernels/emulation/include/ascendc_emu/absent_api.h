// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Functions that arch 2201 does not have: a call says so instead of "not declared". They take
// anything, so a kernel's own function of the name wins. Source: the product tables of asc-devkit's
// API pages.
//
// Most are refused when the kernel is compiled. A few compile on the device, with a warning, and do
// nothing there: kernels for several SoCs have them in branches that this one does not take. Those
// stop the kernel when they are called.
#ifndef ASCENDC_EMU_ABSENT_API_H
#define ASCENDC_EMU_ABSENT_API_H

#include "ascendc_emu/macros.h"

namespace ascendc_emu {
struct Anything {
    Anything() {}
    template <typename T>
    Anything(const T&) {}
};
template <typename...>
constexpr bool kNever = false;
template <auto...>
constexpr bool kNeverValue = false;
}  // namespace ascendc_emu

// Up to twelve arguments; template arguments given or not, types before values.
#define OPGEN_ANY const ascendc_emu::Anything& = {}
#define OPGEN_ANYTHING                                                                      \
    OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, \
        OPGEN_ANY, OPGEN_ANY, OPGEN_ANY, OPGEN_ANY
#define OPGEN_ABSENT_TEXT " does not exist on arch 2201 (Ascend910B/_93)"
#define OPGEN_NOT_ON_2201(NAME)                                                  \
    template <typename... Given>                                                 \
    __aicore__ inline void NAME(OPGEN_ANYTHING) {                                \
        static_assert(ascendc_emu::kNever<Given...>, #NAME OPGEN_ABSENT_TEXT);   \
    }                                                                            \
    template <typename First, auto value, auto... more>                          \
    __aicore__ inline void NAME(OPGEN_ANYTHING) {                                \
        static_assert(ascendc_emu::kNever<First>, #NAME OPGEN_ABSENT_TEXT);      \
    }                                                                            \
    template <auto value, auto... more>                                          \
    __aicore__ inline void NAME(OPGEN_ANYTHING) {                                \
        static_assert(ascendc_emu::kNeverValue<value>, #NAME OPGEN_ABSENT_TEXT); \
    }
#define OPGEN_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()
#define OPGEN_IDLE_ON_2201(NAME)                             \
    template <typename... Given>                             \
    __aicore__ inline void NAME(OPGEN_ANYTHING, OPGEN_LOC) { \
        ascendc_emu::StopAbsentApi(#NAME, loc);              \
    }                                                        \
    template <typename First, auto value, auto... more>      \
    __aicore__ inline void NAME(OPGEN_ANYTHING, OPGEN_LOC) { \
        ascendc_emu::StopAbsentApi(#NAME, loc);              \
    }

namespace AscendC {
OPGEN_NOT_ON_2201(Subs)
OPGEN_NOT_ON_2201(Divs)
OPGEN_NOT_ON_2201(Ands)
OPGEN_NOT_ON_2201(Ors)
OPGEN_NOT_ON_2201(Neg)
OPGEN_NOT_ON_2201(Truncate)
OPGEN_NOT_ON_2201(Interleave)
OPGEN_NOT_ON_2201(DeInterleave)
OPGEN_NOT_ON_2201(Mull)
OPGEN_NOT_ON_2201(AbsSub)
OPGEN_NOT_ON_2201(ExpSub)
OPGEN_NOT_ON_2201(MulsCast)
OPGEN_IDLE_ON_2201(VectorPadding)
OPGEN_NOT_ON_2201(AtomicAdd)
OPGEN_NOT_ON_2201(AtomicMax)
OPGEN_NOT_ON_2201(AtomicMin)
OPGEN_NOT_ON_2201(AtomicCas)
OPGEN_NOT_ON_2201(AtomicExch)
OPGEN_NOT_ON_2201(DataCopyL1ToUB)
OPGEN_NOT_ON_2201(NdDmaDci)
OPGEN_NOT_ON_2201(SetLoopModePara)
OPGEN_NOT_ON_2201(ResetLoopModePara)
OPGEN_NOT_ON_2201(LoadDataWithStride)
OPGEN_NOT_ON_2201(SetLoadDataRepeatWithStride)
OPGEN_IDLE_ON_2201(LoadDataUnzip)
OPGEN_IDLE_ON_2201(LoadUnzipIndex)
OPGEN_NOT_ON_2201(MmadMx)
#if OPGEN_INSTRUCTIONS != 2002
OPGEN_IDLE_ON_2201(BroadCastVecToMM)
OPGEN_IDLE_ON_2201(RpSort16)
OPGEN_IDLE_ON_2201(MrgSort4)
OPGEN_IDLE_ON_2201(ProposalConcat)
OPGEN_IDLE_ON_2201(ProposalExtract)
#endif
}  // namespace AscendC

#undef OPGEN_NOT_ON_2201
#undef OPGEN_IDLE_ON_2201
#undef OPGEN_LOC
#undef OPGEN_ABSENT_TEXT
#undef OPGEN_ANYTHING
#undef OPGEN_ANY

#endif  // ASCENDC_EMU_ABSENT_API_H
