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
};

struct Served {
    double end = 0;     // ns: when the shared memories have served it
    double missed = 0;  // bytes that came from GM, of loads
    double hit = 0;     // bytes that came from L2
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
        bool dirty = false;
    };
    // Whether the line was there; `evicted`: a dirty one made room.
    bool Touch(uint64_t line, bool store, bool allocate, bool* evicted);

    Parameters p_;
    uint32_t lineShift_ = 9, ways_ = 16, sets_ = 1, clock_ = 0;
    std::vector<Line> lines_;
    bool freeRereads_ = false;
    std::unordered_set<uint64_t> read_;  // lines, where re-reading is free
    double gmPerByte_, l2PerByte_;       // ns
    double gmFree_ = 0, l2Free_ = 0;
    double gmBytes_ = 0, l2Bytes_ = 0, hitBytes_ = 0;
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_MEMORY_H
