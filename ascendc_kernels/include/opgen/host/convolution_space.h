// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of convolutions: sizes of the product that one is, and the tiles of output
// positions whose columns cores gather and multiply. C++11, no CANN header needed.
#ifndef OPGEN_HOST_CONVOLUTION_SPACE_H
#define OPGEN_HOST_CONVOLUTION_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

constexpr int64_t kSpatialDims = 3;  // depth, height, width
constexpr int64_t kWidthDim = kSpatialDims - 1;
constexpr int64_t kColumnSlots = 2;  // tiles whose columns the workspace holds, per cube core
constexpr int64_t kCubeUnit = 16;    // rows and columns of a fractal

// What bounds the tiles of a convolution.
struct ConvolutionLimits {
    int64_t bytes;       // of an element
    int64_t cores;       // cube cores
    int64_t ub;          // bytes of a vector core
    int64_t l2;          // bytes that all cores share
    int64_t maxFilters;  // of a base block of the cube
    int64_t maxPositions;
};

struct ConvolutionSpace {
    int64_t images = 0, groups = 1;
    int64_t channels = 0;  // of the input, per group
    int64_t filters = 0;   // per group
    std::vector<int64_t> input, output, window, strides, paddings, dilations;
    // Elements from one of the input to the next where it is spread out, with zeros between them.
    std::vector<int64_t> spreads;
    // Elements between images, channels, depths and lines of the input, its first element, and
    // elements between groups.
    int64_t inputSteps[6] = {};
    int64_t resultSteps[2] = {};  // elements between images, and between filters, of the result
    bool filterGradient = false;  // images of the product are channels of the input
    bool inPlace = false;         // the input already lies as columns
    int64_t tileLines = 1, tileColumns = 1, tileFilters = 1;
    int64_t stepChannels = 1, stepColumns = 1;
    int64_t linePitch = 0, columnPitch = 0;
    int64_t cores = 1;

