// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Output shapes: the C++ side of the spec's shape rules.
#ifndef OPGEN_BINDING_SHAPES_H
#define OPGEN_BINDING_SHAPES_H

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "checks.h"

namespace opgen_binding __attribute__((visibility("hidden"))) {

    // NumPy broadcasting.
    inline Sizes Broadcast(const char* op, std::initializer_list<Sizes> shapes) {
        Sizes result;
        for (const Sizes& shape : shapes) {
            if (shape.size() > result.size()) {
                result.insert(result.begin(), shape.size() - result.size(), 1);
            }
            for (size_t i = 0; i < shape.size(); ++i) {
                int64_t& dim = result[result.size() - 1 - i];
                const int64_t other = shape[shape.size() - 1 - i];
                if (dim == 1) {
                    dim = other;
                } else if (other != 1 && other != dim) {
                    std::string text;
                    for (const Sizes& s : shapes) {
                        text += (text.empty() ? "" : ", ") + Text(s);
                    }
                    OPGEN_CHECK(false, std::string(op) + ": shapes " + text + " do not broadcast");
                }
            }
        }
        return result;
    }

    inline int64_t Dim(const Sizes& shape, int64_t axis) {
        const int64_t rank = static_cast<int64_t>(shape.size());
        OPGEN_CHECK(axis >= -rank && axis < rank,
                    "shape " + Text(shape) + " has no axis " + std::to_string(axis));
        return shape[axis < 0 ? axis + rank : axis];
    }

    inline int64_t Rank(const Sizes& shape) { return static_cast<int64_t>(shape.size()); }

    inline int64_t Numel(const Sizes& shape) {
        int64_t count = 1;
        for (int64_t dim : shape) {
            count *= dim;
        }
        return count;
    }

    // Python slicing of the dims: Slice(shape, 0, -1) is shape[:-1].
    inline Sizes Slice(const Sizes& shape, std::optional<int64_t> start,
                       std::optional<int64_t> stop) {
        const int64_t rank = Rank(shape);
        const auto place = [rank](int64_t i) {
            return std::min(std::max<int64_t>(i < 0 ? i + rank : i, 0), rank);
        };
        const int64_t from = place(start.value_or(0));
        const int64_t to = std::max(from, place(stop.value_or(rank)));
        return Sizes(shape.begin() + from, shape.begin() + to);
    }

    inline Sizes Concat(std::initializer_list<Sizes> parts) {
        Sizes result;
        for (const Sizes& part : parts) {
            result.insert(result.end(), part.begin(), part.end());
        }
        return result;
    }

    // Dims removed, or 1 with keepdim; no dims means all.
    inline Sizes Reduced(const Sizes& shape, const Sizes& dims, bool keepdim) {
        const int64_t rank = Rank(shape);
        std::vector<bool> reduced(shape.size(), dims.empty());
        for (int64_t dim : dims) {
            // torch takes dims 0 and -1 of a scalar
            OPGEN_CHECK(dim >= -std::max<int64_t>(rank, 1) && dim < std::max<int64_t>(rank, 1),
                        "shape " + Text(shape) + " has no axis " + std::to_string(dim));
            if (rank > 0) {
                reduced[dim < 0 ? dim + rank : dim] = true;
            }
        }
        Sizes result;
        for (size_t i = 0; i < shape.size(); ++i) {
            if (!reduced[i]) {
                result.push_back(shape[i]);
            } else if (keepdim) {
                result.push_back(1);
            }
        }
        return result;
    }

    // Where each axis of another order is, which names every axis of a shape once.
    template <typename List>
    std::vector<size_t> OrderedPlaces(const List& axes, int64_t rank, const std::string& text) {
        std::vector<bool> taken(static_cast<size_t>(rank), false);
        OPGEN_CHECK(static_cast<int64_t>(axes.size()) == rank,
                    "an order of " + std::to_string(axes.size()) + " axes for shape " + text);
        std::vector<size_t> result;
        for (const int64_t axis : axes) {
            const int64_t place = axis < 0 ? axis + rank : axis;
            OPGEN_CHECK(place >= 0 && place < rank && !taken[static_cast<size_t>(place)],
                        "axis " + std::to_string(axis) + " of an order for shape " + text +
                            " is none, or there twice");
            taken[static_cast<size_t>(place)] = true;
            result.push_back(static_cast<size_t>(place));
        }
        return result;
    }

    // Dims in another order.
    template <typename List>
    Sizes Permuted(const Sizes& shape, const List& axes) {
        Sizes result;
        for (const size_t place : OrderedPlaces(axes, Rank(shape), Text(shape))) {
            result.push_back(shape[place]);
        }
        return result;
    }

    // Bits that say what the entries of a slice do.
    struct SliceMasks {
        int64_t begin = 0;
        int64_t end = 0;
        int64_t ellipsis = 0;
        int64_t newAxis = 0;
        int64_t shrink = 0;

        static bool Has(int64_t mask, size_t entry) {
            return entry < 63 && (mask >> entry & 1) != 0;
        }
    };

