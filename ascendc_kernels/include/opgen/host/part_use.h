// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the tiling of one part asks of the launch that all parts of a kernel share. C++11.
#ifndef OPGEN_HOST_PART_USE_H
#define OPGEN_HOST_PART_USE_H

#include <cstdint>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

struct PartUse {
    int64_t cores = 1;             // that it can use
    uint64_t key = 0;              // variant * 10 + mode
    bool together = false;         // all cores must run at once: it calls SyncAll
    int64_t workspacePerCore = 0;  // bytes for each core that is launched
    bool taken = false;            // of a part that may run in place of others: it does
};

// Bytes of workspace for a value that one part writes and later ones read; starts of L2 lines.
inline int64_t TemporaryBytes(const View& view, int64_t bytesOfElement) {
    constexpr int64_t kLineBytes = 512;
    return AlignUp(Numel(view) * bytesOfElement, kLineBytes);
}

// The slice of a tensor that a step of a loop reads, which runs along the first axis.
inline View OfStep(const View& all) {
    const size_t outer = all.dim.empty() ? 0 : 1;
    return View::Dense(std::vector<int64_t>(all.dim.begin() + outer, all.dim.end()));
}

// The results of all steps of a loop along a first axis.
inline View OfSteps(int64_t steps, const View& one) {
    std::vector<int64_t> sizes(1, steps);
    sizes.insert(sizes.end(), one.dim.begin(), one.dim.end());
    return View::Dense(sizes);
}

}  // namespace opgen

#endif  // OPGEN_HOST_PART_USE_H
