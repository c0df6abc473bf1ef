// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What happens to one element on its way out of the cube.
#ifndef SRC_CUBE_ELEMENT_H
#define SRC_CUBE_ELEMENT_H

#include <mutex>

#include "ascendc_emu/cube_ops.h"

namespace ascendc_emu {

// Whether arch 2201 has a QuantMode_t.
bool HasQuant(int32_t quant);
// Whether a QuantMode_t takes its parameter per column.
bool UsesTable(int32_t quant);

// The bits the destination stores for the 32-bit accumulator `raw` (fp32 or int32).
uint32_t ConvertElement(uint32_t raw, DType srcType, DType dstType, const FixpipeArgs& args,
                        uint64_t parameter);

// Store a row of fp32 accumulators that only have to be rounded to the destination's float type;
// false, and nothing done, when `args` ask for more.
bool StoreFloats(uint8_t* out, DType type, const float* from, uint32_t count,
                 const FixpipeArgs& args);

// out = op(out, bits); op: 1 add, 2 max, 3 min. The caller holds AtomicLock().
void StoreAtomic(uint8_t* out, uint32_t bits, DType type, uint8_t op);

// Atomic stores of several cores may meet at one address.
std::mutex& AtomicLock();

}  // namespace ascendc_emu
#endif  // SRC_CUBE_ELEMENT_H
