// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Kernels and op_host functions that end the process: on the device a kernel cannot, and a process
// that ends with code 0 in the middle of its work would pass for a success. The libraries and
// programs that the kit links call these functions instead of the C library's (the linker's
// --wrap).
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "core/crash.h"

using ascendc_emu::StopUserCode;

namespace {

void StopForExit(const char* function, int argument) {
    char text[64];
    snprintf(text, sizeof(text), "%s(%d)", function, argument);
    StopUserCode(text);
}

// Signals that no handler sees, or that end the process by default.
void StopForSignal(const char* function, int number) {
    const char* const name = number == SIGKILL   ? "SIGKILL"
                             : number == SIGSTOP ? "SIGSTOP"
                             : number == SIGTERM ? "SIGTERM"
                             : number == SIGINT  ? "SIGINT"
                             : number == SIGHUP  ? "SIGHUP"
                             : number == SIGTSTP ? "SIGTSTP"
                             : number == SIGPIPE ? "SIGPIPE"
                             : number == SIGALRM ? "SIGALRM"
                             : number == SIGQUIT ? "SIGQUIT"
                                                 : nullptr;
    if (name == nullptr) return;
    char text[64];
    snprintf(text, sizeof(text), "%s(%s)", function, name);
    StopUserCode(text);
}

}  // namespace

extern "C" {

[[noreturn]] void __wrap_exit(int code) {
    StopForExit("exit", code);
    exit(code);
}

[[noreturn]] void __wrap__exit(int code) {
    StopForExit("_exit", code);
    _exit(code);
}

[[noreturn]] void __wrap__Exit(int code) {
    StopForExit("_Exit", code);
    _Exit(code);
}

[[noreturn]] void __wrap_quick_exit(int code) {
    StopForExit("quick_exit", code);
    quick_exit(code);
}

int __wrap_raise(int number) {
    StopForSignal("raise", number);
    return raise(number);
}

int __wrap_kill(pid_t process, int number) {
    if (process == getpid() || process == 0) StopForSignal("kill", number);
    return kill(process, number);
}

}  // extern "C"
