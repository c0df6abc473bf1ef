// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What op::fp16_t and op::bfloat16 (opdev/) have in common: 16 bits that convert to and from float,
// and operators that round once. A plain host-side type; kernels use half and bfloat16_t.
#ifndef ASCENDC_EMU_HOST_FLOAT_H
#define ASCENDC_EMU_HOST_FLOAT_H

#include <ostream>
#include <type_traits>

#include "ascendc_emu/types.h"

namespace ascendc_emu {

// `Self` is the type itself: it has a constructor from float and converts to float, which also
// gives the comparisons.
template <typename Self>
struct HostFloatOperators {
    // The right side may be a number of another type: it is rounded to Self first. The left side is
    // Self without a conversion: a number there makes it plain float arithmetic.
    template <typename Left, typename T>
    using Result =
        std::enable_if_t<std::is_same<Left, Self>::value &&
                             (std::is_same<T, Self>::value || std::is_arithmetic<T>::value),
                         Self>;

    template <typename Left, typename T>
    friend Result<Left, T> operator+(const Left& a, const T& b) {
        return Self(float(a) + float(Self(static_cast<float>(b))));
    }
    template <typename Left, typename T>
    friend Result<Left, T> operator-(const Left& a, const T& b) {
        return Self(float(a) - float(Self(static_cast<float>(b))));
    }
    template <typename Left, typename T>
    friend Result<Left, T> operator*(const Left& a, const T& b) {
        return Self(float(a) * float(Self(static_cast<float>(b))));
    }
    template <typename Left, typename T>
    friend Result<Left, T> operator/(const Left& a, const T& b) {
        return Self(float(a) / float(Self(static_cast<float>(b))));
    }
    template <typename T>
    friend std::enable_if_t<std::is_same<Result<Self, T>, Self>::value, Self&> operator+=(
        Self& a, const T& b) {
        return a = a + b;
    }
    template <typename T>
    friend std::enable_if_t<std::is_same<Result<Self, T>, Self>::value, Self&> operator-=(
        Self& a, const T& b) {
        return a = a - b;
    }
    template <typename T>
    friend std::enable_if_t<std::is_same<Result<Self, T>, Self>::value, Self&> operator*=(
        Self& a, const T& b) {
        return a = a * b;
    }
    template <typename T>
    friend std::enable_if_t<std::is_same<Result<Self, T>, Self>::value, Self&> operator/=(
        Self& a, const T& b) {
        return a = a / b;
    }
    friend Self operator-(const Self& a) { return Self(-float(a)); }
    friend std::ostream& operator<<(std::ostream& stream, const Self& value) {
        return stream << float(value);
    }
};

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_HOST_FLOAT_H
