// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Where buffers lie in the model. The host places them elsewhere in every run, and where a line of
// L2 goes follows from its address: the same launch would not take the same time twice.
#ifndef OPGEN_PROFILE_PLACEMENT_H
#define OPGEN_PROFILE_PLACEMENT_H

#include <cstdint>
#include <vector>

#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

class Placement {
 public:
    Placement() = default;
    // Gives buffers addresses that follow from their order and their place in a line of L2 alone.
    // Buffers that overlap, such as a slice of an allocation, keep their distance.
    explicit Placement(std::vector<Buffer>* buffers);

    // Where an address of the host lies in the model; one outside of all buffers stays.
    uint64_t operator()(uint64_t addr) const;

 private:
    struct Group {
        uint64_t begin, end;  // on the host
        uint64_t base;        // in the model
    };

    std::vector<Group> groups_;  // by address on the host
    mutable size_t last_ = 0;    // the group that was found last
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_PLACEMENT_H
