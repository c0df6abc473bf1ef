// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What stands for the communication server: a domain of one rank, whose tasks are copies. They are
// carried out when the kernel commits them.
#ifndef ASCENDC_EMU_HCCL_SERVER_H
#define ASCENDC_EMU_HCCL_SERVER_H

#include "ascendc_emu/core.h"

namespace ascendc_emu {

// One task: `repeat` copies of `bytes`, one behind the other in both buffers.
struct HcclTask {
    Api api;
    const uint8_t* src = nullptr;
    uint8_t* dst = nullptr;
    uint64_t bytes = 0;
    int32_t repeat = 1;
};

// Number of the next Hccl object of this core; objects with the same number belong together.
int HcclOpen();
// Carries a task out and lets waiting cores see it.
void HcclServe(int object, int handle, const HcclTask& task, Loc loc);
// How many copies of a task are done.
int HcclServed(int object, int handle, Loc loc);
// Waits until `count` of them are.
void HcclAwait(int object, int handle, int count, Loc loc);
// Stops the launch: the call needs other ranks.
[[noreturn]] void HcclRefuse(const char* api, Loc loc);

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_HCCL_SERVER_H
