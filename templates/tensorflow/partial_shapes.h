// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Shape rules over shapes that a graph knows in part: a size may be unknown, or the rank. The
// functions are those of shapes.h, which a call with all sizes known uses.
#ifndef OPGEN_DOOR_PARTIAL_SHAPES_H
#define OPGEN_DOOR_PARTIAL_SHAPES_H

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "checks.h"
#include "shapes.h"

namespace opgen_partial __attribute__((visibility("hidden"))) {

    struct Size {
        Size(int64_t number) : value(number) {}
        static Size Unknown() {
            Size size(-1);
            size.known = false;
            return size;
        }
        bool Is(int64_t number) const { return known && value == number; }

        int64_t value;
        bool known = true;
    };

    template <typename Function>
    Size Combine(Size a, Size b, Function function) {
        return a.known && b.known ? Size(function(a.value, b.value)) : Size::Unknown();
    }
    inline Size operator+(Size a, Size b) {
        return Combine(a, b, [](int64_t x, int64_t y) { return x + y; });
    }
    inline Size operator-(Size a, Size b) {
        return Combine(a, b, [](int64_t x, int64_t y) { return x - y; });
    }
    inline Size operator*(Size a, Size b) {
        return Combine(a, b, [](int64_t x, int64_t y) { return x * y; });
    }
    inline Size Min(Size a, Size b) {
        return Combine(a, b, [](int64_t x, int64_t y) { return std::min(x, y); });
    }
    inline Size Max(Size a, Size b) {
        return Combine(a, b, [](int64_t x, int64_t y) { return std::max(x, y); });
    }
    // Division and remainder as in Python (towards minus infinity).
    inline Size FloorDiv(Size a, Size b) {
        OPGEN_CHECK(!b.Is(0), "a shape rule divides by zero");
        return Combine(a, b, [](int64_t x, int64_t y) {
            return x / y - (x % y != 0 && ((x < 0) != (y < 0)) ? 1 : 0);
        });
    }
    inline Size FloorMod(Size a, Size b) { return a - FloorDiv(a, b) * b; }
    // A size times a float, rounded.
    using opgen_binding::Factor;
    inline Size ScaledDown(Size a, double factor) {
        return a.known ? Size(opgen_binding::ScaledDown(a.value, factor)) : Size::Unknown();
    }
    inline Size ScaledUp(Size a, double factor) {
        return a.known ? Size(opgen_binding::ScaledUp(a.value, factor)) : Size::Unknown();
    }

    class Sizes {
     public:
        Sizes() = default;
        Sizes(std::initializer_list<Size> sizes) : sizes_(sizes) {}
        static Sizes Unknown() {
            Sizes sizes;
            sizes.ranked_ = false;
            return sizes;
        }
        bool ranked() const { return ranked_; }
        int64_t rank() const { return static_cast<int64_t>(sizes_.size()); }
        const std::vector<Size>& sizes() const { return sizes_; }
        void push_back(Size size) { sizes_.push_back(size); }

     private:
        bool ranked_ = true;
        std::vector<Size> sizes_;
    };

    inline std::string Text(const Sizes& shape) {
        if (!shape.ranked()) {
            return "[...]";
        }
        std::string text = "[";
        for (const Size& size : shape.sizes()) {
            text += (text.size() == 1 ? "" : ", ") +
                    (size.known ? std::to_string(size.value) : std::string("?"));
        }
        return text + "]";
    }

    // NumPy broadcasting: an unknown size may be 1 or that of the others.
    inline Sizes Broadcast(const char* op, std::initializer_list<Sizes> shapes) {
        int64_t rank = 0;
        for (const Sizes& shape : shapes) {
            if (!shape.ranked()) {
                return Sizes::Unknown();
            }
            rank = std::max(rank, shape.rank());
        }
        std::vector<Size> result(static_cast<size_t>(rank), Size(1));
        for (const Sizes& shape : shapes) {
            for (int64_t i = 0; i < shape.rank(); ++i) {
                Size& size = result[static_cast<size_t>(rank - 1 - i)];
                const Size other = shape.sizes()[static_cast<size_t>(shape.rank() - 1 - i)];
                if (size.Is(1) || (!size.known && other.known && other.value != 1)) {
                    size = other;
                } else if (size.known && other.known && other.value != 1 &&
                           other.value != size.value) {
                    std::string text;
                    for (const Sizes& s : shapes) {
                        text += (text.empty() ? "" : ", ") + Text(s);
                    }
                    OPGEN_CHECK(false, std::string(op) + ": shapes " + text + " do not broadcast");
                }
            }
        }
        Sizes broadcast;
        for (const Size& size : result) {
            broadcast.push_back(size);
        }
        return broadcast;
    }

