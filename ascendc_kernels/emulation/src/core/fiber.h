// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Stackful coroutines: a block of a kernel runs on one and is switched away while it waits.
#ifndef OPGEN_CORE_FIBER_H
#define OPGEN_CORE_FIBER_H

#include <cstddef>

namespace ascendc_emu {

class Fiber {
 public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Prepares the fiber to run function(context) at the next Resume().
    void Start(void (*function)(void*), void* context);
    // Runs until the function returns or calls Yield(). Returns whether it has returned.
    bool Resume();
    // Called on the fiber: goes back to the thread that resumed it.
    void Yield();
    // Called on the fiber, from a signal handler too: ends it as it is, without destructors.
    void Abandon();

 private:
    static void Main(void* self);
    static void Entry();  // first code on a new stack
    void* stack_ = nullptr;
    void* context_ = nullptr;  // saved stack pointer (or ucontext) of the fiber
    void* caller_ = nullptr;   // the same of the thread
    void (*function_)(void*) = nullptr;
    void* argument_ = nullptr;
    bool finished_ = true;
};

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_FIBER_H
