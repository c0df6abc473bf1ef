// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands that are not inside the memory they name.
#ifndef OPGEN_CORE_BOUNDS_H
#define OPGEN_CORE_BOUNDS_H

#include "ascendc_emu/tensor.h"

namespace ascendc_emu {

// Ends the launch: tensor `t`, used up to byte `end`, has no memory or reaches past the end of it.
[[noreturn]] void OutOfBounds(Core& core, const TensorRef& t, uint64_t end, const char* op,
                              const char* role, Loc loc);

// Ends the launch when an operand belongs to a TBuf that InitBuffer has not given memory (TBuf::Get
// then makes a tensor behind the end of the memory, without a buffer number).
void RequireInitialised(Core& core, uint32_t buffer, uint64_t addr, Mem mem, const char* op,
                        const char* role, Loc loc);

}  // namespace ascendc_emu

#endif  // OPGEN_CORE_BOUNDS_H
