// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Worker threads kept between launches.
#ifndef OPGEN_CORE_POOL_H
#define OPGEN_CORE_POOL_H

namespace ascendc_emu {

// How many of `wanted` workers there can be: fewer where the host has no memory for their threads.
int PrepareWorkers(int wanted);
// Runs work(argument) on `workers` threads at once, the calling thread being one; returns when all
// have returned. PrepareWorkers comes first. Not reentrant: launches are serialised.
void RunOnPool(int workers, void (*work)(void*), void* argument);
// OPGEN_THREADS, else the CPUs this process may use.
int DefaultThreads();

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_POOL_H
