// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Flags in global memory: a core stores a small value, another one copies it to its own memory (or
// reads it with GetValue) again and again until it has changed. The read that ends such a loop is
// ordered after the store, and with it everything the storing pipe knew to be complete.
#ifndef ASCENDC_EMU_SANITIZER_POLLING_H
#define ASCENDC_EMU_SANITIZER_POLLING_H

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "ascendc_emu/record.h"
#include "clock.h"
#include "local_shadow.h"
#include "report.h"

namespace ascendc_emu {
namespace sanitizer {

// A small store to global memory, which may be a flag.
struct FlagStore {
    uint64_t end = 0;
    std::vector<Epoch> writers;  // the last one first; atomic stores add up
    LocalClock known;            // what the storing pipe knew of its own core
    CrossClock cross;            // and of the others
    bool atomic = false;
    std::vector<uint8_t> before;  // the bytes it replaced
};

// The latest of them, by address.
class FlagStores {
 public:
    static constexpr uint64_t kMaxBytes = 256;

    bool Empty() const { return stores_.empty(); }
    void Add(uint64_t begin, FlagStore store);
    void Forget(uint64_t begin, uint64_t end);
    // Calls f(begin, store) for all that touch [begin, end).
    template <typename F>
    void ForOverlaps(uint64_t begin, uint64_t end, F f) const {
        auto next = stores_.lower_bound(begin < kMaxBytes ? 0 : begin - kMaxBytes);
        for (; next != stores_.end() && next->first < end; ++next) {
            if (next->second.end > begin) f(next->first, next->second);
        }
    }

 private:
    static constexpr size_t kMost = 4096;

    std::map<uint64_t, FlagStore> stores_;
    std::deque<uint64_t> order_;
};

// A read of such stores by a core that nothing had told about them.
struct Glimpse {
    struct Part {
        ByteRun bytes;          // in global memory
        FlagStore store;        // without the bytes before it
        bool shown = false;     // the read got the new value
        bool polled = false;    // the core had read the bytes before, and done nothing since
        bool observed = false;  // the scalar unit has looked at it
    };

    Epoch me;             // the read, or the vector instruction that computed on it
    ByteRun source;       // in global memory
    uint64_t stores = 0;  // of this core, until then
    Mem mem = Mem::kGm;   // where it went; kGm: GetValue
    uint64_t begin = 0;
    uint64_t end = 0;
    bool linear = false;  // byte i of the destination is byte i of the source
    std::vector<Part> parts;
    Finding finding;
};

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_POLLING_H
