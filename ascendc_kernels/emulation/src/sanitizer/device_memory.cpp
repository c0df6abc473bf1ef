// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "device_memory.h"

#include <algorithm>
#include <cstdlib>

#include "ascendc_emu/launch.h"

namespace ascendc_emu {
namespace sanitizer {

void RunSet::Add(uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    auto next = runs_.upper_bound(begin);
    if (next != runs_.begin() && std::prev(next)->second >= begin) {
        --next;
        begin = next->first;
    }
    while (next != runs_.end() && next->first <= end) {
        end = std::max(end, next->second);
        next = runs_.erase(next);
    }
    runs_[begin] = end;
}

void RunSet::Remove(uint64_t begin, uint64_t end) {
    auto run = runs_.upper_bound(begin);
    if (run != runs_.begin()) --run;
    while (run != runs_.end() && run->first < end) {
        const uint64_t lo = run->first;
        const uint64_t hi = run->second;
        if (hi <= begin) {
            ++run;
            continue;
        }
        run = runs_.erase(run);
        if (lo < begin) runs_[lo] = begin;
        if (hi > end) runs_[end] = hi;
    }
}

bool RunSet::Touches(uint64_t begin, uint64_t end) const {
    bool any = false;
    ForEach(begin, end, [&](uint64_t, uint64_t) { any = true; });
    return any;
}

DeviceMemory& DeviceMemory::Instance() {
    static auto* memory = new DeviceMemory;  // never destroyed: used at exit
    return *memory;
}

void DeviceMemory::Fresh(uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> lock(mutex_);
    tracked_.Add(begin, end);
    allocations_[begin] = {end, false, ++allocated_};
    empty_.Add(begin, end);
    read_.Remove(begin, end);
    RemoveGarbage(begin, end);
    RemoveLost(begin, end);
}

namespace {

// A finding about the host program: it has no line, `opgen run` names the source.
Finding OfProgram(const char* check, const char* api) {
    const char* const source = std::getenv("OPGEN_PROGRAM_SOURCE");
    Finding f;
    f.check = check;
    f.op = api;
    f.file = source != nullptr ? source : "";
    return f;
}

Finding OfAllocation(const char* check, int number, uint64_t bytes) {
    Finding f = OfProgram(check, "aclrtMalloc");
    f.memory = "GM";
    f.role = f.name = Format("allocation %d", number);
    f.end = bytes;
    return f;
}

}  // namespace

void DeviceMemory::Released(uint64_t begin) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = allocations_.find(begin);
    if (found == allocations_.end()) return;
    ReportUnused(begin, found->second);
    allocations_.erase(found);
}

void DeviceMemory::ReportUnused(uint64_t begin, const Memory& memory) {
    if (!GetOptions().unusedMemory) return;
    uint64_t empty = 0;
    empty_.ForEach(begin, memory.end, [&](uint64_t lo, uint64_t hi) { empty += hi - lo; });
    if (empty != memory.end - begin) return;
    Finding f = OfAllocation("UnusedMemory", memory.number, memory.end - begin);
    f.warning = true;
    f.what = Format("nobody has ever written to %s (%llu bytes)", f.name.c_str(),
                    static_cast<unsigned long long>(f.end));
    f.why = "neither a copy, nor a memset, nor a kernel stored anything there";
    f.fix = "remove the allocation, or pass it to the kernel that is to fill it";
    Findings::Instance().Add(f);
}

void DeviceMemory::BadFree(const std::string& api, const std::string& problem) {
    Finding f = OfProgram("ErrorFree", api.c_str());
    f.what = problem;
    f.why = "the device refuses it, and the memory that was meant may stay allocated";
    f.fix = "free each allocation once, by the pointer that aclrtMalloc gave";
    Findings::Instance().Add(f);
}

void DeviceMemory::ReportLeaks() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : allocations_) {
        ReportUnused(entry.first, entry.second);
        if (!GetOptions().leakCheck) continue;
        Finding f = OfAllocation("DeviceLeak", entry.second.number, entry.second.end - entry.first);
        f.what = Format("%s (%llu bytes) is still allocated when the program ends", f.name.c_str(),
                        static_cast<unsigned long long>(f.end));
        f.why = "a process that goes on allocating like this runs out of device memory";
        f.fix = "aclrtFree it on every path";
        Findings::Instance().Add(f);
    }
}

DeviceMemory::Content DeviceMemory::ContentAt(uint64_t address) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto run = garbage_.upper_bound(address);
    if (run != garbage_.begin() && address < std::prev(run)->second.end) {
        return findings_[std::prev(run)->second.finding].warning ? Content::kDoubtful
                                                                 : Content::kGarbage;
    }
    auto holder = allocations_.upper_bound(address);
    const bool filled = holder != allocations_.begin() && address < std::prev(holder)->second.end &&
                        std::prev(holder)->second.hostFilled;
    return filled ? Content::kRest : Content::kNothing;
}