    // Read the sizes of a call; returns why it is no convolution, "" when it is one. The lists have
    // a number per spatial axis.
    std::string Read(const View& x, const View& weight, const std::vector<int64_t>& givenStrides,
                     const std::vector<int64_t>& givenPaddings,
                     const std::vector<int64_t>& givenDilations, int64_t givenGroups) {
        const std::string refusal =
            ReadNumbers(x, weight, givenStrides, givenPaddings, givenDilations, givenGroups);
        return refusal.empty() ? Place(x, weight) : refusal;
    }
    // Read the sizes of a transposed call: a plain convolution, in steps of one, of the input
    // spread out by the strides. `extra` is what the result has more at its end.
    std::string ReadTransposed(const View& x, const View& weight,
                               const std::vector<int64_t>& givenStrides,
                               const std::vector<int64_t>& givenPaddings,
                               const std::vector<int64_t>& givenDilations, int64_t givenGroups,
                               const std::vector<int64_t>& givenExtra) {
        const std::string refusal =
            ReadNumbers(x, weight, givenStrides, givenPaddings, givenDilations, givenGroups);
        if (!refusal.empty()) {
            return refusal;
        }
        const std::vector<int64_t> extra = Numbers(givenExtra, 0);
        for (size_t i = 0; i < static_cast<size_t>(kSpatialDims); ++i) {
            const int64_t whole = Times(input[i] - 1, strides[i]) + Reach(i) + extra[i];
            output[i] = whole - Times(2, paddings[i]);
            if (input[i] < 1 || extra[i] < 0 || output[i] < 1) {
                return "a transposed convolution makes " + std::to_string(output[i]) +
                       " positions of " + std::to_string(input[i]);
            }
            if (!FitsInt32(Times(whole, 2))) {
                return "a padded size is " + std::to_string(whole) + ", which is too large";
            }
            paddings[i] = Reach(i) - 1 - paddings[i];
        }
        spreads.swap(strides);
        return Lie(x, weight);
    }
    // Read the sizes of a call whose result has the first `sizes` of its positions.
    std::string ReadCut(const View& x, const View& weight, const std::vector<int64_t>& givenStrides,
                        const std::vector<int64_t>& givenPaddings,
                        const std::vector<int64_t>& givenDilations, int64_t givenGroups,
                        const std::vector<int64_t>& sizes) {
        const std::string refusal =
            Read(x, weight, givenStrides, givenPaddings, givenDilations, givenGroups);
        return refusal.empty() ? Keep(sizes, x, weight) : refusal;
    }
    // Read the sizes of a call that gives the gradient of filters of `sizes`. x: (images, channels,
    // ...) that they were applied to; rows: (filters, images, positions), the gradient of the
    // result. The product has the channels of x as images, and images as channels.
    std::string ReadFilterGradient(const View& x, const View& rows,
                                   const std::vector<int64_t>& givenStrides,
                                   const std::vector<int64_t>& givenPaddings,
                                   const std::vector<int64_t>& givenDilations, int64_t givenGroups,
                                   const std::vector<int64_t>& sizes) {
        if (x.dim.size() < 3 || givenGroups < 1 || x.dim[1] % givenGroups != 0) {
            return "channels of an input of shape " + ShapeText(x.dim) + " do not make " +
                   std::to_string(givenGroups) + " groups";
        }
        // Channels of a group as images, groups of images as channels.
        View turned = x;
        turned.dim[0] = x.dim[1] / givenGroups;
        turned.dim[1] = Times(givenGroups, x.dim[0]);
        turned.stride[0] = x.stride[1];
        turned.stride[1] = x.stride[0];
        filterGradient = true;
        std::string refusal =
            ReadNumbers(turned, rows, givenDilations, givenPaddings, givenStrides, givenGroups);
        if (!refusal.empty()) {
            return refusal;
        }
        if (channels == 0) {  // there are no images: sums of nothing
            output = Numbers(sizes, 1);
            return Lie(turned, rows);
        }
        refusal = Place(turned, rows);
        return refusal.empty() ? Keep(sizes, turned, rows) : refusal;
    }
    // Shape of the result, of as many axes as the input.
    std::vector<int64_t> Dims(size_t rank) const {
        std::vector<int64_t> dims(output.end() - static_cast<int64_t>(rank - 2), output.end());
        const int64_t all = Times(groups, filters);
        dims.insert(dims.begin(), {filterGradient ? all : images, filterGradient ? images : all});
        return dims;
    }
    // Elements of the result.
    int64_t Total() const { return Times(Times(images, Times(groups, filters)), Positions()); }
    // Output positions of an image.
    int64_t Positions() const { return Times(Times(output[0], output[1]), output[2]); }
    // Positions of a plane of the input.
    int64_t InputPositions() const { return Times(Times(input[0], input[1]), input[2]); }
    // Rows of the columns: elements that a filter multiplies.
    int64_t Depth() const { return Times(channels, Times(Times(window[0], window[1]), window[2])); }
    bool Empty() const { return images == 0 || filters == 0 || channels == 0 || Positions() == 0; }
    // Elements of the columns of a tile.
    int64_t SlotLength() const { return inPlace ? 0 : Times(Depth(), columnPitch); }
    // Bytes of workspace that a cube core and its vector cores take.
    int64_t WorkspaceBytes(int64_t bytes) const {
        return Times(Times(kColumnSlots, SlotLength()), bytes);
    }
    int64_t Tiles() const {
        if (Empty()) {
            return 0;
        }
        const int64_t lines = Times(output[0], output[1]);
        const int64_t ofImage =
            Times(CeilDiv(lines, tileLines), CeilDiv(output[kWidthDim], tileColumns));
        return Times(Times(Times(images, groups), ofImage), CeilDiv(filters, tileFilters));
    }
    // Elements from a row of the right matrix to the next.
    int64_t Pitch() const { return inPlace ? inputSteps[1] : columnPitch; }
    // Choose the tiles; returns why none fits, "" when one does.
    std::string Share(const ConvolutionLimits& limits) {
        if (Empty()) {
            return "";
        }
        const int64_t most = std::max({Depth(), Times(groups, filters), Positions(), inputSteps[0],
                                       inputSteps[1], resultSteps[1]});
        if (!FitsInt32(most)) {
            return "a size or a step of the input is " + std::to_string(most) +
                   ", which does not fit 32 bits";
        }
        int64_t positions = limits.maxPositions;
        if (inPlace) {  // all positions of an image are one line, and no columns limit them
            positions *= 16;
            input = output = {1, 1, Positions()};
        }
        // The columns of all cores stay in half of L2.
        const int64_t ofCore = limits.l2 / 2 / limits.cores / kColumnSlots;
        while (!inPlace && positions > kCubeUnit &&
               Times(Times(Depth(), positions), limits.bytes) > ofCore) {
            positions /= 2;
        }
        // Enough tiles for all cores: fewer positions first, then fewer filters.
        tileFilters = filters;
        stepColumns = window[kWidthDim];
        Cut(positions);
        constexpr int64_t kLeastPositions = 64;
        while (Tiles() < limits.cores && positions > kLeastPositions) {
            positions /= 2;
            Cut(positions);
        }
        while (Tiles() < limits.cores && tileFilters > limits.maxFilters / 2) {
            tileFilters = AlignUp(CeilDiv(tileFilters, 2), kCubeUnit);
        }
        cores = std::max<int64_t>(1, std::min(limits.cores, Tiles()));
        return inPlace ? "" : Step(positions, limits);
    }

