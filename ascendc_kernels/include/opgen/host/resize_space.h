// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of kernels that resample planes: rows of results, and the columns of them
// that a tile has. C++11, no CANN header needed.
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

constexpr int64_t kResizeAxes = 3;         // depth, height, width
constexpr int64_t kResizePerCore = 1024;   // results, below which a further core gains nothing
constexpr int64_t kResizeTile = 4096;      // results of a tile, unless a row has more
constexpr int64_t kLongestAxis = 1 << 24;  // that float32 numbers count exactly

constexpr int64_t kResizeBatch = 2048;  // results whose columns are taken at once, or one row

// UB bytes per element of a row that is loaded, per column of a batch, and per result of a tile;
// and how many planes, and rows of each of them, a row of the results is a sum of.
struct ResizeBudget {
    double element;
    double column;
    double result;
    double depths;
    double heights;
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
    int64_t rows = 0;         // of all results
    int64_t inputPitch = 0;   // elements of a row that UB has room for
    int64_t outputPitch = 0;  // elements from one row of results to the next in UB
    int64_t batch = 1;        // rows whose columns are taken at once
    int64_t blockRows = 0;    // rows of a plane that are loaded at once; 0: each by itself
    int64_t cores = 1;

    // The last axes of a tensor, resampled to `lengths`. scales: given ones, of each axis; none:
    // the results have the ends of the tensor. corners: the first and the last elements of an axis
    // are those of the results. taps: elements along an axis that a result is made of.
    static ResizeSpace Of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& lengths,
                          const std::vector<double>& scales, bool corners, int64_t taps) {
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
            const double scale = scales.empty() ? 0.0 : scales[i];
            space.ratios[at] = Ratio(sizes[before + i], lengths[i], scale, corners);
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
        if (axes == 1) {  // rows of all planes follow one another
            std::swap(space.planes, space.inputs[1]);
            space.outputs[1] = space.inputs[1];
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
        const bool byBlocks = ratios[1] <= 1;  // rows of results need all rows between theirs
        tileColumns = width;
        SetRows(1, byBlocks);
        while (!Holds(budget, room)) {
            if (tileColumns == 1) {
                refusal = "UB has no room for " + std::to_string(inputPitch) +
                          " elements of a row, " + std::to_string(room) + " bytes";
                return;
            }
            const int64_t half = CeilDiv(tileColumns, 2);
            tileColumns = tileColumns > kLanes ? AlignUp(half, kLanes) : half;
        }
        const int64_t columnTiles = CeilDiv(width, tileColumns);
        const int64_t worthwhile = std::max<int64_t>(1, Times(rows, width) / kResizePerCore);
        const int64_t used = std::min(coresOfChip, worthwhile);
        const int64_t parts = std::max<int64_t>(1, CeilDiv(used, columnTiles));
        const int64_t most = std::max<int64_t>(1, kResizeTile / outputPitch);
        SetRows(std::max<int64_t>(1, std::min(CeilDiv(rows, parts), most)), byBlocks);
        while (tileRows > 1 && !Holds(budget, room)) {
            SetRows(CeilDiv(tileRows, 2), byBlocks);
        }
        const int64_t tiles = Times(CeilDiv(rows, tileRows), columnTiles);
        cores = std::max<int64_t>(1, std::min(used, tiles));
        cores = tiles > 0 ? CeilDiv(tiles, CeilDiv(tiles, cores)) : 1;
    }

 private:
    // Elements of an axis under one of the results; scale 0: not given.
    static float Ratio(int64_t input, int64_t output, double scale, bool corners) {
        if (corners) {
            return static_cast<float>(static_cast<double>(input - 1) /
                                      static_cast<double>(std::max<int64_t>(output - 1, 1)));
        }
        return static_cast<float>(
            scale == 0.0 ? static_cast<double>(input) / static_cast<double>(output) : 1.0 / scale);
    }
    // Set the rows of a tile, and how many rows are taken together.
    void SetRows(int64_t rowsOfTile, bool byBlocks) {
        tileRows = std::min(rowsOfTile, kMaxBlockCount);
        const int64_t most = std::max<int64_t>(1, kResizeBatch / AlignUp(tileColumns, kLanes));
        batch = std::min(tileRows, most);
        if (byBlocks) {
            const double reach = std::ceil(static_cast<double>(tileRows) * ratios[1]);
            const int64_t needed =
                static_cast<int64_t>(std::min(reach, static_cast<double>(inputs[1])));
            blockRows = std::max<int64_t>(taps_, std::min(inputs[1], needed + taps_ + 1));
            blockRows = std::min(blockRows, kMaxBlockCount);
            batch = std::min(blockRows, most);
        }
    }
    // Whether UB holds a tile; sets the lengths of rows in UB.
    bool Holds(const ResizeBudget& budget, int64_t room) {
        const int64_t width = inputs[kResizeAxes - 1];
        const double apart = ratios[kResizeAxes - 1];
        // the first and the last result of a tile, what they are made of, and rounding
        const double reach =
            std::ceil(static_cast<double>(tileColumns - 1) * apart * kRounding) + kSlack;
        const int64_t needed = static_cast<int64_t>(std::min(reach, static_cast<double>(width)));
        inputPitch = AlignUp(std::min(width, needed + taps_ + 1), kLanes);
        outputPitch = AlignUp(tileColumns, kLanes);
        const double in = static_cast<double>(inputPitch);
        const double out = static_cast<double>(outputPitch);
        const double rows = static_cast<double>(blockRows);
        const double each = static_cast<double>(batch);
        const double sum = budget.depths * budget.heights;
        const double bySums =
            in * ((kBuffers * budget.element + kFloatBytes) * sum + kFloatBytes * each);
        const double byBlocks = rows * (in * (kBuffers * budget.element + kFloatBytes) +
                                        out * kFloatBytes * budget.depths);
        const double columns = budget.column * each + kFloatBytes;
        return (blockRows > 0 ? byBlocks : bySums) +
                   out * (columns + budget.result * static_cast<double>(tileRows)) <=
               static_cast<double>(room);
    }

    static constexpr double kBuffers = 2;
    static constexpr double kFloatBytes = 4;
    static constexpr int64_t kLanes = 16;  // a block of half
    static constexpr double kRounding = 1.0000005;
    static constexpr double kSlack = 2;  // float32 positions near 2^24 are off by one each

    int64_t taps_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_HOST_RESIZE_SPACE_H
