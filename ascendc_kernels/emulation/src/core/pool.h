// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Worker threads kept between launches.
#ifndef OPGEN_CORE_POOL_H
#define OPGEN_CORE_POOL_H

namespace ascendc_emu {

// Runs work(argument) on `workers` threads at once, the calling thread being one; returns when all
// have returned. Not reentrant: launches are serialised.
void RunOnPool(int workers, void (*work)(void*), void* argument);
// OPGEN_THREADS, else the CPUs this process may use.
int DefaultThreads();

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_POOL_H
