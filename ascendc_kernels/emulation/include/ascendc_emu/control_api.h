// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Control register, saturation, address watch, scalar conversions. Source: asc-devkit docs, basic
// API / access to special registers, scalar computation, debugging interfaces.
#ifndef ASCENDC_EMU_CONTROL_API_H
#define ASCENDC_EMU_CONTROL_API_H

#include "ascendc_emu/system_api.h"

namespace AscendC {

// Control register bits [startBit, endBit]. Bit 48 has an effect: 0 saturates the half and
// bfloat16_t results of vector arithmetic and conversions (inf -> largest, NaN -> 0).
template <int8_t startBit, int8_t endBit>
__aicore__ inline void SetCtrlSpr(int64_t value, Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSetCtrlSpr);
    static_assert(0 <= startBit && startBit <= endBit && endBit < 64, "bits 0 to 63");
    constexpr uint64_t width = endBit - startBit + 1;
    constexpr uint64_t ones = width >= 64 ? FULL_MASK : (1ull << width) - 1;
    uint64_t& ctrl = ascendc_emu::Current().regs.ctrl;
    ctrl = (ctrl & ~(ones << startBit)) | ((static_cast<uint64_t>(value) & ones) << startBit);
}
template <int8_t startBit, int8_t endBit>
__aicore__ inline int64_t GetCtrlSpr() {
    constexpr uint64_t width = endBit - startBit + 1;
    constexpr uint64_t ones = width >= 64 ? FULL_MASK : (1ull << width) - 1;
    return static_cast<int64_t>((ascendc_emu::Current().regs.ctrl >> startBit) & ones);
}
// Back to the value at the start of the kernel.
template <int8_t startBit, int8_t endBit>
__aicore__ inline void ResetCtrlSpr(Loc loc = Loc::Here()) {
    SetCtrlSpr<startBit, endBit>(static_cast<int64_t>(ascendc_emu::Registers().ctrl >> startBit),
                                 loc);
}

enum class SaturationMode : uint8_t { FLOAT = 0, FLOAT8, INT, CAST };
// FLOAT: see SetCtrlSpr. Integer results of conversions always saturate here, so switching that off
// is refused.
template <SaturationMode mode>
__aicore__ inline void SetSaturationFlag(bool enable, Loc loc = Loc::Here()) {
    static_assert(mode != SaturationMode::FLOAT8, "arch 2201 has no 8-bit floating point types");
    if constexpr (mode == SaturationMode::FLOAT) {
        SetCtrlSpr<48, 48>(enable ? 0 : 1, loc);
    } else if (!enable) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "SetSaturationFlag",
                          "conversions to integers that wrap are not emulated");
    }
}
template <SaturationMode mode>
__aicore__ inline bool GetSaturationFlag() {
    return mode == SaturationMode::FLOAT ? GetCtrlSpr<48, 48>() == 0 : true;
}

struct CheckLocalMemoryIAParam {
    __aicore__ CheckLocalMemoryIAParam() {}
    __aicore__ CheckLocalMemoryIAParam(uint8_t bit, uint32_t start, uint32_t end, bool scalarRead,
                                       bool scalarWrite, bool vectorRead, bool vectorWrite,
                                       bool mteRead, bool mteWrite, bool enable)
        : enableBit(bit),
          startAddr(start),
          endAddr(end),
          isScalarRead(scalarRead),
          isScalarWrite(scalarWrite),
          isVectorRead(vectorRead),
          isVectorWrite(vectorWrite),
          isMteRead(mteRead),
          isMteWrite(mteWrite),
          isEnable(enable) {}
    uint8_t enableBit = 0;
    uint32_t startAddr = 0;
    uint32_t endAddr = 0;
    bool isScalarRead = false;
    bool isScalarWrite = false;
    bool isVectorRead = false;
    bool isVectorWrite = false;
    bool isMteRead = false;
    bool isMteWrite = false;
    bool isEnable = false;
    uint32_t reserved = 0;
};
// A watch on UB addresses, with a device exception on a hit. No exception here; `check` says so.
__aicore__ inline void CheckLocalMemoryIA(const CheckLocalMemoryIAParam& params,
                                          Loc loc = Loc::Here()) {
    if (!params.isEnable) return;
    ascendc_emu::Complain(ascendc_emu::Current(), loc, "NotEmulated", "CheckLocalMemoryIA",
                          "look for overlaps with the sanitizer's own reports",
                          "the address watch is not emulated");
}
// Marks for the device's profiler; no effect here.
__aicore__ inline void MetricsProfStart() {}
__aicore__ inline void MetricsProfStop() {}

template <typename S, typename D, RoundMode mode>
__aicore__ inline D ScalarCast(S value) {
    if constexpr (std::is_same<D, half>::value) {
        half h;
        h.bits = ascendc_emu::FloatToHalfMode(static_cast<float>(value), static_cast<int>(mode));
        return h;
    } else if constexpr (std::is_integral<D>::value) {
        return static_cast<D>(ascendc_emu::FloatToInt(static_cast<float>(value),
                                                      static_cast<int>(mode), sizeof(D) * 8));
    } else {
        return static_cast<D>(static_cast<float>(value));
    }
}
__aicore__ inline float ToFloat(const bfloat16_t& value) { return static_cast<float>(value); }
__aicore__ inline bfloat16_t ToBfloat16(const float& value) { return bfloat16_t(value); }
template <typename T, typename S>
__aicore__ inline T Cast(const S& value) {
    return static_cast<T>(value);
}
__aicore__ inline bfloat16_t Cast(const float& value) { return bfloat16_t(value); }
__aicore__ inline float Cast(const bfloat16_t& value) { return static_cast<float>(value); }
template <typename T, typename U, RoundMode mode>
__aicore__ inline U Cast(T value) {
    return ScalarCast<T, U, mode>(value);
}

}  // namespace AscendC

using AscendC::ToBfloat16;
using AscendC::ToFloat;

#endif  // ASCENDC_EMU_CONTROL_API_H
