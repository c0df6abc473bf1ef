// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of kernels that resample planes: rows of results, and the columns of them that
// a tile has. C++11, no CANN header needed.
#ifndef OPGEN_HOST_RESIZE_SPACE_H
#define OPGEN_HOST_RESIZE_SPACE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

constexpr int64_t kResizeAxes = 3;          // depth, height, width
constexpr int64_t kResizePerCore = 1024;    // results, below which a further core gains nothing
constexpr int64_t kResizeTile = 4096;       // results of a tile, unless a row has more
constexpr int64_t kLongestAxis = 1 << 24;   // that float32 numbers count exactly

constexpr int64_t kResizeBatch = 2048;      // results whose columns are taken at once, or one row

// UB bytes per element of a row that is loaded, per element of the rows that are held, per column
// of a batch, and per result of a tile.
struct ResizeBudget {
    double loaded;
    double held;
    double column;
    double result;
};

class ResizeSpace {
 public:
    int64_t inputs[kResizeAxes] = {1, 1, 1};
    int64_t outputs[kResizeAxes] = {1, 1, 1};
    float ratios[kResizeAxes] = {1, 1, 1};
    int64_t planes = 1;
    std::vector<int64_t> shape;  // of the results
    std::string refusal;

    int64_t tileRows = 1;
    int64_t tileColumns = 1;
    int64_t rows = 0;  // of all results
    int64_t inputPitch = 0;   // elements of a row that UB has room for
    int64_t outputPitch = 0;  // elements from one row of results to the next in UB
    int64_t batch = 1;         // rows whose columns are taken at once
    bool columnsFirst = false;  // of rows that are loaded; else of their sums
    int64_t cores = 1;

    // The last axes of a tensor, resampled to `lengths`; ratios: elements of it under a result.
    // taps: elements along an axis that a result is made of.
    static ResizeSpace Of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& lengths,
                          const std::vector<double>& ratios, int64_t taps) {
        ResizeSpace space;
        space.taps_ = taps;
        const size_t axes = lengths.size();
        if (sizes.size() < axes) {
            space.refusal = "shape " + ShapeText(sizes) + " has fewer axes than are resized";
            return space;
        }
        space.shape = sizes;
        const size_t before = sizes.size() - axes;
        for (size_t i = 0; i < before; ++i) {
            space.planes = Times(space.planes, sizes[i]);
        }
        for (size_t i = 0; i < axes; ++i) {
            const size_t at = kResizeAxes - axes + i;
            space.inputs[at] = sizes[before + i];
            space.outputs[at] = lengths[i];
            space.ratios[at] = static_cast<float>(ratios[i]);
            space.shape[before + i] = lengths[i];
            if (sizes[before + i] < 1 || lengths[i] < 1) {
                space.refusal = "an axis of " + std::to_string(sizes[before + i]) +
                                " elements cannot be resized to " + std::to_string(lengths[i]);
            } else if (sizes[before + i] > kLongestAxis || lengths[i] > kLongestAxis) {
                space.refusal = "axes of more than 2^24 elements cannot be resized";
            } else if (!std::isfinite(space.ratios[at]) || space.ratios[at] < 0) {
                space.refusal = "a scale must be a positive number";
            }
        }
        if (space.refusal.empty() && (!Addressable(sizes) || !Addressable(space.shape))) {
            space.refusal = "shape " + ShapeText(space.shape) + " has too many elements";
        }
        return space;
    }
    // Choose tiles. room: bytes of UB.
    void Choose(const ResizeBudget& budget, int64_t room, int64_t coresOfChip) {
        const int64_t width = outputs[kResizeAxes - 1];
        rows = Times(planes, Times(outputs[0], outputs[1]));
        columnsFirst = outputs[0] * outputs[1] >= inputs[0] * inputs[1];
        tileColumns = width;
        tileRows = 1;
        while (!Holds(budget, room)) {
            if (tileColumns <= kLanes) {
                refusal = "UB has no room for " + std::to_string(inputPitch) +
                          " elements of a row, " + std::to_string(room) + " bytes";
                return;
            }
            tileColumns = AlignUp(CeilDiv(tileColumns, 2), kLanes);
        }
        const int64_t columnTiles = CeilDiv(width, tileColumns);
        const int64_t worthwhile = std::max<int64_t>(1, Times(rows, width) / kResizePerCore);
        const int64_t used = std::min(coresOfChip, worthwhile);
        const int64_t parts = std::max<int64_t>(1, CeilDiv(used, columnTiles));
        tileRows = std::min(CeilDiv(rows, parts), std::max<int64_t>(1, kResizeTile / outputPitch));
        tileRows = std::max<int64_t>(1, std::min(tileRows, kMaxBlockCount));
        batch = columnsFirst ? 1 : std::min(tileRows, std::max<int64_t>(1, kResizeBatch / outputPitch));
        while (tileRows > 1 && !Holds(budget, room)) {
            batch = CeilDiv(batch, 2);
            tileRows = batch > 1 ? tileRows : CeilDiv(tileRows, 2);
        }
        const int64_t tiles = Times(CeilDiv(rows, tileRows), columnTiles);
        cores = std::max<int64_t>(1, std::min(used, tiles));
        cores = tiles > 0 ? CeilDiv(tiles, CeilDiv(tiles, cores)) : 1;
    }

 private:
    // Whether UB holds a tile; sets the lengths of rows in UB.
    bool Holds(const ResizeBudget& budget, int64_t room) {
        const int64_t width = inputs[kResizeAxes - 1];
        const double apart = ratios[kResizeAxes - 1];
        // the first and the last result of a tile, what they are made of, and rounding
        const double reach = std::ceil(static_cast<double>(tileColumns) * apart * kRounding);
        const int64_t needed = static_cast<int64_t>(std::min(reach, static_cast<double>(width)));
        inputPitch = AlignUp(std::min(width, needed + taps_ + 1), kLanes);
        outputPitch = AlignUp(tileColumns, kLanes);
        const int64_t held = columnsFirst ? outputPitch : inputPitch;
        const double columns = budget.column * static_cast<double>(batch) + kShareBytes;
        const double results = budget.result * static_cast<double>(tileRows);
        return (budget.loaded + kSumBytes * static_cast<double>(batch)) *
                       static_cast<double>(inputPitch) +
                   budget.held * static_cast<double>(held) +
                   (columns + results) * static_cast<double>(outputPitch) <=
               static_cast<double>(room);
    }

    static constexpr double kSumBytes = 4;
    static constexpr double kShareBytes = 4;
    static constexpr int64_t kLanes = 16;  // a block of half
    static constexpr double kRounding = 1.0000005;

    int64_t taps_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_HOST_RESIZE_SPACE_H
