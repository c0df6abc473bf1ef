// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of row kernels: the iteration space of a reduction as rows and columns, and how it is cut
// into boxes. C++11, no CANN header needed.
#ifndef OPGEN_HOST_ROW_SPACE_H
#define OPGEN_HOST_ROW_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "opgen_iteration_space.h"

namespace opgen {

// Mark the reduced axes of a space of `rank` dimensions; false: an axis is out of range or repeated.
inline bool MarkAxes(const std::vector<int64_t>& axes, int64_t rank, std::vector<bool>& reduced) {
    reduced.assign(static_cast<size_t>(rank), false);
    for (size_t i = 0; i < axes.size(); ++i) {
        const int64_t at = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (at < 0 || at >= rank || reduced[static_cast<size_t>(at)]) {
            return false;
        }
        reduced[static_cast<size_t>(at)] = true;
    }
    return true;
}

// Give a tensor that lines up with a reduced result dimensions of size 1 in place of the reduced
// axes; false: it has more dimensions than the result.
inline bool RestoreAxes(View& view, const std::vector<bool>& reduced) {
    const int64_t rank = static_cast<int64_t>(reduced.size());
    const int64_t kept = rank - std::count(reduced.begin(), reduced.end(), true);
    if (view.Rank() > kept) {
        return false;
    }
    while (view.Rank() < kept) {
        view.Unsqueeze(0);
    }
    for (int64_t i = 0; i < rank; ++i) {
        if (reduced[static_cast<size_t>(i)]) {
            view.Unsqueeze(i);  // the dimensions before are complete
        }
    }
    return true;
}

class RowSpace {
public:
    // Sizes and strides as the kernel's Walk reads them: outer dimensions (kept ones first), rows,
    // columns.
    int64_t dim[kMaxDims];
    std::vector<std::vector<int64_t>> stride;
    std::vector<int64_t> offset;
    int64_t keptOuter = 0;     // number of kept outer dimensions
    bool lanes = true;         // the columns are reduced
    int64_t reducedCount = 1;  // elements per reduction
    bool fits = true;          // false: more outer dimensions than a Walk has

    int64_t boxRows = 1;
    int64_t boxCols = 1;
    int64_t items = 0;
    int64_t chunks = 0;
    bool resident = false;

    void Build(const std::vector<int64_t>& dims, const std::vector<bool>& reduced,
               const std::vector<View>& views) {
        std::vector<Dimension> space;
        for (size_t i = 0; i < dims.size(); ++i) {
            reducedCount *= reduced[i] ? dims[i] : 1;
            if (dims[i] == 1) {
                continue;
            }
            Dimension next(dims[i], reduced[i], views.size());
            for (size_t v = 0; v < views.size(); ++v) {
                const size_t lead = dims.size() - views[v].dim.size();
                const bool own = i >= lead && views[v].dim[i - lead] != 1;
                next.stride[v] = own ? views[v].stride[i - lead] : 0;
            }
            Append(space, next);
        }
        if (space.empty()) {
            space.push_back(Dimension(1, true, views.size()));
        }
        for (size_t v = 0; v < views.size(); ++v) {
            if (space.back().stride[v] > 1) {
                // A strided last dimension becomes the rows of boxes with one column.
                space.push_back(Dimension(1, !space.back().reduced, views.size()));
                break;
            }
        }
        Arrange(space, views);
    }

    // tileLength: elements of a tile; rowLength: of a row tile; pitchUnit: rows start at multiples
    // of it; sizes: bytes per element of each operand; cores: how many can work.
    void Choose(int64_t tileLength, int64_t rowLength, int64_t pitchUnit,
                const std::vector<int64_t>& sizes, int64_t cores) {
        int64_t kept = 1;
        int64_t reduced = 1;
        for (int64_t i = 0; i < kMaxDims - 2; ++i) {
            (i < keptOuter ? kept : reduced) *= dim[i];
        }
        const int64_t rows = dim[kMaxDims - 2];
        const int64_t cols = dim[kMaxDims - 1];
        if (lanes) {
            ChooseLanes(tileLength, rowLength, pitchUnit, sizes, cores, kept, reduced);
            items = kept * CeilDiv(rows, boxRows);
            chunks = reduced * CeilDiv(cols, boxCols);
        } else {
            ChooseRows(tileLength, rowLength, pitchUnit, sizes, cores, kept, reduced);
            items = kept * CeilDiv(cols, boxCols);
            chunks = reduced * CeilDiv(rows, boxRows);
        }
        resident = chunks == 1;
    }
    void Walk(size_t operand, int64_t (&walk)[kMaxDims + 1]) const {
        std::copy(stride[operand].begin(), stride[operand].end(), walk);
        walk[kMaxDims] = offset[operand];
    }

private:
    struct Dimension {
        int64_t size;
        bool reduced;
        std::vector<int64_t> stride;
        Dimension(int64_t s, bool r, size_t operands) : size(s), reduced(r), stride(operands, 0) {}
    };

