// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/json_text.h"

namespace ascendc_emu {
namespace profile {
namespace {

std::string Quoted(const std::string& text) {
    std::string out;
    AppendQuoted(&out, text);
    return out;
}

std::string Number(double value) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.6g", std::isfinite(value) ? value : 0.0);
    return text;
}
std::string Us(double ns) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.4f", ns / 1000);
    return text;
}
std::string Bytes(double value) { return std::to_string(static_cast<uint64_t>(value + 0.5)); }

// Elements of an object or array, separated.
class Items {
 public:
    Items(std::string* out, char open, char close) : out_(out), close_(close) { *out_ += open; }
    ~Items() { *out_ += close_; }
    Items(const Items&) = delete;
    Items& operator=(const Items&) = delete;
    std::string& Next() {
        if (!first_) *out_ += ',';
        first_ = false;
        return *out_;
    }
    std::string& Key(const char* name) { return Next() += Quoted(name) + ":"; }

 private:
    std::string* out_;
    char close_;
    bool first_ = true;
};

const char* PositionName(uint32_t position) {
    static const char* const names[] = {"GM",  "A1",  "A2",    "B1",     "B2",      "C1", "C2",
                                        "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "LCM"};
    return position < sizeof(names) / sizeof(names[0]) ? names[position] : "";
}

std::string WaitText(uint32_t key, const char* pipe) {
    const auto what = static_cast<WaitFor>(key & 15);
    const std::string from = Name(static_cast<Pipe>(key >> 4 & 15));
    const uint32_t id = key >> 8;
    switch (what) {
        case WaitFor::kEvent:
            return "event " + from + "_" + pipe + " " + std::to_string(id);
        case WaitFor::kQueue:
            return std::string("queue ") + PositionName(id) + ": filled by " + from;
        case WaitFor::kFree:
            return std::string("queue ") + PositionName(id) + ": freed by " + from;
        case WaitFor::kBarrier:
            return "barrier";
        case WaitFor::kSyncAll:
            return "SyncAll";
        case WaitFor::kCoreFlag:
            return "core flag " + std::to_string(id);
        case WaitFor::kScalar:
            return "scalar unit";
        case WaitFor::kGm:
            return "gm bandwidth";
    }
    return "";
}

void AddPipes(std::string* out, const CoreResult& core, const Trace& trace) {
    Items pipes(out, '{', '}');
    for (int number = 0; number < kPipeCount; ++number) {
        const PipeResult& pipe = core.pipes[number];
        if (pipe.busy <= 0 && pipe.stalled <= 0) continue;
        const char* const name = Name(static_cast<Pipe>(number));
        pipes.Key(name);
        Items fields(out, '{', '}');
        fields.Key("busy_us") += Us(pipe.busy);
        fields.Key("stalled_us") += Us(pipe.stalled);
        fields.Key("instructions") += std::to_string(pipe.instructions);
        fields.Key("bytes") += std::to_string(pipe.bytes);
        fields.Key("waits");
        std::vector<std::pair<double, WaitKey>> waits;
        for (const auto& [key, ns] : pipe.waits) waits.push_back({ns, key});
        std::sort(waits.rbegin(), waits.rend());
        constexpr size_t kMost = 12;
        if (waits.size() > kMost) waits.resize(kMost);
        Items list(out, '[', ']');
        for (const auto& [ns, key] : waits) {
            list.Next();
            const Site& site = trace.sites[key.second];
            Items wait(out, '{', '}');
            wait.Key("for") += Quoted(WaitText(key.first, name));
            wait.Key("file") += std::to_string(site.file);
            wait.Key("line") += std::to_string(site.line);
            wait.Key("us") += Us(ns);
        }
    }
}

void AddCores(std::string* out, const Profile& profile) {
    Items cores(out, '[', ']');
    for (const CoreResult& core : profile.result.cores) {
        cores.Next();
        Items fields(out, '{', '}');
        fields.Key("core") += std::to_string(core.id);
        fields.Key("kind") += core.kind == CoreKind::kAic   ? "\"AIC\""
                              : core.kind == CoreKind::kAiv ? "\"AIV\""
                                                            : "\"AI\"";
        fields.Key("start_us") += Us(core.start);
        fields.Key("end_us") += Us(core.end);
        fields.Key("pipes");
        AddPipes(out, core, profile.trace);
    }
}

void AddMemory(std::string* out, const Profile& profile) {
    const Result& r = profile.result;
    Items memory(out, '{', '}');
    memory.Key("gm_read") += Bytes(r.readBytes);
    memory.Key("gm_written") += Bytes(r.writtenBytes);
    memory.Key("l2_hit") += Bytes(r.hitBytes);
    memory.Key("gm_traffic") += Bytes(r.gmBytes);
    memory.Key("ub_read") += std::to_string(profile.trace.ubRead);
    memory.Key("ub_written") += std::to_string(profile.trace.ubWritten);
    memory.Key("buffers");
    Items buffers(out, '[', ']');
    for (size_t i = 0; i < r.buffers.size(); ++i) {
        const BufferResult& buffer = r.buffers[i];
        if (buffer.read == 0 && buffer.written == 0) continue;
        buffers.Next();
        Items fields(out, '{', '}');
        fields.Key("name") +=
            Quoted(i < profile.trace.buffers.size() ? profile.trace.buffers[i].name : "elsewhere");
        fields.Key("read") += std::to_string(buffer.read);
        fields.Key("written") += std::to_string(buffer.written);
        fields.Key("distinct_read") += std::to_string(buffer.distinctRead);
        fields.Key("distinct_written") += std::to_string(buffer.distinctWritten);
    }
}

void AddLines(std::string* out, const Profile& profile) {
    const auto& lines = profile.result.lines;
    std::vector<size_t> used;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].busy > 0 || lines[i].stalled > 0) used.push_back(i);
    }
    std::stable_sort(used.begin(), used.end(), [&](size_t a, size_t b) {
        return lines[a].busy + lines[a].stalled > lines[b].busy + lines[b].stalled;
    });
    Items list(out, '[', ']');
    for (const size_t i : used) {
        list.Next();
        const Site& site = profile.trace.sites[i / kPipeCount];
        Items fields(out, '{', '}');
        fields.Key("file") += std::to_string(site.file);
        fields.Key("line") += std::to_string(site.line);
        fields.Key("pipe") += Quoted(Name(static_cast<Pipe>(i % kPipeCount)));
        fields.Key("busy_us") += Us(lines[i].busy);
        fields.Key("stalled_us") += Us(lines[i].stalled);
        fields.Key("instructions") += std::to_string(lines[i].instructions);
        fields.Key("bytes") += std::to_string(lines[i].bytes);
    }
}

