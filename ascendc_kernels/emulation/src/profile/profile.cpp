// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Profile mode: the sink, and the C functions of ascendc_emu/profile.h.
#include "ascendc_emu/profile.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "profile/event_file.h"
#include "profile/process_summary.h"
#include "profile/recorder.h"
#include "profile/replay.h"
#include "profile/report.h"
#include "profile/trace_file.h"
#include "profiler/counts.h"

namespace ascendc_emu {
namespace profile {
namespace {

constexpr uint64_t kMaxEvents = 8'000'000, kMaxRecords = 24'000'000;
// Launches with more records are not replayed a dozen times unless that is asked for.
constexpr uint64_t kAblationRecords = 3'000'000;

struct Options {
    OpgenProfileOptions given = {};
    std::string parameters;

    std::string ParameterFile() const {
        if (!parameters.empty()) return parameters;
        const char* const file = std::getenv("OPGEN_PROFILE_PARAMETERS");
        return file != nullptr ? file : "";
    }
    // How many steps of a launch are kept.
    uint64_t Room() const {
        if (given.max_records != 0) return given.max_records;
        const char* const text = std::getenv("OPGEN_PROFILE_MAX_RECORDS");
        const uint64_t room = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
        return room != 0 ? room : kMaxRecords;
    }
    bool IsWarm() const {
        if (given.l2 != 0) return given.l2 == 2;
        const char* const l2 = std::getenv("OPGEN_PROFILE_L2");
        return l2 != nullptr && std::strcmp(l2, "warm") == 0;
    }
};

// The last launch and its profile, made when somebody asks for it.
struct Last {
    std::unique_ptr<Trace> trace;
    std::string problem;   // of the parameters
    std::string valuesAt;  // where the kernel asked for values that it has none of
    bool made = false;
    std::string json = "{}";
    std::vector<OpgenProfileEvent> events;
    bool ordered = true;
};

std::mutex g_mutex;
Options g_options;
Last g_last;

double TimeOf(const Trace& trace, const Parameters& p, const ReplayOptions& options) {
    const Result result = Replay(trace, p, options);
    return result.launch + result.kernel;
}

// What fewer cores would take, if what one core does now were shared by fewer: the shared memories
// need as long as before, a core longer in proportion.
Profile::Ablation FewerCores(const Parameters& p, const Result& r) {
    double used = 0;
    for (const CoreResult& core : r.cores) used += core.used;
    const double shared = std::max(r.gmBytes / p.gm_bandwidth, r.l2Bytes / p.l2_bandwidth);
    double alone = 0;
    for (const CoreResult& core : r.cores) alone = std::max(alone, core.end - core.start);
    const double now = r.launch + r.kernel;
    double best = now;
    for (double cores = 1; cores < used; ++cores) {
        const double time =
            r.launch + cores * p.launch_core * 1000 + std::max(shared, alone * used / cores);
        best = std::min(best, time);
    }
    return {"fewer_cores", best, true};
}

std::vector<Profile::Ablation> Ablate(const Trace& trace, const Parameters& p, bool warm,
                                      const Result& base) {
    struct Case {
        const char* what;
        bool Effects::* effect;
    };
    constexpr Case cases[] = {
        {"bank_conflicts", &Effects::conflicts}, {"instruction_start", &Effects::starts},
        {"copy_latency", &Effects::latency},     {"burst", &Effects::bursts},
        {"gm_reread", &Effects::rereads},        {"single_buffer", &Effects::bufferWaits},
        {"core_start", &Effects::coreStart},
    };
    std::vector<Profile::Ablation> all;
    for (const Case& one : cases) {
        ReplayOptions options;
        options.warm = warm;
        options.effects.*(one.effect) = false;
        all.push_back({one.what, TimeOf(trace, p, options), false});
    }
    all.push_back(FewerCores(p, base));
    return all;
}

// The time with all guessed parameters at one end of their ranges.
double TimeAt(const Trace& trace, const std::string& file, End end, bool warm,
              const Parameters& base) {
    Parameters p;
    ReadParameters(*trace.soc, file, end, &p);
    ReplayOptions options;
    options.warm = warm;
    // What the record already holds in cycles.
    options.workScale = p.library_repeat / base.library_repeat;
    options.scalarScale = p.scalar_issue / base.scalar_issue;
    return TimeOf(trace, p, options);
}

void Make() {
    if (g_last.made) return;
    g_last.made = true;
    g_last.events.clear();
    if (!g_last.problem.empty()) {
        g_last.json =
            ErrorJson("OPG597", "the parameters of the model of time have mistakes", g_last.problem,
                      "correct the file, or unset OPGEN_PROFILE_PARAMETERS");
        return;
    }
    if (!g_last.trace) return;
    const Trace& trace = *g_last.trace;
    if (!g_last.valuesAt.empty()) {
        g_last.json = ErrorJson(
            "OPG589", "the kernel cannot be profiled without its arithmetic: " + trace.kernel,
            "it asks for values (" + g_last.valuesAt +
                "), and what it does next may follow from them",
            "unset OPGEN_PROFILE_ARITHMETIC");
        return;
    }
    if (trace.dropped > 0) {
        const uint64_t all = trace.records + trace.dropped;
        g_last.json = ErrorJson(
            "OPG591", "the launch is too large to be profiled: " + std::to_string(all) + " records",
            "a record takes 40 bytes, and " + std::to_string(trace.kept) +
                " have room; a sample, 4096 steps of a core in a row and the copies of the others, "
                "does not fit either, or the cores wait for one another too often for one",
            "profile a smaller shape, or allow more records (" + std::to_string(all * 40 >> 20) +
                " MB hold all of them): OPGEN_PROFILE_MAX_RECORDS=" + std::to_string(all));
        return;
    }
    const std::string file = g_options.ParameterFile();
    Parameters p;
    const std::string problem = ReadParameters(*trace.soc, file, End::kValue, &p);
    if (!problem.empty()) {
        g_last.problem = problem;
        g_last.made = false;
        return Make();
    }
    ReplayOptions options;
    options.warm = g_options.IsWarm();
    options.detail = true;
    options.maxEvents = g_options.given.max_events != 0 ? g_options.given.max_events : kMaxEvents;
    Result result = Replay(trace, p, options);
    const double time = result.launch + result.kernel;
    const int ablation = g_options.given.ablation;
    const bool again = ablation == 1 || (ablation == 0 && trace.kept <= kAblationRecords);
    Profile profile{trace, p, options.warm, result, time, time, {}};
    if (again) {
        profile.lowNs = TimeAt(trace, file, End::kFast, options.warm, p);
        profile.highNs = TimeAt(trace, file, End::kSlow, options.warm, p);
        profile.ablations = Ablate(trace, p, options.warm, result);
    }
    g_last.json = ProfileJson(profile);
    g_last.events = std::move(result.events);
    g_last.ordered = false;
}

// OPGEN_PROFILE_RECORDS=DIR: every launch leaves its record there, numbered.
void SaveRecord() {
    static int number = 0;
    const char* const folder = std::getenv("OPGEN_PROFILE_RECORDS");
    if (folder == nullptr || *folder == '\0') return;
    const std::string path = std::string(folder) + "/" + std::to_string(number++) + ".record";
    if (!SaveTrace(*g_last.trace, path)) {
        std::fprintf(stderr, "opgen: cannot write %s\n", path.c_str());
    }
}

// Events in the order of their core, then of their end, with references that follow.
std::vector<OpgenProfileEvent> Ordered(const std::vector<OpgenProfileEvent>& events) {
    std::vector<uint32_t> order(events.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const OpgenProfileEvent &x = events[a], &y = events[b];
        return x.core != y.core ? x.core < y.core : x.end_ns < y.end_ns;
    });
    std::vector<uint32_t> place(events.size());
    for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<OpgenProfileEvent> sorted;
    sorted.reserve(events.size());
    for (const uint32_t i : order) {
        sorted.push_back(events[i]);
        uint32_t& from = sorted.back().from;
        if (from != OPGEN_PROFILE_NO_EVENT) from = place[from];
    }
    return sorted;
}

bool IsSkipped(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && std::strcmp(value, "skip") == 0;
}

std::string AtPlace(Loc loc) {
    if (loc.file == nullptr) return "";
    return std::string(" at ") + loc.file + ":" + std::to_string(loc.line);
}

class ProfileSink : public Sink {
 public:
    void OnLaunch(const LaunchInfo& info) override {
        counts_->OnLaunch(info);
        std::lock_guard<std::mutex> lock(g_mutex);
        Parameters p;
        problem_ = ReadParameters(*info.soc, g_options.ParameterFile(), End::kValue, &p);
        recorder_ = std::make_unique<Recorder>(p, g_options.Room());
        recorder_->OnLaunch(info);
    }
    void OnLaunchEnd(const LaunchInfo& info) override {
        counts_->OnLaunchEnd(info);
        std::lock_guard<std::mutex> lock(g_mutex);
        g_last = Last();
        g_last.problem = problem_;
        g_last.trace = recorder_->Take();
        g_last.trace->timeOnly = timeOnly_;
        g_last.valuesAt = valuesAt_;
        for (const CoreTrace& core : g_last.trace->cores) {
            if (!core.ended) g_last.trace->failed = true;
        }
        SaveRecord();
        AddToSummary(*g_last.trace, g_options.ParameterFile(), g_options.IsWarm());
        const char* const file = std::getenv("OPGEN_PROFILE");
        if (file == nullptr || *file == '\0') return;
        Make();
        std::ofstream(file, std::ios::app) << g_last.json << '\n';
        AppendEvents(g_last.events);
    }
    bool IsTimeOnly() const override { return timeOnly_; }
    void OnProblem(Core&, const Problem& problem) override {
        if (timeOnly_ && std::strcmp(problem.check, "NoValues") == 0) {
            valuesAt_ = std::string(problem.op) + AtPlace(problem.loc);
        }
    }
    void OnCoreStart(Core& core) override {
        counts_->OnCoreStart(core);
        recorder_->OnCoreStart(core);
    }
    void OnCoreEnd(Core& core) override { recorder_->OnCoreEnd(core); }
    void OnInstruction(Core& core, const Record& record) override {
        counts_->OnInstruction(core, record);
        recorder_->OnInstruction(core, record);
    }
    void OnSync(Core& core, const SyncEvent& event) override {
        counts_->OnSync(core, event);
        recorder_->OnSync(core, event);
    }
    void OnBuffer(Core& core, const BufferEvent& event) override {
        counts_->OnBuffer(core, event);
        recorder_->OnBuffer(core, event);
    }

