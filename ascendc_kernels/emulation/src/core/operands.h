// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands of records, from tensors.
#ifndef OPGEN_CORE_OPERANDS_H
#define OPGEN_CORE_OPERANDS_H

#include <algorithm>

#include "ascendc_emu/tensor.h"

namespace ascendc_emu {

// Says of an operand where its tensor lies, what it is of, and what is done with it; which bytes of
// it is up to the caller.
inline void Locate(Operand& o, const TensorRef& t, DType type, Access access) {
    o.mem = t.mem;
    o.dtype = type;
    o.access = access;
    o.position = t.pos;
    o.addr = t.addr;
    o.lo = t.lo;
    o.hi = t.hi;
    o.tensorEnd = uint64_t{t.addr} + t.size;
    o.buffer = t.buffer;
}
// Of global memory; a scalar or vector access needs no more than the alignment of an element.
inline void Locate(Operand& o, const GmRef& t, DType type, Access access) {
    o.mem = Mem::kGm;
    o.dtype = type;
    o.access = access;
    o.addr = reinterpret_cast<uint64_t>(t.ptr);
    o.lo = reinterpret_cast<uint64_t>(t.lo);
    o.hi = reinterpret_cast<uint64_t>(t.hi);
    o.align = static_cast<uint16_t>(std::max<uint32_t>(1, DTypeBits(type) / 8));
}
template <typename Tensor>
inline Operand& AddTensor(Record& r, Role role, const Tensor& t, DType type, Access access) {
    Operand& o = r.Add(role);
    Locate(o, t, type, access);
    return o;
}

}  // namespace ascendc_emu

#endif  // OPGEN_CORE_OPERANDS_H