void DeviceMemory::Filled(uint64_t begin, uint64_t end, bool byHost) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (tracked_.Empty()) return;
    if (byHost) RemoveLost(begin, end);
    auto holder = allocations_.upper_bound(begin);
    if (byHost && holder != allocations_.begin()) {
        --holder;
        Memory& memory = holder->second;
        if (begin < memory.end) {
            memory.hostFilled = true;
            if (begin <= std::max(memory.filledTo, holder->first))
                memory.filledTo = std::max(memory.filledTo, end);
        }
    }
    empty_.Remove(begin, end);
    RemoveGarbage(begin, end);
}

void DeviceMemory::RemoveGarbage(uint64_t begin, uint64_t end) {
    auto run = garbage_.upper_bound(begin);
    if (run != garbage_.begin()) --run;
    while (run != garbage_.end() && run->first < end) {
        const uint64_t lo = run->first;
        const Garbage old = run->second;
        if (old.end <= begin) {
            ++run;
            continue;
        }
        run = garbage_.erase(run);
        if (lo < begin) garbage_[lo] = {begin, old.finding};
        if (old.end > end) garbage_[end] = old;
    }
}

size_t DeviceMemory::Remember(const Finding& finding) {
    std::lock_guard<std::mutex> lock(mutex_);
    findings_.push_back(finding);
    return findings_.size() - 1;
}

void DeviceMemory::Lost(uint64_t line, const Finding& finding) {
    std::lock_guard<std::mutex> lock(mutex_);
    lost_.emplace(line, finding);
}

void DeviceMemory::RemoveLost(uint64_t begin, uint64_t end) {
    lost_.erase(lost_.lower_bound(begin / kCacheLine * kCacheLine), lost_.lower_bound(end));
}

void DeviceMemory::Poisoned(uint64_t begin, uint64_t end, size_t finding) {
    std::lock_guard<std::mutex> lock(mutex_);
    empty_.Add(begin, end);
    RemoveGarbage(begin, end);
    auto next = garbage_.lower_bound(begin);
    if (next != garbage_.begin()) {
        Garbage& last = std::prev(next)->second;
        if (last.end == begin && last.finding == finding) {
            last.end = end;
            return;
        }
    }
    garbage_[begin] = {end, finding};
}

void DeviceMemory::Fetched(uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto first = lost_.lower_bound(begin / kCacheLine * kCacheLine);
    for (auto line = first; line != lost_.end() && line->first < end; ++line) {
        Findings::Instance().Add(line->second);
    }
    lost_.erase(first, lost_.lower_bound(end));
    if (GetOptions().unwritten) ReportUnwritten(begin, end);
    if (garbage_.empty()) return;
    struct Part {
        uint64_t bytes = 0;
        ByteRun range{~uint64_t{0}, 0};
    };
    std::map<size_t, Part> parts;
    auto run = garbage_.upper_bound(begin);
    if (run != garbage_.begin()) --run;
    for (; run != garbage_.end() && run->first < end; ++run) {
        uint64_t first = run->first;
        // What a copy of whole blocks leaves behind a result (of a reduction, say) in its last
        // block.
        if (first % kGranule != 0 && !empty_.Touches(first - 1, first)) {
            first = (first / kGranule + 1) * kGranule;
        }
        const uint64_t lo = std::max(begin, first);
        const uint64_t hi = std::min(end, run->second.end);
        if (lo >= hi) continue;
        Part& part = parts[run->second.finding];
        part.bytes += hi - lo;
        part.range = {std::min(part.range.begin, lo), std::max(part.range.end, hi)};
    }
    for (const auto& entry : parts) {
        Finding f = findings_[entry.first];
        const uint64_t base = f.begin;
        f.begin = entry.second.range.begin - base;
        f.end = entry.second.range.end - base;
        f.what = Format(
            "%llu bytes that the host copies back from %s were computed from memory that "
            "holds no data",
            static_cast<unsigned long long>(entry.second.bytes), f.name.c_str());
        Findings::Instance().Add(f);
    }
}

void DeviceMemory::Written(uint64_t begin, OutputTrace trace) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = allocations_.find(begin);
    if (found == allocations_.end()) return;
    Memory& memory = found->second;
    // A later kernel that leaves the memory alone is not the one to be named.
    if (!trace.runs.empty() || !memory.launched) memory.trace = std::move(trace);
    memory.launched = true;
}

void DeviceMemory::ReadByKernel(uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> lock(mutex_);
    read_.Add(begin, end);
}