 private:
    // Count the positions of a call; returns why it has none.
    std::string Place(const View& x, const View& weight) {
        for (size_t i = 0; i < static_cast<size_t>(kSpatialDims); ++i) {
            const int64_t padded = input[i] + Times(2, paddings[i]);
            if (padded < Reach(i)) {
                return "the window of " + std::to_string(Reach(i)) + " is larger than the padded " +
                       "input of " + std::to_string(padded);
            }
            output[i] = (padded - Reach(i)) / strides[i] + 1;
        }
        return Lie(x, weight);
    }
    // Leave out positions behind the first `sizes`; returns why there are fewer.
    std::string Keep(const std::vector<int64_t>& sizes, const View& x, const View& weight) {
        const std::vector<int64_t> kept = Numbers(sizes, 1);
        for (size_t i = 0; i < static_cast<size_t>(kSpatialDims); ++i) {
            if (kept[i] < 0 || kept[i] > output[i]) {
                return "a convolution has " + ShapeText(output) + " positions, a gradient of " +
                       ShapeText(kept) + " is asked for";
            }
        }
        output = kept;
        return Lie(x, weight);
    }
    // Read what plain and transposed calls have in common; the sizes of the result are missing.
    std::string ReadNumbers(const View& x, const View& weight,
                            const std::vector<int64_t>& givenStrides,
                            const std::vector<int64_t>& givenPaddings,
                            const std::vector<int64_t>& givenDilations, int64_t givenGroups) {
        const size_t rank = x.dim.size();
        if (rank < 3 || rank > 5 || weight.dim.size() != rank) {
            return "a convolution needs an input and filters of 3 to 5 axes, not " +
                   ShapeText(x.dim) + " and " + ShapeText(weight.dim);
        }
        groups = givenGroups;
        const int64_t all = weight.dim[0];
        if (groups < 1 || all % groups != 0 || x.dim[1] != Times(groups, weight.dim[1])) {
            return std::to_string(x.dim[1]) + " channels and filters of shape " +
                   ShapeText(weight.dim) + " do not make " + std::to_string(groups) + " groups";
        }
        images = x.dim[0];
        channels = weight.dim[1];
        if (channels == 0 && !filterGradient) {
            return "a convolution needs channels";
        }
        filters = all / groups;
        input = Spatial(x.dim, 1);
        window = Spatial(weight.dim, 1);
        strides = Numbers(givenStrides, 1);
        paddings = Numbers(givenPaddings, 0);
        dilations = Numbers(givenDilations, 1);
        spreads.assign(kSpatialDims, 1);
        output.assign(kSpatialDims, 0);
        for (size_t i = 0; i < static_cast<size_t>(kSpatialDims); ++i) {
            if (strides[i] < 1 || dilations[i] < 1 || paddings[i] < 0) {
                return "strides and dilations begin at 1, paddings at 0: " + ShapeText(strides) +
                       ", " + ShapeText(dilations) + ", " + ShapeText(paddings);
            }
            if (window[i] < 1) {
                return "a window of " + ShapeText(window) + " has no elements";
            }
            const int64_t padded = input[i] + Times(2, paddings[i]);
            if (!FitsInt32(Times(padded, 2)) || !FitsInt32(Times(strides[i], 2))) {
                return "a padded size is " + std::to_string(padded) + ", which is too large";
            }
        }
        return "";
    }
    // Elements of the input from the first one that a window meets to the last.
    int64_t Reach(size_t axis) const { return Times(dilations[axis], window[axis] - 1) + 1; }
    // Choose what a vector core gathers at a time.
    std::string Step(int64_t positions, const ConvolutionLimits& limits) {
        stepColumns = window[kWidthDim];
        while (StepBytes(1, limits.bytes) > limits.ub) {
            if (stepColumns > 1) {
                stepColumns = CeilDiv(stepColumns, 2);
            } else if (positions > kCubeUnit) {
                positions /= 2;
            } else {
                return "strides of " + ShapeText(spreads[kWidthDim] > 1 ? spreads : strides) +
                       " leave no positions that fit UB";
            }
            Cut(positions);
        }
        constexpr int64_t kMostBlocks = 4095;  // of a DMA
        const int64_t ofTables = TableBytes(limits.bytes);
        const int64_t room = (limits.ub - ofTables) / (StepBytes(1, limits.bytes) - ofTables);
        // Both vector cores of a group have steps.
        const bool several = Times(window[0], window[1]) > 1 || stepColumns < window[kWidthDim];
        const int64_t wanted = several ? channels : CeilDiv(channels, 2);
        stepChannels = std::max<int64_t>(1, std::min({room, wanted, kMostBlocks}));
        cores = std::max<int64_t>(1, std::min(limits.cores, Tiles()));
        return "";
    }
    // The last three numbers, others before them.
    static std::vector<int64_t> Numbers(const std::vector<int64_t>& given, int64_t other) {
        std::vector<int64_t> numbers(static_cast<size_t>(kSpatialDims), other);
        std::copy_backward(given.begin(), given.end(), numbers.end());
        return numbers;
    }
    static std::vector<int64_t> Spatial(const std::vector<int64_t>& dims, int64_t other) {
        return Numbers(std::vector<int64_t>(dims.begin() + 2, dims.end()), other);
    }
    // Note how the input lies; returns why it cannot be read.
    std::string Lie(const View& x, const View& weight) {
        const size_t last = x.dim.size() - 1;
        const std::vector<int64_t> dense = View::Dense(weight.dim).stride;
        for (size_t i = 0; i <= last; ++i) {
            if (weight.dim[i] > 1 && weight.stride[i] != dense[i]) {
                return "filters do not lie without gaps: strides of " + ShapeText(weight.stride);
            }
        }
        if (x.dim[last] > 1 && x.stride[last] != 1) {
            return "lines of the input do not lie without gaps: strides of " + ShapeText(x.stride);
        }
        inputSteps[0] = x.stride[0];
        inputSteps[1] = x.stride[1];
        inputSteps[2] = last > 3 ? x.stride[last - 2] : 0;
        inputSteps[3] = last > 2 ? x.stride[last - 1] : 0;
        inputSteps[4] = x.offset;
        inputSteps[5] =
            Times(filterGradient ? images : channels, inputSteps[filterGradient ? 0 : 1]);
        resultSteps[0] = filterGradient ? Positions() : Times(Times(groups, filters), Positions());
        resultSteps[1] = filterGradient ? Times(images, Positions()) : Positions();
        bool plain = true;
        for (size_t i = 0; i < static_cast<size_t>(kSpatialDims); ++i) {
            plain = plain && window[i] == 1 && strides[i] == 1 && paddings[i] == 0 &&
                    output[i] == input[i];
        }
        const bool lines = input[1] == 1 || inputSteps[3] == input[2];
        const bool planes = input[0] == 1 || inputSteps[2] == Times(input[1], input[2]);
        inPlace = !filterGradient && plain && lines && planes && inputSteps[1] >= InputPositions();
        return "";
    }
    // Elements of a line of the input that so many positions and a step of the window meet.
    int64_t Span(int64_t columns) const {
        return (Times(columns - 1, strides[kWidthDim]) +
                Times(stepColumns - 1, dilations[kWidthDim])) /
                   spreads[kWidthDim] +
               1;
    }
    // Bytes of UB for the places of the positions of a tile: a table for each distance to the next
    // element of a line that is spread out, with the bits that are kept.
    int64_t TableBytes(int64_t bytes) const {
        const int64_t tables = spreads[kWidthDim];
        return Times(Times(tables, columnPitch), 4 + (tables > 1 ? bytes : 0));
    }
    // Tiles of at most so many positions: whole lines, or parts of a line.
    void Cut(int64_t positions) {
        const int64_t columns = output[kWidthDim];
        const int64_t lines = Times(output[0], output[1]);
        if (columns <= positions) {
            const int64_t fit = std::min(lines, positions / columns);
            tileLines = CeilDiv(lines, CeilDiv(lines, fit));
            tileColumns = columns;
        } else {
            tileLines = 1;
            tileColumns = std::min(
                columns, AlignUp(CeilDiv(columns, CeilDiv(columns, positions)), kCubeUnit));
        }
        columnPitch = AlignUp(tileLines * tileColumns, kCubeUnit);
        constexpr int64_t kBlock = 16;  // elements of half in a block of UB
        linePitch = AlignUp(Span(tileColumns), kBlock) + kBlock;
    }
    // Bytes of UB of a step over some channels.
    int64_t StepBytes(int64_t count, int64_t bytes) const {
        const int64_t lines = Times(tileLines, linePitch);
        const int64_t columns = Times(stepColumns, columnPitch);
        return Times(Times(2, count), Times(lines + columns, bytes)) + TableBytes(bytes);
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_CONVOLUTION_SPACE_H
