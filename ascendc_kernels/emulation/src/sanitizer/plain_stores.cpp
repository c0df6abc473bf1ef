// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Stores of plain C++ through pointers into UB (GetPhyAddr, arrays of the C interface). Nothing
// records them, so bytes without data get a mark when the pointer is taken, and what no longer has
// the mark when it is read holds data.
#include <algorithm>
#include <cstring>

#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

constexpr uint8_t kMark = 0xa5;
// A value is written as a whole: one byte without the mark speaks for its neighbours.
constexpr uint64_t kWord = 8;

// What is left of some runs of bytes without [begin, end).
std::vector<ByteRun> Without(const std::vector<ByteRun>& runs, uint64_t begin, uint64_t end) {
    std::vector<ByteRun> rest;
    for (const ByteRun& run : runs) {
        if (run.begin < begin) rest.push_back({run.begin, std::min(run.end, begin)});
        if (run.end > end) rest.push_back({std::max(run.begin, end), run.end});
    }
    return rest;
}

// Of bytes without data in [begin, end), those that have lost the mark hold some.
void AdoptRun(const uint8_t* memory, LocalShadow* shadow, uint64_t begin, uint64_t end) {
    while (begin < end) {
        const uint64_t next = std::min(end, begin / kWord * kWord + kWord);
        const bool marked =
            std::all_of(memory + begin, memory + next, [](uint8_t byte) { return byte == kMark; });
        if (!marked) shadow->SetInitialised(begin, next, true);
        begin = next;
    }
}

uint8_t* Memory(const CoreState& state) { return state.core->memory[static_cast<int>(Mem::kUb)]; }

}  // namespace

void Checker::TakePointer(CoreState& state, uint64_t begin, uint64_t end) {
    // Only what no earlier pointer covers: there the mark may be overwritten already.
    std::vector<ByteRun> fresh = {{begin, end}};
    for (const ByteRun& known : state.pointed) fresh = Without(fresh, known.begin, known.end);
    std::vector<ByteRun> empty;
    for (const ByteRun& run : fresh) {
        state.pointed.push_back(run);
        if (!GetOptions().uninit) continue;
        empty.clear();
        state.Shadow(Mem::kUb).UninitialisedRuns(run.begin, run.end, &empty);
        for (const ByteRun& e : empty) {
            const uint64_t lo = std::max(e.begin, run.begin), hi = std::min(e.end, run.end);
            if (lo < hi) std::memset(Memory(state) + lo, kMark, hi - lo);
        }
    }
}

void Checker::DropPointers(CoreState& state, Mem mem, uint64_t begin, uint64_t end) {
    if (mem != Mem::kUb || state.pointed.empty()) return;
    state.pointed = Without(state.pointed, begin, end);
}

void Checker::AdoptPlainStores(CoreState& state, const Record& record, const Operand& operand) {
    LocalShadow& shadow = state.Shadow(Mem::kUb);
    std::vector<ByteRun> empty;
    ForEachSpan(record, operand, [&](uint64_t at, uint64_t bytes) {
        for (const ByteRun& known : state.pointed) {
            const uint64_t from = std::max(at, known.begin), to = std::min(at + bytes, known.end);
            if (from >= to) continue;
            empty.clear();
            shadow.UninitialisedRuns(from, to, &empty);
            for (const ByteRun& run : empty) {
                AdoptRun(Memory(state), &shadow, std::max(run.begin, from), std::min(run.end, to));
            }
        }
    });
}

}  // namespace sanitizer
}  // namespace ascendc_emu
