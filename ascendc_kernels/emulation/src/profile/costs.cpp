// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/costs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "ascendc_emu/platform_table.h"

namespace ascendc_emu {
namespace profile {
namespace {

const char* const kCosts =
#include "instruction_costs.inc"
    ;

constexpr uint32_t kStepBytes = 256, kBlockBytes = 32, kGroups = 16;

DType TypeNamed(const std::string& name) {
    for (int i = 0; i < static_cast<int>(DType::kCount); ++i) {
        if (name == Name(static_cast<DType>(i))) return static_cast<DType>(i);
    }
    return DType::kNone;
}

// Whether offsets choose the elements that are read: where these lie says nothing of their number.
bool ChoosesByOffset(const Record& r) {
    return std::any_of(r.operands, r.operands + r.count, [](const Operand& o) {
        return o.use == Use::kIndex && o.dtype == DType::kU32;
    });
}

// The operand that decides how many steps there are, and the type of the first source.
struct Shape {
    uint64_t bytes = 0;
    DType type = DType::kNone;
};

Shape ShapeOf(const Record& r) {
    Shape shape;
    bool source = false;
    const bool chosen = ChoosesByOffset(r);
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (o.use == Use::kScratch) continue;
        const bool reads = o.access != Access::kWrite;
        if (!chosen || !reads) shape.bytes = std::max(shape.bytes, PatternBytes(o));
        if (o.dtype != DType::kNone && (shape.type == DType::kNone || (reads && !source))) {
            shape.type = o.dtype;
            source = source || reads;
        }
    }
    return shape;
}

}  // namespace

Costs::Costs(const Parameters& parameters) : p_(parameters), costs_(Api::kCount) {
    std::map<std::string, uint16_t> ids;
    for (uint16_t id = 1; id < Api::kCount; ++id) {
        ids[static_cast<const char*>(Api(static_cast<Api::Id>(id)))] = id;
    }
    for (auto& row : CsvRows(kCosts + 1)) {
        Cost& cost = costs_[ids[row["name"]]];
        cost.known = true;
        cost.issue = row["issue_cycles"].empty()
                         ? static_cast<float>(p_.vector_start)
                         : std::strtof(row["issue_cycles"].c_str(), nullptr);
        std::fill(std::begin(cost.repeat), std::end(cost.repeat),
                  static_cast<float>(p_.vector_repeat));
        std::istringstream words(row["repeat_cycles"]);
        for (std::string word; words >> word;) {
            if (word[0] == '~') {
                cost.estimated = true;
                word.erase(0, 1);
            }
            const size_t colon = word.find(':');
            const float cycles =
                std::strtof(word.c_str() + (colon == std::string::npos ? 0 : colon + 1), nullptr);
            if (colon == std::string::npos) {
                std::fill(std::begin(cost.repeat), std::end(cost.repeat), cycles);
            } else {
                cost.repeat[static_cast<int>(TypeNamed(word.substr(0, colon)))] = cycles;
            }
        }
    }
}

float AccessCycles(const Record& r, uint32_t steps) {
    constexpr uint32_t kLooked = 2;
    uint32_t total = 0;
    const uint32_t looked = std::min(steps, kLooked);
    for (uint32_t step = 0; step < looked; ++step) {
        uint64_t seen[2][kGroups];
        uint8_t used[2][kGroups] = {};
        uint32_t worst = 1;
        auto access = [&](int write, uint64_t addr) {
            const uint64_t block = addr / kBlockBytes;
            const uint32_t group = block % kGroups;
            // The same block is read once for all that want it.
            if (used[write][group] > 0 && seen[write][group] == block) return;
            seen[write][group] = block;
            worst = std::max<uint32_t>(worst, ++used[write][group]);
        };
        for (int i = 0; i < r.count; ++i) {
            const Operand& o = r.operands[i];
            if (o.mem != Mem::kUb || o.use != Use::kData) continue;
            const int write = o.access == Access::kRead ? 0 : 1;
            if (o.blocks > 1 || o.repeats > 1) {
                if (step >= o.repeats) continue;
                const uint64_t base =
                    o.addr + static_cast<uint64_t>(static_cast<int64_t>(step) * o.repeatStride);
                for (uint32_t b = 0; b < o.blocks; ++b) {
                    const uint64_t begin =
                        base + static_cast<uint64_t>(static_cast<int64_t>(b) * o.blockStride);
                    const uint32_t bytes = std::min(o.blockBytes, kStepBytes);
                    for (uint32_t at = 0; at < bytes; at += kBlockBytes) access(write, begin + at);
                }
                continue;
            }
            const uint64_t bytes =
                std::min<uint64_t>(kStepBytes, (o.blockBytes + steps - 1) / steps);
            for (uint64_t at = 0; at < bytes; at += kBlockBytes)
                access(write, o.addr + step * bytes + at);
        }
        total += worst;
    }
    return looked == 0 ? 1 : static_cast<float>(total) / static_cast<float>(looked);
}

void Costs::FillVector(const Record& r, Step* step) const {
    const Shape shape = ShapeOf(r);
    uint64_t steps = (shape.bytes + kStepBytes - 1) / kStepBytes;
    if (!r.countForm && r.repeat > 0) steps = std::max<uint64_t>(steps, uint64_t(r.repeat));
    const Cost& cost = costs_[r.api.id];
    const float n = static_cast<float>(steps);
    step->work.start = cost.known ? cost.issue : static_cast<float>(p_.vector_start);
    step->work.bytes = static_cast<uint32_t>(std::min<uint64_t>(shape.bytes, 0xffffffffu));
    const float each = cost.known ? cost.repeat[static_cast<int>(shape.type)]
                                  : static_cast<float>(p_.library_repeat);
    step->work.conflict = 0;
    if (cost.known && !cost.estimated) {
        // Accesses that take turns are hidden behind arithmetic that takes longer.
        const float accesses = AccessCycles(r, static_cast<uint32_t>(steps));
        step->work.conflict = std::max(0.0f, accesses - each) * n;
    } else {
        // A library function is a sequence of instructions, each with its start.
        constexpr float kMostStarts = 20;
        step->flags |= kLibrary;
        step->work.start *= std::max(1.0f, std::min(each, kMostStarts));
    }
    step->work.body = each * n;
}

void Costs::FillCube(const Record& r, Step* step) const {
    uint64_t m = r.m, n = r.n, k = r.k;
    DType type = DType::kF16;
    uint64_t leftBytes = 0;
    for (int i = 0; i < r.count; ++i) {
        if (r.operands[i].use != Use::kLeft) continue;
        type = r.operands[i].dtype;
        leftBytes = PatternBytes(r.operands[i]);
    }
    // Products per cycle: 16 x 16 x 32 bytes of k, of float a half of that.
    const uint64_t bits = DTypeBits(type);
    const uint64_t fractal = 256 / bits, parallel = type == DType::kF32 ? 4 : fractal;
    auto up = [](uint64_t x, uint64_t to) { return (x + to - 1) / to * to; };
    // A record of sparse weights does not say its depth.
    if (k == 0 && m > 0) k = leftBytes * 8 / bits / up(m, 16);
    step->work.start = static_cast<float>(p_.cube_start);
    step->work.body =
        static_cast<float>(up(m, 16) / 16 * (up(n, 16) / 16) * up(k, fractal) / parallel);
    step->work.conflict = 0;
    step->work.bytes = static_cast<uint32_t>(ShapeOf(r).bytes);
}

void Costs::FillProduct(const Record& r, Step* step) const {
    // Of m x k, k x n and m x n elements: m n k is the root of their product.
    double product = 1;
    uint64_t bits = 16;
    for (int i = 0; i < r.count && i < 3; ++i) {
        const Operand& o = r.operands[i];
        product *= static_cast<double>(PatternBytes(o) * 8 / DTypeBits(o.dtype));
        if (o.access == Access::kRead) bits = DTypeBits(o.dtype);
    }
    const double parallel = 256.0 * (bits == 32 ? 4.0 : 256.0 / static_cast<double>(bits));
    step->work.start = static_cast<float>(p_.cube_start);
    step->work.body = static_cast<float>(std::sqrt(product) / parallel);
    step->work.conflict = 0;
    step->work.bytes = 0;
}

void Costs::Fill(const Record& r, Step* step) const {
    if (r.pipe == Pipe::kV) return FillVector(r, step);
    if (r.pipe == Pipe::kM) return FillCube(r, step);
    uint64_t bytes = 0;
    Mem to = Mem::kUb, from = Mem::kUb;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        bytes = std::max(bytes, PatternBytes(o));
        (o.access == Access::kRead ? from : to) = o.mem;
    }
    double rate = p_.local_copy_rate;
    if (to == Mem::kL0a) rate = p_.l0a_rate;
    if (to == Mem::kL0b) rate = p_.l0b_rate;
    if (from == Mem::kL0c) rate = p_.fixpipe_rate;
    if (r.pipe == Pipe::kMte3) rate = p_.store_rate;
    step->work.start = static_cast<float>(p_.copy_issue);
    step->work.body = static_cast<float>(static_cast<double>(bytes) / rate);
    step->work.conflict = 0;
    step->work.bytes = static_cast<uint32_t>(bytes);
}

}  // namespace profile
}  // namespace ascendc_emu
