// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of depthwise convolutions: planes with filters of their own, the positions of
// a tile, and how many elements of the filters it goes through at once. C++11, no CANN header
// needed.
#ifndef OPGEN_HOST_DEPTHWISE_SPACE_H
#define OPGEN_HOST_DEPTHWISE_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

constexpr int64_t kDepthwiseAxes = 3;              // depth, height, width
constexpr int64_t kLanePlanes = 8;                 // planes of a tile
constexpr int64_t kDepthwiseBytesPerCore = 16384;  // read, below which a core more gains nothing

// UB bytes per element of the planes that a tile loads, per number of the longest rows in float,
// per result, and per element of the filters.
struct DepthwiseBudget {
    double element;
    double number;
    double result;
    double tap;
};

struct DepthwiseSpace {
    int64_t images = 0, channels = 0;
    int64_t filters = 1;    // of a channel
    bool gradient = false;  // by the input, of the gradient that arrives
    int64_t parts = -1;     // of the images, of a gradient by the filters
    std::vector<int64_t> input, output, window, strides, paddings, dilations;
    // Elements between images, channels, depths and lines of the input, its first element, and
    // elements between the planes of one channel's filters.
    int64_t inputSteps[6] = {};
    int64_t tileOutputs[kDepthwiseAxes] = {1, 1, 1};
    int64_t tileTaps[kDepthwiseAxes] = {1, 1, 1};
    int64_t loadLength = 0, rowsLength = 0, sumsLength = 0;
    int64_t tapsLength = 0, storeLength = 0;
    int64_t slots = 1;  // of sums per element of a filter, of a gradient by the filters
    int64_t cores = 1;

