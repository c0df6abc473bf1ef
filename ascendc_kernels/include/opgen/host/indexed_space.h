// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of kernels that move rows by index: what the items are, how long a row is,
// and which cores make which. C++11, no CANN header needed.
#ifndef OPGEN_HOST_INDEXED_SPACE_H
#define OPGEN_HOST_INDEXED_SPACE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "tile_budget.h"
#include "view.h"

namespace opgen {

constexpr int64_t kBlockOfCopy = 32;             // bytes that a copy to UB starts at a multiple of
constexpr int64_t kMaxRowTile = 64 * 1024;       // bytes of a tile of rows; longer gain nothing
constexpr int64_t kFarthest = kMaxRowBytes / 8;  // elements from row to row of a copy
constexpr int64_t kWindowItemBytes = 24 * 1024;  // of UB for the values of a batch
constexpr int64_t kBytesPerCore = 32 * 1024;  // of rows, below which a further core gains nothing
constexpr double kItemCycles = 50;            // of a row that is copied by itself, at least

// Items are the points of a space, each with an index per indexed axis of the table. `operands` are
// the table without its indexed axes, the indices, and where an item has one, the row beside it
// (the values that are scattered): a stride per dimension of the space, 0 where all items share.
struct IndexedSpace {
    std::vector<int64_t> dims;
    std::vector<int64_t> shape;                // of what is moved: dims before axes were joined
    std::vector<std::vector<int64_t> > steps;  // per operand, per dimension
    std::vector<int64_t> axisSizes;            // per index
    std::vector<int64_t> axisSteps;
    std::vector<int64_t> indexOffsets;
    int64_t tableOffset = 0;
    int64_t valueOffset = 0;
    int64_t rowLength = 1;  // elements that lie together and have the same indices
    std::string refusal;

    // Of a space whose indices stand for whole axes: [before, indices, behind].
    // first: the first indexed axis of the table; with `values`, the last operand, of the shape of
    // the space; written: whether the table is, not read.
    static IndexedSpace OfRows(const View& whole, int64_t first, const std::vector<View>& indices,
                               const View* values = nullptr, bool written = false) {
        IndexedSpace space;
        const View table = indices.size() == 1 ? WithAxis(whole) : whole;
        size_t from = 0;
        const size_t count = indices.size();
        if (!table.Axis(first, from) || from + count > table.dim.size()) {
            space.refusal = "a table of shape " + ShapeText(whole.dim) + " has no axis " +
                            std::to_string(first) + " to index";
            return space;
        }
        std::vector<int64_t> named;
        for (size_t k = 0; k < count; ++k) {
            if (!BroadcastDims(named, indices[k].dim)) {
                space.refusal = "indices of shape " + ShapeText(indices[k].dim) +
                                " do not broadcast with " + ShapeText(named);
                return space;
            }
        }
        space.steps.assign(1 + count, std::vector<int64_t>());
        for (size_t i = 0; i < from; ++i) {
            space.AddAxis(table.dim[i], table.stride[i]);
        }
        for (size_t i = 0; i < named.size(); ++i) {
            space.AddAxis(named[i], 0);
            for (size_t k = 0; k < count; ++k) {
                space.steps[1 + k].back() = StepOf(indices[k], named.size(), i);
            }
        }
        for (size_t i = from + count; i < table.dim.size(); ++i) {
            space.AddAxis(table.dim[i], table.stride[i]);
        }
        space.TakeIndexed(table, from, indices);
        space.Finish(table, values, written);
        return space;
    }
    // Of a space with an index per element: the shape of the index, `dims`.
    static IndexedSpace OfElements(const View& table, int64_t axis, const View& index,
                                   const std::vector<int64_t>& dims, const View* values = nullptr,
                                   bool written = false) {
        IndexedSpace space;
        const View whole = WithAxis(table);
        std::vector<int64_t> sizes = dims.empty() ? std::vector<int64_t>(1, 1) : dims;
        size_t at = 0;
        if (!whole.Axis(axis, at) || sizes.size() != whole.dim.size()) {
            space.refusal = "a table of shape " + ShapeText(table.dim) +
                            " has no element for each index of shape " + ShapeText(dims);
            return space;
        }
        space.steps.assign(2, std::vector<int64_t>());
        for (size_t i = 0; i < sizes.size(); ++i) {
            if (i != at && sizes[i] > whole.dim[i]) {
                space.refusal = "indices of shape " + ShapeText(dims) +
                                " reach beyond a table of shape " + ShapeText(table.dim);
                return space;
            }
            space.AddAxis(sizes[i], i == at ? 0 : whole.stride[i]);
            space.steps[1].back() = StepOf(index, sizes.size(), i);
        }
        space.TakeIndexed(whole, at, {index});
        space.Finish(whole, values, written);
        return space;
    }
    int64_t Items() const {
        int64_t total = rowLength == 0 ? 0 : 1;
        for (size_t i = 0; i < dims.size(); ++i) {
            total = Times(total, dims[i]);
        }
        return total;
    }
    // The sizes as the kernel reads them: kMaxDims, the last ones last.
    void Pack(int64_t* packed) const {
        for (int32_t i = 0; i < kMaxDims; ++i) {
            const int64_t at = i - kMaxDims + static_cast<int64_t>(dims.size());
            packed[i] = at < 0 ? 1 : dims[static_cast<size_t>(at)];
        }
    }
    void PackSteps(size_t operand, int64_t* packed) const {
        for (int32_t i = 0; i < kMaxDims; ++i) {
            const int64_t at = i - kMaxDims + static_cast<int64_t>(dims.size());
            packed[i] = at < 0 ? 0 : steps[operand][static_cast<size_t>(at)];
        }
    }

