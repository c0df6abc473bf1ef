// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/placement.h"

#include <algorithm>
#include <numeric>

namespace ascendc_emu {
namespace profile {
namespace {

constexpr uint64_t kAlignment = 512;        // of allocations on a device
constexpr uint64_t kDistance = 1ull << 42;  // more than any buffer has bytes

}  // namespace

Placement::Placement(std::vector<Buffer>* buffers) {
    std::vector<size_t> order(buffers->size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (*buffers)[a].begin < (*buffers)[b].begin; });
    std::vector<size_t> firsts;  // the first buffer of each group in the order of the launch
    for (const size_t index : order) {
        const Buffer& buffer = (*buffers)[index];
        if (!groups_.empty() && buffer.begin < groups_.back().end) {
            groups_.back().end = std::max(groups_.back().end, buffer.end);
            firsts.back() = std::min(firsts.back(), index);
            continue;
        }
        groups_.push_back({buffer.begin, buffer.end, 0});
        firsts.push_back(index);
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
        const auto before = std::count_if(firsts.begin(), firsts.end(),
                                          [&](size_t first) { return first < firsts[i]; });
        groups_[i].base =
            (static_cast<uint64_t>(before) + 1) * kDistance + groups_[i].begin % kAlignment;
    }
    for (Buffer& buffer : *buffers) {
        const uint64_t bytes = buffer.end - buffer.begin;
        buffer.begin = (*this)(buffer.begin);
        buffer.end = buffer.begin + bytes;
    }
}

uint64_t Placement::operator()(uint64_t addr) const {
    if (last_ >= groups_.size() || addr < groups_[last_].begin || addr >= groups_[last_].end) {
        const auto after =
            std::upper_bound(groups_.begin(), groups_.end(), addr,
                             [](uint64_t a, const Group& group) { return a < group.begin; });
        if (after == groups_.begin()) return addr;
        last_ = static_cast<size_t>(after - groups_.begin()) - 1;
        if (addr >= groups_[last_].end) return addr;
    }
    return groups_[last_].base + (addr - groups_[last_].begin);
}

}  // namespace profile
}  // namespace ascendc_emu
