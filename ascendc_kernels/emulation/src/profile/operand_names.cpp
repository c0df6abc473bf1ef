// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/operand_names.h"

#include <cstdio>
#include <string>

namespace ascendc_emu {
namespace profile {
namespace {

std::string Text(const Operand& o, const Trace& trace, size_t buffer) {
    std::string text = std::string(o.role) + ": ";
    if (o.dtype != DType::kNone) text += std::string(Name(o.dtype)) + " ";
    if (o.mem == Mem::kGm) {
        text += buffer < trace.buffers.size() ? trace.buffers[buffer].name : "GM";
    } else {
        char place[40];
        std::snprintf(place, sizeof(place), "%s+0x%llx", Name(o.mem),
                      static_cast<unsigned long long>(o.addr));
        text += place;
    }
    const uint64_t runs = uint64_t{o.blocks} * o.repeats;
    text += ", ";
    if (runs > 1) text += std::to_string(runs) + " x ";
    return text + std::to_string(o.blockBytes) + " B";
}

}  // namespace

uint16_t OperandNames::Of(const Record& r, const Placement& placed, Trace* trace) {
    if (r.count == 0) return 0;
    uint64_t key = 0;
    const auto mix = [&](uint64_t value) {
        key = (key ^ value) * 0x9e3779b97f4a7c15ull;
        key ^= key >> 29;
    };
    size_t buffers[Record::kMaxOperands];
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        const bool gm = o.mem == Mem::kGm;
        buffers[i] = gm ? BufferAt(trace->buffers, placed(o.addr)) : 0;
        mix(reinterpret_cast<uint64_t>(o.role));
        mix(gm ? buffers[i] : o.addr);
        mix(uint64_t{o.blockBytes} << 32 | static_cast<uint64_t>(o.mem) << 16 |
            static_cast<uint64_t>(o.dtype));
        mix(uint64_t{o.blocks} * o.repeats);
    }
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    constexpr size_t kMost = 0xffff;
    if (trace->operands.size() > kMost) return 0;
    std::string text;
    for (int i = 0; i < r.count; ++i) {
        if (i > 0) text += "; ";
        text += Text(r.operands[i], *trace, buffers[i]);
    }
    const auto number = static_cast<uint16_t>(trace->operands.size());
    trace->operands.push_back(text);
    known_.emplace(key, number);
    return number;
}

}  // namespace profile
}  // namespace ascendc_emu