void AddSample(std::string* out, const Profile& profile) {
    const Trace& trace = profile.trace;
    const Result& r = profile.result;
    if (trace.stride == 1) {
        *out += "null";
        return;
    }
    Items fields(out, '{', '}');
    fields.Key("of") += std::to_string(trace.records);
    fields.Key("kept") += std::to_string(trace.kept);
    fields.Key("windows") += std::to_string(r.windows);
    fields.Key("error_us") += Us(r.sampleError);
    fields.Key("error") += Number(r.sampleError / (r.launch + r.kernel));
}

// The most that one core needs of a pipe, if nothing else held it up.
double Most(const Result& result, Pipe pipe) {
    double most = 0;
    for (const CoreResult& core : result.cores) {
        const PipeResult& one = core.pipes[static_cast<int>(pipe)];
        most = std::max(most, pipe == Pipe::kS ? one.busy : one.work);
    }
    return most;
}

void AddLimits(std::string* out, const Profile& profile) {
    const Result& r = profile.result;
    const Parameters& p = profile.parameters;
    Items limits(out, '{', '}');
    limits.Key("gm_us") += Us(r.gmBytes / p.gm_bandwidth);
    limits.Key("l2_us") += Us(r.l2Bytes / p.l2_bandwidth);
    limits.Key("vector_us") += Us(Most(r, Pipe::kV));
    limits.Key("scalar_us") += Us(Most(r, Pipe::kS));
    limits.Key("cube_us") += Us(Most(r, Pipe::kM));
    limits.Key("mte2_us") += Us(Most(r, Pipe::kMte2));
    limits.Key("mte3_us") += Us(Most(r, Pipe::kMte3));
    limits.Key("launch_us") += Us(r.launch);
}

}  // namespace

