// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/scheduler.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/crash.h"
#include "core/pool.h"
#include "core/spin.h"
#include "core/time_limit.h"

namespace ascendc_emu {

thread_local Core* g_current __attribute__((tls_model("initial-exec"))) = nullptr;

// A block on its fiber.
struct Running {
    Fiber fiber;
    Core core;
    Scheduler* scheduler = nullptr;
    CoreMemory* memory = nullptr;
    bool (*ready)(void*) = nullptr;
    void* context = nullptr;
    const char* what = "";
    Loc loc;
    bool polling = false;  // gave way only; can go on at any time
    static constexpr uint32_t kCopied = 64;
    const void* copied[kCopied] = {};        // where copies into the core came from, hashed
    uint32_t copies = 0;                     // of memory that had been copied before
    uint32_t idle = 0;                       // those of them since the core has stored anything
    uint32_t stores = 0;                     // copies from the core to GM
    uint32_t tiles[kRememberedQueues] = {};  // tensors allocated, by queue
    bool active = false;                     // this thread is on the fiber
    bool crashed = false;
    Crash crash;
};

namespace {

std::string LimitText() {
    char text[32];
    snprintf(text, sizeof(text), "%g", TimeLimit());
    return text;
}

// Calls the kernel with its arguments. Surplus arguments are harmless in the C calling conventions
// of x86-64 and aarch64, so a few sizes are enough.
template <size_t... I>
void CallWith(void* entry, void* const* a, std::index_sequence<I...>) {
    using Function = void (*)(decltype((void)I, static_cast<void*>(nullptr))...);
    reinterpret_cast<Function>(entry)(a[I]...);
}

void CallEntry(void* entry, void* const* args, int n) {
    void* a[64] = {};
    for (int i = 0; i < n && i < 64; ++i) a[i] = args[i];
    if (n <= 6) {
        CallWith(entry, a, std::make_index_sequence<6>());
    } else if (n <= 16) {
        CallWith(entry, a, std::make_index_sequence<16>());
    } else {
        CallWith(entry, a, std::make_index_sequence<64>());
    }
}

// The names of files, as Loc has them, live as long as the process.
Loc LastingLoc(const CrashReport& report) {
    static std::mutex mutex;
    static std::set<std::string> files;
    std::lock_guard<std::mutex> lock(mutex);
    if (report.line == 0) return Loc();
    return Loc{files.insert(report.file).first->c_str(), static_cast<uint32_t>(report.line)};
}

// Headers that opgen copies beside a kernel: op_kernel/opgen/*.h, include/opgen/*.h.
bool IsBuildingBlock(const std::string& file) {
    const size_t slash = file.rfind('/');
    return slash != std::string::npos && slash >= 6 && file.compare(slash - 6, 6, "/opgen") == 0 &&
           file.compare(file.size() - 2, 2, ".h") == 0;
}

// A signal or an exception ended the block: the launch fails as after a Trap.
void FailBlock(Running& r, const CrashReport& report) {
    SetLastCrash(report.json);
    if (r.core.sink != nullptr) {
        Problem p;
        p.check = "Trap";
        p.text = report.text.c_str();
        p.op = "";
        p.fix = "look at the kernel's own C++ code: this is no instruction of the device";
        p.fatal = true;
        p.loc = LastingLoc(report);
        r.core.sink->OnProblem(r.core, p);
    }
    r.scheduler->Fail(report.full + " (" + CoreName(r.core) + ")");
}

void RunBlock(void* p) {
    Running& r = *static_cast<Running*>(p);
    Core& core = r.core;
    const OpgenLaunch& launch = r.scheduler->launch();
    try {
        if (core.sink) core.sink->OnCoreStart(core);
        if (launch.entry != nullptr) {
            void* entry =
                core.kind == CoreKind::kAic && launch.entry_aic ? launch.entry_aic : launch.entry;
            CallEntry(entry, launch.args, launch.num_args);
        } else {
            launch.body(launch.context);
        }
        if (core.sink) core.sink->OnCoreEnd(core);
    } catch (const BlockAbort&) {
    } catch (const std::bad_alloc&) {
        FailBlock(r, ReportThrown(kNoMemory));
    } catch (const std::exception& e) {
        FailBlock(r, ReportThrown(std::string("the kernel threw: ") + e.what()));
    } catch (...) {
        FailBlock(r, ReportThrown("the kernel threw an exception"));
    }
}

}  // namespace

bool RunsBlock() {
    return g_current != nullptr && g_current->fiber != nullptr &&
           static_cast<Running*>(g_current->fiber)->active;
}

bool RunsBlockOf(const Scheduler* scheduler) {
    return RunsBlock() && g_current->scheduler == scheduler;
}
void TimeOutLaunch(Scheduler* scheduler) { scheduler->TimeOut(); }

void AbandonBlock(const Crash& crash) {
    Running& r = *static_cast<Running*>(g_current->fiber);
    r.crash = crash;
    r.crashed = true;
    r.fiber.Abandon();
}

std::string AtLine(Loc loc) {
    if (loc.file == nullptr) return "";
    return std::string(loc.file) + ":" + std::to_string(loc.line) + ": ";
}

std::string CoreName(const Core& core) {
    const char* kind = core.kind == CoreKind::kAic   ? "AIC"
                       : core.kind == CoreKind::kAiv ? "AIV"
                                                     : "core";
    return std::string(kind) + " " + std::to_string(core.blockIdx);
}

Scheduler::Scheduler(const OpgenLaunch& launch, DeclaredKind declared, const SocInfo& soc,
                     Sink* sink, std::vector<OpgenGmRange> ranges)
    : launch_(launch),
      kind_(declared.kind),
      soc_(soc),
      sink_(sink),
      ranges_(std::move(ranges)),
      declared_(declared) {
    const int kind = kind_;
    const int n = static_cast<int>(launch.block_dim);
    const bool split = soc.aivCores > 0;
    for (int i = 0; i < n; ++i) {
        if (!split) {
            specs_.push_back({CoreKind::kUnified, i, i, 0});
        } else if (kind == OPGEN_KERNEL_AIC_ONLY || kind == OPGEN_KERNEL_MIX_AIC_1_0) {
            specs_.push_back({CoreKind::kAic, i, i, 0});
        } else if (kind == OPGEN_KERNEL_MIX_AIC_1_1) {
            specs_.push_back({CoreKind::kAic, i, i, 0});
            specs_.push_back({CoreKind::kAiv, i, i, 0});
        } else if (kind == OPGEN_KERNEL_MIX_AIC_1_2) {
            specs_.push_back({CoreKind::kAic, i, i, 0});
            specs_.push_back({CoreKind::kAiv, 2 * i, i, 0});
            specs_.push_back({CoreKind::kAiv, 2 * i + 1, i, 1});
        } else {
            specs_.push_back({CoreKind::kAiv, i, i, 0});
        }
    }
    cores.assign(specs_.size(), nullptr);
    credits.assign(specs_.size(), {});
    shared.pending.resize(3 * kCrossFlags);
}

bool Scheduler::RequestKind(int kind, KindSource source) {
    std::lock_guard<std::mutex> lock(mutex_);
    // Of two different declarations of one source the first that differs stays: the next attempt
    // meets the other one and Run() tells.
    const bool weaker =
        source < declared_.source || (source == declared_.source && kind_ != declared_.kind);
    if (weaker) return kind_ != declared_.kind;
    declared_ = {kind, source};
    return kind != kind_;
}

int Scheduler::CountOf(int scope) const {
    int n = 0;
    for (const CoreSpec& s : specs_) {
        const bool aic = s.kind == CoreKind::kAic;
        if (s.kind == CoreKind::kUnified || scope == 1 || (scope == 0 && !aic) ||
            (scope == 2 && aic))
            ++n;
    }
    return n;
}

LaunchInfo Scheduler::Info() const {
    LaunchInfo info;
    info.launch = &launch_;
    info.kind = kind_;
    info.cores = coreCount();
    info.name = launch_.name ? launch_.name : "kernel";
    info.soc = &soc_;
    info.ranges = ranges_.data();
    info.numRanges = static_cast<int32_t>(ranges_.size());
    return info;
}

const OpgenGmRange* Scheduler::FindRange(const void* address) const {
    const auto a = reinterpret_cast<uintptr_t>(address);
    for (const OpgenGmRange& r : ranges_) {
        const auto lo = reinterpret_cast<uintptr_t>(r.data);
        if (a >= lo && a < lo + r.bytes) return &r;
    }
    return nullptr;
}

void Scheduler::StartOn(Running& slot, int id) {
    const CoreSpec& s = specs_[static_cast<size_t>(id)];
    slot.core = Core();
    slot.ready = nullptr;
    slot.stores = 0;
    std::fill(std::begin(slot.tiles), std::end(slot.tiles), 0);
    Core& c = slot.core;
    AttachMemory(c, slot.memory, soc_, s.kind);
    c.sink = sink_;
    c.timeOnly = sink_ != nullptr && sink_->IsTimeOnly();
    c.kind = s.kind;
    c.id = id;
    c.blockIdx = s.blockIdx;
    c.blockNum = static_cast<int32_t>(launch_.block_dim);
    c.group = s.group;
    c.subBlockIdx = s.subBlockIdx;
    c.subBlockNum = kind_ == OPGEN_KERNEL_MIX_AIC_1_2 ? 2 : 1;
    c.mixed = kind_ == OPGEN_KERNEL_MIX_AIC_1_2 || kind_ == OPGEN_KERNEL_MIX_AIC_1_1;
    c.tilingKey = launch_.tiling_key;
    c.tilingData = launch_.tiling_data;
    c.tilingSize = launch_.tiling_size;
    c.workspace = static_cast<uint8_t*>(launch_.workspace);
    c.systemWorkspace = soc_.traits.libraryWorkspace;
    c.soc = &soc_;
    c.scheduler = this;
    c.fiber = &slot;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        cores[static_cast<size_t>(id)] = &c;
        for (int f = 0; f < kCrossFlags; ++f) {
            c.cross[f] =
                static_cast<int16_t>(credits[static_cast<size_t>(id)][static_cast<size_t>(f)]);
        }
    }
    slot.fiber.Start(&RunBlock, &slot);
}

