// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Outputs of which a part was never written. Instructions are followed in the shadow of global
// memory. Stores of plain C++ are not: so an output is filled with a pattern before the launch,
// what differs from that afterwards was stored, and what does not gets back what was there.
#include <algorithm>
#include <cstring>
#include <map>

#include "checker.h"
#include "core/crash.h"
#include "device_memory.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

constexpr uint8_t kPattern = 0xc5;
// A copy of the output is kept: above this, plain stores are not told from what was there.
constexpr uint64_t kMostKept = uint64_t{1} << 28;
// Where plain C++ stores to an output, single bytes of its values may equal the pattern.
constexpr uint64_t kShortestPlainGap = 16;
constexpr size_t kNoCore = ~size_t{0};

uint64_t BytesOf(const std::vector<ByteRun>& runs) {
    uint64_t bytes = 0;
    for (const ByteRun& run : runs) bytes += run.end - run.begin;
    return bytes;
}

uint64_t Median(std::vector<uint64_t> values) {
    if (values.empty()) return 0;
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

// How the writers share an output among themselves.
class Pattern {
 public:
    explicit Pattern(const OutputTrace& trace) : trace_(trace), bytes_(trace.cores.size()) {
        std::vector<uint64_t> lengths;
        std::vector<char> seen(trace.cores.size());
        for (size_t i = 0; i < trace.runs.size(); ++i) {
            const OutputTrace::Run& run = trace.runs[i];
            lengths.push_back(run.end - run.begin);
            if (run.core >= bytes_.size()) continue;
            bytes_[run.core] += run.end - run.begin;
            const bool again = seen[run.core] && i > 0 && trace.runs[i - 1].core != run.core;
            inTurn_ = inTurn_ || again;
            seen[run.core] = 1;
        }
        tile_ = Median(lengths);
        std::vector<uint64_t> shares;
        for (uint64_t b : bytes_) {
            if (b > 0) shares.push_back(b);
        }
        share_ = Median(shares);
        writers_ = shares.size();
    }

    // The core whose share a gap most likely is and why; kNoCore: it cannot be told.
    size_t Owner(const ByteRun& gap, std::string* why) const {
        const auto& runs = trace_.runs;
        auto next =
            std::lower_bound(runs.begin(), runs.end(), gap.end,
                             [](const OutputTrace::Run& r, uint64_t at) { return r.begin < at; });
        const OutputTrace::Run* after = next == runs.end() ? nullptr : &*next;
        const OutputTrace::Run* before = next == runs.begin() ? nullptr : &*std::prev(next);
        if (before == nullptr && after == nullptr) {
            *why = "no core wrote any of it, so whose share it was cannot be told";
            return kNoCore;
        }
        if (before != nullptr && after != nullptr && before->core == after->core) {
            *why = "it wrote what lies before and behind";
            return before->core;
        }
        const size_t idle = FirstIdle(before, after);
        if (idle != kNoCore && 2 * (gap.end - gap.begin) > share_) {
            *why = "it wrote nothing, and its neighbours what lies around it";
            return idle;
        }
        if (inTurn_ && before != nullptr) return TurnAt(*before, after, gap, why);
        if (before != nullptr) {
            *why = "it wrote what lies right before";
            return before->core;
        }
        *why = "it wrote what lies right behind";
        return after->core;
    }

 private:
    // The first core between two writers that wrote nothing.
    size_t FirstIdle(const OutputTrace::Run* before, const OutputTrace::Run* after) const {
        const int kind = trace_.kinds[(before != nullptr ? before : after)->core];
        const size_t first = before != nullptr ? before->core + 1 : 0;
        const size_t last = after != nullptr ? after->core : trace_.cores.size();
        for (size_t core = first; core < last; ++core) {
            if (trace_.kinds[core] == kind) return bytes_[core] == 0 ? core : kNoCore;
        }
        return kNoCore;
    }

    size_t TurnAt(const OutputTrace::Run& before, const OutputTrace::Run* after, const ByteRun& gap,
                  std::string* why) const {
        const size_t turn = (before.core + 1) % trace_.cores.size();
        if (after != nullptr && after->core == turn) {
            *why = "it wrote what lies right before, in the tile before the next core's";
            return before.core;
        }
        if (2 * (gap.end - gap.begin) > tile_ && bytes_[turn] > 0) {
            *why = "it was its turn: the cores write tiles one after the other";
            return turn;
        }
        if (after == nullptr && before.end - before.begin < tile_) {
            *why = "it wrote what lies right before, in a tile shorter than the others";
            return before.core;
        }
        *why = "the cores write tiles in turn: whose share it was cannot be told for certain";
        return kNoCore;
    }

    const OutputTrace& trace_;
    std::vector<uint64_t> bytes_;  // per core
    uint64_t tile_ = 0;
    uint64_t share_ = 0;
    size_t writers_ = 0;
    bool inTurn_ = false;  // cores come back after others
};

std::string Elements(uint64_t bytes, uint32_t item, bool rounded) {
    if (item > 1 && rounded)
        return Format("%llu elements", static_cast<unsigned long long>(bytes / item));
    return Format("%llu bytes", static_cast<unsigned long long>(bytes));
}

}  // namespace

