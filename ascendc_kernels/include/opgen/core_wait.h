// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How the cores of a kernel wait for one another. In a header of its own: a kernel that has SyncAll
// in its sources must be of a type whose cores all run at once.
#ifndef OPGEN_CORE_WAIT_H
#define OPGEN_CORE_WAIT_H

#include "kernel_operator.h"
#include "opgen/tile.h"

namespace opgen {

// All vector cores wait until each of them has finished, and see what it has written to GM. A core
// that runs alone waits for its own pipes only.
__aicore__ inline void WaitForCores() {
    AscendC::PipeBarrier<PIPE_ALL>();
    if (VectorCores() > 1) {
        AscendC::SyncAll();
    }
}

}  // namespace opgen

#endif  // OPGEN_CORE_WAIT_H