 private:
    // A table without axes has one element, and is indexed along an axis of size 1.
    static View WithAxis(View table) {
        if (table.dim.empty()) {
            table.dim.assign(1, 1);
            table.stride.assign(1, 1);
            table.TakeAll();
        }
        return table;
    }
    void AddAxis(int64_t size, int64_t tableStep) {
        dims.push_back(size);
        for (size_t k = 0; k < steps.size(); ++k) {
            steps[k].push_back(k == 0 ? tableStep : 0);
        }
    }
    static int64_t StepOf(const View& view, size_t rank, size_t i) {
        const int64_t at = DimensionBehind(view, rank, i);
        return at < 0 ? 0 : view.stride[static_cast<size_t>(at)];
    }
    void TakeIndexed(const View& table, size_t from, const std::vector<View>& indices) {
        for (size_t k = 0; k < indices.size(); ++k) {
            indexOffsets.push_back(indices[k].offset);
            axisSizes.push_back(table.dim[from + k]);
            axisSteps.push_back(table.stride[from + k]);
        }
        tableOffset = table.offset;
    }
    void Finish(const View& table, const View* values, bool written) {
        if (!Addressable(table.dim) || !Addressable(dims)) {
            refusal = UnreachableText(Addressable(dims) ? table.dim : dims);
            return;
        }
        if (values != nullptr) {
            // no items take no values, whose sizes need not be known
            const bool nothing = Numel(*values) == 0 && Items() == 0;
            if (!nothing && !BroadcastsTo(values->dim, dims)) {
                refusal = "values of shape " + ShapeText(values->dim) + " do not broadcast to " +
                          ShapeText(dims);
                return;
            }
            std::vector<int64_t> own;
            for (size_t i = 0; i < dims.size(); ++i) {
                own.push_back(nothing ? 0 : StepOf(*values, dims.size(), i));
            }
            steps.push_back(own);
            valueOffset = values->offset;
        }
        shape = dims;
        Collapse(values != nullptr, written);
        if (dims.size() > static_cast<size_t>(kMaxDims)) {
            refusal = "the items of the indices have more than 8 axes that cannot be joined";
        }
    }
    // Join axes that lie together in all operands, and take the last one out where a row of it
    // lies together and has the same indices.
    void Collapse(bool hasValues, bool written) {
        for (size_t i = dims.size(); i > 0; --i) {
            if (dims[i - 1] == 1) {
                Erase(i - 1);
            }
        }
        for (size_t i = dims.size(); i > 1; --i) {
            bool joined = true;
            for (size_t k = 0; k < steps.size(); ++k) {
                joined = joined && steps[k][i - 2] == Times(steps[k][i - 1], dims[i - 1]);
            }
            if (joined) {
                dims[i - 2] = Times(dims[i - 2], dims[i - 1]);
                for (size_t k = 0; k < steps.size(); ++k) {
                    steps[k][i - 2] = steps[k][i - 1];
                }
                Erase(i - 1);
            }
        }
        if (dims.empty()) {
            return;
        }
        bool row = steps[0].back() == 1 && (!hasValues || steps.back().back() == 1);
        for (size_t k = 0; k < axisSizes.size(); ++k) {
            row = row && steps[1 + k].back() == 0;
        }
        // what is written is divided into rows: none begins within another
        for (size_t i = 0; row && written && i + 1 < dims.size(); ++i) {
            row = dims.back() > 0 && steps[0][i] % dims.back() == 0;
        }
        for (size_t k = 0; row && written && k < axisSteps.size(); ++k) {
            row = dims.back() > 0 && axisSteps[k] % dims.back() == 0;
        }
        if (row) {
            rowLength = dims.back();
            Erase(dims.size() - 1);
        }
    }
    void Erase(size_t axis) {
        dims.erase(dims.begin() + static_cast<int64_t>(axis));
        for (size_t k = 0; k < steps.size(); ++k) {
            steps[k].erase(steps[k].begin() + static_cast<int64_t>(axis));
        }
    }
};

// How a core moves its rows: several to a tile, or pieces of one where a row is longer than a tile.
struct RowTiling {
    int64_t rowsPerTile = 1;
    int64_t rowPitch = 0;     // elements between the rows of a tile
    int64_t pieceLength = 0;  // elements of a row that a tile holds
    int64_t pieces = 1;       // of a row
    int64_t cores = 1;

