// Functions of one element that the C++ library lacks, with the results that torch gives.
#ifndef SCALAR_MATH_H
#define SCALAR_MATH_H

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

#if defined(__CUDACC__)
#define SCALAR_FUNCTION __host__ __device__ inline
#else
#define SCALAR_FUNCTION inline
#endif

namespace scalar {

template <typename T>
SCALAR_FUNCTION bool IsNan(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return value != value;
    } else {
        (void)value;
        return false;
    }
}

// NaN wins.
template <typename T>
SCALAR_FUNCTION T Maximum(T a, T b) {
    return IsNan(a) || a > b ? a : b;
}
template <typename T>
SCALAR_FUNCTION T Minimum(T a, T b) {
    return IsNan(a) || a < b ? a : b;
}

// Whether a becomes the largest or smallest value so far, in place of b: the first NaN stays.
template <typename T>
SCALAR_FUNCTION bool Exceeds(T a, T b) {
    return a > b || (IsNan(a) && !IsNan(b));
}
template <typename T>
SCALAR_FUNCTION bool FallsBelow(T a, T b) {
    return a < b || (IsNan(a) && !IsNan(b));
}

template <typename T>
SCALAR_FUNCTION T Relu(T value) {
    return value <= T(0) ? T(0) : value;
}

template <typename T>
SCALAR_FUNCTION T Sign(T value) {
    return IsNan(value) ? T(0) : static_cast<T>((T(0) < value) - (value < T(0)));
}

template <typename T>
SCALAR_FUNCTION T Abs(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return std::fabs(value);
    } else {
        return value < T(0) ? static_cast<T>(-value) : value;
    }
}

template <typename T>
SCALAR_FUNCTION T Rsqrt(T value) {
    return T(1) / std::sqrt(value);
}

template <typename T>
SCALAR_FUNCTION T Sigmoid(T value) {
    return T(1) / (T(1) + std::exp(-value));
}

template <typename T>
SCALAR_FUNCTION T Gelu(T value) {
    return T(0.5) * value * (T(1) + std::erf(value * T(0.70710678118654752440)));
}

template <typename T>
SCALAR_FUNCTION T GeluTanh(T value) {
    const T inner = T(0.79788456080286535588) * (value + T(0.044715) * value * value * value);
    return T(0.5) * value * (T(1) + std::tanh(inner));
}

template <typename T>
SCALAR_FUNCTION T Mish(T value) {
    return value * std::tanh(std::log1p(std::exp(value)));
}

// Division and remainder of integers by zero give 0; torch raises an error.
template <typename T>
SCALAR_FUNCTION T TruncDivide(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return std::trunc(a / b);
    } else {
        return b == T(0) ? T(0) : static_cast<T>(a / b);
    }
}

template <typename T>
SCALAR_FUNCTION T Fmod(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return std::fmod(a, b);
    } else {
        return b == T(0) ? T(0) : static_cast<T>(a % b);
    }
}

// The remainder has the sign of the divisor, as in Python.
template <typename T>
SCALAR_FUNCTION T Remainder(T a, T b) {
    const T rest = Fmod(a, b);
    return rest != T(0) && ((rest < T(0)) != (b < T(0))) ? static_cast<T>(rest + b) : rest;
}

template <typename T>
SCALAR_FUNCTION T FloorDivide(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (b == T(0)) {
            return a / b;
        }
        const T quotient = (a - Remainder(a, b)) / b;
        const T whole = std::floor(quotient);
        return quotient - whole > T(0.5) ? whole + T(1) : whole;
    } else {
        const T quotient = TruncDivide(a, b);
        const bool rounds = b != T(0) && a % b != T(0) && ((a < T(0)) != (b < T(0)));
        return static_cast<T>(quotient - (rounds ? T(1) : T(0)));
    }
}

// Of a negative power only the whole part is left, as in torch.
template <typename T>
SCALAR_FUNCTION T IntegerPower(T base, T power) {
    if (power < T(0)) {
        return base == T(1) ? T(1) : base == T(-1) ? (power % T(2) == T(0) ? T(1) : T(-1)) : T(0);
    }
    T result = T(1);
    for (; power > T(0); power = static_cast<T>(power / T(2))) {
        result = power % T(2) == T(0) ? result : static_cast<T>(result * base);
        base = static_cast<T>(base * base);
    }
    return result;
}

}  // namespace scalar

#undef SCALAR_FUNCTION

#endif  // SCALAR_MATH_H
