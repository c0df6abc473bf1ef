// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Profile mode: the sink, and the C functions of ascendc_emu/profile.h.
#include "ascendc_emu/profile.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "profile/event_file.h"
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
    bool IsWarm() const {
        if (given.l2 != 0) return given.l2 == 2;
        const char* const l2 = std::getenv("OPGEN_PROFILE_L2");
        return l2 != nullptr && std::strcmp(l2, "warm") == 0;
    }
};

// The last launch and its profile, made when somebody asks for it.
struct Last {
    std::unique_ptr<Trace> trace;
    std::string problem;  // of the parameters
    bool made = false;
    std::string json = "{}";
    std::vector<OpgenProfileEvent> events;
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
Profile::Ablation FewerCores(const Trace& trace, const Parameters& p, const Result& r) {
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
    (void)trace;
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
    all.push_back(FewerCores(trace, p, base));
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
            ErrorJson("OPG731", "the parameters of the model of time have mistakes", g_last.problem,
                      "correct the file, or unset OPGEN_PROFILE_PARAMETERS");
        return;
    }
    if (!g_last.trace) return;
    const Trace& trace = *g_last.trace;
    if (trace.dropped > 0) {
        const uint64_t all = trace.records + trace.dropped;
        g_last.json = ErrorJson(
            "OPG732", "the launch is too large to be profiled: " + std::to_string(all) + " records",
            "a record takes 40 bytes, and " + std::to_string(trace.records) + " are kept",
            "profile a smaller shape, or allow more records (" + std::to_string(all * 40 >> 20) +
                " MB)");
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
    const bool again = ablation == 1 || (ablation == 0 && trace.records <= kAblationRecords);
    Profile profile{trace, p, options.warm, result, time, time, {}};
    if (again) {
        profile.lowNs = TimeAt(trace, file, End::kFast, options.warm, p);
        profile.highNs = TimeAt(trace, file, End::kSlow, options.warm, p);
        profile.ablations = Ablate(trace, p, options.warm, result);
    }
    g_last.json = ProfileJson(profile);
    g_last.events = std::move(result.events);
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

class ProfileSink : public Sink {
 public:
    void OnLaunch(const LaunchInfo& info) override {
        counts_->OnLaunch(info);
        std::lock_guard<std::mutex> lock(g_mutex);
        Parameters p;
        problem_ = ReadParameters(*info.soc, g_options.ParameterFile(), End::kValue, &p);
        const uint64_t room = g_options.given.max_records;
        recorder_ = std::make_unique<Recorder>(p, room != 0 ? room : kMaxRecords);
        recorder_->OnLaunch(info);
    }
    void OnLaunchEnd(const LaunchInfo& info) override {
        counts_->OnLaunchEnd(info);
        std::lock_guard<std::mutex> lock(g_mutex);
        g_last = Last();
        g_last.problem = problem_;
        g_last.trace = recorder_->Take();
        for (const CoreTrace& core : g_last.trace->cores) {
            if (!core.ended) g_last.trace->failed = true;
        }
        SaveRecord();
        const char* const file = std::getenv("OPGEN_PROFILE");
        if (file == nullptr || *file == '\0') return;
        Make();
        std::ofstream(file, std::ios::app) << g_last.json << '\n';
        AppendEvents(g_last.events);
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
    if (first != nullptr) *first = g_last.events.data();
    return g_last.events.size();
}

}  // extern "C"
