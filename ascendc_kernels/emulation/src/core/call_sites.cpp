// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// From addresses to source lines, by binutils' addr2line. Runs in signal handlers of a process
// whose heap may be broken: nothing here allocates memory.
#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/crash.h"
#include "core/time_limit.h"

namespace ascendc_emu {
namespace {

constexpr size_t kOutput = 1 << 16;
char g_output[kOutput];
std::atomic_flag g_busy = ATOMIC_FLAG_INIT;

struct Module {
    const char* path;
    uintptr_t base;
};

bool ModuleOf(const void* address, Module* module) {
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
    *module = {info.dli_fname, reinterpret_cast<uintptr_t>(info.dli_fbase)};
    return true;
}

bool IsOwn(const Module& module) {
    static const Module own = [] {
        Module m = {};
        ModuleOf(reinterpret_cast<const void*>(&FindCallSites), &m);
        return m;
    }();
    return module.base == own.base;
}

bool IsSystem(const Module& module) {
    for (const char* start : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "linux-vdso"}) {
        if (strncmp(module.path, start, strlen(start)) == 0) return true;
    }
    const char* const slash = strrchr(module.path, '/');
    const char* const name = slash == nullptr ? module.path : slash + 1;
    for (const char* start :
         {"python", "libpython", "libstdc++", "libgcc_s", "libffi", "_ctypes"}) {
        if (strncmp(name, start, strlen(start)) == 0) return true;
    }
    return false;
}

// The headers of the emulation are not where the user looks.
bool IsUserFile(const char* file) {
    return file[0] != '?' && file[0] != '\0' && strncmp(file, "/usr/", 5) != 0 &&
           strstr(file, "ascendc_kernels/emulation/") == nullptr;
}

// Runs addr2line over addresses of one module; its output as text in g_output.
bool Symbolise(const Module& module, char (*addresses)[24], int count) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    const char* arguments[Crash::kMaxFrames + 8] = {"addr2line", "-e", module.path, "-f",
                                                    "-C",        "-i", "-a"};
    char main_program[] = "/proc/self/exe";
    char link[512];
    const ssize_t length = readlink(main_program, link, sizeof(link) - 1);
    if (length > 0) link[length] = '\0';
    // dladdr calls the program what its caller called it.
    if (module.path[0] != '/' && length > 0) arguments[2] = link;
    int used = 7;
    for (int i = 0; i < count; ++i) arguments[used++] = addresses[i];
    arguments[used] = nullptr;
    const pid_t child = vfork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        execvp(arguments[0], const_cast<char* const*>(arguments));
        _exit(127);
    }
    close(ends[1]);
    size_t got = 0;
    for (;;) {
        const ssize_t n = child < 0 ? 0 : read(ends[0], g_output + got, kOutput - 1 - got);
        if (n <= 0) break;
        got += static_cast<size_t>(n);
    }
    g_output[got] = '\0';
    close(ends[0]);
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    return got > 0;
}