std::vector<const char*> NotValidated(const Trace& trace) {
    bool cube = false, cross = false, library = false, barrier = false;
    double scalar = 0, steps = 0;
    for (const CoreTrace& core : trace.cores) {
        if (core.kind != CoreKind::kAiv && core.steps.size() > 0) cube = true;
        for (uint32_t i = 0; i < core.steps.size(); ++i) {
            const Step& step = core.steps[i];
            cross = cross || step.kind == StepKind::kCrossSet || step.kind == StepKind::kCrossWait;
            barrier = barrier || step.kind == StepKind::kSyncArrive;
            library = library || (step.kind == StepKind::kWork && (step.flags & kLibrary) != 0);
            scalar += static_cast<double>(step.scalar);
            steps += 1;
        }
    }
    std::vector<const char*> names;
    if (cube) names.push_back("cube");
    if (cross) names.push_back("cross_core");
    if (barrier) names.push_back("sync_all");
    if (library) names.push_back("library_calls");
    // Far above what calls of the API cost by themselves: the kernel works on the scalar unit.
    constexpr double kScalarBound = 25;
    if (steps > 0 && scalar / steps > kScalarBound) names.push_back("scalar");
    if (trace.soc != nullptr && trace.soc->arch != 2201) names.push_back("soc");
    return names;
}

std::string ErrorJson(const char* code, const std::string& what, const std::string& why,
                      const std::string& fix) {
    std::string out;
    {
        Items object(&out, '{', '}');
        object.Key("error");
        Items fields(&out, '{', '}');
        fields.Key("code") += Quoted(code);
        fields.Key("what") += Quoted(what);
        fields.Key("why") += Quoted(why);
        fields.Key("fix") += Quoted(fix);
    }
    return out;
}

std::string ProfileJson(const Profile& profile) {
    const Trace& trace = profile.trace;
    const Result& r = profile.result;
    std::string out;
    {
        Items object(&out, '{', '}');
        object.Key("format") += "1";
        object.Key("soc") += Quoted(trace.soc ? trace.soc->name : "");
        object.Key("kernel") += Quoted(trace.kernel);
        object.Key("l2") += profile.warm ? "\"warm\"" : "\"cold\"";
        const auto open = NotValidated(trace);
        object.Key("validated") += open.empty() ? "true" : "false";
        {
            object.Key("not_validated");
            Items names(&out, '[', ']');
            for (const char* name : open) names.Next() += Quoted(name);
        }
        object.Key("complete") += trace.failed || r.stuck ? "false" : "true";
        const double time = r.launch + r.kernel;
        object.Key("time_us") += Us(time);
        // What is not known of a sample comes on top of what is not known of the model.
        const double unknown = profile.lowNs < profile.highNs ? r.sampleError : 0;
        object.Key("time_low_us") += Us(std::min(profile.lowNs, time) - unknown);
        object.Key("time_high_us") += Us(std::max(profile.highNs, time) + unknown);
        object.Key("launch_us") += Us(r.launch);
        object.Key("kernel_us") += Us(r.kernel);
        object.Key("clock_mhz") += Number(profile.parameters.clock);
        object.Key("records") += std::to_string(trace.records);
        object.Key("events") += std::to_string(r.events.size());
        object.Key("lost_events") += std::to_string(r.lostEvents);
        object.Key("arithmetic") += trace.timeOnly ? "false" : "true";
        object.Key("sampled");
        AddSample(&out, profile);
        object.Key("cores");
        AddCores(&out, profile);
        object.Key("memory");
        AddMemory(&out, profile);
        object.Key("lines");
        AddLines(&out, profile);
        object.Key("limits");
        AddLimits(&out, profile);
        {
            object.Key("ablation");
            Items list(&out, '[', ']');
            for (const auto& one : profile.ablations) {
                list.Next();
                Items fields(&out, '{', '}');
                fields.Key("what") += Quoted(one.what);
                fields.Key("time_us") += Us(one.ns);
                fields.Key("saved_us") += Us(time - one.ns);
                fields.Key("estimated") += one.estimated ? "true" : "false";
            }
        }
        {
            object.Key("files");
            Items names(&out, '[', ']');
            for (const auto& name : trace.files) names.Next() += Quoted(name);
        }
        {
            object.Key("apis");
            Items names(&out, '[', ']');
            for (const auto& name : trace.apis) names.Next() += Quoted(name);
        }
        {
            object.Key("operands");
            Items names(&out, '[', ']');
            for (const auto& name : trace.operands) names.Next() += Quoted(name);
        }
    }
    return out;
}

}  // namespace profile
}  // namespace ascendc_emu
