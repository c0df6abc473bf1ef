// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How long a launch, a function that an op registers, or a program between its launches may take.
#ifndef OPGEN_CORE_TIME_LIMIT_H
#define OPGEN_CORE_TIME_LIMIT_H

#include "core/code_range.h"

namespace ascendc_emu {

class Scheduler;

// Seconds, from OPGEN_TIMEOUT; 0: no limit.
double TimeLimit();

// While it exists, a timer watches the calling thread. Once the limit is over, the code that the
// thread runs is stopped at the next place where it can be: a block is abandoned, a guarded call
// (RunGuarded) ends as after a crash. Without such timers (not Linux) nothing happens.
class Deadline {
 public:
    // scheduler: of the launch whose blocks the thread runs, null for a guarded call.
    // entry: any code of the kernel's module.
    explicit Deadline(Scheduler* scheduler = nullptr, const void* entry = nullptr);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    Scheduler* scheduler() const { return scheduler_; }
    const CodeRange& code() const { return code_; }
    double due = 0;     // when the limit is over, in seconds of the monotonic clock
    int ticks = 0;      // since then
    bool busy = false;  // the handler runs

 private:
    Scheduler* scheduler_;
    CodeRange code_;
    Deadline* outer_ = nullptr;
    bool armed_ = false;
    double limit_ = 0;  // in seconds
};

// A program's main thread shows that it goes on: a launch begins or ends.
void NoteProgress(bool launches);

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_TIME_LIMIT_H
