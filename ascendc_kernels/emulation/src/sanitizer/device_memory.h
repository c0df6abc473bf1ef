// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What is known about the contents of a program's device memory between its launches: which bytes
// nobody has written yet, and which ones a kernel computed from such bytes. A launch alone cannot
// tell an output from a workspace; what the host copies back is an output.
#ifndef ASCENDC_EMU_SANITIZER_DEVICE_MEMORY_H
#define ASCENDC_EMU_SANITIZER_DEVICE_MEMORY_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "report.h"
#include "shadow.h"

namespace ascendc_emu {
namespace sanitizer {

// A set of bytes, kept as disjoint runs.
class RunSet {
 public:
    bool Empty() const { return runs_.empty(); }
    void Add(uint64_t begin, uint64_t end);
    void Remove(uint64_t begin, uint64_t end);
    bool Touches(uint64_t begin, uint64_t end) const;
    template <typename F>
    void ForEach(uint64_t begin, uint64_t end, F f) const {
        auto run = runs_.upper_bound(begin);
        if (run != runs_.begin()) --run;
        for (; run != runs_.end() && run->first < end; ++run) {
            uint64_t lo = run->first < begin ? begin : run->first;
            uint64_t hi = run->second < end ? run->second : end;
            if (lo < hi) f(lo, hi);
        }
    }

 private:
    std::map<uint64_t, uint64_t> runs_;  // begin -> end
};

// What the writers of an output leave behind when their launch is over.
struct OutputTrace {
    struct Run {
        uint64_t begin;
        uint64_t end;
        uint32_t core;
        size_t finding;
    };
    std::vector<Run> runs;           // in order
    std::vector<Finding> findings;   // each names a source line that wrote
    std::vector<std::string> cores;  // names of the cores that ran
    std::vector<int> kinds;          // their CoreKind
    uint32_t item = 0;               // bytes of an element; 0: not known
};

// Makes the finding about `gaps` (not empty) of an output at [begin, end).
Finding UnwrittenFinding(const OutputTrace& trace, const std::string& name, uint64_t begin,
                         uint64_t end, const std::vector<ByteRun>& gaps);

class DeviceMemory {
 public:
    static DeviceMemory& Instance();

    // Memory that has just been allocated. Everything else counts as filled.
    void Fresh(uint64_t begin, uint64_t end);
    // The program frees it.
    void Released(uint64_t begin);
    // The program frees what is no live allocation: `problem` says why.
    void BadFree(const std::string& api, const std::string& problem);
    // The program ends: allocations that live on, with leak-check=on.
    void ReportLeaks();
    // Data has been written there, or nothing is known about it any more.
    void Filled(uint64_t begin, uint64_t end, bool byHost = false);
    // What lies at an address without data.
    enum class Content {
        kNothing,   // nobody has touched the allocation
        kRest,      // the host has filled another part of it
        kDoubtful,  // computed from the like: see Finding::warning
        kGarbage,   // computed from garbage of an on-chip buffer
    };
    Content ContentAt(uint64_t address);
    // The host reads: reports what was computed from memory that holds no data.
    void Fetched(uint64_t begin, uint64_t end);

    // A kernel has left bytes that hold no data; `finding`, from Remember, says which instruction.
    // Its `begin` is the address of the allocation.
    void Poisoned(uint64_t begin, uint64_t end, size_t finding);
    size_t Remember(const Finding& finding);
    // Values of the cache line at `line` that may have got lost: reported when the host reads them.
    void Lost(uint64_t line, const Finding& finding);
    // A launch has ended that may have written to the allocation at `begin`, which was not full
    // yet.
    void Written(uint64_t begin, OutputTrace trace);
    // A kernel has read there.
    void ReadByKernel(uint64_t begin, uint64_t end);
    bool Tracks(uint64_t begin, uint64_t end);
    bool TracksAny();
    void EmptyRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out);

 private:
    struct Garbage {
        uint64_t end;
        size_t finding;
    };

    void RemoveGarbage(uint64_t begin, uint64_t end);
    void RemoveLost(uint64_t begin, uint64_t end);

    std::mutex mutex_;
    struct Memory {
        uint64_t end;
        bool hostFilled;
        int number;             // in the order of the program
        uint64_t filledTo = 0;  // by the host, from the beginning on
        bool launched = false;  // a kernel has run since
        OutputTrace trace{};
    };
    void ReportUnwritten(uint64_t begin, uint64_t end);
    bool IsPadding(uint64_t begin, const Memory& memory, const ByteRun& gap) const;
    void ReportUnused(uint64_t begin, const Memory& memory);

    RunSet tracked_;
    std::map<uint64_t, Memory> allocations_;  // by begin
    int allocated_ = 0;
    RunSet empty_;
    std::map<uint64_t, Garbage> garbage_;  // by begin
    std::vector<Finding> findings_;
    RunSet read_;                       // by kernels, of memory that the host has not filled
    std::map<uint64_t, Finding> lost_;  // by address of the cache line
};

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_DEVICE_MEMORY_H
