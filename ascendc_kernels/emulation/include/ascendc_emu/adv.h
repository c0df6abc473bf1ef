// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Common ground of the high-level APIs: one call is one record on the V pipe with all operands, and
// is computed in one go by the library. What the device does inside (its own barriers, the split
// into basic instructions, the use of the temporary buffer) does not show.
#ifndef ASCENDC_EMU_ADV_H
#define ASCENDC_EMU_ADV_H

#include "ascendc_emu/vector.h"

namespace ascendc_emu {

// A contiguous operand of `elements` elements.
struct AdvOperand {
    Role role;
    const TensorRef* tensor;
    DType type;
    uint64_t elements;
    Access access;
    uint16_t align = 32;  // required alignment of its address in bytes
};

// Checks that every operand fits its memory (a trap otherwise) and emits the record. False: the
// function is not to do anything (Core::timeOnly).
bool AdvBegin(Api api, Loc loc, const AdvOperand* operands, uint32_t count);

// The temporary buffer is written and its content lost: all of it.
template <typename Tensor>
inline AdvOperand TmpOperand(const Tensor& tmp) {
    return {kTmpRole, &tmp, DType::kU8, tmp.size, Access::kWrite};
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_ADV_H
