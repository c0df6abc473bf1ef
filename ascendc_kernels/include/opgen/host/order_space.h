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

constexpr int64_t kSortedAtOnce = 32;       // elements that an instruction sorts
constexpr int64_t kOrderPerCore = 2048;     // elements, below which a further core gains nothing
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
    int64_t tileLength = 0;
    int64_t resultLength = 0;
    int64_t cores = 1;
    // By way of the workspace: elements of a run, 0 where UB holds rows; results kept of a row; and
    // where the parts of the workspace begin, bytes.
    bool throughWorkspace = false;
    int64_t runLength = 0;
    int64_t keep = 0;
    int64_t recordsAt = 0;
    int64_t mergedAt = 0;
    int64_t nansAt = 0;
    int64_t valuesAt = 0;
    int64_t positionsAt = 0;
    int64_t workspaceBytes = 0;

    // The element in the middle of each row along an axis. An empty row has one, too: NaN, or what
    // PyTorch makes of it in an integer.
    static OrderSpace OfMiddle(const std::vector<int64_t>& sizes, int64_t axis) {
        OrderSpace space = Of(sizes, axis, 0, 0);
        if (space.refusal.empty()) {
            const int64_t at = axis < 0 ? axis + static_cast<int64_t>(space.shape.size()) : axis;
            space.count = 1;
            space.shape[static_cast<size_t>(at)] = 1;
        }
        return space;
    }
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
    // Choose tiles. chooses: whether results are not the first ones in order; room: bytes of UB. A
    // call whose rows lie one behind the other and fit takes the first budget; others take the
    // second one, by way of the workspace. digits: that elements are sorted by, 0: as floats.
    void Choose(const OrderBudget& direct, const OrderBudget& byWorkspace, bool chooses,
                int64_t digits, int64_t room, int64_t coresOfChip) {
        budget_ = direct;
        room_ = room;
        chooses_ = chooses;
        SetPitch(length);
        const int64_t rows = std::max<int64_t>(1, Times(outer, inner));
        if (inner > 1 || !Holds(1)) {
            throughWorkspace = true;
            budget_ = byWorkspace;
            if (!Holds(1) && !ChooseRuns()) {
                return;
            }
        }
        const int64_t elements = runLength > 0 ? Times(rows, length) : Times(rows, pitch);
        const int64_t worthwhile = std::max<int64_t>(1, elements / kOrderPerCore);
        const int64_t used = std::min(coresOfChip, worthwhile);
        if (runLength == 0) {
            ShareRows(rows, used);
        } else {
            cores = used;
        }
        if (throughWorkspace) {
            cores = used;  // boxes of elements are shared otherwise than rows
            PlaceWorkspace(rows, digits);
        }
    }

 private:
    void SetPitch(int64_t elements) {
        pitch = std::max(kSortedAtOnce, AlignUp(elements, kSortedAtOnce));
        const bool whole = !chooses_ && (pitch <= 2 * kSortedAtOnce || 2 * count >= elements);
        resultPitch = whole ? pitch : std::max(kSortedAtOnce, AlignUp(count, kSortedAtOnce));
    }
    void ShareRows(int64_t rows, int64_t used) {
        int64_t low = 1;
        int64_t high = std::min<int64_t>(CeilDiv(rows, std::min(used, rows)), kMaxBlockCount);
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
    }
    // Runs of a row that are sorted by themselves; false: UB holds none.
    bool ChooseRuns() {
        const double bytes = budget_.element;
        const int64_t most = static_cast<int64_t>(static_cast<double>(room_) / bytes);
        tileLength = most / kUnit * kUnit;
        runLength = (tileLength - kSortedAtOnce) / kSortedAtOnce * kSortedAtOnce;
        if (runLength < kSortedAtOnce) {
            refusal = "UB has no room to sort a run, " + std::to_string(room_) + " bytes";
            return false;
        }
        resultLength = 0;
        pitch = runLength;
        return true;
    }
    void PlaceWorkspace(int64_t rows, int64_t digits) {
        const int64_t all = Times(rows, length);
        // integers lie in planes of words
        const int64_t words = std::max<int64_t>(1, digits / kDigitsOfWord) * kWordBytes;
        // a digit is sorted in the order of the one below
        keep = runLength > 0 && (chooses_ || digits > 0) ? length : count;
        const bool runs = runLength > 0;
        int64_t at = Area(Times(all, words));
        recordsAt = at;
        at += runs ? Area(Times(all, 2 * kWordBytes)) : 0;
        mergedAt = at;
        at += runs ? Area(Times(all, 2 * kWordBytes)) : 0;
        nansAt = at;
        at += runs ? Area(Times(Times(rows, CeilDiv(length, runLength)), kBlockBytes)) : 0;
        valuesAt = at;
        at += Area(Times(Times(rows, keep), words));
        positionsAt = at;
        at += Area(Times(Times(rows, keep), kWordBytes));
        workspaceBytes = at;
    }
    // Parts of the workspace begin at L2 lines.
    static int64_t Area(int64_t bytes) { return AlignUp(bytes, 512); }
    // Whether UB holds a tile of so many rows; sets the lengths of its buffers.
    bool Holds(int64_t rows) {
        // a comparison of the last row may reach beyond it; masks are whole blocks
        tileLength = AlignUp(Times(rows, pitch) + kSortedAtOnce, kUnit);
        resultLength = Times(rows, resultPitch);
        return budget_.element * static_cast<double>(tileLength) +
                   budget_.result * static_cast<double>(resultLength) <=
               static_cast<double>(room_);
    }

    static constexpr int64_t kWordBytes = 4;
    static constexpr int64_t kDigitsOfWord = 2;
    static constexpr int64_t kBlockBytes = 32;

    OrderBudget budget_{0, 0};
    int64_t room_ = 0;
    bool chooses_ = false;
};

}  // namespace opgen

#endif  // OPGEN_HOST_ORDER_SPACE_H