    static void Append(std::vector<Dimension>& space, const Dimension& next) {
        bool merges = !space.empty() && space.back().reduced == next.reduced;
        for (size_t v = 0; merges && v < next.stride.size(); ++v) {
            merges = space.back().stride[v] == next.stride[v] * next.size;
        }
        if (!merges) {
            space.push_back(next);
            return;
        }
        space.back().size *= next.size;
        space.back().stride = next.stride;
    }
    void Arrange(std::vector<Dimension>& space, const std::vector<View>& views) {
        const Dimension cols = space.back();
        space.pop_back();
        lanes = cols.reduced;
        Dimension rows(1, !lanes, views.size());
        for (size_t i = space.size(); i > 0; --i) {
            if (space[i - 1].reduced != lanes) {
                rows = space[i - 1];
                space.erase(space.begin() + static_cast<int64_t>(i) - 1);
                break;
            }
        }
        std::vector<Dimension> order;
        for (int32_t pass = 0; pass < 2; ++pass) {
            for (size_t i = 0; i < space.size(); ++i) {
                if (space[i].reduced == (pass == 1)) {
                    order.push_back(space[i]);
                }
            }
            keptOuter = pass == 0 ? static_cast<int64_t>(order.size()) : keptOuter;
        }
        fits = order.size() <= static_cast<size_t>(kMaxDims - 2);
        order.resize(static_cast<size_t>(kMaxDims - 2), Dimension(1, true, views.size()));
        order.push_back(rows);
        order.push_back(cols);
        stride.assign(views.size(), std::vector<int64_t>());
        offset.clear();
        for (size_t v = 0; v < views.size(); ++v) {
            offset.push_back(views[v].offset);
            for (size_t i = 0; i < order.size(); ++i) {
                stride[v].push_back(order[i].stride[v]);
            }
        }
        for (size_t i = 0; i < order.size(); ++i) {
            dim[i] = order[i].size;
        }
    }
    // Whether several rows can be copied at once, also in the last, narrower box.
    bool RowsFit(int64_t cols, const std::vector<int64_t>& sizes) const {
        for (size_t v = 0; v < stride.size(); ++v) {
            const int64_t row = stride[v][kMaxDims - 2];
            const int64_t used = stride[v][kMaxDims - 1] == 0 ? 1 : cols;
            if (row != 0 && (row < used || row > kMaxRowBytes / sizes[v])) {
                return false;
            }
        }
        return true;
    }
    // One row per kept element: whole rows where they fit, else one row in chunks.
    void ChooseLanes(int64_t tileLength, int64_t rowLength, int64_t pitchUnit,
                     const std::vector<int64_t>& sizes, int64_t cores, int64_t kept,
                     int64_t reduced) {
        const int64_t rows = dim[kMaxDims - 2];
        const int64_t cols = dim[kMaxDims - 1];
        boxCols = std::max<int64_t>(1, cols);
        boxRows = 1;
        if (AlignUp(boxCols, pitchUnit) <= tileLength) {
            const int64_t most = std::min(tileLength / AlignUp(boxCols, pitchUnit), rowLength);
            boxRows = std::min(std::min(rows, most), kMaxBlockCount);
            boxRows = RowsFit(boxCols, sizes) ? boxRows : 1;
            boxRows = std::max<int64_t>(1, std::min(boxRows, CeilDiv(rows * kept, cores)));
            return;
        }
        boxCols = tileLength;
        if (rows * kept * 2 <= cores) {
            // The cores will share the chunks of each row: at least one each.
            const int64_t each = CeilDiv(cols * reduced, cores);
            boxCols = std::min(boxCols, std::max<int64_t>(1024, AlignUp(each, kUnit)));
        }
    }
    // One row per reduced element, vectorised over the kept columns.
    void ChooseRows(int64_t tileLength, int64_t rowLength, int64_t pitchUnit,
                    const std::vector<int64_t>& sizes, int64_t cores, int64_t kept,
                    int64_t reduced) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        int64_t widest = std::min(cols, rowLength / pitchUnit * pitchUnit);
        // Enough items for all cores, as long as copies stay above a few blocks.
        const int64_t parts = std::max<int64_t>(1, cores / std::max<int64_t>(1, kept));
        const int64_t fair = AlignUp(CeilDiv(cols, parts), std::max<int64_t>(64, pitchUnit));
        widest = std::max<int64_t>(1, std::min(widest, fair));
        const int64_t room = tileLength / rows / pitchUnit * pitchUnit;
        if (reduced == 1 && rows <= kMaxBlockCount && room >= std::min<int64_t>(cols, 64) &&
            RowsFit(std::min(widest, room), sizes)) {
            boxRows = rows;
            boxCols = std::min(widest, room);
            return;
        }
        boxCols = std::min(widest, static_cast<int64_t>(512) / pitchUnit * pitchUnit);
        boxRows = std::min(std::min(rows, tileLength / AlignUp(boxCols, pitchUnit)), kMaxBlockCount);
        boxRows = RowsFit(boxCols, sizes) ? std::max<int64_t>(1, boxRows) : 1;
        if (kept * CeilDiv(cols, boxCols) * 2 <= cores) {
            const int64_t each = CeilDiv(rows * reduced, cores);
            boxRows = std::max<int64_t>(1, std::min(boxRows, std::max<int64_t>(each, 8)));
        }
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_ROW_SPACE_H
