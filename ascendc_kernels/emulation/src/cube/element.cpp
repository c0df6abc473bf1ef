// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "cube/element.h"

#include <math.h>
#include <string.h>

#include <algorithm>

#include "ascendc_emu/types.h"
#include "vector/convert.h"

namespace ascendc_emu {
namespace {

// QuantMode_t of the public interface.
enum Quant {
    kNone = 0,
    kF32ToF16 = 1,
    kVReq8 = 2,
    kReq8 = 3,
    kVDeqF16 = 4,
    kDeqF16 = 5,
    kF32ToBf16 = 16,
    kVQuantB8 = 23,
    kQuantB8 = 24,
};

// The 64-bit parameter: scale with 10 bits of mantissa, shift, offset, sign.
struct Scale {
    float factor;
    bool shiftFirst;
    uint32_t shift;
    int32_t offset;
    bool isSigned;
};

Scale Decode(uint64_t bits) {
    Scale s;
    s.factor = BitCast<float>(static_cast<uint32_t>(bits) & ~0x1fffu);
    s.shiftFirst = ((bits >> 36) & 1) != 0;
    s.shift = static_cast<uint32_t>((bits >> 32) & 15) + 1;
    const int32_t offset = static_cast<int32_t>((bits >> 37) & 0x1ff);
    s.offset = offset >= 256 ? offset - 512 : offset;
    s.isSigned = ((bits >> 46) & 1) != 0;
    return s;
}

float Clamp(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

int32_t QuantiseB8(float value, const Scale& s) {
    const float scaled = isnan(value) ? 0.0f : nearbyintf(Clamp(value, -256.0f, 255.0f));
    const float shifted = scaled + static_cast<float>(s.offset);
    return static_cast<int32_t>(s.isSigned ? Clamp(shifted, -128.0f, 127.0f)
                                           : Clamp(shifted, 0.0f, 255.0f));
}

float Scaled(float value, const Scale& s, bool relu) {
    return value >= 0.0f || !relu ? value * s.factor : 0.0f;
}

float IntegerInput(int32_t value, const Scale& s) {
    if (!s.shiftFirst) return static_cast<float>(value);
    const int32_t shifted = value >> s.shift;
    return static_cast<float>(std::min(std::max(shifted, -32768), 32767));
}

template <typename T>
T Combine(uint8_t op, T old, T value) {
    return op == 1   ? static_cast<T>(old + value)
           : op == 2 ? std::max(old, value)
                     : std::min(old, value);
}

}  // namespace

bool HasQuant(int32_t quant) {
    return (quant >= kNone && quant <= kDeqF16) || quant == kF32ToBf16 || quant == kVQuantB8 ||
           quant == kQuantB8;
}
bool UsesTable(int32_t quant) { return quant == kVReq8 || quant == kVDeqF16 || quant == kVQuantB8; }

// One element of L0C as the destination stores it.
uint32_t ConvertElement(uint32_t raw, DType srcType, DType dstType, const FixpipeArgs& a,
                        uint64_t parameter) {
    const bool integer = srcType == DType::kI32;
    const float f = integer ? 0.0f : BitCast<float>(raw);
    const int32_t i = static_cast<int32_t>(raw);
    switch (a.quant) {
        case kF32ToF16:
            return FloatToHalfBits(a.relu && f < 0.0f ? 0.0f : f);
        case kF32ToBf16:
            return FloatToBf16Bits(a.relu && f < 0.0f ? 0.0f : f);
        case kDeqF16:
        case kVDeqF16: {
            const Scale s = Decode(parameter);
            return FloatToHalfBits(Scaled(IntegerInput(i, s), s, a.relu));
        }
        case kReq8:
        case kVReq8: {
            const Scale s = Decode(parameter);
            return static_cast<uint32_t>(QuantiseB8(Scaled(IntegerInput(i, s), s, a.relu), s)) &
                   0xffu;
        }
        case kQuantB8:
        case kVQuantB8: {
            const Scale s = Decode(parameter);
            return static_cast<uint32_t>(QuantiseB8(Scaled(f, s, a.relu), s)) & 0xffu;
        }
        default:
            break;
    }
    if (integer) return a.relu && i < 0 ? 0u : raw;
    const float v = a.relu && f < 0.0f ? 0.0f : f;
    // Some kernels leave quantPre at its default although the types differ; the hardware then
    // converts by the destination type.
    if (dstType == DType::kF16) return FloatToHalfBits(v);
    if (dstType == DType::kBf16) return FloatToBf16Bits(v);
    return BitCast<uint32_t>(v);
}

bool StoreFloats(uint8_t* out, DType type, const float* from, uint32_t count,
                 const FixpipeArgs& args) {
    if (args.relu) return false;
    if (type == DType::kF32 && args.quant == kNone) {
        Store(reinterpret_cast<float*>(out), from, count);
    } else if (type == DType::kF16 && (args.quant == kNone || args.quant == kF32ToF16)) {
        Store(reinterpret_cast<half*>(out), from, count);
    } else if (type == DType::kBf16 && (args.quant == kNone || args.quant == kF32ToBf16)) {
        Store(reinterpret_cast<bfloat16_t*>(out), from, count);
    } else {
        return false;
    }
    return true;
}

// Atomic stores of several cores may meet at one address.
std::mutex& AtomicLock() {
    static std::mutex lock;
    return lock;
}

void StoreAtomic(uint8_t* out, uint32_t bits, DType type, uint8_t op) {
    switch (type) {
        case DType::kF32: {
            float old;
            memcpy(&old, out, 4);
            const float v = Combine(op, old, BitCast<float>(bits));
            memcpy(out, &v, 4);
            break;
        }
        case DType::kI32: {
            int32_t old;
            memcpy(&old, out, 4);
            const int32_t v = Combine(op, old, static_cast<int32_t>(bits));
            memcpy(out, &v, 4);
            break;
        }
        case DType::kF16: {
            uint16_t old;
            memcpy(&old, out, 2);
            const uint16_t v = FloatToHalfBits(
                Combine(op, HalfBitsToFloat(old), HalfBitsToFloat(static_cast<uint16_t>(bits))));
            memcpy(out, &v, 2);
            break;
        }
        case DType::kBf16: {
            uint16_t old;
            memcpy(&old, out, 2);
            const uint16_t v = FloatToBf16Bits(
                Combine(op, Bf16BitsToFloat(old), Bf16BitsToFloat(static_cast<uint16_t>(bits))));
            memcpy(out, &v, 2);
            break;
        }
        case DType::kI8: {
            const int8_t v = Combine(op, static_cast<int8_t>(*out), static_cast<int8_t>(bits));
            *out = static_cast<uint8_t>(v);
            break;
        }
        default:
            memcpy(out, &bits, DTypeBits(type) / 8);
            break;
    }
}

}  // namespace ascendc_emu
