// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of row kernels: which axes of a shape are reduced, and what that makes of the shapes of
// results. C++11, no CANN header needed.
#ifndef OPGEN_HOST_ROW_AXES_H
#define OPGEN_HOST_ROW_AXES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "view.h"

namespace opgen {

// Mark the reduced axes of a space of `rank` dimensions; false: an axis is out of range or
// repeated.
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

// Give a shape leading dimensions of size 1 until it has `rank` of them.
inline void ReachRank(std::vector<int64_t>& dims, int64_t rank) {
    const int64_t missing = rank - static_cast<int64_t>(dims.size());
    if (missing > 0) {
        dims.insert(dims.begin(), static_cast<size_t>(missing), 1);
    }
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

// The shape of results with one number per row: 1 in place of the reduced axes.
inline std::vector<int64_t> RowDims(const std::vector<int64_t>& dims,
                                    const std::vector<bool>& reduced) {
    std::vector<int64_t> result = dims;
    for (size_t i = 0; i < dims.size(); ++i) {
        result[i] = reduced[i] ? 1 : dims[i];
    }
    return result;
}

// Whether tensors together have as many elements along the reduced axes as the space that they and
// others make; single: one element may stand for all.
inline bool HasAxes(const std::vector<int64_t>& dims, const std::vector<bool>& reduced,
                    const std::vector<std::vector<int64_t> >& shapes, bool single) {
    std::vector<int64_t> own;
    for (size_t i = 0; i < shapes.size(); ++i) {
        BroadcastDims(own, shapes[i]);
    }
    const size_t missing = dims.size() - own.size();
    for (size_t i = 0; i < dims.size(); ++i) {
        const bool stands = single && i >= missing && own[i - missing] == 1;
        if (reduced[i] && !stands && !SameAlong(static_cast<int64_t>(i), own, dims)) {
            return false;
        }
    }
    return true;
}

// The same without the reduced axes, as reductions without keepdim give it.
inline View WithoutAxes(const View& view, const std::vector<bool>& reduced) {
    std::vector<int64_t> kept;
    for (size_t i = 0; i < reduced.size(); ++i) {
        if (!reduced[i]) {
            kept.push_back(view.dim[i]);
        }
    }
    return View::Dense(kept);
}

}  // namespace opgen

#endif  // OPGEN_HOST_ROW_AXES_H
