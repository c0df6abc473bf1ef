// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Typed access to the elements of an on-chip tensor, for bodies that are written once for all
// types.
#ifndef SRC_ADV_ELEMENT_IO_H
#define SRC_ADV_ELEMENT_IO_H

#include <math.h>

#include "ascendc_emu/adv.h"
#include "ascendc_emu/tensor.h"
#include "ascendc_emu/types.h"

namespace ascendc_emu {

inline bool IsInteger(DType t) {
    return t != DType::kF16 && t != DType::kBf16 && t != DType::kF32 && t != DType::kF64;
}

inline int64_t LoadInt(const uint8_t* data, DType t, uint64_t i) {
    switch (t) {
        case DType::kI8:
            return reinterpret_cast<const int8_t*>(data)[i];
        case DType::kBool:
        case DType::kU8:
            return data[i];
        case DType::kI16:
            return reinterpret_cast<const int16_t*>(data)[i];
        case DType::kU16:
            return reinterpret_cast<const uint16_t*>(data)[i];
        case DType::kI32:
            return reinterpret_cast<const int32_t*>(data)[i];
        case DType::kU32:
            return reinterpret_cast<const uint32_t*>(data)[i];
        case DType::kI64:
        case DType::kU64:
            return reinterpret_cast<const int64_t*>(data)[i];
        case DType::kI4: {
            const int v = (i & 1) ? data[i / 2] >> 4 : data[i / 2] & 15;
            return v >= 8 ? v - 16 : v;
        }
        default:
            return 0;
    }
}
inline int64_t LoadInt(const TensorRef& t, DType type, uint64_t i) {
    return LoadInt(t.ptr, type, i);
}

inline double LoadReal(const uint8_t* data, DType t, uint64_t i) {
    switch (t) {
        case DType::kF16:
            return HalfBitsToFloat(reinterpret_cast<const uint16_t*>(data)[i]);
        case DType::kBf16:
            return Bf16BitsToFloat(reinterpret_cast<const uint16_t*>(data)[i]);
        case DType::kF32:
            return reinterpret_cast<const float*>(data)[i];
        case DType::kF64:
            return reinterpret_cast<const double*>(data)[i];
        default:
            return static_cast<double>(LoadInt(data, t, i));
    }
}
inline double LoadReal(const TensorRef& t, DType type, uint64_t i) {
    return LoadReal(t.ptr, type, i);
}

// Stores the low bits.
inline void StoreInt(uint8_t* data, DType t, uint64_t i, int64_t v) {
    if (t == DType::kI4) {
        uint8_t& byte = data[i / 2];
        const uint8_t nibble = static_cast<uint8_t>(v) & 15;
        byte = (i & 1) ? static_cast<uint8_t>((byte & 15) | (nibble << 4))
                       : static_cast<uint8_t>((byte & 0xf0) | nibble);
        return;
    }
    memcpy(data + i * (DTypeBits(t) / 8), &v, DTypeBits(t) / 8);
}
inline void StoreInt(const TensorRef& t, DType type, uint64_t i, int64_t v) {
    StoreInt(t.ptr, type, i, v);
}

// Rounds to nearest even in the element type; integers saturate.
inline void StoreReal(uint8_t* data, DType t, uint64_t i, double v) {
    switch (t) {
        case DType::kF16:
            reinterpret_cast<uint16_t*>(data)[i] = FloatToHalfBits(static_cast<float>(v));
            return;
        case DType::kBf16:
            reinterpret_cast<uint16_t*>(data)[i] = FloatToBf16Bits(static_cast<float>(v));
            return;
        case DType::kF32:
            reinterpret_cast<float*>(data)[i] = static_cast<float>(v);
            return;
        case DType::kF64:
            reinterpret_cast<double*>(data)[i] = v;
            return;
        default:
            break;
    }
    const uint32_t bits = DTypeBits(t);
    const bool isSigned = t == DType::kI4 || t == DType::kI8 || t == DType::kI16 ||
                          t == DType::kI32 || t == DType::kI64;
    const double high = isSigned ? ldexp(1.0, int(bits) - 1) - 1 : ldexp(1.0, int(bits)) - 1;
    const double low = isSigned ? -ldexp(1.0, int(bits) - 1) : 0;
    const double r = isnan(v) ? 0 : nearbyint(v);
    int64_t whole;
    if (r >= high) {
        whole = bits == 64 ? INT64_MAX : static_cast<int64_t>(high);
    } else {
        whole = static_cast<int64_t>(r <= low ? low : r);
    }
    StoreInt(data, t, i, whole);
}
inline void StoreReal(const TensorRef& t, DType type, uint64_t i, double v) {
    StoreReal(t.ptr, type, i, v);
}

// The scratch operand of a high-level API, absent when the caller gives none.
inline AdvOperand Tmp(const TensorRef* tmp) {
    return {kTmpRole, tmp, DType::kU8, tmp != nullptr ? tmp->size : 0, Access::kWrite};
}

}  // namespace ascendc_emu
#endif  // SRC_ADV_ELEMENT_IO_H
