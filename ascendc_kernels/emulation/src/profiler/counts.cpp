// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How much a kernel moves and computes, per core: a part of the sink of profile mode
// (src/profile/profile.cpp).
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ascendc_emu/core.h"
#include "ascendc_emu/launch.h"
#include "ascendc_emu/profiler.h"
#include "ascendc_emu/record.h"
#include "profiler/counts.h"

namespace ascendc_emu {
namespace profiler {
namespace {

constexpr uint64_t kRepeatBytes = 256;

// Written at the end of a launch, while launches are serialised.
std::string g_counts = "[]";

struct Counts {
    uint64_t gmRead = 0, gmWritten = 0;
    uint64_t workspaceRead = 0, workspaceWritten = 0;
    uint64_t instructions = 0, repeats = 0, elements = 0;
    uint64_t ub = 0, ubCapacity = 0;

    std::string Json() const {
        const std::pair<const char*, uint64_t> values[] = {{"gm_read", gmRead},
                                                           {"gm_written", gmWritten},
                                                           {"workspace_read", workspaceRead},
                                                           {"workspace_written", workspaceWritten},
                                                           {"vector_instructions", instructions},
                                                           {"vector_repeats", repeats},
                                                           {"vector_elements", elements},
                                                           {"ub", ub},
                                                           {"ub_capacity", ubCapacity}};
        std::string text;
        for (const auto& [name, value] : values) {
            text +=
                std::string(text.empty() ? "{\"" : ", \"") + name + "\": " + std::to_string(value);
        }
        return text + "}";
    }
};

// Elements that an operand of an instruction stands for; see Operand on masks.
uint64_t Elements(const Record& r, const Operand& o) {
    const uint64_t lanes = uint64_t{o.blockBytes} * 8 / DTypeBits(o.dtype) * o.blocks;
    if (!o.masked) return lanes * o.repeats;
    if (r.elements != 0) return std::min<uint64_t>(r.elements, lanes * o.repeats);
    uint64_t chosen = lanes > 128 ? lanes - 128 : 0;
    for (uint64_t lane = 0; lane < std::min<uint64_t>(lanes, 128); ++lane) {
        chosen += r.mask[lane >> 6] >> (lane & 63) & 1;
    }
    return chosen * o.repeats;
}

class Counter : public Sink {
 public:
    void OnLaunch(const LaunchInfo& info) override {
        for (int i = 0; i < info.numRanges; ++i) {
            const OpgenGmRange& range = info.ranges[i];
            const int kind = range.kind & 0xff;
            if (kind != OPGEN_GM_WORKSPACE && kind != OPGEN_GM_TILING) continue;
            const auto begin = reinterpret_cast<uint64_t>(range.data);
            special_.push_back({begin, begin + range.bytes, kind});
        }
    }
    void OnLaunchEnd(const LaunchInfo&) override {
        std::string text = "[";
        for (const auto& [id, counts] : cores_) text += (id == first_ ? "" : ", ") + counts.Json();
        g_counts = text + "]";
    }
    void OnCoreStart(Core& core) override {
        first_ = cores_.empty() ? core.id : std::min(first_, core.id);
        cores_[core.id].ubCapacity = core.capacity[static_cast<int>(Mem::kUb)];
    }
    void OnInstruction(Core& core, const Record& r) override {
        Counts& counts = cores_[core.id];
        uint64_t elements = 0, bytes = 0;
        for (int i = 0; i < r.count; ++i) {
            const Operand& o = r.operands[i];
            const uint64_t touched = Elements(r, o);
            elements = std::max(elements, touched);
            bytes = std::max(bytes, touched * DTypeBits(o.dtype) / 8);
            if (o.mem == Mem::kGm)
                Move(&counts, o.addr, touched * DTypeBits(o.dtype) / 8, o.access);
        }
        if (r.pipe != Pipe::kV) return;
        ++counts.instructions;
        counts.elements += elements;
        const bool whole = r.countForm || r.repeat <= 0;
        counts.repeats += whole ? (bytes + kRepeatBytes - 1) / kRepeatBytes : uint64_t(r.repeat);
    }
    void OnSync(Core& core, const SyncEvent& event) override {
        Counts& counts = cores_[core.id];
        if (event.kind == SyncKind::kDirectLoad)
            Move(&counts, event.addr, event.bytes, Access::kRead);
        if (event.kind == SyncKind::kDirectStore)
            Move(&counts, event.addr, event.bytes, Access::kWrite);
    }
    void OnBuffer(Core& core, const BufferEvent& event) override {
        const bool made = event.kind == BufferKind::kInit || event.kind == BufferKind::kInitBuf ||
                          event.kind == BufferKind::kInitPool || event.kind == BufferKind::kRaw;
        if (!made || event.mem != Mem::kUb) return;
        uint64_t& ub = cores_[core.id].ub;
        ub = std::max(ub, event.addr + event.bytes);
    }

 private:
    struct Special {
        uint64_t begin, end;
        int kind;
    };

    void Move(Counts* counts, uint64_t addr, uint64_t bytes, Access access) {
        int kind = OPGEN_GM_OTHER;
        for (const Special& range : special_) {
            if (addr >= range.begin && addr < range.end) kind = range.kind;
        }
        if (kind == OPGEN_GM_TILING) return;
        const bool workspace = kind == OPGEN_GM_WORKSPACE;
        if (access != Access::kWrite) {
            counts->gmRead += bytes;
            counts->workspaceRead += workspace ? bytes : 0;
        }
        if (access != Access::kRead) {
            counts->gmWritten += bytes;
            counts->workspaceWritten += workspace ? bytes : 0;
        }
    }

    std::map<int, Counts> cores_;  // by Core::id
    int first_ = 0;                // the lowest id
    std::vector<Special> special_;
};

}  // namespace

Sink* MakeCounter() { return new Counter; }

}  // namespace profiler
}  // namespace ascendc_emu

extern "C" const char* opgen_counts_json(void) { return ascendc_emu::profiler::g_counts.c_str(); }
