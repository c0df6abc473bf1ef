// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// op::fp16_t and op::bfloat16, the host's 16-bit floats of CANN's op framework. Arithmetic is done
// in float and rounded to nearest even.
#ifndef OPGEN_OPDEV_FP16_T_H
#define OPGEN_OPDEV_FP16_T_H

#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>

#include "ascendc_emu/host_float.h"

namespace op {

struct fp16_t : ascendc_emu::HostFloatOperators<fp16_t> {
    uint16_t val = 0;  // the bits

    fp16_t() = default;
    // A uint16_t is taken as bits, every other number as a value.
    constexpr fp16_t(const uint16_t& bits) : val(bits) {}
    template <typename T, std::enable_if_t<!std::is_same<T, uint16_t>::value &&
                                               !std::is_same<T, fp16_t>::value &&
                                               std::is_convertible<T, float>::value,
                                           bool> = true>
    fp16_t(const T& value) : val(ascendc_emu::FloatToHalfBits(static_cast<float>(value))) {}
    fp16_t(uint16_t sign, uint16_t exponent, uint16_t mantissa)
        : val(static_cast<uint16_t>((sign & 1u) << 15 | (exponent & 0x1fu) << 10 |
                                    (mantissa & 0x3ffu))) {}

    operator float() const { return ascendc_emu::HalfBitsToFloat(val); }
    float toFloat() const { return float(*this); }
    double toDouble() const { return float(*this); }
    int8_t toInt8() const { return static_cast<int8_t>(float(*this)); }
    uint8_t toUInt8() const { return static_cast<uint8_t>(float(*this)); }
    int16_t toInt16() const { return static_cast<int16_t>(float(*this)); }
    uint16_t toUInt16() const { return static_cast<uint16_t>(float(*this)); }
    int32_t toInt32() const { return static_cast<int32_t>(float(*this)); }
    uint32_t toUInt32() const { return static_cast<uint32_t>(float(*this)); }
    int IsInf() const { return (val & 0x7fffu) == 0x7c00u ? ((val & 0x8000u) != 0 ? -1 : 1) : 0; }
};

}  // namespace op

namespace std {
inline bool isnan(op::fp16_t value) { return isnan(float(value)); }
inline bool isinf(op::fp16_t value) { return isinf(float(value)); }
inline float abs(op::fp16_t value) { return fabs(float(value)); }
template <>
struct hash<op::fp16_t> {
    size_t operator()(const op::fp16_t& value) const { return hash<float>()(float(value)); }
};
template <>
class numeric_limits<op::fp16_t> {
 public:
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = true;
    static constexpr bool is_integer = false;
    static constexpr bool has_infinity = true;
    static constexpr bool has_quiet_NaN = true;
    static constexpr int digits = 11;
    static constexpr op::fp16_t min() { return op::fp16_t(uint16_t(0x0400)); }
    static constexpr op::fp16_t max() { return op::fp16_t(uint16_t(0x7bff)); }
    static constexpr op::fp16_t lowest() { return op::fp16_t(uint16_t(0xfbff)); }
    static constexpr op::fp16_t epsilon() { return op::fp16_t(uint16_t(0x1400)); }
    static constexpr op::fp16_t infinity() { return op::fp16_t(uint16_t(0x7c00)); }
    static constexpr op::fp16_t quiet_NaN() { return op::fp16_t(uint16_t(0x7e00)); }
};
}  // namespace std

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

#endif  // OPGEN_OPDEV_FP16_T_H
