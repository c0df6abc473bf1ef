// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What an instruction does with an operand.
#ifndef ASCENDC_EMU_SANITIZER_ACCESS_H
#define ASCENDC_EMU_SANITIZER_ACCESS_H

#include <cstring>

#include "ascendc_emu/record.h"

namespace ascendc_emu {
namespace sanitizer {

inline bool Reads(const Operand& o) { return static_cast<int>(o.access) & 1; }

// tensor(i) gives a reference, so nobody knows whether it was read or written. On global memory,
// where cores meet, it counts as a read: nearly all are.
inline bool ByReference(const Record& r) {
    return r.scalarAccess && std::strcmp(r.op, "operator()") == 0;
}
inline bool Writes(const Record& r, const Operand& o) {
    return (static_cast<int>(o.access) & 2) && !(o.mem == Mem::kGm && ByReference(r));
}

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_ACCESS_H
