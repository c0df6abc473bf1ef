// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/time_limit.h"

#include <cstdlib>

namespace ascendc_emu {

double TimeLimit() {
    constexpr double kUsual = 600;
    const char* const text = getenv("OPGEN_TIMEOUT");
    if (text == nullptr || *text == '\0') return kUsual;
    char* end = nullptr;
    const double seconds = strtod(text, &end);
    return *end == '\0' && seconds >= 0 ? seconds : kUsual;
}

}  // namespace ascendc_emu

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/crash.h"
#include "core/scheduler.h"
#include "core/thread_object.h"

namespace ascendc_emu {
namespace {

constexpr double kTickSeconds = 0.005;
// The timer of a limit that is not shorter goes on between launches. Its signal then ends a sleep
// of the thread early, once, when as much time has gone by without a launch; shorter limits would
// do so where it matters.
constexpr double kLongLimit = 60;
thread_local Deadline* t_deadline __attribute__((tls_model("initial-exec"))) = nullptr;
const char kLimitMark = 0;  // tells these timers' signals from others
struct sigaction g_before_limit;

std::atomic<int> g_forks{1};  // this process, and those that it was forked from

// By system calls: older C libraries have the functions in a library of their own. A timer goes on
// after a launch, so that the next one need not set it: its signal finds out whether time is up.
struct LimitTimer {
    int id = 0;
    int made = 0;  // in which of the forks; others have none
    // The handler, too, reads and changes these.
    std::atomic<bool> runs{false};
    std::atomic<double> due{0};  // when it gives its first signal
    ~LimitTimer() {
        if (made == g_forks.load()) syscall(SYS_timer_delete, id);
    }

    // For the calling thread.
    bool Make() {
        if (made == g_forks.load()) return true;
        runs = false;
        sigevent event = {};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGURG;
        event.sigev_value.sival_ptr = const_cast<char*>(&kLimitMark);
        event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
        if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) != 0) return false;
        made = g_forks.load();
        return true;
    }

    // Give the first signal at that time at the latest.
    bool Reach(double when, double now) {
        if (runs.load() && due.load() <= when) return true;
        due = when;
        runs = Set(when - now, kTickSeconds);
        return runs.load();
    }
    void Stop() {
        Set(0, 0);
        runs = false;
    }

 private:
    bool Set(double first, double interval) const {
        const auto spec = [](double seconds) {
            timespec t;
            t.tv_sec = static_cast<time_t>(seconds);
            t.tv_nsec = static_cast<long>((seconds - static_cast<double>(t.tv_sec)) * 1e9);
            return t;
        };
        itimerspec times = {};
        times.it_value = spec(first);
        times.it_interval = spec(interval);
        return syscall(SYS_timer_settime, id, 0, &times, nullptr) == 0;
    }
};

double MonotonicSeconds() {
    timespec t = {};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The main thread of a program between its launches.
std::atomic<double> g_progress{0};
std::atomic<int> g_launching{0};
std::atomic<bool> g_programLate{false};

// A thread of its own: a timer's signal would end the program's sleeps early, late or not.
void WatchProgress() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const double limit = TimeLimit();
    for (;;) {
        const double left = g_progress.load() + limit - MonotonicSeconds();
        g_programLate = left <= 0 && g_launching.load() == 0;
        if (g_programLate) syscall(SYS_tgkill, getpid(), getpid(), SIGURG);
        const double pause = left > kTickSeconds ? left : g_programLate ? kTickSeconds : 0.5;
        std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    }
}

void OnTime(int signal, siginfo_t* info, void* context) {
    const bool ours = info->si_code == SI_TIMER;
    const void* const mark = ours ? info->si_value.sival_ptr : nullptr;
    const int error = errno;
    if (info->si_code == SI_TKILL && g_programLate.load()) {
        (void)EndProgram(*info, context);  // or again a little later
    } else if (mark == &kLimitMark) {
        const double now = MonotonicSeconds();
        if (t_deadline == nullptr) {
            OfThread<LimitTimer>().Stop();
        } else if (now < t_deadline->due) {
            LimitTimer& timer = OfThread<LimitTimer>();
            timer.runs = false;
            timer.Reach(t_deadline->due, now);
        } else {
            ++t_deadline->ticks;
            StopLateCode(*t_deadline, *info, context);
        }
    } else if ((g_before_limit.sa_flags & SA_SIGINFO) != 0) {
        g_before_limit.sa_sigaction(signal, info, context);
    } else if (g_before_limit.sa_handler != SIG_DFL && g_before_limit.sa_handler != SIG_IGN) {
        g_before_limit.sa_handler(signal);
    }
    errno = error;
}

void InstallLimitHandler() {
    static std::once_flag installed;
    std::call_once(installed, [] {
        struct sigaction action = {};
        action.sa_sigaction = OnTime;
        // The handler may leave the stack, so the signal must not stay blocked in this thread.
        action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
        sigaction(SIGURG, &action, &g_before_limit);
        pthread_atfork(nullptr, nullptr, [] { ++g_forks; });
    });
}

// Programs that `opgen run` compiled.
__attribute__((constructor)) void WatchProgram() {
    const char* const wanted = getenv("OPGEN_PROGRAM_LIMIT");
    const double limit = TimeLimit();
    if (wanted == nullptr || *wanted != '1' || limit <= 0) return;
    unsetenv("OPGEN_PROGRAM_LIMIT");  // not what it starts itself
    InstallLimitHandler();
    g_progress = MonotonicSeconds();
    std::thread(WatchProgress).detach();
}

}  // namespace

Deadline::Deadline(Scheduler* scheduler, const void* entry)
    : scheduler_(scheduler), outer_(t_deadline) {
    const double limit = TimeLimit();
    if (limit <= 0) return;
    if (entry != nullptr) {
        // Kernels are launched again and again.
        struct Known {
            const void* entry = nullptr;
            CodeRange code;
        };
        Known& last = OfThread<Known>();
        if (last.entry != entry) last = {entry, CodeOf(entry)};
        code_ = last.code;
    }
    InstallLimitHandler();
    LimitTimer& timer = OfThread<LimitTimer>();
    armed_ = timer.Make();
    if (!armed_) return;
    const double now = MonotonicSeconds();
    due = now + limit;
    limit_ = limit;
    t_deadline = this;
    armed_ = timer.Reach(due, now);
    if (!armed_) t_deadline = outer_;
}

Deadline::~Deadline() {
    if (!armed_) return;
    if (outer_ != nullptr) {  // whose time starts again
        const double now = MonotonicSeconds();
        outer_->due = now + TimeLimit();
        OfThread<LimitTimer>().Reach(outer_->due, now);
    } else if (limit_ < kLongLimit) {
        OfThread<LimitTimer>().Stop();
    }
    t_deadline = outer_;
}

void NoteProgress(bool launches) {
    g_progress = MonotonicSeconds();
    g_launching += launches ? 1 : -1;
}

}  // namespace ascendc_emu

#else
namespace ascendc_emu {
Deadline::Deadline(Scheduler* scheduler, const void*) : scheduler_(scheduler) {}
Deadline::~Deadline() {}
void NoteProgress(bool) {}
}  // namespace ascendc_emu
#endif
