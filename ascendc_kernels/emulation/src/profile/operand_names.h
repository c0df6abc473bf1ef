// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What instructions work on, as text for the reader of a timeline. The same operands return with
// every tile, so that few texts serve many steps.
#ifndef OPGEN_PROFILE_OPERAND_NAMES_H
#define OPGEN_PROFILE_OPERAND_NAMES_H

#include <cstdint>
#include <unordered_map>

#include "profile/placement.h"
#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

class OperandNames {
 public:
    // The place in Trace::operands of the operands of an instruction; 0, no text, where there are
    // none or more different ones than an index of 16 bits can tell apart. Global memory is told by
    // its buffer: the address differs with every tile.
    uint16_t Of(const Record& record, const Placement& placed, Trace* trace);

 private:
    std::unordered_map<uint64_t, uint16_t> known_;
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_OPERAND_NAMES_H
