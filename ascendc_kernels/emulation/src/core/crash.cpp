// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/crash.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <typeinfo>

#include "core/code_range.h"
#include "core/division.h"
#include "core/time_limit.h"
#include "program/exit_report.h"

namespace ascendc_emu {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE};
constexpr int kMostSignals = 65;
struct sigaction g_before[kMostSignals];

struct Guard {
    sigjmp_buf jump;
    Guard* outer;
};

// Allocated before it is needed: a handler must not call malloc.
struct ThreadState {
    Guard* guard = nullptr;
    Crash crash;
    Crash thrown;
    bool handling = false;
};
thread_local ThreadState* t_state __attribute__((tls_model("initial-exec"))) = nullptr;
Crash g_foreign;  // of a thread that has not prepared

constexpr size_t kHandlerStack = 256 << 10;

ThreadState& State() {
    if (t_state != nullptr) return *t_state;
    t_state = new ThreadState;
    stack_t current = {};
    sigaltstack(nullptr, &current);
    if ((current.ss_flags & SS_DISABLE) != 0 || current.ss_size < kHandlerStack) {
        void* const memory = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        stack_t own = {};
        own.ss_sp = memory;
        own.ss_size = kHandlerStack;
        if (memory != MAP_FAILED) sigaltstack(&own, nullptr);
    }
    return *t_state;
}

// The text of an exception that ended in std::terminate.
void NoteException(Crash* crash) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return;
    char* const readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr);
    snprintf(crash->exception, sizeof(crash->exception), "%s", readable ? readable : type->name());
    free(readable);
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const std::exception& e) {
        const size_t used = strlen(crash->exception);
        snprintf(crash->exception + used, sizeof(crash->exception) - used, ": %s", e.what());
    } catch (...) {
    }
}

struct Frames {
    void** addresses;
    int count;
    int capacity;
};

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* data) {
    Frames& frames = *static_cast<Frames*>(data);
    if (frames.count == frames.capacity) return _URC_END_OF_STACK;
    int interrupted = 0;
    const uintptr_t at = _Unwind_GetIPInfo(context, &interrupted);
    if (at == 0) return _URC_END_OF_STACK;
    // A return address lies behind the call; where a signal arrived the instruction itself is
    // known.
    const uintptr_t runs = interrupted != 0 ? at : at - 1;
    frames.addresses[frames.count++] = reinterpret_cast<void*>(runs);
    return _URC_NO_REASON;
}

// An address inside the instruction that each frame runs, innermost first; allocates nothing once
// the unwinder is loaded.
int CallStack(void** addresses, int capacity) {
    Frames frames = {addresses, 0, capacity};
    (void)_Unwind_Backtrace(&AddFrame, &frames);
    return frames.count;
}

