// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <algorithm>

namespace ascendc_emu {
namespace sanitizer {

uint32_t Sites::Number(Api api, Loc loc) {
    uintptr_t hash = reinterpret_cast<uintptr_t>(loc.file) ^ api.id * 7919u ^ loc.line * 31u;
    Slot& slot = recent_[(hash ^ hash >> 8) & 255];
    if (slot.api == api && slot.file == loc.file && slot.line == loc.line) return slot.number;
    // Pointers differ between instances of a template; names decide.
    std::string key = std::to_string(api.id) + '\n' + (loc.file ? loc.file : "") + '\n' +
                      std::to_string(loc.line);
    auto found = index_.find(key);
    if (found == index_.end()) {
        if (items_.size() >= Epoch::kMaxSites) return 0;
        found = index_.emplace(key, static_cast<uint32_t>(items_.size())).first;
        items_.push_back({api, api, loc});
    }
    slot.api = api;
    slot.file = loc.file;
    slot.line = loc.line;
    slot.number = found->second;
    return slot.number;
}

LocalShadow& CoreState::Shadow(Mem mem) {
    auto& slot = shadow[static_cast<int>(mem)];
    if (!slot) slot = std::make_unique<LocalShadow>(core->capacity[static_cast<int>(mem)]);
    return *slot;
}

const Buffer* CoreState::FindBuffer(uint32_t number) const {
    if (number == 0) return nullptr;
    auto found = buffers.find(number);
    return found == buffers.end() ? nullptr : &found->second;
}

const Buffer* CoreState::BufferAt(Mem mem, uint64_t address) const {
    const Buffer* only = nullptr;
    for (const auto& entry : buffers) {
        const Buffer& b = entry.second;
        if (b.mem != mem || b.life == Life::kGone || address < b.addr ||
            address >= b.addr + b.bytes) {
            continue;
        }
        if (only) return nullptr;
        only = &b;
    }
    return only;
}

bool CoreState::GivenAway(uint32_t number, uint64_t begin, uint64_t end) const {
    const Buffer* old = FindBuffer(number);
    for (auto later = buffers.upper_bound(number); later != buffers.end(); ++later) {
        const Buffer& b = later->second;
        if (b.placed && b.life != Life::kGone && b.mem == old->mem && b.addr < end &&
            begin < b.addr + b.bytes) {
            return true;
        }
    }
    return false;
}

uint64_t CoreState::Issue(int pipe) {
    ++seq;
    issued[pipe] = seq;
    if (pipe != kPS && seenVersion[pipe] != scalarVersion) {
        // Instructions are issued in order, so a blocked scalar unit holds all later ones back. Its
        // own stores are not covered by that: they need S_V, S_MTE2 or S_MTE3.
        uint64_t scalarStores = clock[pipe].local.at[kPS];
        clock[pipe].Join(clock[kPS]);
        clock[pipe].local.at[kPS] = scalarStores;
        seenVersion[pipe] = scalarVersion;
    }
    return seq;
}

PipeClock CoreState::Release(int pipe) const {
    PipeClock released = clock[pipe];
    if (pipe != kPS && seenVersion[pipe] != scalarVersion) {
        uint64_t scalarStores = released.local.at[kPS];
        released.Join(clock[kPS]);
        released.local.at[kPS] = scalarStores;
    }
    released.local.at[pipe] = released.manual.at[pipe] = issued[pipe];
    return released;
}

PipeClock CoreState::ReleaseByQueue(int pipe) const {
    PipeClock released = Release(pipe);
    released.manual.at[pipe] = clock[pipe].manual.at[pipe];
    return released;
}

void CoreState::Acquire(int pipe, const PipeClock& from) {
    clock[pipe].Join(from);
    if (pipe == kPS) ++scalarVersion;
}

// What another core passes on may include what this core had told it before.
void CoreState::AcquireFrom(int pipe, const CrossClock& from) {
    PipeClock told;
    told.cross = from;
    size_t mine = static_cast<size_t>(core->id) * kPipes;
    if (from && mine + kPipes <= from->size()) {
        for (int p = 0; p < kPipes; ++p) told.local.at[p] = told.manual.at[p] = (*from)[mine + p];
    }
    Acquire(pipe, told);
}

void CoreState::BarrierAll() {
    PipeClock all;
    for (int p = 0; p < kPipes; ++p) all.Join(Release(p));
    for (int p = 0; p < kPipes; ++p) clock[p] = all;
    ++scalarVersion;
}

Limits CoreState::LimitsFor(int pipe) const {
    Limits limits;
    limits.raw = limits.war = limits.waw = clock[pipe].local.at;
    auto ignore = [&limits](int earlier) {
        limits.raw[earlier] = limits.war[earlier] = limits.waw[earlier] = kForever;
    };
    // Within one pipe only what the documentation asks a barrier for is a hazard: dependent vector
    // instructions, and copies whose destinations overlap.
    switch (pipe) {
        case kPV:
            if (autoSync) ignore(kPV);
            break;
        case kPMte2:
        case kPMte3:
            limits.raw[pipe] = limits.war[pipe] = kForever;
            break;
        default:
            ignore(pipe);
    }
    if (autoSync) {
        if (pipe == kPS) {
            ignore(kPV);
            ignore(kPMte2);
            ignore(kPMte3);
        } else if (pipe == kPV || pipe == kPMte2 || pipe == kPMte3) {
            ignore(kPS);
        }
    }
    return limits;
}

}  // namespace sanitizer
}  // namespace ascendc_emu
