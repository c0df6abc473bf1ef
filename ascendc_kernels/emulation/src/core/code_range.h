// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_CORE_CODE_RANGE_H
#define OPGEN_CORE_CODE_RANGE_H

#include <cstdint>

namespace ascendc_emu {

// The code of one module of the process.
struct CodeRange {
    uintptr_t begin = 0, end = 0;

    bool Has(uintptr_t at) const { return at >= begin && at < end; }
};

// That of the module which an address of code lies in; empty when there is none.
CodeRange CodeOf(const void* code);

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_CODE_RANGE_H
