// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ascendc_emu {
namespace {

struct Pool {
    std::mutex mutex;
    std::condition_variable wake, done;
    std::vector<std::thread> threads;
    void (*work)(void*) = nullptr;
    void* argument = nullptr;
    uint64_t round = 0;
    int wanted = 0, taken = 0, running = 0;
    pid_t owner = getpid();

    void Loop() {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return round != seen && taken < wanted; });
            seen = round;
            ++taken;
            lock.unlock();
            work(argument);
            lock.lock();
            if (--running == 0) done.notify_all();
        }
    }
};

// Never destroyed: its threads wait for ever. A fork leaves the child without threads, so the
// child gets a new pool.
Pool* g_pool = nullptr;

Pool& Get() {
    if (g_pool == nullptr || g_pool->owner != getpid()) g_pool = new Pool;
    return *g_pool;
}

}  // namespace

int DefaultThreads() {
    if (const char* text = getenv("OPGEN_THREADS")) {
        const int n = atoi(text);
        if (n > 0) return n;
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
    const unsigned n = std::thread::hardware_concurrency();
    return n > 0 ? static_cast<int>(n) : 1;
}

int PrepareWorkers(int wanted) {
    if (wanted <= 1) return 1;
    Pool& pool = Get();
    std::lock_guard<std::mutex> lock(pool.mutex);
    try {
        while (static_cast<int>(pool.threads.size()) < wanted - 1) {
            pool.threads.emplace_back([&pool] { pool.Loop(); });
            pool.threads.back().detach();
        }
    } catch (const std::system_error&) {
        // Those there are do all the work.
    }
    return std::min(wanted, static_cast<int>(pool.threads.size()) + 1);
}

void RunOnPool(int workers, void (*work)(void*), void* argument) {
    if (workers <= 1) {
        work(argument);
        return;
    }
    Pool& pool = Get();
    {
        std::lock_guard<std::mutex> lock(pool.mutex);
        pool.work = work;
        pool.argument = argument;
        pool.wanted = workers - 1;
        pool.taken = 0;
        pool.running = workers - 1;
        ++pool.round;
    }
    pool.wake.notify_all();
    work(argument);
    std::unique_lock<std::mutex> lock(pool.mutex);
    pool.done.wait(lock, [&] { return pool.running == 0; });
}

}  // namespace ascendc_emu
