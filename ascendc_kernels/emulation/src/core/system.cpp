// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The scalar unit: accesses, clock, data cache, conversions; kernel kind and tiling data.
#include <cmath>
#include <ctime>

#include "ascendc_emu/system_api.h"
#include "ascendc_emu/tiling_macros.h"
#include "core/operands.h"
#include "core/scheduler.h"

namespace ascendc_emu {

void CacheClean(const void* address, uint64_t bytes, Loc loc) {
    Core& core = Current();
    EmitDirect(core, SyncKind::kCacheClean, address, bytes, loc);
    // Cores that poll memory clean their cache in the loop: let the others make progress.
    if ((++core.spins & 0x3f) == 0) Poll(core);
}

uint64_t SystemCycle() {
    // The counter runs at 50 MHz on the device.
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 50000000ull + static_cast<uint64_t>(t.tv_nsec) / 20;
}

void DeclareKind(int kind, KindSource source, Loc) {
    Core& core = Current();
    Scheduler& s = *core.scheduler;
    if (kind <= 0 || kind > OPGEN_KERNEL_MIX_AIC_1_2 || core.kind == CoreKind::kUnified) return;
    if (!s.RequestKind(kind, source)) return;
    s.Fail("");
    throw BlockAbort();
}

void LoadTiling(void* dst, const void* src, uint64_t bytes, const char* type, Loc loc) {
    Core& core = Current();
    if (src == nullptr) Trap(core, loc, "GET_TILING_DATA", "the tiling argument is null");
    const auto begin = reinterpret_cast<uintptr_t>(core.tilingData);
    const auto at = reinterpret_cast<uintptr_t>(src);
    if (core.tilingData != nullptr && at >= begin && at <= begin + core.tilingSize &&
        at + bytes > begin + core.tilingSize) {
        // Trailing padding may be missing, fields may not.
        const uint64_t have = begin + core.tilingSize - at;
        if (have + 8 <= bytes) {
            TrapCheck(core, loc, "ErrorParam", "GET_TILING_DATA",
                      "use the same tiling struct in op_host and op_kernel",
                      "%s has %llu bytes, the host wrote %llu", type,
                      static_cast<unsigned long long>(bytes),
                      static_cast<unsigned long long>(have));
        }
        memset(dst, 0, bytes);
        bytes = have;
    }
    memcpy(dst, src, bytes);
}

namespace {

// Whether memory is an input, whose values are there before the kernel runs, or a constant.
bool IsInput(const Core& core, const uint8_t* address) {
    const OpgenGmRange* const range = core.scheduler->FindRange(address);
    if (range == nullptr) return false;
    const int kind = range->kind & 0xff;
    return kind == OPGEN_GM_INPUT || kind == OPGEN_GM_TILING;
}

}  // namespace

void EmitScalar(const TensorRef& t, DType type, uint64_t offset, uint32_t bytes, Access access,
                Loc loc) {
    Core& core = Current();
    if (access != Access::kWrite) NeedsValues(core, Api::kGetValue, loc);
    Record r;
    r.SetApi(access == Access::kRead    ? Api::kGetValue
             : access == Access::kWrite ? Api::kSetValue
                                        : Api::kOperatorCall);
    r.pipe = Pipe::kS;
    r.loc = Where(core, loc);
    r.scalarAccess = true;
    Operand& o = AddTensor(r, "tensor", t, type, access);
    o.align = 1;
    o.addr += offset;
    o.blockBytes = bytes;
    core.sink->OnInstruction(core, r);
}

void EmitScalar(const GmRef& t, DType type, uint64_t offset, uint32_t bytes, Access access,
                Loc loc) {
    Core& core = Current();
    if (access != Access::kWrite && !IsInput(core, t.ptr + offset)) {
        NeedsValues(core, Api::kGetValue, loc);
    }
    Record r;
    r.SetApi(access == Access::kRead    ? Api::kGetValue
             : access == Access::kWrite ? Api::kSetValue
                                        : Api::kOperatorCall);
    r.pipe = Pipe::kS;
    r.loc = Where(core, loc);
    r.scalarAccess = true;
    Operand& o = AddTensor(r, "tensor", t, type, access);
    o.align = 1;
    o.addr += offset;
    o.blockBytes = bytes;
    core.sink->OnInstruction(core, r);
}

void EmitCacheHint(const GmRef& t, uint64_t bytes, int32_t mode) {
    Core& core = Current();
    SyncEvent e;
    e.kind = SyncKind::kCacheHint;
    e.addr = reinterpret_cast<uint64_t>(t.ptr);
    e.bytes = bytes != 0 || t.hi == nullptr ? bytes : static_cast<uint64_t>(t.hi - t.ptr);
    e.mode = mode;
    core.sink->OnSync(core, e);
}

int64_t FloatToInt(float v, int mode, int bits) {
    double d = v;
    switch (static_cast<AscendC::RoundMode>(mode)) {
        case AscendC::RoundMode::CAST_FLOOR:
            d = std::floor(d);
            break;
        case AscendC::RoundMode::CAST_CEIL:
            d = std::ceil(d);
            break;
        case AscendC::RoundMode::CAST_ROUND:
            d = std::round(d);
            break;
        case AscendC::RoundMode::CAST_TRUNC:
            d = std::trunc(d);
            break;
        default:
            d = std::nearbyint(d);
            break;
    }
    if (d != d) return 0;
    const double hi = std::ldexp(1.0, bits - 1);
    if (d >= hi) return static_cast<int64_t>(bits >= 64 ? INT64_MAX : (1ll << (bits - 1)) - 1);
    if (d < -hi) return bits >= 64 ? INT64_MIN : -(1ll << (bits - 1));
    return static_cast<int64_t>(d);
}

uint16_t FloatToHalfMode(float v, int mode) {
    const uint16_t near = FloatToHalfBits(v);
    const float back = HalfBitsToFloat(near);
    if (back == v || v != v) return near;
    // Neighbours of the nearest value on either side of v.
    const bool negative = (near & 0x8000) != 0;
    const bool above = back > v;
    auto step = [&](bool up) -> uint16_t {
        if ((near & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
        return static_cast<uint16_t>(up != negative ? near + 1 : near - 1);
    };
    const uint16_t low = above ? step(false) : near;
    const uint16_t high = above ? near : step(true);
    switch (static_cast<AscendC::RoundMode>(mode)) {
        case AscendC::RoundMode::CAST_FLOOR:
            return low;
        case AscendC::RoundMode::CAST_CEIL:
            return high;
        case AscendC::RoundMode::CAST_TRUNC:
            return v > 0 ? low : high;
        case AscendC::RoundMode::CAST_ODD:
            return (low & 1) ? low : high;
        case AscendC::RoundMode::CAST_ROUND: {
            const double mid =
                (static_cast<double>(HalfBitsToFloat(low)) + HalfBitsToFloat(high)) / 2;
            if (v == mid) return v > 0 ? high : low;
            return near;
        }
        default:
            return near;
    }
}

int32_t CountLeadingZeros(uint64_t v) { return v == 0 ? 64 : __builtin_clzll(v); }

}  // namespace ascendc_emu
