// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What all cores share: GM and the L2 cache before it. Both serve requests one after the other at
// their rate, in the order of modelled time.
#ifndef OPGEN_PROFILE_MEMORY_H
#define OPGEN_PROFILE_MEMORY_H

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "profile/parameters.h"
#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

// What one copy, or a part of it, asks for.
struct Request {
    uint64_t addr;
    uint32_t burst, count;
    int64_t stride;
    bool store, bypass;
    uint32_t core;
};

struct Served {
    double end = 0;     // ns: when the shared memories have served it
    double missed = 0;  // bytes that came from GM, of loads
    double hit = 0;     // bytes that came from L2
    double cycles = 0;  // that the port of the core needs, of loads
};

class Memory {
 public:
    explicit Memory(const Parameters& parameters);

    // Puts [begin, end) into L2 as if it had just been read: a warm cache.
    void Warm(uint64_t begin, uint64_t end);
    // Reading a line again costs nothing from now on (an ablation).
    void SetFreeRereads() { freeRereads_ = true; }

    Served Serve(const Request& request, double now);

    double gmBytes() const { return gmBytes_; }    // moved by GM, requests' own cost included
    double l2Bytes() const { return l2Bytes_; }    // moved by L2
    double hitBytes() const { return hitBytes_; }  // of loads, from L2

 private:
    struct Line {
        uint64_t tag = ~0ull;
        uint32_t used = 0;
        uint8_t valid = 0;  // sectors
        bool dirty = false;
    };
    // Whether another core has just asked for the line past L2.
    bool IsAskedFor(uint64_t line, uint32_t core, double now);
    // Which of the sectors `wanted` of a line were there; `evicted`: a dirty line made room.
    uint8_t Touch(uint64_t line, uint8_t wanted, bool store, bool allocate, bool* evicted);

    Parameters p_;
    uint32_t sectors_ = 2;  // of a line
    uint32_t lineShift_ = 9, ways_ = 16, sets_ = 1, clock_ = 0;
    std::vector<Line> lines_;
    struct Asked {
        uint64_t line = ~0ull;
        uint32_t core = 0;
        double time = 0;
    };
    std::vector<Asked> asked_;  // past L2, the latest of each place
    bool freeRereads_ = false;
    std::unordered_set<uint64_t> read_;  // lines, where re-reading is free
    double gmPerByte_, l2PerByte_;       // ns
    double gmFree_ = 0, l2Free_ = 0;
    double gmBytes_ = 0, l2Bytes_ = 0, hitBytes_ = 0;
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_MEMORY_H