void Collect(int number, const siginfo_t& info, const ucontext_t& context, Crash* crash) {
    *crash = Crash();
    crash->signal = number;
    crash->code = info.si_code;
    crash->address = reinterpret_cast<uintptr_t>(info.si_addr);
    uintptr_t pc = 0;
#if defined(__x86_64__)
    pc = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
    crash->stack = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
    crash->write = (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
    pc = context.uc_mcontext.pc;
    crash->stack = context.uc_mcontext.sp;
#endif
    void* all[Crash::kMaxFrames];
    const int found = CallStack(all, Crash::kMaxFrames);
    // Behind the handler's own frames and that of the kernel's signal return.
    int first = 0;
    while (first < found && reinterpret_cast<uintptr_t>(all[first]) != pc) ++first;
    crash->frames[crash->count++] = reinterpret_cast<void*>(pc);
    for (int i = first + 1; i < found && crash->count < Crash::kMaxFrames; ++i) {
        crash->frames[crash->count++] = all[i];
    }
#if defined(__x86_64__)
    Dl_info module;
    if (first + 1 >= found && dladdr(reinterpret_cast<void*>(pc), &module) == 0) {
        // A call through a bad pointer: the unwinder does not know the caller, the stack does.
        const uintptr_t back = *reinterpret_cast<const uintptr_t*>(crash->stack);
        crash->frames[crash->count++] = reinterpret_cast<void*>(back - 1);
    }
#endif
}

// Whether the crash left a lock of malloc behind: nothing can go on then.
bool InAllocator(const Crash& crash) {
    for (int i = 0; i < crash.count; ++i) {
        Dl_info info;
        if (dladdr(crash.frames[i], &info) == 0 || info.dli_sname == nullptr) continue;
        for (const char* name :
             {"malloc", "__libc_malloc", "free", "cfree", "__libc_free", "calloc", "__libc_calloc",
              "realloc", "__libc_realloc", "_Znwm", "_ZdlPv"}) {
            if (strcmp(info.dli_sname, name) == 0) return true;
        }
    }
    return false;
}

void Write(int file, const char* text) {
    size_t left = strlen(text);
    while (left > 0) {
        const ssize_t done = write(file, text, left);
        if (done <= 0) return;
        text += done;
        left -= static_cast<size_t>(done);
    }
}

// Appends `text` to `out` as the inside of a JSON string.
void AppendJson(char* out, size_t size, const char* text) {
    size_t used = strlen(out);
    for (; *text != '\0' && used + 8 < size; ++text) {
        const unsigned char c = static_cast<unsigned char>(*text);
        if (c < 0x20) {
            used += static_cast<size_t>(snprintf(out + used, size - used, "\\u%04x", c));
            continue;
        }
        if (c == '"' || c == '\\') out[used++] = '\\';
        out[used++] = static_cast<char>(c);
    }
    out[used] = '\0';
}

constexpr int kMostSites = 8;

void FormatJson(int number, const char* text, const CallSite* sites, int count, char* out,
                size_t size) {
    char limit[48] = {};
    if (number == kTimeIsUp) snprintf(limit, sizeof(limit), "\"limit\": %g, ", TimeLimit());
    snprintf(out, size, "{\"signal\": %d, %s\"text\": \"", number < kTimeIsUp ? number : 0, limit);
    AppendJson(out, size, text);
    strncat(out, "\", \"sites\": [", size - strlen(out) - 1);
    for (int i = 0; i < count; ++i) {
        strncat(out, i == 0 ? "{\"function\": \"" : ", {\"function\": \"", size - strlen(out) - 1);
        AppendJson(out, size, sites[i].function);
        strncat(out, "\", \"file\": \"", size - strlen(out) - 1);
        AppendJson(out, size, sites[i].file);
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "\", \"line\": %d}", sites[i].line);
    }
    strncat(out, "]}", size - strlen(out) - 1);
}

CallSite g_sites[kMostSites];
char g_json[kMostSites * 1024 + 1024];

// The process ends: says why on stderr and, for a program under `opgen run`, in the file it reads.
void Farewell(const Crash& crash) {
    const int count = FindCallSites(crash, g_sites, kMostSites);
    char text[1024];
    DescribeCrash(crash, text, sizeof(text));
    if (const char* path = getenv("OPGEN_CRASH_REPORT")) {
        FormatJson(crash.signal, text, g_sites, count, g_json, sizeof(g_json));
        const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file >= 0) {
            Write(file, g_json);
            close(file);
            return;
        }
    }
    Write(2, "opgen: the process dies of ");
    Write(2, text);
    Write(2, "\n");
    for (int i = 0; i < count; ++i) {
        snprintf(text, sizeof(text), "    %s %s:%d, in %s\n", i == 0 ? "at" : "called from",
                 g_sites[i].file, g_sites[i].line, g_sites[i].function);
        Write(2, text);
    }
}

// A process that ends although a kernel or a function of an op has not: code 0 would be taken for
// success.
void RefuseToLeave() {
    const bool guarded = t_state != nullptr && t_state->guard != nullptr;
    if (!RunsBlock() && !guarded) return;
    Write(2, "opgen: the process ends in the middle of ");
    Write(2, RunsBlock() ? "a kernel, which calls exit()\n"
                         : "a function of an op, which calls exit()\n");
    _exit(1);
}