    inline Size Dim(const Sizes& shape, int64_t axis) {
        if (!shape.ranked()) {
            return Size::Unknown();
        }
        OPGEN_CHECK(axis >= -shape.rank() && axis < shape.rank(),
                    "shape " + Text(shape) + " has no axis " + std::to_string(axis));
        return shape.sizes()[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)];
    }
    // An element of a list attr, the same function where both namespaces are used.
    using opgen_binding::Dim;

    inline Size Rank(const Sizes& shape) {
        return shape.ranked() ? Size(shape.rank()) : Size::Unknown();
    }

    inline Size Numel(const Sizes& shape) {
        Size count = shape.ranked() ? Size(1) : Size::Unknown();
        for (const Size& size : shape.sizes()) {
            count = count * size;
        }
        return count;
    }

    // Python slicing of the dims: Slice(shape, 0, -1) is shape[:-1].
    inline Sizes Slice(const Sizes& shape, std::optional<int64_t> start,
                       std::optional<int64_t> stop) {
        if (!shape.ranked()) {
            return shape;
        }
        const int64_t rank = shape.rank();
        const auto place = [rank](int64_t i) {
            return std::min(std::max<int64_t>(i < 0 ? i + rank : i, 0), rank);
        };
        Sizes part;
        for (int64_t i = place(start.value_or(0)); i < place(stop.value_or(rank)); ++i) {
            part.push_back(shape.sizes()[static_cast<size_t>(i)]);
        }
        return part;
    }

    inline Sizes Concat(std::initializer_list<Sizes> parts) {
        Sizes whole;
        for (const Sizes& part : parts) {
            if (!part.ranked()) {
                return part;
            }
            for (const Size& size : part.sizes()) {
                whole.push_back(size);
            }
        }
        return whole;
    }

    // Sizes in another order, which names every axis once.
    inline Sizes Permuted(const Sizes& shape, const std::vector<int64_t>& axes) {
        if (!shape.ranked()) {
            return shape;
        }
        Sizes result;
        for (const size_t place : opgen_binding::OrderedPlaces(axes, shape.rank(), Text(shape))) {
            result.push_back(shape.sizes()[place]);
        }
        return result;
    }

    // What lists and masks cut from a tensor.
    using opgen_binding::SliceMasks;
    inline Sizes Sliced(const Sizes& shape, const std::vector<int64_t>& begin,
                        const std::vector<int64_t>& end, const std::vector<int64_t>& strides,
                        const SliceMasks& masks) {
        if (!shape.ranked()) {
            return shape;
        }
        Sizes result;
        opgen_binding::ForPieces(
            shape.rank(), begin, end, strides, masks,
            [&](int64_t axis) { result.push_back(shape.sizes()[static_cast<size_t>(axis)]); },
            [&] { result.push_back(1); },
            [&](int64_t axis, size_t i) {
                const Size size = shape.sizes()[static_cast<size_t>(axis)];
                const bool fromFirst = SliceMasks::Has(masks.begin, i);
                const bool toLast = SliceMasks::Has(masks.end, i);
                if (SliceMasks::Has(masks.shrink, i)) {
                    if (size.known) {
                        opgen_binding::CheckSliced(size.value, begin[i], strides[i], fromFirst);
                    }
                } else {
                    result.push_back(
                        size.known ? Size(opgen_binding::SlicedSize(size.value, begin[i], end[i],
                                                                    strides[i], fromFirst, toLast))
                                   : Size::Unknown());
                }
            });
        return result;
    }

    // Dims removed, or 1 with keepdim; no dims means all.
    inline Sizes Reduced(const Sizes& shape, const std::vector<int64_t>& dims, bool keepdim) {
        if (!shape.ranked()) {
            return dims.empty() && !keepdim ? Sizes() : shape;
        }
        const int64_t rank = shape.rank();
        std::vector<bool> reduced(static_cast<size_t>(rank), dims.empty());
        for (const int64_t dim : dims) {
            // torch takes dims 0 and -1 of a scalar
            OPGEN_CHECK(dim >= -std::max<int64_t>(rank, 1) && dim < std::max<int64_t>(rank, 1),
                        "shape " + Text(shape) + " has no axis " + std::to_string(dim));
            if (rank > 0) {
                reduced[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = true;
            }
        }
        Sizes result;
        for (int64_t i = 0; i < rank; ++i) {
            const size_t place = static_cast<size_t>(i);
            if (!reduced[place]) {
                result.push_back(shape.sizes()[place]);
            } else if (keepdim) {
                result.push_back(1);
            }
        }
        return result;
    }

    // The shape of an input against what the spec says of it; unknown sizes fit.
    inline void CheckShape(const char* op, const char* name, const Sizes& given,
                           const Sizes& expected) {
        bool fits = !given.ranked() || !expected.ranked() || given.rank() == expected.rank();
        if (fits && given.ranked() && expected.ranked()) {
            for (size_t i = 0; i < given.sizes().size(); ++i) {
                const Size a = given.sizes()[i];
                const Size b = expected.sizes()[i];
                fits = fits && (!a.known || !b.known || a.value == b.value);
            }
        }
        OPGEN_CHECK(fits, std::string(op) + ": '" + name + "' has shape " + Text(given) +
                              ", expected " + Text(expected));
    }

}  // namespace opgen_partial

#endif  // OPGEN_DOOR_PARTIAL_SHAPES_H