// One loop over what a worker may do next: which blocks may go on, and when it sleeps or reports a
// deadlock, depends on lists and a lock that are best seen together.
void Scheduler::Worker() {
    std::vector<std::unique_ptr<Running>> parked;
    std::vector<std::unique_ptr<Running>> free;
    PrepareForCrashes();
    const void* code =
        launch_.entry != nullptr ? launch_.entry : reinterpret_cast<const void*>(launch_.body);
    const SpinWatch watch(coreCount() > 1 ? code : nullptr,
                          [](Core& core) { core.scheduler->LeaveLoop(core); });
    const Deadline deadline(this, code);
    auto finish = [&](std::unique_ptr<Running> r) {
        if (r->crashed && r->crash.signal == kTimeIsUp) {
            NotePlace(*r);
        } else if (r->crashed) {
            FailBlock(*r, ReportOf(r->crash));
        }
        for (Extension& e : r->core.ext) {
            if (e.data && e.destroy && !r->crashed) {
                g_current = &r->core;
                e.destroy(e.data);
                g_current = nullptr;
            }
            e = Extension();
        }
        r->crashed = false;
        const uint32_t queued = *std::max_element(std::begin(r->tiles), std::end(r->tiles));
        const uint32_t tiles = queued > 0 ? queued : r->stores;
        std::lock_guard<std::mutex> lock(mutex_);
        work_.cores += tiles > 0 ? 1 : 0;
        work_.tiles = std::max(work_.tiles, tiles);
        cores[static_cast<size_t>(r->core.id)] = nullptr;
        free.push_back(std::move(r));
    };
    auto resume = [&](std::unique_ptr<Running> r) {
        Core* const outer = g_current;
        g_current = &r->core;
        r->active = true;
        const bool done = r->fiber.Resume();
        r->active = false;
        g_current = outer;
        if (done) {
            finish(std::move(r));
        } else {
            parked.push_back(std::move(r));
        }
    };
    // Moves parked block i out; lock is held.
    auto take = [&](size_t i) {
        std::unique_ptr<Running> r = std::move(parked[i]);
        parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(i));
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), r.get()));
        return r;
    };
    uint64_t seen = ~0ull;
    for (;;) {
        // Blocks that can go on come first: they may free what others wait for.
        std::unique_ptr<Running> go;
        if (!parked.empty()) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (seen != epoch_ || failed()) {
                for (size_t i = 0; i < parked.size() && !go; ++i) {
                    Running& r = *parked[i];
                    if (failed() || (!r.polling && r.ready(r.context))) go = take(i);
                }
                if (!go) seen = epoch_;
            }
        }
        if (go) {
            seen = ~0ull;
            resume(std::move(go));
            continue;
        }
        const int id = failed() ? coreCount() : next_.fetch_add(1);
        if (id < coreCount()) {
            if (free.empty()) {
                // Nobody above this thread would catch it.
                try {
                    auto fresh = std::make_unique<Running>();
                    fresh->scheduler = this;
                    fresh->memory = TakeCoreMemory();
                    free.push_back(std::move(fresh));
                } catch (const std::bad_alloc&) {
                    Fail(kNoMemory);
                    continue;
                }
            }
            std::unique_ptr<Running> r = std::move(free.back());
            free.pop_back();
            StartOn(*r, id);
            resume(std::move(r));
            continue;
        }
        if (parked.empty()) break;
        std::unique_lock<std::mutex> lock(mutex_);
        for (size_t i = 0; i < parked.size() && !go; ++i) {
            if (parked[i]->polling) go = take(i);
        }
        if (go) {
            lock.unlock();
            seen = ~0ull;
            std::this_thread::yield();
            resume(std::move(go));
            continue;
        }
        if (seen != epoch_ || failed()) continue;
        ++idle_;
        if (idle_ + left_ == workers_) {
            ReportDeadlock();
        } else {
            changed_.wait(lock, [&] { return epoch_ != seen || failed(); });
        }
    }
    for (auto& r : free) GiveCoreMemory(r->memory);
    std::lock_guard<std::mutex> lock(mutex_);
    ++left_;
    if (idle_ > 0 && idle_ + left_ == workers_) ReportDeadlock();
}

