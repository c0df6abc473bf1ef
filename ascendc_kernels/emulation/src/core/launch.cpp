// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/launch.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ascendc_emu/platform_table.h"
#include "core/crash.h"
#include "core/pool.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

std::mutex g_launch_mutex;
thread_local std::string g_error;
double g_seconds = 0;
int g_kind = 0;
Work g_work;
SinkFactory g_factories[4] = {};

struct Allocation {
    uint64_t bytes;
    std::string name;
};
std::mutex g_gm_mutex;
std::map<void*, Allocation>& Allocations() {
    static std::map<void*, Allocation> all;
    return all;
}

// Kinds that KERNEL_TASK_TYPE declared, by entry and tiling key: later launches start right.
std::map<std::pair<void*, uint64_t>, DeclaredKind>& DeclaredKinds() {
    static std::map<std::pair<void*, uint64_t>, DeclaredKind> all;
    return all;
}

// Kinds that follow from a kernel's instructions, by entry.
std::map<void*, int>& SuggestedKinds() {
    static std::map<void*, int> all;
    return all;
}

// What the build put beside an entry in its module (msopgen_wrap/build/core_kinds.py); null if
// nothing.
void* Beside(void* entry, const char* prefix) {
    Dl_info info;
    if (dladdr(entry, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != entry)
        return nullptr;
    void* const module = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (module == nullptr) return nullptr;
    void* const found = dlsym(module, (std::string(prefix) + info.dli_sname).c_str());
    dlclose(module);
    return found;
}

// The kind an AUTO or AUTO_MIX launch starts as; `guess` is what the build put beside the entry.
DeclaredKind FirstKind(const OpgenLaunch& launch, void* identity, const int* guess) {
    const auto declared = DeclaredKinds().find({identity, launch.tiling_key});
    if (declared != DeclaredKinds().end()) return declared->second;
    const auto suggested = SuggestedKinds().find(identity);
    if (suggested != SuggestedKinds().end()) return {suggested->second, KindSource::kGuess};
    if (guess != nullptr) return {*guess, KindSource::kGuess};
    const bool mix = launch.kind == OPGEN_KERNEL_AUTO_MIX;
    return {mix ? OPGEN_KERNEL_MIX_AIC_1_2 : OPGEN_KERNEL_AIV_ONLY, KindSource::kNone};
}

struct ModuleSearch {
    uintptr_t code;
    bool writable;
    std::vector<OpgenGmRange> found;
};

// Collects the data of the module whose code is looked for.
int CollectConstants(dl_phdr_info* module, size_t, void* context) {
    auto& search = *static_cast<ModuleSearch*>(context);
    bool mine = false;
    for (int i = 0; i < module->dlpi_phnum; ++i) {
        const auto& segment = module->dlpi_phdr[i];
        const uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
        mine = mine || (segment.p_type == PT_LOAD && search.code >= begin &&
                        search.code < begin + segment.p_memsz);
    }
    if (!mine) return 0;
    for (int i = 0; i < module->dlpi_phnum; ++i) {
        const auto& segment = module->dlpi_phdr[i];
        const bool data =
            (segment.p_flags & PF_X) == 0 && (search.writable || (segment.p_flags & PF_W) == 0);
        if (segment.p_type != PT_LOAD || !data || segment.p_memsz == 0) continue;
        void* const begin = reinterpret_cast<void*>(module->dlpi_addr + segment.p_vaddr);
        search.found.push_back(
            {begin, segment.p_memsz, "the kernel's constants", OPGEN_GM_INPUT, 0});
    }
    return 1;
}

// What is looked up once per kernel, as long as no library has been unloaded.
struct Module {
    unsigned long long unloaded = 0;
    void* entry_aic = nullptr;
    const int* kind = nullptr;
    std::vector<OpgenGmRange> constants;
};

int CountUnloaded(dl_phdr_info* info, size_t, void* count) {
    *static_cast<unsigned long long*>(count) = info->dlpi_subs;
    return 1;
}

// Constants: tables that a kernel's source defines (`const __gm__ int32_t table[] = {...}`) lie in
// global memory, on the device with the kernel's binary, here in its module. In a program only
// what is read-only counts: its variables are the host's.
const Module& ModuleOf(const OpgenLaunch& launch) {
    static std::map<uintptr_t, Module> known;  // behind g_launch_mutex
    const auto code = launch.entry ? reinterpret_cast<uintptr_t>(launch.entry)
                                   : reinterpret_cast<uintptr_t>(launch.body);
    unsigned long long unloaded = 0;
    dl_iterate_phdr(CountUnloaded, &unloaded);
    const auto found = known.find(code);
    if (found != known.end() && found->second.unloaded == unloaded) return found->second;
    Module module;
    module.unloaded = unloaded;
    if (launch.entry != nullptr) {
        module.entry_aic = Beside(launch.entry, "opgen_aic_");
        module.kind = static_cast<const int*>(Beside(launch.entry, "opgen_kind_"));
    }
    ModuleSearch search{code, launch.entry != nullptr, {}};
    dl_iterate_phdr(CollectConstants, &search);
    module.constants = std::move(search.found);
    return known[code] = std::move(module);
}

std::vector<OpgenGmRange> Ranges(const OpgenLaunch& launch, const Module& module) {
    std::vector<OpgenGmRange> ranges;
    for (int i = 0; i < launch.num_ranges; ++i) {
        if (launch.ranges[i].bytes > 0) ranges.push_back(launch.ranges[i]);
    }
    std::lock_guard<std::mutex> lock(g_gm_mutex);
    for (const auto& [data, a] : Allocations()) {
        ranges.push_back({data, a.bytes, a.name.c_str(), OPGEN_GM_OTHER, 0});
    }
    if (ranges.empty()) return ranges;  // nobody told what memory there is
    ranges.insert(ranges.end(), module.constants.begin(), module.constants.end());
    return ranges;
}

// Asks for large pages where a kernel will fill memory that nobody has touched yet: the host then
// takes a page fault per 2 MB and not per 4 KB, most of the time of a fast kernel. A hint, and only
// for what is large enough to gain by it.
void AdviseLargePages(const OpgenLaunch& launch) {
    constexpr uintptr_t kPage = 2 << 20;
    constexpr uintptr_t kLeast = 4 * kPage;
    for (int i = 0; i < launch.num_ranges; ++i) {
        const OpgenGmRange& range = launch.ranges[i];
        const int kind = range.kind & 0xff;
        const bool filled = kind == OPGEN_GM_OUTPUT || kind == OPGEN_GM_WORKSPACE;
        if (!filled || range.bytes < kLeast) continue;
        const uintptr_t at = reinterpret_cast<uintptr_t>(range.data);
        const uintptr_t begin = (at + kPage - 1) / kPage * kPage;
        const uintptr_t end = (at + range.bytes) / kPage * kPage;
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    }
}

int Refuse(const std::string& text) {
    g_error = text;
    return 1;
}

// What is wrong with a launch before it runs; empty if nothing is.
std::string LaunchProblem(const OpgenLaunch& launch, const SocInfo* soc, int mode) {
    if (launch.entry == nullptr && launch.body == nullptr) return "no kernel to launch";
    if (launch.num_args < 0 || launch.num_args > 64) {
        return "a kernel takes at most 64 arguments, not " + std::to_string(launch.num_args);
    }
    if (soc == nullptr) {
        return std::string("unknown SoC '") + (launch.soc ? launch.soc : "") + "'";
    }
    if (soc->traits.arch == 0) {
        return std::string(soc->name) + " (arch " + std::to_string(soc->arch) +
               ") is not emulated; " + EmulatedArchs();
    }
    if (launch.block_dim == 0 || launch.block_dim > 65535) {
        return "block dim " + std::to_string(launch.block_dim) + " is not in 1..65535";
    }
    if (mode < OPGEN_MODE_FAST || mode > OPGEN_MODE_PROFILE) return "unknown mode";
    if (mode == OPGEN_MODE_CHECK && g_factories[mode] == nullptr) {
        return "check mode needs the sanitizer, which is not part of this library";
    }
    return "";
}

int Run(const OpgenLaunch& given) {
    OpgenLaunch launch = given;
    const SocInfo* soc = FindSoc(launch.soc);
    const int mode = launch.mode != OPGEN_MODE_DEFAULT ? launch.mode : opgen_default_mode();
    const std::string problem = LaunchProblem(launch, soc, mode);
    if (!problem.empty()) return Refuse(problem);
    const SinkFactory factory = g_factories[mode];
    void* const identity = launch.entry ? launch.entry : reinterpret_cast<void*>(launch.body);
    const Module& module = ModuleOf(launch);
    if (launch.entry_aic == nullptr) launch.entry_aic = module.entry_aic;
    // An explicit kind of the launch wins: the host has decided how many cores there are.
    const bool open = launch.kind == OPGEN_KERNEL_AUTO || launch.kind == OPGEN_KERNEL_AUTO_MIX;
    DeclaredKind kind = open ? FirstKind(launch, identity, module.kind)
                             : DeclaredKind{launch.kind, KindSource::kLaunch};
    PrepareForCrashes();
    if (factory == nullptr) AdviseLargePages(launch);
    // One attempt for the usual kind and one for each source that may correct it.
    for (int attempt = 0; attempt <= static_cast<int>(KindSource::kKey); ++attempt) {
        std::unique_ptr<Sink> sink(factory ? factory() : nullptr);
        const auto start = std::chrono::steady_clock::now();
        Scheduler scheduler(launch, kind, *soc, sink.get(), Ranges(launch, module));
        const LaunchInfo info = scheduler.Info();
        if (sink) sink->OnLaunch(info);
        // A sink sees one event at a time, in an order that repeats from run to run.
        // How many there may be is asked of the system, which a single core need not know.
        const int threads = sink || scheduler.coreCount() == 1 ? 1
                            : launch.threads > 0               ? launch.threads
                                                               : DefaultThreads();
        const bool good = scheduler.Run(threads);
        g_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        g_kind = kind.kind;
        g_work = scheduler.work();
        const DeclaredKind declared = scheduler.declared();
        if (declared.source > kind.source)
            DeclaredKinds()[{identity, launch.tiling_key}] = declared;
        if (declared.kind != kind.kind && !scheduler.timedOut()) {
            const bool twice = declared.source == kind.source;
            kind = declared;
            if (twice) break;
            continue;
        }
        if (sink) sink->OnLaunchEnd(info);
        if (good) return 0;
        return Refuse(std::string(info.name) + ": " + scheduler.error());
    }
    return Refuse("the kernel declares two different KERNEL_TASK_TYPEs for one tiling key");
}

}  // namespace

