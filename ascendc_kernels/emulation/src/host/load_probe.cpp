// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "host/op_registry.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/crash.h"
#include "core/time_limit.h"

namespace ascendc_emu {
namespace {

constexpr int kWaitMs = 60 * 1000;  // a child stuck behind a lock of another thread tells nothing

// What loops for ever tells so when its time is over.
int WaitMs() {
    const double limit = TimeLimit();
    return limit > 0 && limit < 1e6 ? static_cast<int>(limit * 1000) + kWaitMs : kWaitMs;
}
constexpr char kEnd = '\0';  // between the text of the crash and its report

// Writes what happened to `out`, nothing for a library that loads, and ends the process.
[[noreturn]] void Probe(const char* path, int out) {
    // What static objects print is to be seen once: from the process that keeps the library.
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    auto load = [path] { (void)dlopen(path, RTLD_NOW | RTLD_LOCAL); };
    const std::string failure =
        RunGuarded([](void* raw) { (*static_cast<decltype(load)*>(raw))(); }, &load);
    if (!failure.empty()) {
        const std::string said = failure + kEnd + LastCrash();
        for (size_t done = 0; done < said.size();) {
            const ssize_t wrote = write(out, said.data() + done, said.size() - done);
            if (wrote <= 0) break;
            done += static_cast<size_t>(wrote);
        }
    }
    _exit(0);
}

}  // namespace

std::string CrashOfLoading(const char* path) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    const pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return "";
    }
    if (child == 0) Probe(path, ends[1]);
    close(ends[1]);
    std::string said;
    char part[4096];
    for (pollfd wait = {ends[0], POLLIN, 0}; poll(&wait, 1, WaitMs()) > 0;) {
        const ssize_t got = read(ends[0], part, sizeof(part));
        if (got <= 0) break;
        said.append(part, static_cast<size_t>(got));
    }
    close(ends[0]);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const size_t end = said.find(kEnd);
    if (end == std::string::npos) return "";
    SetLastCrash(said.substr(end + 1));
    return said.substr(0, end);
}

}  // namespace ascendc_emu
