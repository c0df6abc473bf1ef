// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How a core reports trouble: Trap ends the launch, Complain tells the sink.
#include <cstdarg>
#include <cstdio>

#include "ascendc_emu/core.h"
#include "core/bounds.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

std::string Format(const char* format, va_list args) {
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    return text;
}

[[noreturn]] void Stop(Core& core, Loc loc, const char* check, const char* op, const char* fix,
                       const std::string& text) {
    loc = Where(core, loc);
    if (core.sink != nullptr) {
        Problem p;
        p.check = check;
        p.text = text.c_str();
        p.op = op;
        p.fix = fix;
        p.fatal = true;
        p.loc = loc;
        core.sink->OnProblem(core, p);
    }
    core.scheduler->Fail(AtLine(loc) + op + ": " + text + " (" + CoreName(core) + ")" +
                         (fix[0] ? std::string("; ") + fix : std::string()));
    throw BlockAbort();
}

}  // namespace

void Trap(Core& core, Loc loc, const char* op, const char* format, ...) {
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Stop(core, loc, "Trap", op, "", text);
}

void TrapCheck(Core& core, Loc loc, const char* check, const char* op, const char* fix,
               const char* format, ...) {
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Stop(core, loc, check, op, fix, text);
}

void StopWithoutValues(Core& core, Loc loc, const char* what) {
    Stop(core, loc, "NoValues", what, "profile the launch with its arithmetic",
         "the way of the kernel from here on may depend on values, and this launch has none: it "
         "runs for its time alone");
}

void RequireInitialised(Core& core, uint32_t buffer, uint64_t addr, Mem mem, const char* op,
                        const char* role, Loc loc) {
    if (buffer != 0 || addr < core.capacity[static_cast<int>(mem)] || core.nowhere.file == nullptr)
        return;
    const uint32_t line = Where(core, loc).line;
    core.pinned = core.nowhere;  // the missing InitBuffer is the bug, not its consequence
    TrapCheck(core, core.nowhere, "ErrorBuffer0", "TBuf::Get",
              "call pipe.InitBuffer(buffer, bytes) first",
              "the buffer was never initialised, and line %u uses its tensor (%s of %s)", line,
              role, op);
}

void OutOfBounds(Core& core, const TensorRef& t, uint64_t end, const char* op, const char* role,
                 Loc loc) {
    if (t.ptr == nullptr) {
        TrapCheck(core, loc, "ErrorBuffer0", op, "assign it: AllocTensor, DeQue or TBuf::Get",
                  "%s is a LocalTensor that nobody has given memory", role);
    }
    RequireInitialised(core, t.buffer, t.addr, t.mem, op, role, loc);
    TrapCheck(core, loc, "ErrorBuffer3", op,
              "reduce the count, mask, repeat or stride, or enlarge the buffer",
              "%s ends at byte %llu of %s, which has %u", role,
              static_cast<unsigned long long>(end), Name(t.mem),
              core.capacity[static_cast<int>(t.mem)]);
}

namespace {
void Tell(Core& core, Loc loc, const char* check, const char* op, const char* fix, bool warning,
          const std::string& text) {
    Problem p;
    p.check = check;
    p.text = text.c_str();
    p.op = op;
    p.fix = fix;
    p.warning = warning;
    p.loc = Where(core, loc);
    core.sink->OnProblem(core, p);
}
}  // namespace

void Complain(Core& core, Loc loc, const char* check, const char* op, const char* fix,
              const char* format, ...) {
    if (core.sink == nullptr) return;
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Tell(core, loc, check, op, fix, false, text);
}

void Warn(Core& core, Loc loc, const char* check, const char* op, const char* fix,
          const char* format, ...) {
    if (core.sink == nullptr) return;
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Tell(core, loc, check, op, fix, true, text);
}

}  // namespace ascendc_emu