Finding UnwrittenFinding(const OutputTrace& trace, const std::string& name, uint64_t begin,
                         uint64_t end, const std::vector<ByteRun>& gaps) {
    const uint64_t missing = BytesOf(gaps);
    uint32_t item = trace.item;
    for (const ByteRun& gap : gaps) {
        if (item > 1 && ((gap.begin - begin) % item != 0 || (gap.end - begin) % item != 0))
            item = 1;
    }
    const Pattern pattern(trace);
    std::string why;
    const size_t owner = pattern.Owner(gaps[0], &why);
    const ByteRun& first = gaps[0];
    Finding f;
    // The line that wrote last before the gap, or first behind it.
    auto next =
        std::lower_bound(trace.runs.begin(), trace.runs.end(), first.end,
                         [](const OutputTrace::Run& r, uint64_t at) { return r.begin < at; });
    if (next != trace.runs.begin()) --next;
    if (next != trace.runs.end()) {
        f = trace.findings[next->finding];
    } else if (!trace.findings.empty()) {
        f = trace.findings[0];
    }
    f.check = "UnwrittenOutput";
    f.role = "dst";
    f.memory = "GM";
    f.name = name;
    f.begin = first.begin - begin;
    f.end = first.end - begin;
    const uint64_t unit = item > 1 ? item : 1;
    const std::string gapText = gaps.size() == 1 ? "" : Format(" (%zu gaps)", gaps.size());
    if (missing == end - begin) {
        f.what = Format("nobody wrote output '%s' (%s)", name.c_str(),
                        Elements(missing, item, true).c_str());
    } else {
        f.what =
            Format("nobody wrote %llu of the %s of output '%s', the first at index %llu%s",
                   static_cast<unsigned long long>(missing / unit),
                   Elements(end - begin, item, (end - begin) % unit == 0).c_str(), name.c_str(),
                   static_cast<unsigned long long>((first.begin - begin) / unit), gapText.c_str());
    }
    if (owner != kNoCore) {
        std::vector<size_t> others;
        for (const ByteRun& gap : gaps) {
            std::string ignored;
            const size_t other = pattern.Owner(gap, &ignored);
            const bool known = std::find(others.begin(), others.end(), other) != others.end();
            if (other != kNoCore && other != owner && !known) others.push_back(other);
            if (others.size() > 64) break;
        }
        f.why = "most likely the share of " + trace.cores[owner] + ": " + why;
        if (!others.empty())
            f.why += Format("; other gaps are shares of %zu more cores", others.size());
    } else {
        f.why = why;
    }
    if (trace.runs.empty() && !f.kernel.empty()) f.why = "kernel " + f.kernel + ": " + f.why;
    f.why += "; on the device the memory holds what the last kernel left there";
    f.fix = missing == end - begin
                ? "store the results there; does the kernel return early, or do nothing?"
                : "check how the cores share the elements and how each copies its last tile: "
                  "offset, count, tail";
    return f;
}

// Bytes that a kernel has to write are given a pattern.
void Checker::MarkOutputs() {
    if (!GetOptions().unwritten) return;
    uint64_t kept = 0;
    for (const Region& region : regions_) {
        if (region.kind != OPGEN_GM_OUTPUT || region.partial) continue;
        std::vector<ByteRun> runs;
        if (DeviceMemory::Instance().Tracks(region.begin, region.end)) {
            // What the host has filled may stay so.
            DeviceMemory::Instance().EmptyRuns(region.begin, region.end, &runs);
        } else {
            runs.push_back({region.begin, region.end});
        }
        for (const ByteRun& run : runs) {
            Marked marked;
            marked.run = run;
            marked.region = &region;
            kept += run.end - run.begin;
            if (kept <= kMostKept) {
                const auto* const data = reinterpret_cast<const uint8_t*>(run.begin);
                marked.before.assign(data, data + (run.end - run.begin));
                std::memset(reinterpret_cast<void*>(run.begin), kPattern, run.end - run.begin);
            }
            marked_.push_back(std::move(marked));
        }
    }
}

// Finds what is unwritten and puts back what was there.
void Checker::RestoreOutputs() {
    for (Marked& m : marked_) {
        if (m.run.begin >= m.run.end) continue;
        std::vector<WriterRun> writers;
        std::vector<ByteRun> quiet;
        gm_.Writers(m.run.begin, m.run.end, &writers, &quiet);
        for (const ByteRun& run : quiet) {
            if (m.before.empty()) {
                m.unwritten.push_back(run);
                continue;
            }
            for (uint64_t at = run.begin; at < run.end;) {
                auto* const data = reinterpret_cast<uint8_t*>(at);
                uint64_t n = 0;
                while (at + n < run.end && data[n] == kPattern) ++n;
                if (n == 0) {
                    m.plain = true;
                    ++at;
                    continue;
                }
                std::memcpy(data, m.before.data() + (at - m.run.begin), n);
                m.unwritten.push_back({at, at + n});
                at += n;
            }
        }
        m.run.end = m.run.begin;  // done
    }
}

