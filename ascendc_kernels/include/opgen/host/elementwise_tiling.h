// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of elementwise kernels: one contiguous range (flat), or boxes of a broadcast.
// C++11, no CANN header needed.
#ifndef OPGEN_HOST_ELEMENTWISE_TILING_H
#define OPGEN_HOST_ELEMENTWISE_TILING_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "box_shape.h"
#include "iteration_space.h"
#include "tile_budget.h"
#include "view.h"

namespace opgen {

// What a kernel takes per element of a tile: bytes of UB, and cycles of the vector unit.
struct ElementwiseBudget {
    double flatBytes;
    double boxBytes;
    double vectorCycles;
    int64_t reserved;   // does not grow with the tile
    int64_t pitchUnit;  // elements of the narrowest type in 32 bytes
};

struct ElementwiseTiling {
    bool flat = true;
    int64_t total = 0;
    int64_t cores = 1;
    int64_t tileLength = 0;
    int64_t edgeLength = 0;  // flat: of the first and the last tile of a core; 0: as of the others
    // Of boxes only.
    int64_t outerDims[kMaxDims - 2] = {};
    int64_t rowCount = 0;
    int64_t colCount = 0;
    int64_t boxRows = 0;
    int64_t boxCols = 0;
    int64_t pitchUnit = 0;              // rows of a tile start at multiples of it
    std::vector<OperandWalk> walks;     // per operand
    std::vector<OperandBounds> bounds;  // per operand

    // dims: what the kernel works through; operands: inputs, outputs, and numbers counted from the
    // index. Returns why there is no
    // tiling, "" when there is one.
    std::string Choose(const std::vector<int64_t>& dims, const std::vector<Operand>& given,
                       const ElementwiseBudget& budget, uint64_t ubSize, const CoreRates& rates,
                       int64_t coresOfChip, const Schedule& asked = Schedule()) {
        const std::vector<Operand> operands = Shaped(given, dims);
        // Of no elements nothing is read, and a size that a reshape leaves open is not known.
        const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
        for (size_t i = 0; i < operands.size(); ++i) {
            const std::string refusal = BroadcastRefusal(operands[i], dims);
            if (!refusal.empty() && !empty) {
                return refusal;
            }
        }
        if (!Addressable(dims)) {
            return UnreachableText(dims);
        }
        IterationSpace space;
        space.Build(dims, operands);
        flat = space.IsFlat();
        total = space.Total();
        const double bytes = flat ? budget.flatBytes : budget.boxBytes;
        const int64_t longest = LongestTile(ubSize, budget.reserved, bytes, kUnit);
        if (longest == 0) {
            return NoTileText(ubSize, budget.reserved, bytes, kUnit);
        }
        double read = 0;
        double written = 0;
        CountBytes(space, operands, read, written);
        const double cycles = rates.Cycles(read, written, budget.vectorCycles);
        if (!flat) {
            pitchUnit = budget.pitchUnit;
            return ChooseBox(space, operands, asked.Tile(longest), cycles,
                             {budget.vectorCycles, rates}, coresOfChip, asked.cores > 0);
        }
        FlatTiles tiles;
        tiles.Choose(CeilDiv(total, kUnit), longest, cycles, coresOfChip, asked);
        cores = tiles.cores;
        if (asked.tile == 0 && asked.buffers == 0) {
            tiles.ChooseEdges(CeilDiv(CeilDiv(total, kUnit), cores) * kUnit, longest,
                              TileTimes(read, written, budget.vectorCycles, rates, cores));
        }
        tileLength = tiles.length;
        edgeLength = tiles.edge;
        return "";
    }

 private:
    struct Rates {
        double vectorCycles;  // of an element
        const CoreRates& core;
    };
    // What another dimension of the rows has to save.
    static constexpr double kWorthwhileRows = 0.9;

    // The operands, those that the kernel does not read in the shape of the others: they cost
    // nothing and do not make a broadcast of the call.
    static std::vector<Operand> Shaped(std::vector<Operand> operands,
                                       const std::vector<int64_t>& dims) {
        for (Operand& operand : operands) {
            if (!operand.present) {
                operand.view = View::Dense(dims);
                operand.bytes = 0;
            }
        }
        return operands;
    }

