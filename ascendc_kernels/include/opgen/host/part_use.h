// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the tiling of one part asks of the launch that all parts of a kernel share. C++11.
#ifndef OPGEN_HOST_PART_USE_H
#define OPGEN_HOST_PART_USE_H

#include <cstdint>

namespace opgen {

struct PartUse {
    int64_t cores = 1;             // that it can use
    uint64_t key = 0;              // variant * 10 + mode
    bool together = false;         // all cores must run at once: it calls SyncAll
    int64_t workspacePerCore = 0;  // bytes for each core that is launched
};

}  // namespace opgen

#endif  // OPGEN_HOST_PART_USE_H
