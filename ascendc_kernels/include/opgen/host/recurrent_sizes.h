// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How the steps of recurrent layers are shared by cores, and what they keep in the workspace: see
// the kernel's recurrent_space.h. C++11, no CANN header needed.
#ifndef OPGEN_HOST_RECURRENT_SIZES_H
#define OPGEN_HOST_RECURRENT_SIZES_H

#include <algorithm>
#include <cstdint>
#include <string>

#include "sizes.h"

namespace opgen {

constexpr int64_t kRecurrentTile = 1024;   // elements of a tile of the kernel
constexpr int64_t kRecurrentTiles = 8;     // that hold the states of a vector core
constexpr int64_t kRecurrentWidth = 2048;  // the widest state

struct RecurrentSizes {
    // Given: of the call.
    int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
    int64_t width = 0;  // of the state that a step multiplies: hidden, or what it is projected to
    int64_t gates = 1, layers = 1, directions = 1;
    int64_t bytes = 4;  // of an element

    // Found by Share: rows of the batch that a group of cores takes together, the boxes that its
    // vector cores work on, blocks of the product of the inputs, groups, parts of the workspace.
    int64_t itemRows = 1, boxRows = 1, boxColumns = 1, widthColumns = 1;
    int64_t blockRows = 128, blockColumns = 256;
    int64_t groups = 1;
    int64_t resultsAt = 0, groupsAt = 0, groupBytes = 0;
    int64_t projectedAt = 0, stateAt = 0, unprojectedAt = 0;

    // A state of less than 32 bits is multiplied as the sum of two numbers.
    int64_t Parts() const { return bytes == 4 ? 1 : 2; }
    // Rows that the product of the states of an item has.
    int64_t ProductRows() const { return itemRows * Parts(); }
    bool Projected() const { return width != hidden; }
    int64_t Rows() const { return steps * batch; }
    int64_t Columns() const { return gates * hidden; }
    int64_t WorkspaceBytes() const { return groupsAt + groupBytes * groups; }

    // cubeCores: of the platform. Returns why the sizes are refused, "" where they are not.
    std::string Share(int64_t cubeCores) {
        if (hidden < 1 || width < 1 || inputs < 1) {
            return "inputSize, hiddenSize and a projection have 1 element at least";
        }
        if (std::max(hidden, width) > kRecurrentWidth) {
            return "a state of " + std::to_string(std::max(hidden, width)) +
                   " elements is wider than " + std::to_string(kRecurrentWidth);
        }
        const int64_t total = Times(Times(Rows(), Columns()), directions * 4);
        if (total > (INT64_C(1) << 46) || Rows() > INT32_MAX || Columns() > INT32_MAX) {
            return "the gates of all steps take more memory than a device has";
        }
        // A cube core multiplies 16 rows in the time of one; more where all groups have work.
        const int64_t most = CeilDiv(Times(batch, directions), cubeCores);
        itemRows = std::min<int64_t>(128, AlignUp(std::max<int64_t>(1, most), 16));
        while (itemRows > 1 && !Fits()) {
            itemRows /= 2;
        }
        Fits();
        const int64_t items = CeilDiv(batch, itemRows) * directions;
        const int64_t blocks =
            CeilDiv(Rows(), blockRows) * CeilDiv(Columns(), blockColumns) * directions;
        groups = std::max<int64_t>(1, std::min(cubeCores, std::max(items, blocks)));
        resultsAt = Place(Rows() * Columns() * directions * 4);
        groupsAt =
            resultsAt + (layers > 1 ? Place(Rows() * Parts() * directions * width * bytes) : 0);
        projectedAt = Place(ProductRows() * Columns() * 4);
        stateAt = projectedAt + (Projected() ? Place(ProductRows() * width * 4) : 0);
        unprojectedAt = stateAt + Place(ProductRows() * width * bytes);
        groupBytes = unprojectedAt + (Projected() ? Place(ProductRows() * hidden * bytes) : 0);
        return "";
    }

 private:
    static int64_t Place(int64_t size) { return AlignUp(size, 512); }
    // Chooses boxes for the half of an item that a vector core has; false: UB has too few tiles.
    bool Fits() {
        const int64_t rows = CeilDiv(itemRows, 2);
        boxRows = std::min<int64_t>(8, rows);
        boxColumns = Across(hidden);
        widthColumns = Across(width);
        return CeilDiv(rows, boxRows) * CeilDiv(hidden, boxColumns) <= kRecurrentTiles;
    }
    int64_t Across(int64_t columns) const {
        return std::min(AlignUp(columns, 64), kRecurrentTile / boxRows / 64 * 64);
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_RECURRENT_SIZES_H