    // Read the sizes of a call; returns why it is no convolution, "" when it is one. The lists have
    // a number per spatial axis.
    std::string Read(const View& x, const View& weight, const std::vector<int64_t>& givenStrides,
                     const std::vector<int64_t>& givenPaddings,
                     const std::vector<int64_t>& givenDilations) {
        const std::string refusal =
            ReadNumbers(x, weight, givenStrides, givenPaddings, givenDilations);
        if (!refusal.empty()) {
            return refusal;
        }
        images = x.dim[0];
        channels = x.dim[1];
        input = Spatial(x.dim);
        window = Spatial(weight.dim);
        return Place(x, weight, weight.dim[1] == 1 ? weight.dim[0] : 0, input, output);
    }
    // Read the sizes of a gradient by the input. x: the gradient that arrives; sizes: of the input,
    // without its images and channels; givenChannels: of the input.
    std::string ReadGradient(const View& x, const View& weight,
                             const std::vector<int64_t>& givenStrides,
                             const std::vector<int64_t>& givenPaddings,
                             const std::vector<int64_t>& givenDilations,
                             const std::vector<int64_t>& sizes, int64_t givenChannels) {
        std::string refusal = ReadNumbers(x, weight, givenStrides, givenPaddings, givenDilations);
        if (!refusal.empty()) {
            return refusal;
        }
        gradient = true;
        images = x.dim[0];
        channels = givenChannels;
        input = Spatial(x.dim);
        output = LastThree(sizes, 1);
        window = Spatial(weight.dim);
        std::vector<int64_t> positions;
        refusal = Place(x, weight, weight.dim[1] == 1 ? weight.dim[0] : 0, output, positions);
        if (refusal.empty() && (positions != input || x.dim[1] != weight.dim[0])) {
            return "a gradient of shape " + ShapeText(x.dim) + " arrives, " +
                   ShapeText({weight.dim[0]}) + " filters have " + ShapeText(positions);
        }
        inputSteps[5] = x.stride[1];
        inputSteps[1] = Times(filters, x.stride[1]);
        return refusal;
    }
    // Read the sizes of a gradient by the filters. rows: the gradient that arrives; sizes: of a
    // filter; givenParts: of the images, each of which has sums of its own.
    std::string ReadFilters(const View& x, const View& rows,
                            const std::vector<int64_t>& givenStrides,
                            const std::vector<int64_t>& givenPaddings,
                            const std::vector<int64_t>& givenDilations,
                            const std::vector<int64_t>& sizes, int64_t givenParts) {
        std::string refusal = ReadNumbers(x, rows, givenStrides, givenPaddings, givenDilations);
        if (!refusal.empty()) {
            return refusal;
        }
        parts = givenParts;
        images = x.dim[0];
        channels = x.dim[1];
        input = Spatial(x.dim);
        window = LastThree(sizes, 1);
        refusal = Place(x, rows, rows.dim[1], input, output);
        if (refusal.empty() && (output != Spatial(rows.dim) || rows.dim[0] != images || parts < 0 ||
                                (parts == 0) != (images == 0))) {
            return "a gradient of shape " + ShapeText(rows.dim) + " arrives, filters of " +
                   ShapeText(window) + " have " + ShapeText(output) + " positions in " +
                   ShapeText(x.dim);
        }
        return refusal;
    }
    // Shape of the result, of as many axes as the input.
    std::vector<int64_t> Dims(size_t rank) const {
        const std::vector<int64_t>& sizes = parts < 0 ? output : window;
        std::vector<int64_t> dims(sizes.end() - static_cast<int64_t>(rank - 2), sizes.end());
        if (parts >= 0) {
            dims.insert(dims.begin(), {parts, Times(channels, filters)});
            return dims;
        }
        dims.insert(dims.begin(), {images, gradient ? channels : Times(channels, filters)});
        return dims;
    }
    int64_t Planes() const { return Times(images, channels); }
    // Choose the tiles; returns why none fits, "" when one does. budget: bytes of UB; element: of
    // one of the input in memory; room: bytes of UB.
    std::string Choose(const DepthwiseBudget& budget, int64_t element, int64_t room,
                       int64_t coresOfChip) {
        budget_ = budget;
        unit_ = kBlockBytes / element;
        room_ = room;
        for (size_t i = 0; i < static_cast<size_t>(kDepthwiseAxes); ++i) {
            tileOutputs[i] = output[i];
            tileTaps[i] = window[i];
        }
        if (parts >= 0) {
            LimitTaps();
        }
        const int64_t read = Times(Times(Planes(), element), Product(input));
        const int64_t used =
            std::min(coresOfChip, std::max<int64_t>(1, read / kDepthwiseBytesPerCore));
        while (!Holds()) {
            if (!Shrink()) {
                return "UB has no room for one position and one element of the filters at a "
                       "time, " +
                       std::to_string(room) + " bytes";
            }
        }
        if (parts >= 0) {
            const int64_t groups = CeilDiv(channels, kLanePlanes);
            const int64_t units = std::max<int64_t>(1, Times(parts, Times(groups, filters)));
            cores = std::min(used, units);
            cores = CeilDiv(units, CeilDiv(units, cores));
            return "";
        }
        // Parts of planes where there are fewer groups of planes than cores.
        constexpr int64_t kLeastRows = 4;
        for (size_t i = 0; i < 2; ++i) {
            const int64_t least = i == 0 ? 1 : std::max(kLeastRows, window[1]);
            while (Tiles() < used && tileOutputs[i] > least) {
                tileOutputs[i] = std::max(least, CeilDiv(tileOutputs[i], 2));
            }
        }
        for (size_t i = 0; i < static_cast<size_t>(kDepthwiseAxes); ++i) {  // of about one size
            tileOutputs[i] = CeilDiv(output[i], CeilDiv(output[i], tileOutputs[i]));
        }
        Holds();
        const int64_t tiles = std::max<int64_t>(1, Tiles());
        cores = std::min(used, tiles);
        cores = CeilDiv(tiles, CeilDiv(tiles, cores));
        return "";
    }

 private:
    static constexpr int64_t kBlockBytes = 32;
    static constexpr int64_t kTurned = 16;  // positions that a transposition writes at a time
    static constexpr int64_t kSlot = 64;    // sums of a slot: eight positions of eight planes
    static constexpr int64_t kMostSlots = 32;
    static constexpr int64_t kMostTaps = 64;     // along an axis
    static constexpr int64_t kMostSums = 16384;  // of all slots