Finding Checker::WriterFinding(Epoch near) const {
    if (!near || near.Core() >= identities_.size()) {
        // No instruction: the kernel itself.
        Finding f;
        f.kernel = kernel_;
        if (code_ == nullptr) return f;
        // Looked up once: a process is started for it. Launches are serialised.
        static std::map<const void*, std::pair<std::string, uint32_t>> places;
        auto found = places.find(code_);
        if (found == places.end()) {
            Crash here;
            here.frames[here.count++] = const_cast<void*>(code_);
            CallSite site;
            const bool known = FindCallSites(here, &site, 1) == 1;
            const auto line = known ? static_cast<uint32_t>(site.line) : 0U;
            found = places.emplace(code_, std::make_pair(std::string(known ? site.file : ""), line))
                        .first;
        }
        f.file = found->second.first;
        f.line = found->second.second;
        return f;
    }
    const Site& site = sites_[near.Site()];
    const CoreState state(const_cast<Core*>(&identities_[near.Core()]));
    Finding f = Start(state, "UnwrittenOutput", site.op, site.loc);
    f.pipe = PipeName(near.Pipe());
    return f;
}

void Checker::CollectWriters(uint64_t begin, uint64_t end, OutputTrace* trace) {
    std::vector<WriterRun> writers;
    std::vector<ByteRun> unwritten;
    gm_.Writers(begin, end, &writers, &unwritten);
    std::map<uint64_t, size_t> known;
    for (const WriterRun& run : writers) {
        if (run.writer.Core() >= identities_.size()) continue;
        const uint64_t key = uint64_t{run.writer.Core()} << 32 | run.writer.Site();
        auto found = known.find(key);
        if (found == known.end()) {
            found = known.emplace(key, trace->findings.size()).first;
            trace->findings.push_back(WriterFinding(run.writer));
        }
        trace->runs.push_back({run.begin, run.end, run.writer.Core(), found->second});
    }
    if (trace->findings.empty()) trace->findings.push_back(WriterFinding(Epoch()));
    for (const Core& core : identities_) {
        trace->cores.push_back(CoreText(core));
        trace->kinds.push_back(static_cast<int>(core.kind));
    }
}

bool Checker::WroteInputs() {
    return std::any_of(regions_.begin(), regions_.end(), [&](const Region& region) {
        std::vector<WriterRun> writers;
        std::vector<ByteRun> unwritten;
        if (region.kind == OPGEN_GM_INPUT)
            gm_.Writers(region.begin, region.end, &writers, &unwritten);
        return !writers.empty();
    });
}

void Checker::ReportUnwrittenOutputs() {
    std::map<const Region*, std::pair<std::vector<ByteRun>, bool>> gaps;
    for (const Marked& m : marked_) {
        auto& found = gaps[m.region];
        found.first.insert(found.first.end(), m.unwritten.begin(), m.unwritten.end());
        found.second = found.second || m.plain;
    }
    for (auto& entry : gaps) {
        const Region& region = *entry.first;
        auto& runs = entry.second.first;
        if (entry.second.second) {
            runs.erase(std::remove_if(
                           runs.begin(), runs.end(),
                           [](const ByteRun& r) { return r.end - r.begin < kShortestPlainGap; }),
                       runs.end());
        }
        if (runs.empty()) continue;
        OutputTrace trace;
        trace.item = region.item;
        CollectWriters(region.begin, region.end, &trace);
        Finding f = UnwrittenFinding(trace, region.name, region.begin, region.end, runs);
        const bool whole = BytesOf(runs) == region.end - region.begin;
        if (whole && region.optional) {
            f.warning = true;
            f.why = "the output is optional, and the caller has passed one; " + f.why;
        }
        // Public ops update an input and leave the output that names the result alone.
        if (whole && WroteInputs()) {
            f.warning = true;
            f.why += "; the kernel wrote to an input, which may be meant to be the result";
            f.fix = "give input and output the same name, or store to the output";
        }
        // Memory of the emulated device in a process whose other libraries fill it unseen.
        const bool zero = region.device &&
                          !DeviceMemory::Instance().Tracks(region.begin, region.end) &&
                          std::all_of(runs.begin(), runs.end(), [](const ByteRun& r) {
                              const auto* const data = reinterpret_cast<const uint8_t*>(r.begin);
                              return std::all_of(data, data + (r.end - r.begin),
                                                 [](uint8_t b) { return b == 0; });
                          });
        if (zero) {
            f.warning = true;
            f.why += "; it held zeros before, which may be what the caller put there";
        }
        Findings::Instance().Add(f);
    }
}

// Hands on who wrote what of a program's memory: an output is what the host copies back, later.
void Checker::KeepWriters(const Region& region) {
    OutputTrace trace;
    trace.item = region.item;
    CollectWriters(region.begin, region.end, &trace);
    DeviceMemory::Instance().Written(region.begin, std::move(trace));
}

}  // namespace sanitizer
}  // namespace ascendc_emu