 private:
    std::unique_ptr<Sink> counts_{profiler::MakeCounter()};
    std::unique_ptr<Recorder> recorder_;
    std::string problem_;
    const bool timeOnly_ = IsSkipped("OPGEN_PROFILE_ARITHMETIC");
    std::string valuesAt_;  // what asked for values that there are none of
};

const bool kRegistered = [] {
    SetSinkFactory(OPGEN_MODE_PROFILE, []() -> Sink* { return new ProfileSink; });
    return true;
}();

}  // namespace
}  // namespace profile
}  // namespace ascendc_emu

using namespace ascendc_emu::profile;

extern "C" {

void opgen_profile_options(const OpgenProfileOptions* options) {
    std::lock_guard<std::mutex> lock(g_mutex);
    (void)kRegistered;
    g_options = Options();
    if (options != nullptr) {
        g_options.given = *options;
        g_options.parameters = options->parameters != nullptr ? options->parameters : "";
    }
    g_last.made = false;
    g_last.problem.clear();
    if (!g_last.trace) g_last.json = "{}";
}

const char* opgen_profile_json(void) {
    std::lock_guard<std::mutex> lock(g_mutex);
    Make();
    return g_last.json.c_str();
}

int opgen_profile_load(const char* record) {
    std::lock_guard<std::mutex> lock(g_mutex);
    auto trace = LoadTrace(record);
    if (!trace) return 1;
    g_last = Last();
    g_last.trace = std::move(trace);
    return 0;
}

uint64_t opgen_profile_events(const OpgenProfileEvent** first) {
    std::lock_guard<std::mutex> lock(g_mutex);
    Make();
    if (!g_last.ordered) g_last.events = Ordered(g_last.events);
    g_last.ordered = true;
    if (first != nullptr) *first = g_last.events.data();
    return g_last.events.size();
}

}  // extern "C"
