// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of kernels that sort: rows along an axis, how many of them a tile has, and
// which of their elements in order are wanted. C++11, no CANN header needed.
#ifndef OPGEN_HOST_ORDER_SPACE_H
#define OPGEN_HOST_ORDER_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

constexpr int64_t kSortedAtOnce = 32;      // elements that an instruction sorts
constexpr int64_t kLongestList = 4095;     // records that a merge takes of a list
constexpr int64_t kOrderPerCore = 2048;    // elements, below which a further core gains nothing
constexpr int64_t kLongestRow = 1LL << 30;  // positions and a mark fit 32 bits

// UB bytes per element of a tile, and per result.
struct OrderBudget {
    double element;
    double result;
};

class OrderSpace {
 public:
    int64_t outer = 1;
    int64_t inner = 1;
    int64_t length = 1;
    int64_t first = 0;
    int64_t count = 0;
    std::vector<int64_t> shape;  // of the results
    std::string refusal;

    int64_t tileRows = 1;
    int64_t pitch = kSortedAtOnce;
    int64_t resultPitch = kSortedAtOnce;
    int64_t lanes = 0;
    int64_t tileLength = 0;
    int64_t resultLength = 0;
    int64_t cores = 1;

    // Elements `begin` to `begin + results` of the rows along an axis; -1 results: all.
    static OrderSpace Of(const std::vector<int64_t>& sizes, int64_t axis, int64_t begin,
                         int64_t results) {
        OrderSpace space;
        const std::vector<int64_t> dims = sizes.empty() ? std::vector<int64_t>(1, 1) : sizes;
        const int64_t rank = static_cast<int64_t>(dims.size());
        const int64_t at = axis < 0 ? axis + rank : axis;
        if (at < 0 || at >= rank) {
            space.refusal = std::to_string(axis) + " is no axis of the shape " + ShapeText(sizes);
            return space;
        }
        space.length = dims[static_cast<size_t>(at)];
        space.first = begin;
        space.count = results < 0 ? space.length : results;
        if (!Addressable(dims) || space.length > kLongestRow) {
            space.refusal = "rows of " + std::to_string(space.length) + " elements in shape " +
                            ShapeText(dims) + ": 2^30 at most";
            return space;
        }
        if (begin < 0 || (results < 0 && results != -1) || space.count > space.length - begin) {
            space.refusal = "elements " + std::to_string(begin + 1) + " to " +
                            std::to_string(begin + space.count) + " of rows that have " +
                            std::to_string(space.length);
            return space;
        }
        for (int64_t i = 0; i < rank; ++i) {
            int64_t& side = i < at ? space.outer : space.inner;
            side *= i == at ? 1 : dims[static_cast<size_t>(i)];
        }
        space.shape = dims;
        space.shape[static_cast<size_t>(at)] = space.count;
        return space;
    }
    // Choose tiles. element: bytes of one in memory; chooses: whether results are not the first
    // ones in order; room: bytes of UB. A refusal says why there is no tile.
    void Choose(const OrderBudget& budget, int64_t element, bool chooses, int64_t room,
                int64_t coresOfChip) {
        budget_ = budget;
        room_ = room;
        pitch = std::max(kSortedAtOnce, AlignUp(length, kSortedAtOnce));
        const bool whole = !chooses && (pitch <= 2 * kSortedAtOnce || 2 * count >= length);
        resultPitch =
            whole ? pitch : std::max(kSortedAtOnce, AlignUp(count, kSortedAtOnce));
        if (inner > 1) {
            refusal = "rows that are not the last axis";
            return;
        }
        if (!Holds(1)) {
            refusal = "UB has no room to sort a row of " + std::to_string(length) + " elements";
            return;
        }
        const int64_t rows = std::max<int64_t>(1, Times(outer, inner));
        const int64_t worthwhile = std::max<int64_t>(1, Times(rows, pitch) / kOrderPerCore);
        const int64_t used = std::min(std::min(coresOfChip, rows), worthwhile);
        int64_t low = 1;
        int64_t high = std::min<int64_t>(CeilDiv(rows, used), kMaxBlockCount);
        while (low < high) {
            const int64_t middle = low + (high - low + 1) / 2;
            if (Holds(middle)) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        tileRows = low;
        Holds(tileRows);
        const int64_t tiles = CeilDiv(rows, tileRows);
        cores = std::min(used, tiles);
        cores = CeilDiv(tiles, CeilDiv(tiles, cores));
        (void)element;
    }

 private:
    // Whether UB holds a tile of so many rows; sets the lengths of its buffers.
    bool Holds(int64_t rows) {
        // a comparison of the last row may reach beyond it; masks are whole blocks
        tileLength = AlignUp(Times(rows, pitch) + kSortedAtOnce, kUnit);
        resultLength = Times(rows, resultPitch);
        return budget_.element * static_cast<double>(tileLength) +
                   budget_.result * static_cast<double>(resultLength) <=
               static_cast<double>(room_);
    }

    OrderBudget budget_{0, 0};
    int64_t room_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_HOST_ORDER_SPACE_H