void CallEarlierHandler(int number, siginfo_t* info, void* context) {
    const struct sigaction& before = g_before[number];
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        // The instruction runs again and ends the process; a signal that was sent is sent again.
        signal(number, SIG_DFL);
        if (info->si_code <= 0 && number != SIGABRT) raise(number);
    }
}

void Handle(int number, siginfo_t* info, void* context) {
    if (number == SIGFPE && ResumeDivision(*info, context)) return;
    ThreadState* const state = t_state;
    const bool known = RunsBlock() || (state != nullptr && state->guard != nullptr);
    const bool program = getenv("OPGEN_CRASH_REPORT") != nullptr;
    if ((!known && !program) || (state != nullptr && state->handling)) {
        CallEarlierHandler(number, info, context);
        return;
    }
    Crash* const crash = state != nullptr ? &state->crash : &g_foreign;
    if (state != nullptr) state->handling = true;
    Collect(number, *info, *static_cast<ucontext_t*>(context), crash);
    const bool heap = InAllocator(*crash);
    if (!heap && number == SIGABRT) NoteException(crash);
    if (known && !heap) {
        sigset_t ours;
        sigemptyset(&ours);
        for (int each : kSignals) sigaddset(&ours, each);
        pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
        if (state != nullptr) state->handling = false;
        if (RunsBlock()) AbandonBlock(*crash);
        siglongjmp(state->guard->jump, 1);
    }
    Farewell(*crash);
    if (!heap) {
        alarm(20);  // the report may wait for a lock that this thread holds
        WriteExitReport();
    }
    if (state != nullptr) state->handling = false;
    CallEarlierHandler(number, info, context);
}

CrashReport Report(const Crash& crash, const std::string& text) {
    CrashReport report;
    CallSite sites[kMostSites];
    const int count = FindCallSites(crash, sites, kMostSites);
    report.full = report.text = text;
    for (int i = 0; i < count; ++i) {
        report.full += (i == 0   ? " at "
                        : i == 1 ? "; called from "
                                 : ", ") +
                       std::string(sites[i].file) + ":" + std::to_string(sites[i].line) + " (" +
                       sites[i].function + ")";
    }
    if (count > 0) {
        report.file = sites[0].file;
        report.line = sites[0].line;
    }
    std::string json(kMostSites * 1024 + 1024, '\0');
    FormatJson(crash.signal, text.substr(0, 512).c_str(), sites, count, json.data(), json.size());
    report.json = json.c_str();
    return report;
}

std::mutex g_last_mutex;
std::string& Last() {
    static std::string json;
    return json;
}

// Programs under `opgen run` are prepared from their start.
__attribute__((constructor)) void PrepareProgram() {
    if (getenv("OPGEN_CRASH_REPORT") != nullptr) PrepareForCrashes();
}

}  // namespace

void PrepareForCrashes() {
    (void)State();
    static const bool done = [] {
        void* frame = nullptr;
        CallStack(&frame, 1);  // loads the unwinder now
        (void)atexit(RefuseToLeave);
        (void)at_quick_exit(RefuseToLeave);
        struct sigaction action = {};
        action.sa_sigaction = &Handle;
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        for (int number : kSignals) sigaction(number, &action, &g_before[number]);
        return true;
    }();
    (void)done;
}

std::string RunGuarded(void (*body)(void*), void* context) {
    PrepareForCrashes();
    ThreadState& state = State();
    struct Scope {
        ThreadState& state;
        Guard guard;
        ~Scope() { state.guard = guard.outer; }
    } scope{state, {{}, state.guard}};
    state.guard = &scope.guard;
    state.thrown.count = 0;
    const Deadline deadline;
    if (sigsetjmp(scope.guard.jump, 0) == 0) {
        body(context);
        return "";
    }
    const CrashReport report = ReportOf(state.crash);
    SetLastCrash(report.json);
    return report.full;
}

void NoteStack(int signal, Crash* crash) {
    *crash = Crash();
    crash->signal = signal;
    crash->count = CallStack(crash->frames, Crash::kMaxFrames);
}