// All workers are out of work and blocks still wait: nothing can change any more. Lock is held.
void Scheduler::ReportDeadlock() {
    if (failed()) return;
    std::string text = "deadlock: every remaining block waits";
    int shown = 0;
    for (const Running* r : waiting_) {
        if (++shown > 8) {
            text += "; and " + std::to_string(waiting_.size() - 8) + " more";
            break;
        }
        text += (shown == 1 ? ": " : "; ") + CoreName(r->core) + " at " + AtLine(r->loc) + r->what;
    }
    error_ = text;
    if (sink_ != nullptr && !waiting_.empty()) {
        Problem p;
        p.check = "Deadlock";
        p.text = error_.c_str();
        // The API's name, with which what it waits for begins.
        const std::string what = waiting_[0]->what;
        const std::string op = what.substr(0, what.find_first_of(" :"));
        p.op = op.c_str();
        p.fix = "pair every wait with a set that is executed before it on another core";
        p.fatal = true;
        p.loc = waiting_[0]->loc;
        sink_->OnProblem(waiting_[0]->core, p);
    }
    failed_ = true;
    changed_.notify_all();
}

bool Scheduler::Run(int threads) {
    workers_ = PrepareWorkers(std::max(1, std::min(threads, coreCount())));
    RunOnPool(workers_, [](void* self) { static_cast<Scheduler*>(self)->Worker(); }, this);
    if (timedOut()) ReportTimeOut();
    return !failed();
}