    // How many elements the entry of a slice takes of an axis.
    inline int64_t SlicedSize(int64_t size, int64_t begin, int64_t end, int64_t stride,
                              bool fromFirst, bool toLast) {
        // A slice backwards may begin at the last element, and end before the first.
        const int64_t low = stride > 0 ? 0 : -1;
        const int64_t high = stride > 0 ? size : size - 1;
        begin = std::min(std::max(begin < 0 ? begin + size : begin, low), high);
        end = std::min(std::max(end < 0 ? end + size : end, low), high);
        begin = fromFirst ? (stride > 0 ? low : high) : begin;
        end = toLast ? (stride > 0 ? high : low) : end;
        const int64_t apart = stride > 0 ? end - begin : begin - end;
        const int64_t step = stride > 0 ? stride : -stride;
        return apart > 0 ? (apart - 1) / step + 1 : 0;
    }

    // Cut a tensor of `rank` axes as TensorFlow's StridedSlice does: call whole(axis) for an axis
    // that no entry cuts, added() for a new one and cut(axis, entry) for the others, in order.
    template <typename List, typename Whole, typename Added, typename Cut>
    void ForPieces(int64_t rank, const List& begin, const List& end, const List& strides,
                   const SliceMasks& masks, Whole whole, Added added, Cut cut) {
        const size_t count = begin.size();
        OPGEN_CHECK(end.size() == count && strides.size() == count,
                    "begin, end and strides of a slice have different lengths");
        size_t place = count;
        int64_t rest = rank;
        for (size_t i = 0; i < count; ++i) {
            OPGEN_CHECK(strides[i] != 0, "a stride of 0 in a slice");
            if (SliceMasks::Has(masks.ellipsis, i)) {
                OPGEN_CHECK(place == count, "ellipsis_mask has more than one entry");
                place = i;
            } else if (!SliceMasks::Has(masks.newAxis, i)) {
                --rest;
            }
        }
        OPGEN_CHECK(rest >= 0, "the entries of a slice cut more axes than the " +
                                   std::to_string(rank) + " of the tensor");
        int64_t axis = 0;
        for (size_t i = 0; i <= count; ++i) {
            if (i == place) {
                for (; rest > 0; --rest) {
                    whole(axis++);
                }
            } else if (i < count && SliceMasks::Has(masks.newAxis, i)) {
                added();
            } else if (i < count) {
                cut(axis++, i);
            }
        }
    }

    // The element of an axis that shrinks must be there.
    inline void CheckSliced(int64_t size, int64_t begin, int64_t stride, bool fromFirst) {
        begin = fromFirst ? (stride > 0 ? 0 : size - 1) : begin;
        begin = begin < 0 ? begin + size : begin;
        OPGEN_CHECK(begin >= 0 && begin < size, "an axis of " + std::to_string(size) +
                                                    " elements has no element " +
                                                    std::to_string(begin));
    }

    // What lists and masks cut from a tensor.
    template <typename List>
    Sizes Sliced(const Sizes& shape, const List& begin, const List& end, const List& strides,
                 const SliceMasks& masks) {
        Sizes result;
        ForPieces(
            Rank(shape), begin, end, strides, masks,
            [&](int64_t axis) { result.push_back(shape[static_cast<size_t>(axis)]); },
            [&] { result.push_back(1); },
            [&](int64_t axis, size_t i) {
                const int64_t size = shape[static_cast<size_t>(axis)];
                const bool fromFirst = SliceMasks::Has(masks.begin, i);
                const bool toLast = SliceMasks::Has(masks.end, i);
                if (SliceMasks::Has(masks.shrink, i)) {
                    CheckSliced(size, begin[i], strides[i], fromFirst);
                } else {
                    result.push_back(
                        SlicedSize(size, begin[i], end[i], strides[i], fromFirst, toLast));
                }
            });
        return result;
    }

    // Division and remainder as in Python (towards minus infinity).
    inline int64_t FloorDiv(int64_t a, int64_t b) {
        OPGEN_CHECK(b != 0, "a shape rule divides by zero");
        const int64_t q = a / b;
        return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
    }
    inline int64_t FloorMod(int64_t a, int64_t b) { return a - FloorDiv(a, b) * b; }

    // Element of a list of floats, by which a size is scaled.
    template <typename List>
    double Factor(const List& factors, int64_t index) {
        const int64_t count = static_cast<int64_t>(factors.size());
        const int64_t place = index < 0 ? index + count : index;
        OPGEN_CHECK(place >= 0 && place < count,
                    "a list attribute of factors has too few elements");
        return static_cast<double>(factors[static_cast<size_t>(place)]);
    }
    // A size times a factor as float32 holds it, which is what a kernel gets, rounded.
    inline double Product(int64_t dim, double factor) {
        const double product =
            static_cast<double>(dim) * static_cast<double>(static_cast<float>(factor));
        OPGEN_CHECK(std::fabs(product) < 2147483648.0, "a size times a factor is no size");
        return product;
    }
    inline int64_t ScaledDown(int64_t dim, double factor) {
        return static_cast<int64_t>(std::floor(Product(dim, factor)));
    }
    inline int64_t ScaledUp(int64_t dim, double factor) {
        return static_cast<int64_t>(std::ceil(Product(dim, factor)));
    }

}  // namespace opgen_binding

#endif  // OPGEN_BINDING_SHAPES_H