void StopUserCode(const char* call) {
    const bool guarded = t_state != nullptr && t_state->guard != nullptr;
    if (!RunsBlock() && !guarded) return;
    ThreadState& state = State();
    NoteStack(kLeaves, &state.crash);
    snprintf(state.crash.exception, sizeof(state.crash.exception), "%s", call);
    if (RunsBlock()) AbandonBlock(state.crash);
    siglongjmp(state.guard->jump, 1);
}

namespace {

// Ticks after which code is stopped that calls of the kernel have led to, and code of our own.
constexpr int kPatience = 400;
constexpr int kMorePatience = 4000;

CodeRange OwnCode() {
    static const CodeRange range = CodeOf(reinterpret_cast<const void*>(&ReportOf));
    return range;
}

}  // namespace

void StopLateCode(Deadline& deadline, const siginfo_t& info, void* context) {
    Scheduler* const scheduler = deadline.scheduler();
    if (scheduler != nullptr) TimeOutLaunch(scheduler);
    const bool block = scheduler != nullptr && RunsBlockOf(scheduler);
    ThreadState* const state = t_state;
    if (state == nullptr || state->handling || deadline.busy) return;
    if (!block && (scheduler != nullptr || state->guard == nullptr)) return;
    Crash& crash = state->crash;
    deadline.busy = true;  // the signal may come again meanwhile
    Collect(kTimeIsUp, info, *static_cast<ucontext_t*>(context), &crash);
    const auto at = reinterpret_cast<uintptr_t>(crash.frames[0]);
    // Elsewhere a lock may be held that others need later.
    const bool own = block && !deadline.code().Has(at);
    const int patience = own ? (OwnCode().Has(at) ? kMorePatience : kPatience) : 0;
    const bool wait =
        deadline.ticks < patience || (InAllocator(crash) && deadline.ticks < 2 * kMorePatience);
    deadline.busy = false;
    if (wait) return;
    if (block) AbandonBlock(crash);
    deadline.busy = true;  // once: the guarded call has ended, and what follows is no late code
    siglongjmp(state->guard->jump, 1);
}

bool EndProgram(const siginfo_t& info, void* context) {
    static Crash crash;
    static std::atomic_flag busy = ATOMIC_FLAG_INIT;  // the signal comes again while this goes on
    if (busy.test_and_set()) return true;
    Collect(kTimeIsUp, info, *static_cast<ucontext_t*>(context), &crash);
    if (InAllocator(crash)) {
        busy.clear();
        return false;
    }
    Farewell(crash);
    alarm(20);  // the report may wait for a lock that this thread holds
    WriteExitReport();
    _exit(124);
}

std::string JsonString(const std::string& text) {
    std::string out(6 * text.size() + 16, '\0');
    AppendJson(out.data(), out.size(), text.c_str());
    return '"' + std::string(out.c_str()) + '"';
}

CrashReport ReportOf(const Crash& crash) {
    char text[512];
    DescribeCrash(crash, text, sizeof(text));
    return Report(crash, text);
}

void SetLastCrash(const std::string& json) {
    std::lock_guard<std::mutex> lock(g_last_mutex);
    Last() = json;
}

std::string LastCrash() {
    std::lock_guard<std::mutex> lock(g_last_mutex);
    return Last();
}

CrashReport ReportThrown(const std::string& text) {
    static const Crash unknown;
    return Report(t_state != nullptr ? t_state->thrown : unknown, text);
}

// Notes where an exception is thrown; the stack is gone when it is caught.
static void NoteThrow() {
    if (t_state == nullptr || !(RunsBlock() || t_state->guard != nullptr)) return;
    Crash& thrown = t_state->thrown;
    thrown.count = CallStack(thrown.frames, Crash::kMaxFrames);
}

}  // namespace ascendc_emu

// Stands before the C++ library's function of this name, which it calls.
extern "C" __attribute__((noreturn)) void __cxa_throw(void* object, std::type_info* type,
                                                      void (*destroy)(void*)) {
    using Throw = void (*)(void*, std::type_info*, void (*)(void*));
    static const auto next = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
    const char* const name = type->name();
    if (strstr(name, "BlockAbort") == nullptr) ascendc_emu::NoteThrow();
    next(object, type, destroy);
    __builtin_unreachable();
}