void Scheduler::Wait(Core& core, bool (*ready)(void*), void* context, const char* what, Loc loc) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (failed()) throw BlockAbort();
        if (ready(context)) return;
        Running* r = static_cast<Running*>(core.fiber);
        r->ready = ready;
        r->context = context;
        r->what = what;
        r->loc = loc;
        r->polling = false;
        waiting_.push_back(r);
    }
    static_cast<Running*>(core.fiber)->fiber.Yield();
    if (timedOut()) {
        const Loc at = static_cast<Running*>(core.fiber)->loc;
        NotePlace(
            *static_cast<Running*>(core.fiber),
            {CoreName(core), at.file != nullptr ? at.file : "", static_cast<int>(at.line), what});
    }
    if (failed()) throw BlockAbort();
}

void Scheduler::TimeOut() {
    timedOut_ = true;
    failed_ = true;
}

void Scheduler::NotePlace(Running& r, Place place) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++epoch_;
    idle_ = 0;
    changed_.notify_all();
    if (places_.empty() && sink_ != nullptr) {
        Problem p;
        p.check = "Deadlock";
        const std::string text =
            "the kernel did not end within " + LimitText() + " s: the block is " + place.doing;
        p.text = text.c_str();
        p.op = "";
        p.fix =
            "bound the loop; for a kernel that needs more time give --timeout SECONDS or set "
            "OPGEN_TIMEOUT";
        p.fatal = true;
        static std::set<std::string>
            files;  // names of files, as Loc has them, live as long as the process
        if (place.line > 0)
            p.loc = {files.insert(place.file).first->c_str(), static_cast<uint32_t>(place.line)};
        sink_->OnProblem(r.core, p);
    }
    places_.push_back(std::move(place));
}

void Scheduler::NotePlace(Running& r) {
    constexpr int kMost = 8;
    CallSite sites[kMost] = {};
    const int known = FindCallSites(r.crash, sites, kMost);
    if (known == 0) {
        return NotePlace(
            r, {CoreName(r.core), "", 0,
                "in code without line numbers (a package has none; opgen test of its project "
                "names the line)"});
    }
    // The loop is the kernel's: of the building blocks that it calls only the name matters.
    int shown = 0;
    while (shown < known - 1 && IsBuildingBlock(sites[shown].file)) ++shown;
    std::string doing = std::string("in ") + sites[shown].function;
    if (shown > 0) doing += std::string(", which calls ") + sites[shown - 1].function;
    NotePlace(r, {CoreName(r.core), sites[shown].file, sites[shown].line, doing});
}

