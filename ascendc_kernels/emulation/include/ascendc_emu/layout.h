// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Shape, Stride, Layout and Coord: the logical shape of a tensor and where its elements lie.
// Source: asc-devkit docs, basic API / auxiliary data structures (Layout, Coordinate).
#ifndef ASCENDC_EMU_LAYOUT_H
#define ASCENDC_EMU_LAYOUT_H

#include "ascendc_emu/std_api.h"

namespace AscendC {

template <typename... T>
using Shape = Std::tuple<T...>;
template <typename... T>
using Stride = Std::tuple<T...>;
template <typename... T>
using Coord = Std::tuple<T...>;

template <typename... T>
__aicore__ inline constexpr Shape<T...> MakeShape(const T&... v) {
    return Shape<T...>(v...);
}
template <typename... T>
__aicore__ inline constexpr Stride<T...> MakeStride(const T&... v) {
    return Stride<T...>(v...);
}
template <typename... T>
__aicore__ inline constexpr Coord<T...> MakeCoord(const T&... v) {
    return Coord<T...>(v...);
}

template <typename ShapeType, typename StrideType>
struct Layout;

namespace layout_detail {
template <typename T>
constexpr auto Product(const T& v) {
    return v;
}
template <typename... T>
constexpr size_t Product(const Std::tuple<T...>& v);
template <typename T, size_t... i>
constexpr size_t ProductOf(const T& v, Std::index_sequence<i...>) {
    return (size_t(1) * ... * static_cast<size_t>(Product(Std::get<i>(v))));
}
template <typename... T>
constexpr size_t Product(const Std::tuple<T...>& v) {
    return ProductOf(v, Std::make_index_sequence<sizeof...(T)>());
}

template <typename C, typename S, typename D>
constexpr size_t Index(const C& coord, const S& shape, const D& stride);
template <typename C, typename S, typename D, size_t... i>
constexpr size_t Sum(const C& coord, const S& shape, const D& stride, Std::index_sequence<i...>) {
    return (size_t(0) + ... + Index(Std::get<i>(coord), Std::get<i>(shape), Std::get<i>(stride)));
}
// A single coordinate of a nested shape: the first dimension runs fastest.
template <size_t i, typename S, typename D>
constexpr size_t Split(size_t coord, const S& shape, const D& stride) {
    if constexpr (i + 1 == Std::tuple_size_v<S>) {
        return Index(coord, Std::get<i>(shape), Std::get<i>(stride));
    } else {
        const size_t size = static_cast<size_t>(Product(Std::get<i>(shape)));
        return Index(coord % size, Std::get<i>(shape), Std::get<i>(stride)) +
               Split<i + 1>(coord / size, shape, stride);
    }
}
template <typename C, typename S, typename D>
constexpr size_t Index(const C& coord, const S& shape, const D& stride) {
    if constexpr (Std::is_tuple_v<C>) {
        static_assert(Std::tuple_size_v<C> == Std::tuple_size_v<D>,
                      "coordinate and stride have different ranks");
        return Sum(coord, shape, stride, Std::make_index_sequence<Std::tuple_size_v<C>>());
    } else if constexpr (Std::is_tuple_v<D>) {
        return Split<0>(static_cast<size_t>(coord), shape, stride);
    } else {
        (void)shape;
        return static_cast<size_t>(coord) * static_cast<size_t>(stride);
    }
}
}  // namespace layout_detail

// Offset of a coordinate, in elements.
template <typename CoordType, typename ShapeType, typename StrideType>
__aicore__ inline constexpr auto Crd2Idx(const CoordType& coord, const ShapeType& shape,
                                         const StrideType& stride) {
    return layout_detail::Index(coord, shape, stride);
}

template <typename ShapeType, typename StrideType>
struct Layout : private Std::tuple<ShapeType, StrideType> {
    using Base = Std::tuple<ShapeType, StrideType>;
    __aicore__ inline constexpr Layout(const ShapeType& shape = {}, const StrideType& stride = {})
        : Base(shape, stride) {}
    __aicore__ inline constexpr decltype(auto) layout() { return *this; }
    __aicore__ inline constexpr decltype(auto) layout() const { return *this; }
    __aicore__ inline constexpr decltype(auto) GetShape() {
        return Std::get<0>(static_cast<Base&>(*this));
    }
    __aicore__ inline constexpr decltype(auto) GetShape() const {
        return Std::get<0>(static_cast<const Base&>(*this));
    }
    __aicore__ inline constexpr decltype(auto) GetStride() {
        return Std::get<1>(static_cast<Base&>(*this));
    }
    __aicore__ inline constexpr decltype(auto) GetStride() const {
        return Std::get<1>(static_cast<const Base&>(*this));
    }
    template <typename CoordType>
    __aicore__ inline constexpr auto operator()(const CoordType& coord) const {
        return Crd2Idx(coord, GetShape(), GetStride());
    }
};

template <typename ShapeType, typename StrideType>
__aicore__ inline constexpr auto MakeLayout(const ShapeType& shape, const StrideType& stride) {
    return Layout<ShapeType, StrideType>(shape, stride);
}
template <typename CoordType, typename ShapeType, typename StrideType>
__aicore__ inline constexpr auto Crd2Idx(const CoordType& coord,
                                         const Layout<ShapeType, StrideType>& layout) {
    return Crd2Idx(coord, layout.GetShape(), layout.GetStride());
}

template <typename T>
struct is_layout : Std::false_type {};
template <typename ShapeType, typename StrideType>
struct is_layout<Layout<ShapeType, StrideType>> : Std::true_type {};
template <typename T>
struct is_layout<const T> : is_layout<T> {};
template <typename T>
inline constexpr bool is_layout_v = is_layout<T>::value;

}  // namespace AscendC
#endif  // ASCENDC_EMU_LAYOUT_H
