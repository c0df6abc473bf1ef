// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Cycles of an instruction by itself: start-up, steps of 256 bytes, bank conflicts.
#ifndef OPGEN_PROFILE_COSTS_H
#define OPGEN_PROFILE_COSTS_H

#include <string>
#include <vector>

#include "profile/parameters.h"
#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

class Costs {
 public:
    explicit Costs(const Parameters& parameters);

    // Fills step.work and its flags for an instruction that touches no GM.
    void Fill(const Record& record, Step* step) const;

 private:
    struct Cost {
        bool known = false;
        float issue = 0;
        float repeat[static_cast<int>(DType::kCount)] = {};
    };

    void FillVector(const Record& record, Step* step) const;
    void FillCube(const Record& record, Step* step) const;

    Parameters p_;
    std::vector<Cost> costs_;
};

// Bytes of an operand's pattern, masks aside.
inline uint64_t PatternBytes(const Operand& o) {
    return uint64_t{o.blockBytes} * o.blocks * o.repeats;
}

// Cycles that the accesses of one step of 256 bytes to UB take, averaged over the first steps: an
// access of 32 bytes goes to one of 16 bank groups, each of which serves one read and one write a
// cycle. `steps`: how many the instruction has.
float AccessCycles(const Record& record, uint32_t steps);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_COSTS_H