void Copy(char* to, size_t size, const char* from) {
    const size_t length = strnlen(from, size - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

// Per address: a line "0x...", then per inlined call its function and "file:line".
int ReadSites(CallSite* sites, int count, int capacity) {
    char* save = nullptr;
    char* line = strtok_r(g_output, "\n", &save);
    while (line != nullptr && count < capacity) {
        if (strncmp(line, "0x", 2) == 0) {
            line = strtok_r(nullptr, "\n", &save);
            continue;
        }
        char* const place = strtok_r(nullptr, "\n", &save);
        if (place == nullptr) break;
        if (char* const note = strstr(place, " (discriminator")) *note = '\0';
        char* const colon = strrchr(place, ':');
        if (colon != nullptr) {
            *colon = '\0';
            CallSite& site = sites[count];
            site.line = atoi(colon + 1);
            if (IsUserFile(place) && site.line > 0) {
                const bool launch = strstr(line, "ascendc_emu::LaunchBody") != nullptr;
                Copy(site.function, sizeof(site.function), launch ? "the launch" : line);
                Copy(site.file, sizeof(site.file), place);
                // Recursion shows once.
                const bool again = count > 0 && sites[count - 1].line == site.line &&
                                   strcmp(sites[count - 1].file, site.file) == 0;
                count += again ? 0 : 1;
            }
        }
        line = strtok_r(nullptr, "\n", &save);
    }
    return count;
}

uintptr_t LinkedAddress(const Module& module, uintptr_t address) {
    const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(module.base);
    return header->e_type == ET_EXEC ? address : address - module.base;
}

}  // namespace

int FindCallSites(const Crash& crash, CallSite* sites, int capacity) {
    while (g_busy.test_and_set()) usleep(1000);
    int count = 0;
    bool user = false;
    for (int i = 0; i < crash.count && count < capacity;) {
        Module module;
        if (!ModuleOf(crash.frames[i], &module)) {
            ++i;
            continue;
        }
        if (IsOwn(module) || IsSystem(module)) {
            if (IsOwn(module) && user) break;  // whoever called the user's code
            ++i;
            continue;
        }
        char addresses[Crash::kMaxFrames][24];
        int number = 0;
        for (; i < crash.count; ++i) {
            Module next;
            if (!ModuleOf(crash.frames[i], &next) || next.base != module.base) break;
            const auto at = reinterpret_cast<uintptr_t>(crash.frames[i]);
            snprintf(addresses[number++], sizeof(addresses[0]), "0x%zx", LinkedAddress(module, at));
        }
        user = true;
        if (Symbolise(module, addresses, number)) count = ReadSites(sites, count, capacity);
    }
    g_busy.clear();
    return count;
}

void DescribeCrash(const Crash& crash, char* text, size_t size) {
    const char* const name = crash.signal == SIGSEGV   ? "SIGSEGV"
                             : crash.signal == SIGBUS  ? "SIGBUS"
                             : crash.signal == SIGILL  ? "SIGILL"
                             : crash.signal == SIGABRT ? "SIGABRT"
                             : crash.signal == SIGFPE  ? "SIGFPE"
                                                       : "a signal";
    const uintptr_t distance =
        crash.address > crash.stack ? crash.address - crash.stack : crash.stack - crash.address;
    if (crash.signal == kTimeIsUp) {
        snprintf(text, size, "the time limit of %g s", TimeLimit());
    } else if (crash.signal == kLeaves) {
        snprintf(text, size, "%s, which ends the process", crash.exception);
    } else if (crash.signal == SIGABRT && crash.exception[0] != '\0') {
        snprintf(text, size, "SIGABRT: nobody catches the exception %s", crash.exception);
    } else if (crash.signal == SIGABRT) {
        snprintf(text, size, "SIGABRT: abort(), a failed assertion or a broken heap");
    } else if (crash.signal == SIGFPE) {
        snprintf(text, size, "SIGFPE: an integer division by zero");
    } else if (crash.signal == SIGILL) {
        snprintf(text, size, "SIGILL: a trap of the compiler, or a jump into data");
    } else if (crash.frames[0] != nullptr &&
               crash.address == reinterpret_cast<uintptr_t>(crash.frames[0])) {
        snprintf(text, size, "%s: a call through a %s pointer (0x%zx)", name,
                 crash.address < 4096 ? "null" : "wild", crash.address);
    } else if (crash.frames[0] == nullptr) {
        snprintf(text, size, "%s: a call through a null pointer", name);
    } else if (crash.signal == SIGSEGV && distance < 65536) {
        snprintf(text, size, "%s: the stack is full (endless recursion, or large local arrays)",
                 name);
    } else if (crash.code == SI_KERNEL) {
        snprintf(text, size, "%s: access through a wild pointer", name);
    } else {
        snprintf(text, size, "%s: %s address 0x%zx, %s", name, crash.write ? "write to" : "read of",
                 crash.address,
                 crash.address < 65536 ? "a null pointer or a member behind one"
                                       : "which is no memory of the process");
    }
}

}  // namespace ascendc_emu
