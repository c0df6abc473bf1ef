// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Complex element types, for kernels that name them as DTYPE_X and move them only. Included on
// demand: other kernels define the names themselves.
#ifndef ASCENDC_EMU_COMPLEX_TYPES_H
#define ASCENDC_EMU_COMPLEX_TYPES_H

#include "ascendc_emu/types.h"

namespace ascendc_emu {
template <typename T>
struct ComplexOf {
    T real;
    T imag;
};
}  // namespace ascendc_emu

using complex32 = ascendc_emu::ComplexOf<half>;
using complex64 = ascendc_emu::ComplexOf<float>;
using complex128 = ascendc_emu::ComplexOf<double>;

#endif  // ASCENDC_EMU_COMPLEX_TYPES_H
