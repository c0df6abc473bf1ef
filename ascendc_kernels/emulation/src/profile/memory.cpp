// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/memory.h"

#include <algorithm>

namespace ascendc_emu {
namespace profile {

Memory::Memory(const Parameters& parameters) : p_(parameters) {
    while ((1u << lineShift_) < p_.l2_line) ++lineShift_;
    ways_ = std::max(1u, static_cast<uint32_t>(p_.l2_ways));
    const double lines = p_.l2_bytes / static_cast<double>(1u << lineShift_);
    sets_ = std::max(1u, static_cast<uint32_t>(lines / ways_));
    lines_.resize(size_t{sets_} * ways_);
    // GB/s are bytes per ns.
    gmPerByte_ = 1 / p_.gm_bandwidth;
    l2PerByte_ = 1 / p_.l2_bandwidth;
}

bool Memory::Touch(uint64_t line, bool store, bool allocate, bool* evicted) {
    // Spread over the sets, so that strides that are powers of two do not meet in one.
    const uint64_t mixed = line * 0x9e3779b97f4a7c15ull;
    Line* const set = &lines_[size_t{(mixed >> 32) % sets_} * ways_];
    Line* oldest = set;
    ++clock_;
    for (uint32_t way = 0; way < ways_; ++way) {
        Line& one = set[way];
        if (one.tag == line) {
            one.used = clock_;
            one.dirty = one.dirty || store;
            return true;
        }
        if (clock_ - one.used > clock_ - oldest->used) oldest = &one;
    }
    if (!allocate) return false;
    if (oldest->dirty && oldest->tag != ~0ull) *evicted = true;
    *oldest = {line, clock_, store};
    return false;
}

void Memory::Warm(uint64_t begin, uint64_t end) {
    bool evicted = false;
    for (uint64_t line = begin >> lineShift_; line << lineShift_ < end; ++line) {
        Touch(line, false, true, &evicted);
    }
}

Served Memory::Serve(const Request& q, double now) {
    Served served;
    const uint64_t size = 1ull << lineShift_;
    double gm = 0;
    uint64_t addr = q.addr;
    for (uint32_t i = 0; i < q.count; ++i, addr += static_cast<uint64_t>(q.stride)) {
        const uint64_t end = addr + q.burst;
        const uint64_t first = addr >> lineShift_, stop = (end - 1) >> lineShift_;
        // A run that starts between blocks of 32 bytes moves whole lines.
        const bool aligned = addr % 32 == 0;
        double missed = 0;
        for (uint64_t line = first; line <= stop; ++line) {
            const uint64_t from = std::max(addr, line << lineShift_);
            const uint64_t to = std::min(end, (line << lineShift_) + size);
            const double bytes = static_cast<double>(to - from);
            if (freeRereads_ && !q.store && !read_.insert(line).second) continue;
            bool evicted = false;
            const bool there = Touch(line, q.store, !q.bypass, &evicted);
            if (evicted) {
                gm += (static_cast<double>(size) + p_.gm_request) * p_.gm_write_weight;
            }
            if (q.store) {
                if (q.bypass && !there) gm += (bytes + p_.gm_request) * p_.gm_write_weight;
                continue;
            }
            if (there) {
                served.hit += bytes;
                continue;
            }
            // A line that stays in L2 is fetched whole.
            const double fetched = q.bypass ? bytes : static_cast<double>(size);
            missed += bytes;
            gm += fetched + p_.gm_request;
        }
        if (!aligned && !q.store) {
            const double whole = static_cast<double>((stop - first + 1) * size);
            const double extra = whole - static_cast<double>(q.burst);
            if (missed > 0) gm += extra;
            l2Bytes_ += extra;
        }
        served.missed += missed;
    }
    const double bytes = static_cast<double>(q.burst) * q.count;
    gmBytes_ += gm;
    l2Bytes_ += bytes;
    hitBytes_ += served.hit;
    l2Free_ = std::max(l2Free_, now) + bytes * l2PerByte_;
    served.end = l2Free_;
    if (gm > 0) {
        gmFree_ = std::max(gmFree_, now) + gm * gmPerByte_;
        served.end = std::max(served.end, gmFree_);
    }
    return served;
}

}  // namespace profile
}  // namespace ascendc_emu
