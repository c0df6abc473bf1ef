// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/spin.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "core/code_range.h"
#include "core/thread_object.h"

namespace ascendc_emu {
namespace {

constexpr long kTickNanoseconds = 10'000'000;
constexpr int kTicks = 3;              // in the same place before a block gives way
constexpr uintptr_t kLoopBytes = 256;  // a loop longer than this does more than wait

struct Watch {
    CodeRange text;
    void (*giveWay)(Core& core) = nullptr;
    const Core* core = nullptr;  // seen in `place` for `ticks` ticks
    uintptr_t place = 0;
    int ticks = 0;
};
thread_local Watch t_watch __attribute__((tls_model("initial-exec")));
// Not in the watch: only that is looked at in the handler, where memory must not be allocated.
struct Timer {
    int id = 0;
    pid_t made = 0;  // the process that made it; a fork has none
    ~Timer() {
        if (made == getpid()) syscall(SYS_timer_delete, id);
    }
};
struct sigaction g_urgent_before;
const char kMark = 0;  // tells this timer's signals from others

uintptr_t Place(void* context) {
    const auto* c = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return static_cast<uintptr_t>(c->uc_mcontext.gregs[REG_RIP]);
#else
    return static_cast<uintptr_t>(c->uc_mcontext.pc);
#endif
}

void OnTick(int signal, siginfo_t* info, void* context) {
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &kMark) {
        if ((g_urgent_before.sa_flags & SA_SIGINFO) != 0) {
            g_urgent_before.sa_sigaction(signal, info, context);
        } else if (g_urgent_before.sa_handler != SIG_DFL && g_urgent_before.sa_handler != SIG_IGN) {
            g_urgent_before.sa_handler(signal);
        }
        return;
    }
    Watch& w = t_watch;
    Core* const core = g_current;
    const uintptr_t at = Place(context);
    // Outside the kernel's own code a lock may be held, and inside it only a loop is of interest.
    if (core == nullptr || !w.text.Has(at)) {
        w.core = nullptr;
        return;
    }
    if (core != w.core || at + kLoopBytes < w.place || at > w.place + kLoopBytes) {
        w.core = core;
        w.place = at;
        w.ticks = 1;
        return;
    }
    if (++w.ticks < kTicks) return;
    w.core = nullptr;
    const int error = errno;
    w.giveWay(*core);
    errno = error;
}

void InstallHandler() {
    struct sigaction action = {};
    action.sa_sigaction = OnTick;
    // The handler switches stacks, so the signal must not stay blocked in this thread.
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    sigaction(SIGURG, &action, &g_urgent_before);
}

CodeRange TextOf(const void* entry) {
    static std::mutex mutex;
    static const void* last = nullptr;
    static CodeRange text;
    std::lock_guard<std::mutex> lock(mutex);
    if (entry != last) {
        text = CodeOf(entry);
        last = entry;
    }
    return text;
}

bool SetTimer(int timer, long nanoseconds) {
    itimerspec spec = {};
    spec.it_interval.tv_nsec = spec.it_value.tv_nsec = nanoseconds;
    return syscall(SYS_timer_settime, timer, 0, &spec, nullptr) == 0;
}

// By system calls: older C libraries have the functions in a library of their own.
bool MakeTimer(Timer& timer) {
    if (timer.made == getpid()) return true;
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGURG;
    event.sigev_value.sival_ptr = const_cast<char*>(&kMark);
    event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer.id) != 0) return false;
    timer.made = getpid();
    return true;
}

}  // namespace

SpinWatch::SpinWatch(const void* entry, void (*giveWay)(Core& core)) {
    static std::once_flag installed;
    if (entry == nullptr) return;
    std::call_once(installed, InstallHandler);
    Watch& w = t_watch;
    w.text = TextOf(entry);
    w.giveWay = giveWay;
    w.core = nullptr;
    Timer& timer = OfThread<Timer>();
    armed_ = MakeTimer(timer) && SetTimer(timer.id, kTickNanoseconds);
}

SpinWatch::~SpinWatch() {
    if (armed_) SetTimer(OfThread<Timer>().id, 0);
}

}  // namespace ascendc_emu

#else
namespace ascendc_emu {
SpinWatch::SpinWatch(const void*, void (*)(Core& core)) {}
SpinWatch::~SpinWatch() {}
}  // namespace ascendc_emu
#endif
