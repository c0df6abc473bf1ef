// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Blocks that wait for others in a loop of plain C++ (a global variable polled without any API
// call). On the device all blocks run at once; here such a block has to be taken off its thread.
#ifndef OPGEN_CORE_SPIN_H
#define OPGEN_CORE_SPIN_H

#include "ascendc_emu/core.h"

namespace ascendc_emu {

// Watches the blocks of the calling thread while it exists: a timer of the thread's CPU time sends
// SIGURG, and a block found in the same few instructions of the kernel's module three times gives
// way. Without such a timer (not Linux) nothing happens.
class SpinWatch {
 public:
    // entry: any code of the kernel's module; null: there is no kernel to watch.
    // giveWay is called on the block's stack, in the signal handler.
    SpinWatch(const void* entry, void (*giveWay)(Core& core));
    ~SpinWatch();
    SpinWatch(const SpinWatch&) = delete;
    SpinWatch& operator=(const SpinWatch&) = delete;

 private:
    bool armed_ = false;
};

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_SPIN_H