void SuggestKind(void* body, int kind) {
    std::lock_guard<std::mutex> lock(g_launch_mutex);
    if (kind != OPGEN_KERNEL_AUTO) SuggestedKinds()[body] = kind;
}

void SetSinkFactory(int mode, SinkFactory factory) {
    if (mode >= 0 && mode < 4) g_factories[mode] = factory;
}

// One mapping per core; every buffer is followed by pages that must not be touched.
struct CoreMemory {
    uint8_t* base = nullptr;
    size_t bytes = 0;
    std::vector<size_t> offsets;
};

namespace {
constexpr size_t kGuard = 64 * 1024;
// Room for the largest supported SoC per memory, in Mem order without GM.
constexpr size_t kRoom[kMemCount] = {0,         256 * 1024, 1024 * 1024, 64 * 1024,
                                     64 * 1024, 256 * 1024, 64 * 1024,   64 * 1024};
std::mutex g_memory_mutex;
std::vector<CoreMemory*>& FreeMemory() {
    static std::vector<CoreMemory*> all;
    return all;
}
}  // namespace

CoreMemory* TakeCoreMemory() {
    {
        std::lock_guard<std::mutex> lock(g_memory_mutex);
        if (!FreeMemory().empty()) {
            CoreMemory* m = FreeMemory().back();
            FreeMemory().pop_back();
            return m;
        }
    }
    auto m = std::make_unique<CoreMemory>();
    size_t total = kGuard;
    for (size_t room : kRoom) {
        m->offsets.push_back(total);
        if (room > 0) total += room + kGuard;
    }
    // UB begins at a multiple of 4 GiB: the low half of a buffer's address, which is where kernels
    // keep device addresses (uint32_t), is then what the device would give, its offset in UB.
    constexpr size_t kAlign = size_t{1} << 32;
    void* const room = mmap(nullptr, total + kAlign, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    auto* const start = static_cast<uint8_t*>(room);
    const size_t ub = m->offsets[static_cast<size_t>(Mem::kUb)];
    const size_t skip = (kAlign - (reinterpret_cast<uint64_t>(start) + ub) % kAlign) % kAlign;
    if (skip > 0) munmap(start, skip);
    munmap(start + skip + total, kAlign - skip);
    if (mprotect(start + skip, total, PROT_READ | PROT_WRITE) != 0) {
        munmap(start + skip, total);
        throw std::bad_alloc();
    }
    m->base = start + skip;
    m->bytes = total;
    mprotect(m->base, kGuard, PROT_NONE);
    for (int i = 1; i < kMemCount; ++i) {
        mprotect(m->base + m->offsets[static_cast<size_t>(i)] + kRoom[i], kGuard, PROT_NONE);
    }
    return m.release();
}

void GiveCoreMemory(CoreMemory* memory) {
    std::lock_guard<std::mutex> lock(g_memory_mutex);
    FreeMemory().push_back(memory);
}

void AttachMemory(Core& core, CoreMemory* memory, const SocInfo& soc, CoreKind kind) {
    for (int i = 1; i < kMemCount; ++i) {
        core.memory[i] = memory->base + memory->offsets[static_cast<size_t>(i)];
    }
    const uint32_t sizes[kMemCount] = {
        0,           soc.ubBytes, soc.l1Bytes, soc.l0aBytes, soc.l0bBytes, soc.l0cBytes,
        soc.btBytes, soc.fbBytes};
    for (int i = 1; i < kMemCount; ++i) {
        const bool vector = i == static_cast<int>(Mem::kUb);
        const bool has = kind == CoreKind::kUnified || (kind == CoreKind::kAiv) == vector;
        core.capacity[i] = has ? sizes[i] : 0;
    }
}

}  // namespace ascendc_emu

