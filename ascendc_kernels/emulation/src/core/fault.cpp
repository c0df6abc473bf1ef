// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How a core reports trouble: Trap ends the launch, Complain tells the sink.
#include <cstdarg>
#include <cstdio>

#include "ascendc_emu/core.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

std::string Format(const char* format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    return text;
}

[[noreturn]] void Stop(Core& core, Loc loc, const char* check, const char* op, const char* fix,
                       const std::string& text)
{
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

void Trap(Core& core, Loc loc, const char* op, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Stop(core, loc, "Trap", op, "", text);
}

void TrapCheck(Core& core, Loc loc, const char* check, const char* op, const char* fix,
               const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Stop(core, loc, check, op, fix, text);
}

namespace {
void Tell(Core& core, Loc loc, const char* check, const char* op, const char* fix, bool warning,
          const std::string& text)
{
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
              const char* format, ...)
{
    if (core.sink == nullptr) return;
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Tell(core, loc, check, op, fix, false, text);
}

void Warn(Core& core, Loc loc, const char* check, const char* op, const char* fix, const char* format, ...)
{
    if (core.sink == nullptr) return;
    va_list args;
    va_start(args, format);
    const std::string text = Format(format, args);
    va_end(args);
    Tell(core, loc, check, op, fix, true, text);
}

}  // namespace ascendc_emu
