// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Moving a tile between its storage type and the type it is computed in. Half and bfloat16 are
// computed in float; 8- and 16-bit integers in int32_t; bool as bit masks. Arch 2201 converts
// 8-bit integers only from and to half, so those go through a half tile ("bytes") of the same
// length that the caller provides; other types ignore it.
#ifndef OPGEN_CONVERT_H
#define OPGEN_CONVERT_H

#include "kernel_operator.h"

namespace opgen {

using AscendC::LocalTensor;
using AscendC::RoundMode;

template <typename A, typename B>
struct Same {
    static constexpr bool value = false;
};
template <typename A>
struct Same<A, A> {
    static constexpr bool value = true;
};

template <bool kFirst, typename A, typename B>
struct Choose {
    using Type = A;
};
template <typename A, typename B>
struct Choose<false, A, B> {
    using Type = B;
};

// The element type of a tile that holds T: bool tensors are bytes 0 and 1.
template <typename T>
struct Storage {
    using Type = T;
};
template <>
struct Storage<bool> {
    using Type = uint8_t;
};
template <typename T>
using StorageOf = typename Storage<T>::Type;

// The type of values that are computed from T: float, or int32_t for integers.
template <typename T>
using ComputedOf =
    typename Choose<Same<T, float>::value || Same<T, half>::value || Same<T, bfloat16_t>::value,
                    float, int32_t>::Type;

// The type that elements are moved in where nothing else is done with them: those of 64 bits are
// two of 32 bits.
template <typename T>
using PartOf = typename Choose<Same<T, int64_t>::value, int32_t, T>::Type;

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kRepeatBytes = 256;
// Instructions on masks work on whole repeats of half; see AlignLanes.
constexpr uint32_t kMaskLanes = 128;

// Round a number of elements up so that comparisons cover whole 256-byte repeats of any type.
__aicore__ inline uint32_t AlignLanes(uint32_t count) {
    return (count + kMaskLanes - 1) / kMaskLanes * kMaskLanes;
}

__aicore__ inline void VectorBarrier() { AscendC::PipeBarrier<PIPE_V>(); }

// Set elements [count, lanes) of a tile, lanes = AlignLanes(count): comparisons read whole repeats
// and must not see memory that was never written.
template <typename T>
__aicore__ inline void FillTail(const LocalTensor<T>& tile, uint32_t count, T value) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(T);
    const uint32_t lanes = AlignLanes(count);
    const uint32_t first = count / kLanes * kLanes;
    if (count != first) {
        uint64_t mask[2] = {0, 0};
        const uint32_t kept = count - first;
        for (uint32_t word = 0; word < kLanes / 64; ++word) {
            const uint32_t low = word * 64;
            if (kept <= low) {
                mask[word] = ~static_cast<uint64_t>(0);
            } else if (kept < low + 64) {
                mask[word] = ~static_cast<uint64_t>(0) << (kept - low);
            }
        }
        AscendC::Duplicate(tile[first], value, mask, 1, 1, 8);
    }
    const uint32_t rest = count == first ? first : first + kLanes;
    if (rest < lanes) {
        AscendC::Duplicate(tile[rest], value, lanes - rest);
    }
    VectorBarrier();
}

// Convert `count` elements of a storage tile to the compute type C (float or int32_t). Nothing to
// do when the types are equal: then the storage tile is worked on directly.
template <typename C, typename T>
__aicore__ inline void Widen(const LocalTensor<C>& dst, const LocalTensor<T>& src,
                             const LocalTensor<half>& bytes, uint32_t count) {
    if constexpr (Same<C, T>::value) {
        return;
    } else if constexpr (sizeof(T) == 1) {
        AscendC::Cast(bytes, src, RoundMode::CAST_NONE, count);
        VectorBarrier();
        if constexpr (!Same<C, half>::value) {
            constexpr bool kToFloat = Same<C, float>::value;
            AscendC::Cast(dst, bytes, kToFloat ? RoundMode::CAST_NONE : RoundMode::CAST_RINT,
                          count);
        }
    } else if constexpr (Same<T, int16_t>::value && Same<C, int32_t>::value) {
        LocalTensor<float> exact = dst.template ReinterpretCast<float>();
        AscendC::Cast(exact, src, RoundMode::CAST_NONE, count);
        VectorBarrier();
        AscendC::Cast(dst, exact, RoundMode::CAST_RINT, count);
    } else {
        AscendC::Cast(dst, src, RoundMode::CAST_NONE, count);
    }
}

// The same for types that need no half tile.
template <typename C, typename T>
__aicore__ inline void Widen(const LocalTensor<C>& dst, const LocalTensor<T>& src, uint32_t count) {
    static_assert(sizeof(T) > 1, "8-bit types are converted through a half tile");
    Widen(dst, src, LocalTensor<half>(), count);
}