    // bytesOfTile: bytes of UB per element of a tile, over all its buffers; reserved: bytes that do
    // not grow with the tile; elementBytes: of the narrowest tensor whose rows lie in the tile.
    // Returns why there is no tiling, "" when there is one.
    std::string Choose(const IndexedSpace& space, double bytesOfTile, int64_t reserved,
                       int64_t elementBytes, uint64_t ubSize, int64_t coresOfChip) {
        if (!space.refusal.empty()) {
            return space.refusal;
        }
        const int64_t unit = kBlockOfCopy / elementBytes;
        const int64_t room = static_cast<int64_t>(ubSize) - reserved;
        int64_t tile = std::min(static_cast<int64_t>(static_cast<double>(room) / bytesOfTile),
                                kMaxRowTile / elementBytes);
        tile = tile / unit * unit;
        if (room <= 0 || tile < unit) {
            return "UB has no room for a tile of rows";
        }
        const int64_t items = space.Items();
        rowPitch = AlignUp(std::max<int64_t>(1, space.rowLength), unit);
        // Few long rows: every core takes pieces of them.
        const int64_t bytes = Times(Times(items, space.rowLength), elementBytes);
        const double copies = static_cast<double>(items) * kItemCycles;
        const int64_t byCopies = static_cast<int64_t>(std::sqrt(copies / kLaunchCycles));
        const int64_t paying = std::max(CeilDiv(bytes, kBytesPerCore), byCopies);
        const int64_t wanted = std::max<int64_t>(1, std::min(coresOfChip, paying));
        if (items < wanted && items > 0) {
            const int64_t each = CeilDiv(space.rowLength, CeilDiv(wanted, items));
            tile = std::min(tile, AlignUp(each, unit));
        }
        if (rowPitch > tile) {
            rowPitch = tile;
            pieceLength = tile;
            pieces = CeilDiv(space.rowLength, tile);
            rowsPerTile = 1;
        } else {
            pieceLength = space.rowLength;
            pieces = 1;
            rowsPerTile = std::min(tile / rowPitch, kMaxBlockCount);
            // every core has work before a tile is full
            rowsPerTile = std::max<int64_t>(1, std::min(rowsPerTile, CeilDiv(items, wanted)));
        }
        cores = std::max<int64_t>(1, std::min(wanted, Times(items, pieces)));
        return "";
    }
};

// How the cores share a tensor that values are scattered to. Each core owns windows of it, which it
// holds in UB, and goes through the items that may lie in them in their order: no two cores write
// to the same element, and results do not depend on how many cores there are.
struct WindowTiling {
    int64_t rows = 0;  // of the tensor
    int64_t rowsPerWindow = 1;
    int64_t rowPitch = 0;     // elements between the rows of a window
    int64_t pieceLength = 0;  // elements of a row in a window
    int64_t pieces = 1;       // of a row
    int64_t slabRows = 0;     // consecutive rows of the tensor that slabItems consecutive items
    int64_t slabItems = 0;    // lie in
    int64_t cores = 1;

