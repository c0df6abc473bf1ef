// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// A kernel, an op_host function or a program that a signal ends (SIGSEGV, SIGABRT, SIGFPE ...):
// what happened, at which source line, and, where that can be, the caller goes on with an error.
#ifndef SRC_CORE_CRASH_H
#define SRC_CORE_CRASH_H

#include <signal.h>

#include <csetjmp>
#include <cstdint>
#include <string>

namespace ascendc_emu {

class Deadline;
class Scheduler;

// "Signals" of code that did not die of one: it ran out of time, it called exit().
constexpr int kTimeIsUp = 1000;
constexpr int kLeaves = 1001;

// Filled in by a signal handler: no memory is allocated.
struct Crash {
    static constexpr int kMaxFrames = 96;
    int signal = 0;
    int code = 0;           // si_code
    uintptr_t address = 0;  // what was accessed
    uintptr_t stack = 0;    // stack pointer
    bool write = false;
    char exception[256] = {};       // of an exception that nobody catches; the call, for kLeaves
    void* frames[kMaxFrames] = {};  // inside the instruction that each frame runs, innermost first
    int count = 0;
};

// One source line of a crash.
struct CallSite {
    char function[192];
    char file[512];
    int line;
};

// The lines of the crash in the user's own sources, innermost first: frames of the emulation and of
// the system are left out. At most `capacity`; allocates nothing.
int FindCallSites(const Crash& crash, CallSite* sites, int capacity);

// "SIGSEGV, write to address 0x0: a null pointer"; allocates nothing.
void DescribeCrash(const Crash& crash, char* text, size_t size);

// What is known of a crash, symbolised.
struct CrashReport {
    std::string text;  // without the lines
    std::string file;  // "" when unknown
    int line = 0;
    std::string json;  // {"signal", "text", "sites": [{"function", "file", "line"}]}

    // "text at file:line, in function; called from file:line ..."
    std::string full;
};
CrashReport ReportOf(const Crash& crash);

// The report of the last crash that was survived, "" for none; for opgen_last_crash_json().
void SetLastCrash(const std::string& json);
std::string LastCrash();

// Installs the handlers, once per process, and gives this thread a stack to run them on.
void PrepareForCrashes();

// Calls body(context), which is code that is not ours. Returns "" or, when a signal ended it, what
// happened: its stack is given up, without destructors. Exceptions pass.
std::string RunGuarded(void (*body)(void*), void* context);

// What is known of the exception with this text that was thrown last on this thread in a kernel or
// a guarded call, and is caught now.
CrashReport ReportThrown(const std::string& text);

// Ends the block or the guarded call that this thread runs, because of a call like "exit(0)".
// Returns when it runs neither.
void StopUserCode(const char* call);
// Where this thread is, as far as the user's code goes.
void NoteStack(int signal, Crash* crash);
// In the handler of a timer: the same, because it is late, if the code is where it can be stopped.
void StopLateCode(Deadline& deadline, const siginfo_t& info, void* context);
// In such a handler: the program's main thread is late. Returns when it cannot be ended here.
bool EndProgram(const siginfo_t& info, void* context);

// As the inside of a JSON string, with its quotes.
std::string JsonString(const std::string& text);

// In scheduler.cpp: gives up the block this thread runs, if it runs one; does not return then.
void AbandonBlock(const Crash& crash);
bool RunsBlock();
bool RunsBlockOf(const Scheduler* scheduler);
void TimeOutLaunch(Scheduler* scheduler);

}  // namespace ascendc_emu
#endif  // SRC_CORE_CRASH_H