// Bring a storage tile to a compute tile of its own: Widen, or a plain copy.
template <typename C, typename T>
__aicore__ inline void WidenCopy(const LocalTensor<C>& dst, const LocalTensor<T>& src,
                                 uint32_t count) {
    if constexpr (Same<C, T>::value) {
        AscendC::Muls(dst, src, static_cast<C>(1), count);
    } else {
        Widen(dst, src, count);
    }
}

// Convert `count` elements of a compute tile to its storage type: float rounds to nearest even,
// int32_t values are in range already. Nothing to do when the types are equal.
template <typename T, typename C>
__aicore__ inline void Narrow(const LocalTensor<T>& dst, const LocalTensor<C>& src,
                              const LocalTensor<half>& bytes, uint32_t count) {
    if constexpr (Same<C, T>::value) {
        return;
    } else if constexpr (sizeof(T) == 1) {
        LocalTensor<int16_t> words = bytes.template ReinterpretCast<int16_t>();
        AscendC::Cast(words, src, RoundMode::CAST_NONE, count);
        VectorBarrier();
        AscendC::Cast(bytes, words, RoundMode::CAST_NONE, count);
        VectorBarrier();
        AscendC::Cast(dst, bytes, RoundMode::CAST_RINT, count);
    } else if constexpr (Same<T, int16_t>::value || Same<T, int64_t>::value) {
        AscendC::Cast(dst, src, RoundMode::CAST_NONE, count);
    } else {
        AscendC::Cast(dst, src, RoundMode::CAST_RINT, count);
    }
}

template <typename T, typename C>
__aicore__ inline void Narrow(const LocalTensor<T>& dst, const LocalTensor<C>& src,
                              uint32_t count) {
    static_assert(sizeof(T) > 1, "8-bit types are converted through a half tile");
    Narrow(dst, src, LocalTensor<half>(), count);
}

// Store a compute tile whose values do not live in the storage tile: Narrow, or a plain copy.
template <typename T, typename C>
__aicore__ inline void NarrowCopy(const LocalTensor<T>& dst, const LocalTensor<C>& src,
                                  const LocalTensor<half>& bytes, uint32_t count) {
    if constexpr (Same<C, T>::value) {
        AscendC::Muls(dst, src, static_cast<T>(1), count);
    } else {
        Narrow(dst, src, bytes, count);
    }
}

template <typename T, typename C>
__aicore__ inline void NarrowCopy(const LocalTensor<T>& dst, const LocalTensor<C>& src,
                                  uint32_t count) {
    static_assert(sizeof(T) > 1, "8-bit types are converted through a half tile");
    NarrowCopy(dst, src, LocalTensor<half>(), count);
}

// Turn a tile of bool bytes, already converted to half, into a bit mask.
__aicore__ inline void MaskFromHalf(const LocalTensor<uint8_t>& mask,
                                    const LocalTensor<half>& bytes, uint32_t count) {
    FillTail(bytes, count, static_cast<half>(0));
    AscendC::CompareScalar(mask, bytes, static_cast<half>(0), AscendC::CMPMODE::NE,
                           AlignLanes(count));
}

// Turn a tile of bool bytes into a bit mask.
__aicore__ inline void WidenMask(const LocalTensor<uint8_t>& mask, const LocalTensor<uint8_t>& src,
                                 const LocalTensor<half>& bytes, uint32_t count) {
    AscendC::Cast(bytes, src, RoundMode::CAST_NONE, count);
    VectorBarrier();
    MaskFromHalf(mask, bytes, count);
}

// Turn a bit mask into bool bytes.
__aicore__ inline void NarrowMask(const LocalTensor<uint8_t>& dst, const LocalTensor<uint8_t>& mask,
                                  const LocalTensor<half>& bytes, uint32_t count) {
    AscendC::Duplicate(bytes, static_cast<half>(1), count);
    VectorBarrier();
    AscendC::Select(bytes, mask, bytes, static_cast<half>(0),
                    AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    VectorBarrier();
    AscendC::Cast(dst, bytes, RoundMode::CAST_RINT, count);
}

// Round float values to what T (half or bfloat16_t) can hold, staying in float. T is half-sized,
// so the first half of the destination holds the rounded values until they are widened from `tmp`.
template <typename T>
__aicore__ inline void RoundTo(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                               const LocalTensor<float>& tmp, uint32_t count) {
    LocalTensor<T> narrow = tmp.template ReinterpretCast<T>();
    AscendC::Cast(narrow, src, RoundMode::CAST_RINT, count);
    VectorBarrier();
    AscendC::Cast(dst, narrow, RoundMode::CAST_NONE, count);
}

}  // namespace opgen

#endif  // OPGEN_CONVERT_H
