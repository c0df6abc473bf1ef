// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// op::bfloat16, the host's bfloat16 of CANN's op framework. Arithmetic is done in float and rounded
// to nearest even.
#ifndef OPGEN_OPDEV_BFLOAT16_H
#define OPGEN_OPDEV_BFLOAT16_H

#include <complex>

#include "opdev/fp16_t.h"

namespace op {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

struct bfloat16 : ascendc_emu::HostFloatOperators<bfloat16> {
    struct from_bits_t {};
    static constexpr from_bits_t from_bits() { return from_bits_t(); }

    uint16_t value = 0;  // the bits
    static constexpr uint16_t NAN_VALUE = 0x7fc0;

    bfloat16() = default;
    constexpr bfloat16(uint16_t bits, from_bits_t) : value(bits) {}
    template <typename T, std::enable_if_t<!std::is_same<T, bfloat16>::value &&
                                               std::is_convertible<T, float>::value,
                                           bool> = true>
    bfloat16(const T& number) : value(ascendc_emu::FloatToBf16Bits(static_cast<float>(number))) {}
    bfloat16(const complex64& number) : bfloat16(number.real()) {}
    bfloat16(const complex128& number) : bfloat16(number.real()) {}

    operator float() const { return ascendc_emu::Bf16BitsToFloat(value); }
    explicit operator complex64() const { return {float(*this), 0.0f}; }
    explicit operator complex128() const { return {float(*this), 0.0}; }

    static bfloat16 round_to_bfloat16(float number) { return bfloat16(number); }
    static constexpr bfloat16 epsilon() { return bfloat16(0x3c00, from_bits()); }
    static constexpr bfloat16 highest() { return bfloat16(0x7f7f, from_bits()); }
    static constexpr bfloat16 lowest() { return bfloat16(0xff7f, from_bits()); }
    static constexpr bfloat16 min_positive_normal() { return bfloat16(0x0080, from_bits()); }
    bool IsZero() const { return (value & 0x7fffu) == 0; }

    bfloat16& operator++() { return *this = *this + 1; }
    bfloat16& operator--() { return *this = *this - 1; }
};

}  // namespace op

namespace std {
using op::bfloat16;
inline bool isnan(const op::bfloat16& value) { return isnan(float(value)); }
inline bool isinf(const op::bfloat16& value) { return isinf(float(value)); }
inline float abs(op::bfloat16 value) { return fabs(float(value)); }
template <>
struct hash<op::bfloat16> {
    size_t operator()(const op::bfloat16& value) const { return hash<float>()(float(value)); }
};
template <>
class numeric_limits<op::bfloat16> {
 public:
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = true;
    static constexpr bool is_integer = false;
    static constexpr bool has_infinity = true;
    static constexpr bool has_quiet_NaN = true;
    static constexpr int digits = 8;
    static constexpr op::bfloat16 min() { return op::bfloat16::min_positive_normal(); }
    static constexpr op::bfloat16 max() { return op::bfloat16::highest(); }
    static constexpr op::bfloat16 lowest() { return op::bfloat16::lowest(); }
    static constexpr op::bfloat16 epsilon() { return op::bfloat16::epsilon(); }
    static constexpr op::bfloat16 infinity() {
        return op::bfloat16(0x7f80, op::bfloat16::from_bits());
    }
    static constexpr op::bfloat16 quiet_NaN() {
        return op::bfloat16(0x7fc0, op::bfloat16::from_bits());
    }
};
}  // namespace std

#endif  // OPGEN_OPDEV_BFLOAT16_H