    // total: elements of the tensor; bytesOfTile, reserved, elementBytes: see RowTiling.
    // bytesOfWindow: of the window alone; the rest is for the row that is joined. byElement:
    // whether the kernel takes the items of single elements by the batch.
    std::string Choose(const IndexedSpace& space, int64_t total, double bytesOfTile,
                       int64_t reserved, int64_t elementBytes, uint64_t ubSize, int64_t coresOfChip,
                       double bytesOfWindow, bool byElement) {
        if (!space.refusal.empty()) {
            return space.refusal;
        }
        const int64_t unit = kBlockOfCopy / elementBytes;
        const int64_t room = static_cast<int64_t>(ubSize) - reserved;
        const int64_t tile =
            static_cast<int64_t>(static_cast<double>(room) / bytesOfTile) / unit * unit;
        if (room <= 0 || tile < unit) {
            return "UB has no room for a window of rows";
        }
        const int64_t length = std::max<int64_t>(1, space.rowLength);
        rows = total / length;
        const int64_t wanted =
            std::max<int64_t>(1, std::min(coresOfChip, CeilDiv(Times(total, elementBytes), 4096)));
        if (byElement && length == 1 && IsBatched(space) &&
            TakeElements(room, wanted, bytesOfWindow)) {
            TakeSlabs(space);
            return "";
        }
        rowPitch = std::min(AlignUp(length, unit), tile);
        pieceLength = std::min(length, rowPitch);
        pieces = CeilDiv(length, pieceLength);
        const double values = (bytesOfTile - bytesOfWindow) * static_cast<double>(rowPitch);
        const double fit =
            (static_cast<double>(room) - values) / (bytesOfWindow * static_cast<double>(rowPitch));
        rowsPerWindow = pieces > 1 ? 1 : std::min(static_cast<int64_t>(fit), kMaxBlockCount);
        rowsPerWindow = std::max<int64_t>(1, std::min(rowsPerWindow, CeilDiv(rows, wanted)));
        cores = std::max<int64_t>(1, std::min(wanted, CeilDiv(rows, rowsPerWindow) * pieces));
        TakeSlabs(space);
        return "";
    }

 private:
    // Whether the indices and the values of a batch of items lie together, or are one each.
    static bool IsBatched(const IndexedSpace& space) {
        for (size_t k = 1; k < space.steps.size(); ++k) {
            const int64_t step = space.dims.empty() ? 0 : space.steps[k].back();
            if (step != 0 && step != 1) {
                return false;
            }
        }
        return true;
    }
    // Windows of single elements, one behind the other; false: too many for int32, or no room.
    bool TakeElements(int64_t room, int64_t wanted, double bytesOfWindow) {
        const int64_t unit = 64;
        const int64_t most =
            static_cast<int64_t>(static_cast<double>(room - kWindowItemBytes) / bytesOfWindow) /
            unit * unit;
        if (room <= kWindowItemBytes || most < unit || rows > INT32_MAX) {
            return false;
        }
        rowsPerWindow = std::max(unit, std::min(most, AlignUp(CeilDiv(rows, wanted), unit)));
        rowPitch = pieceLength = pieces = 1;
        cores = std::max<int64_t>(1, std::min(wanted, CeilDiv(rows, rowsPerWindow)));
        return true;
    }
    // The first axis of the items divides the tensor where all that follows lies within its step.
    void TakeSlabs(const IndexedSpace& space) {
        slabRows = std::max<int64_t>(1, rows);
        slabItems = space.Items();
        if (space.dims.size() < 2) {
            return;
        }
        const int64_t step = space.steps[0][0];
        int64_t reach = std::max<int64_t>(1, space.rowLength) - 1;
        for (size_t i = 1; i < space.dims.size(); ++i) {
            reach += std::max<int64_t>(0, space.dims[i] - 1) * space.steps[0][i];
        }
        for (size_t k = 0; k < space.axisSizes.size(); ++k) {
            reach += std::max<int64_t>(0, space.axisSizes[k] - 1) * space.axisSteps[k];
        }
        const int64_t part = step / std::max<int64_t>(1, space.rowLength);
        // the items reach all parts: none of the tensor's lies behind the last item
        if (step > reach && space.dims[0] > 0 && Times(part, space.dims[0]) == rows) {
            slabRows = part;
            slabItems = space.Items() / space.dims[0];
        }
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_INDEXED_SPACE_H