// Bytes at the end of a row or a buffer that are there to fill a block of 32 or 512 bytes. What a
// kernel without tail handling leaves out begins at such a boundary, or is longer.
bool DeviceMemory::IsPadding(uint64_t begin, const Memory& memory, const ByteRun& gap) const {
    auto fills = [&](uint64_t block) {
        return gap.end - gap.begin < block && (gap.begin - begin) % block != 0 &&
               (gap.end - begin) % block == 0;
    };
    if (fills(kGranule) || (gap.end == memory.end && fills(512))) return true;
    // The host has not filled the same part of an input of the same size either.
    for (const auto& entry : allocations_) {
        const Memory& other = entry.second;
        if (other.end - entry.first != memory.end - begin || other.filledTo <= entry.first)
            continue;
        if (other.filledTo < other.end && other.filledTo - entry.first <= gap.begin - begin)
            return true;
    }
    return false;
}

// The host reads [begin, end): an output, unless kernels have read there as well, which makes it
// scratch.
void DeviceMemory::ReportUnwritten(uint64_t begin, uint64_t end) {
    auto holder = allocations_.upper_bound(begin);
    if (holder == allocations_.begin()) return;
    --holder;
    const uint64_t base = holder->first;
    Memory& memory = holder->second;
    end = std::min(end, memory.end);
    if (begin >= memory.end || !memory.launched || read_.Touches(begin, end)) return;
    std::vector<ByteRun> gaps;
    bool plain = false;
    auto look = [&](uint64_t lo, uint64_t hi) {
        // Device memory begins as zeros: anything else was stored by plain C++, which nobody
        // follows.
        const auto* const data = reinterpret_cast<const uint8_t*>(lo);
        plain = plain || std::any_of(data, data + (hi - lo), [](uint8_t b) { return b != 0; });
        const uint64_t first = std::max(lo, begin);
        const uint64_t last = std::min(hi, end);
        // The rest of the gap is what a block of padding is made of, too.
        if (first < last && !IsPadding(base, memory, {lo, hi})) gaps.push_back({first, last});
    };
    empty_.ForEach(base, memory.end, [&](uint64_t lo, uint64_t hi) {
        auto run = garbage_.upper_bound(lo);
        if (run != garbage_.begin() && std::prev(run)->second.end > lo) --run;
        for (; run != garbage_.end() && run->first < hi; ++run) {
            if (run->first > lo) look(lo, run->first);
            lo = std::max(lo, std::min(hi, run->second.end));
        }
        if (lo < hi) look(lo, hi);
    });
    if (plain || gaps.empty()) return;
    Finding f =
        UnwrittenFinding(memory.trace, Format("allocation %d", memory.number), begin, end, gaps);
    f.what += ", which the host copies back";
    const char* const source = std::getenv("OPGEN_PROGRAM_SOURCE");
    if (f.file.empty() && source != nullptr) f.file = source;
    // A status word that a kernel sets to 0 by plain C++ looks the same.
    f.warning = memory.trace.runs.empty() && memory.end - base <= 64;
    Findings::Instance().Add(f);
}

bool DeviceMemory::Tracks(uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> lock(mutex_);
    return tracked_.Touches(begin, end);
}

bool DeviceMemory::TracksAny() {
    std::lock_guard<std::mutex> lock(mutex_);
    return !tracked_.Empty();
}

void DeviceMemory::EmptyRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out) {
    std::lock_guard<std::mutex> lock(mutex_);
    empty_.ForEach(begin, end, [&](uint64_t lo, uint64_t hi) { out->push_back({lo, hi}); });
}

}  // namespace sanitizer
}  // namespace ascendc_emu

using ascendc_emu::sanitizer::DeviceMemory;

namespace {

// Only a program that `opgen run` started is known to use device memory through the runtime alone;
// elsewhere other libraries of the process may.
bool ChecksProgram() {
    static const bool program = std::getenv("OPGEN_PROGRAM_REPORT") != nullptr;
    return program && opgen_default_mode() == OPGEN_MODE_CHECK;
}

}  // namespace

extern "C" {

void opgen_gm_fresh(void* data, uint64_t bytes) {
    if (!ChecksProgram() || !ascendc_emu::sanitizer::GetOptions().uninit) return;
    const auto begin = reinterpret_cast<uint64_t>(data);
    DeviceMemory::Instance().Fresh(begin, begin + bytes);
}

void opgen_gm_released(void* data) {
    DeviceMemory::Instance().Released(reinterpret_cast<uint64_t>(data));
}

void opgen_gm_bad_free(const char* api, const char* problem) {
    if (ChecksProgram()) DeviceMemory::Instance().BadFree(api, problem);
}

void opgen_gm_exit(void) { DeviceMemory::Instance().ReportLeaks(); }

void opgen_gm_filled(void* data, uint64_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(data);
    DeviceMemory::Instance().Filled(begin, begin + bytes, true);
}

void opgen_gm_fetched(const void* data, uint64_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(data);
    DeviceMemory::Instance().Fetched(begin, begin + bytes);
}

}  // extern "C"
