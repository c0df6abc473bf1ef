// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// From an instruction's masks, strides and repeats to calls over contiguous runs of elements.
#ifndef OPGEN_VECTOR_LANES_H
#define OPGEN_VECTOR_LANES_H

#include "ascendc_emu/vector.h"

namespace ascendc_emu {

// Works on n elements at d, s0, s1.
using RunFn = void (*)(void* d, const void* s0, const void* s1, uint64_t n, const VecCall& c);

// The function for an operation on element types, or null.
RunFn FloatRun(VecOp op, DType dt, DType st);
RunFn IntegerRun(VecOp op, DType dt, DType st);
RunFn CastRun(DType dt, DType st, int mode);
RunFn BinaryCast(VecOp op, DType dt, DType st);

// A form with the mask and counter registers applied.
struct Geometry {
    uint64_t total = 0;  // elements in all, where `flat`; else 0
    uint32_t lanes = 0;  // elements per repeat
    uint32_t repeats = 0;
    uint64_t mask[2] = {0, 0};
    uint32_t tail = 0;    // counter mode: elements of the last repeat (0: full)
    bool full = false;    // all lanes on
    bool cut = false;     // counter mode: the count has more than 32 bits
    uint32_t prefix = 0;  // > 0: exactly the first `prefix` lanes are on
};

// Applies registers; count forms leave Normal mode and a full mask behind, as on the device.
// `bits`: element size of the widest operand, which decides the lanes of a repeat.
Geometry Resolve(Core& core, const Form& form, uint32_t bits);

// Describes an operand of a lane-wise instruction.
void DescribeLanes(Operand& o, const TensorRef& t, DType type, Access access, const Geometry& g,
                   const Form& form, int32_t blk, int32_t rep);
// Fills mask and counts of a record.
void DescribeMask(Record& r, const Geometry& g, const Form& form);
// A contiguous operand of a record.
Operand& DescribePlain(Record& r, Role role, const TensorRef& t, DType type, Access access,
                       uint64_t bytes);
// End of the bytes an operand touches, as an offset in its memory.
uint64_t EndOf(const TensorRef& t, DType type, const Geometry& g, const Form& form, int32_t blk,
               int32_t rep);
// Stops the launch if the operand leaves its memory.
void CheckEnd(Core& core, const TensorRef& t, uint64_t end, Api api, const char* role, Loc loc);

// The least and greatest of the byte offsets that active lanes give, and all their bits.
struct OffsetRange {
    uint32_t low = ~0u, high = 0, bits = 0;
    bool Empty() const { return low > high; }
};

template <typename IsOff>
OffsetRange RangeOf(const uint32_t* offsets, uint64_t count, IsOff isOff) {
    OffsetRange range;
    for (uint64_t i = 0; i < count; ++i) {
        if (isOff(i)) continue;
        range.low = offsets[i] < range.low ? offsets[i] : range.low;
        range.high = offsets[i] > range.high ? offsets[i] : range.high;
        range.bits |= offsets[i];
    }
    return range;
}

inline uint64_t Bytes(DType t, uint64_t n) { return n * DTypeBits(t) / 8; }

}  // namespace ascendc_emu
#endif  // OPGEN_VECTOR_LANES_H