    // Of an element; an operand that is the same for all rows and columns is hardly ever copied.
    static void CountBytes(const IterationSpace& space, const std::vector<Operand>& operands,
                           double& read, double& written) {
        for (size_t i = 0; i < operands.size(); ++i) {
            const std::vector<int64_t>& steps = space.stride[i];
            const size_t inner = steps.size() < 2 ? 0 : steps.size() - 2;
            const bool moves = std::any_of(steps.begin() + static_cast<int64_t>(inner), steps.end(),
                                           [](int64_t step) { return step != 0; });
            (operands[i].written ? written : read) +=
                moves ? static_cast<double>(operands[i].bytes) : 0;
        }
    }
    std::string ChooseBox(IterationSpace& space, const std::vector<Operand>& operands,
                          int64_t longest, double cycles, const Rates& rates, int64_t coresOfChip,
                          bool allCores) {
        const int64_t transposePitch = std::max(pitchUnit, kTransposeBlock);
        const int64_t group = space.dim.empty() ? 1 : std::max<int64_t>(2, space.dim.back());
        const int64_t groups = longest / AlignUp(kUnit, pitchUnit * group);
        const bool blocks = longest >= kTransposeBlock * transposePitch;
        const bool wideBlocks = longest >= 2 * kTransposeBlock * transposePitch;
        // few columns that lie far apart are read one by one, many are transposed if they can be
        if (space.GroupColumns(operands, groups, kTransposedGroup)) {
            pitchUnit *= group;
        } else if ((blocks && space.TransposeRows(operands)) ||
                   (wideBlocks && space.TransposeGroups(operands))) {
            pitchUnit = transposePitch;
        } else if (space.GroupColumns(operands, groups, kLargestGroup)) {
            pitchUnit *= group;
        } else if (!space.ReadBetween(operands, longest / kUnit)) {
            space.EnsureUnitColumns();
            space.LeaveBackwardRows(operands);
        }
        if (!space.PadToMax()) {
            return "the shapes do not collapse to " + std::to_string(kMaxDims) +
                   " dimensions: " + ShapeText(space.dim);
        }
        // A box fills a part of a tile where more than its elements is read.
        const int64_t unit = AlignUp(kUnit, pitchUnit);
        const int64_t room = space.step > 1 ? longest / space.step / unit * unit : longest;
        BoxShape box;
        box.Choose(space, room, pitchUnit, operands, cycles, coresOfChip, allCores);
        ChooseRows(space, box, operands, room, rates, coresOfChip, allCores);
        cores = box.cores;
        tileLength = longest;
        std::copy(space.dim.begin(), space.dim.end() - 2, outerDims);
        rowCount = space.dim[kMaxDims - 2];
        colCount = space.dim[kMaxDims - 1];
        boxRows = box.rows;
        boxCols = box.cols;
        for (size_t i = 0; i < operands.size(); ++i) {
            walks.push_back(space.Walk(i));
            bounds.push_back(space.Bounds(i));
        }
        return "";
    }
    // Let the rows of boxes be those of another dimension where a core is ready sooner by them:
    // few rows fill a small part of a tile, and each tile has the start-ups of its instructions.
    void ChooseRows(IterationSpace& space, BoxShape& box, const std::vector<Operand>& operands,
                    int64_t room, const Rates& rates, int64_t coresOfChip, bool allCores) const {
        if (space.transposed) {
            return;
        }
        const IterationSpace given = space;
        double least = kWorthwhileRows * BoxCycles(given, box, operands, rates);
        for (size_t axis = 0; axis + 2 < static_cast<size_t>(kMaxDims); ++axis) {
            if (given.dim[axis] <= given.dim[kMaxDims - 2] || !given.CanBeRows(axis, operands)) {
                continue;
            }
            IterationSpace other = given;
            other.MoveBeforeLast(axis);
            BoxShape shape;
            shape.Choose(other, room, pitchUnit, operands, ElementCycles(other, operands, rates),
                         coresOfChip, allCores);
            const double cycles = BoxCycles(other, shape, operands, rates);
            if (cycles < least) {
                least = cycles;
                space = other;
                box = shape;
            }
        }
    }
    static double ElementCycles(const IterationSpace& space, const std::vector<Operand>& operands,
                                const Rates& rates) {
        double read = 0;
        double written = 0;
        CountBytes(space, operands, read, written);
        return rates.core.Cycles(read, written, rates.vectorCycles);
    }
    // What the core with the most boxes takes.
    static double BoxCycles(const IterationSpace& space, const BoxShape& box,
                            const std::vector<Operand>& operands, const Rates& rates) {
        const double tile = kTileCycles + StartCycles(rates.vectorCycles) +
                            box.elements * ElementCycles(space, operands, rates);
        return static_cast<double>(CeilDiv(box.boxes, box.cores)) * tile;
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_ELEMENTWISE_TILING_H