    template <typename List>
    static int64_t Product(const List& sizes) {
        return Times(Times(sizes[0], sizes[1]), sizes[2]);
    }
    // Sums of a gradient by the filters: as many slots for each element as fit, and parts of
    // filters where one slot is too many.
    void LimitTaps() {
        for (int64_t& taps : tileTaps) {
            taps = std::min(taps, kMostTaps);
        }
        // Parts of filters follow one another in memory.
        tileTaps[1] = tileTaps[2] < window[2] ? 1 : tileTaps[1];
        tileTaps[0] = tileTaps[1] < window[1] ? 1 : tileTaps[0];
        while (Times(Product(tileTaps), kSlot) > kMostSums &&
               (Half(tileTaps[0], 1) || Half(tileTaps[1], 1) || Half(tileTaps[2], 1))) {
        }
        slots = std::min(kMostSlots, kMostSums / Times(Product(tileTaps), kSlot));
    }
    static std::vector<int64_t> Spatial(const std::vector<int64_t>& dims) {
        return LastThree(std::vector<int64_t>(dims.begin() + 2, dims.end()), 1);
    }
    // The last three numbers, others before them.
    static std::vector<int64_t> LastThree(const std::vector<int64_t>& given, int64_t other) {
        std::vector<int64_t> numbers(static_cast<size_t>(kDepthwiseAxes), other);
        std::copy_backward(given.begin(), given.end(), numbers.end());
        return numbers;
    }
    // Read the numbers of a call; returns why it is no convolution.
    std::string ReadNumbers(const View& x, const View& weight,
                            const std::vector<int64_t>& givenStrides,
                            const std::vector<int64_t>& givenPaddings,
                            const std::vector<int64_t>& givenDilations) {
        const size_t rank = x.dim.size();
        if (rank < 3 || rank > 5 || weight.dim.size() != rank) {
            return "a convolution needs an input and filters of 3 to 5 axes, not " +
                   ShapeText(x.dim) + " and " + ShapeText(weight.dim);
        }
        strides = LastThree(givenStrides, 1);
        paddings = LastThree(givenPaddings, 0);
        dilations = LastThree(givenDilations, 1);
        return "";
    }
    // Count the positions of a convolution of planes of `sizes`; returns why it has none. other:
    // the filters, or the gradient that arrives; allFilters: how many there are, 0: of several
    // channels.
    std::string Place(const View& x, const View& other, int64_t allFilters,
                      const std::vector<int64_t>& sizes, std::vector<int64_t>& positions) {
        if (allFilters < 1 || channels < 1 || allFilters % channels != 0) {
            return std::to_string(channels) + " channels and a tensor of shape " +
                   ShapeText(other.dim) + " do not make a group of each channel";
        }
        filters = allFilters / channels;
        positions.assign(kDepthwiseAxes, 0);
        for (size_t i = 0; i < static_cast<size_t>(kDepthwiseAxes); ++i) {
            if (strides[i] < 1 || dilations[i] < 1 || paddings[i] < 0) {
                return "strides and dilations begin at 1, paddings at 0: " + ShapeText(strides) +
                       ", " + ShapeText(dilations) + ", " + ShapeText(paddings);
            }
            if (window[i] < 1) {
                return "a window of " + ShapeText(window) + " has no elements";
            }
            const int64_t reach = Times(dilations[i], window[i] - 1) + 1;
            const int64_t padded = sizes[i] + Times(2, paddings[i]);
            if (!FitsInt32(Times(padded, 2)) || !FitsInt32(Times(strides[i], 2))) {
                return "a padded size is " + std::to_string(padded) + ", which is too large";
            }
            if (padded < reach) {
                return "the window of " + std::to_string(reach) + " is larger than the padded " +
                       "input of " + std::to_string(padded);
            }
            positions[i] = (padded - reach) / strides[i] + 1;
        }
        return Lie(x, other);
    }
    // Note how the input lies; returns why it cannot be read.
    std::string Lie(const View& x, const View& weight) {
        const size_t last = x.dim.size() - 1;
        const std::vector<int64_t> dense = View::Dense(weight.dim).stride;
        for (size_t i = 0; i <= last; ++i) {
            if (weight.dim[i] > 1 && weight.stride[i] != dense[i]) {
                return "filters or a gradient do not lie without gaps: strides of " +
                       ShapeText(weight.stride);
            }
        }
        if (x.dim[last] > 1 && x.stride[last] != 1) {
            return "lines of the input do not lie without gaps: strides of " + ShapeText(x.stride);
        }
        if (!FitsInt32(Product(input)) || !FitsInt32(Product(output)) ||
            !FitsInt32(Times(Times(filters, channels), Product(window)))) {
            return "a plane or the filters have more than 2^31 - 1 elements: " + ShapeText(x.dim) +
                   ", " + ShapeText(weight.dim);
        }
        inputSteps[0] = x.stride[0];
        inputSteps[1] = x.stride[1];
        inputSteps[2] = last > 3 ? x.stride[last - 2] : 0;
        inputSteps[3] = last > 2 ? x.stride[last - 1] : input[2];
        inputSteps[4] = x.offset;
        return "";
    }
    int64_t Tiles() const {
        int64_t tiles = CeilDiv(Planes(), kLanePlanes);
        for (size_t i = 0; i < static_cast<size_t>(kDepthwiseAxes); ++i) {
            tiles = Times(tiles, CeilDiv(output[i], tileOutputs[i]));
        }
        return tiles;
    }
    // Elements of an axis that a tile reads, zeros around the plane included.
    int64_t Span(size_t i) const {
        const int64_t reach = Times(tileTaps[i] - 1, dilations[i]);
        return gradient ? (tileOutputs[i] - 1 + reach) / strides[i] + 1
                        : Times(tileOutputs[i] - 1, strides[i]) + reach + 1;
    }
    // Whether UB holds the tile; sets the lengths of its buffers.
    bool Holds() {
        int64_t rows[kDepthwiseAxes];
        for (size_t i = 0; i < static_cast<size_t>(kDepthwiseAxes); ++i) {
            rows[i] = std::min(Span(i), input[i]);
        }
        if (rows[1] > kMaxBlockCount || tileOutputs[1] > kMaxBlockCount) {
            return false;
        }
        const int64_t taps = AlignUp(Product(tileTaps), kTurned);
        const int64_t lines = Times(rows[1], AlignUp(rows[2], unit_));
        const int64_t loaded = AlignUp(Times(rows[0], lines), kTurned);
        const bool joined = tileOutputs[2] == output[2];
        const int64_t row = joined ? output[2] : AlignUp(tileOutputs[2], kTurned);
        const int64_t depth = AlignUp(Times(tileOutputs[1], row), kTurned);
        const int64_t stored = Times(tileOutputs[0], depth);
        loadLength = Times(kLanePlanes, loaded);
        storeLength = Times(kLanePlanes, stored);
        tapsLength = Times(kLanePlanes, taps);
        rowsLength = std::max({loadLength, storeLength, Times(2, tapsLength)});
        sumsLength = parts < 0 ? 0 : Times(Times(Product(tileTaps), slots), kSlot);
        return budget_.element * static_cast<double>(loadLength) +
                   budget_.number * static_cast<double>(rowsLength + sumsLength) +
                   budget_.result * static_cast<double>(storeLength) +
                   budget_.tap * static_cast<double>(tapsLength) <=
               static_cast<double>(room_);
    }
    // Make the tile, or what it takes of the filters, smaller; false: it is as small as can be.
    bool Shrink() {
        constexpr int64_t kShort = 64;  // positions of a row that is still worth a copy of its own
        if (Half(tileOutputs[0], 1) || Half(tileOutputs[1], std::max<int64_t>(1, tileTaps[1])) ||
            Half(tileOutputs[2], kShort) || Half(tileTaps[0], 1)) {
            return true;
        }
        // Parts of filters follow one another in memory.
        if (tileTaps[1] > 1 || tileOutputs[1] > 1) {
            Half(tileTaps[1], 1);
            Half(tileOutputs[1], 1);
            return true;
        }
        return Half(tileTaps[2], kShort) || Half(tileOutputs[2], 1) || Half(tileTaps[2], 1);
    }
    static bool Half(int64_t& value, int64_t least) {
        const bool larger = value > least;
        value = larger ? std::max(least, CeilDiv(value, 2)) : value;
        return larger;
    }

    DepthwiseBudget budget_{0, 0, 0, 0};
    int64_t unit_ = 1;
    int64_t room_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_HOST_DEPTHWISE_SPACE_H