using namespace ascendc_emu;

extern "C" {

int opgen_run_kernel(const OpgenLaunch* launch) {
    std::lock_guard<std::mutex> lock(g_launch_mutex);
    g_error.clear();
    try {
        return Run(*launch);
    } catch (const std::bad_alloc&) {
        return Refuse(kNoMemory);
    } catch (const std::exception& e) {
        return Refuse(std::string("launch failed: ") + e.what());
    }
}

const char* opgen_launch_error(void) { return g_error.c_str(); }
double opgen_launch_seconds(void) { return g_seconds; }
int opgen_launch_kind(void) { return g_kind; }

void opgen_launch_work(uint32_t* cores, uint32_t* tiles) {
    *cores = g_work.cores;
    *tiles = g_work.tiles;
}

void opgen_register_gm(void* data, uint64_t bytes, const char* name) {
    std::lock_guard<std::mutex> lock(g_gm_mutex);
    static int number = 0;  // names what has none in the order of the program's calls
    const bool named = name != nullptr && *name != '\0';
    Allocations()[data] = {bytes, named ? name : "allocation " + std::to_string(++number)};
}

void opgen_unregister_gm(void* data) {
    std::lock_guard<std::mutex> lock(g_gm_mutex);
    Allocations().erase(data);
}

}  // extern "C"