void Scheduler::ReportTimeOut() {
    constexpr size_t kMost = 64;
    error_ = "it did not end within " + LimitText() + " s";
    std::map<std::string, std::vector<std::string>> cores;  // by place
    std::string json = "{\"signal\": 0, \"limit\": " + LimitText() +
                       ", \"text\": \"the time limit of " + LimitText() +
                       " s\", \"sites\": [], \"cores\": [";
    for (size_t i = 0; i < places_.size() && i < kMost; ++i) {
        const Place& p = places_[i];
        const std::string at = p.line > 0 ? p.file + ":" + std::to_string(p.line) + ", " : "";
        cores[at + p.doing].push_back(p.core);
        json += std::string(i == 0 ? "" : ", ") + "{\"core\": " + JsonString(p.core) +
                ", \"file\": " + JsonString(p.file) + ", \"line\": " + std::to_string(p.line) +
                ", \"doing\": " + JsonString(p.doing) + "}";
    }
    const char* separator = ": ";
    for (auto& place : cores) {
        std::vector<std::string>& names = place.second;
        // "AIV 2" before "AIV 10"; cores are stopped in any order.
        std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
            return a.size() != b.size() ? a.size() < b.size() : a < b;
        });
        error_ += separator + names.front();
        if (names.size() == 2) error_ += " and " + names.back();
        if (names.size() > 2) error_ += " and " + std::to_string(names.size() - 1) + " other cores";
        error_ += (names.size() == 1 ? " is at " : " are at ") + place.first;
        separator = "; ";
    }
    SetLastCrash(json + "], \"stopped\": " + std::to_string(places_.size()) + "}");
}

void Scheduler::Update(void (*change)(void*), void* context) {
    std::lock_guard<std::mutex> lock(mutex_);
    change(context);
    ++epoch_;
    idle_ = 0;  // sleeping workers have something to look at, although they have not woken yet
    changed_.notify_all();
}

void Scheduler::Fail(const std::string& text) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failed()) error_ = text;
    failed_ = true;
    ++epoch_;
    idle_ = 0;
    changed_.notify_all();
}

void WaitUntil(Core& core, bool (*ready)(void*), void* context, const char* what, Loc loc) {
    core.scheduler->Wait(core, ready, context, what, loc);
}

void UpdateShared(Core& core, void (*change)(void*), void* context) {
    core.scheduler->Update(change, context);
}

void Scheduler::GiveWay(Core& core) {
    if (!failed()) LetOthersRun(core, "polling global memory");
    if (timedOut()) {
        Running& r = *static_cast<Running*>(core.fiber);
        NoteStack(kTimeIsUp, &r.crash);
        NotePlace(r);
    }
    if (failed()) throw BlockAbort();
}

// In a signal handler, through which nothing can be thrown.
void Scheduler::LeaveLoop(Core& core) {
    if (!failed()) LetOthersRun(core, "a loop without calls");
    if (!failed()) return;
    Running& r = *static_cast<Running*>(core.fiber);
    if (timedOut()) {
        NoteStack(kTimeIsUp, &r.crash);
        r.crashed = true;
    }
    r.fiber.Abandon();
}

void Scheduler::LetOthersRun(Core& core, const char* what) {
    Running* r = static_cast<Running*>(core.fiber);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        r->polling = true;
        r->what = what;
        waiting_.push_back(r);
    }
    r->fiber.Yield();
}

void Poll(Core& core) { core.scheduler->GiveWay(core); }

void PollByCopy(Core& core, const void* source) {
    Running* r = static_cast<Running*>(core.fiber);
    const uint64_t bits = reinterpret_cast<uint64_t>(source) / 32;
    const void*& slot = r->copied[(bits ^ bits >> 6) % Running::kCopied];
    if (slot != source) {
        slot = source;
        return;
    }
    // One that stores results meanwhile most likely reads a table; it may also count its own polls.
    const bool often = (++r->copies & 0xfff) == 0;
    if ((++r->idle & 0xf) == 0 || often) Poll(core);
}

void NoteStore(Core& core) {
    Running* r = static_cast<Running*>(core.fiber);
    r->idle = 0;
    ++r->stores;
}

void NoteTile(Core& core, uint32_t queue) {
    ++static_cast<Running*>(core.fiber)->tiles[queue % kRememberedQueues];
}

}  // namespace ascendc_emu
