// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of kernels over windows: planes of up to three axes, how many windows a tile
// has along each, and how much of a plane UB holds at once. C++11, no CANN header needed.
#ifndef OPGEN_HOST_WINDOW_SPACE_H
#define OPGEN_HOST_WINDOW_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

constexpr int64_t kWindowAxes = 3;              // depth, height, width
constexpr int64_t kLanes = 16;                  // rows that a transposition takes at once
constexpr int64_t kComparedLanes = 64;          // elements that a comparison takes at once
constexpr int64_t kWindowBytesPerCore = 32768;  // read, below which a further core gains nothing

// UB bytes per element of a transposed chunk, per element after the windows of its rows are joined,
// and per result.
struct WindowBudget {
    double element;
    double joined;
    double result;
};

class WindowSpace {
 public:
    // Per axis; a call with fewer axes has ones before its own.
    int64_t inputs[kWindowAxes];
    int64_t outputs[kWindowAxes];
    int64_t window[kWindowAxes];
    int64_t step[kWindowAxes];
    int64_t before[kWindowAxes];
    int64_t dilation[kWindowAxes];
    int64_t adaptive[kWindowAxes];
    int64_t planes = 1;
    std::vector<int64_t> shape;  // of the results
    std::string refusal;
    bool reversed = false;  // a gradient: its inputs are windows, its outputs their elements

    int64_t tileOutputs[kWindowAxes];
    int64_t chunkInputs[kWindowAxes];
    int64_t tilePlanes = 1;
    int64_t inputLength = 0;
    int64_t columnsLength = 0;
    int64_t joinedLength = 0;
    int64_t outputLength = 0;
    int64_t sharesLength = 0;
    int64_t cores = 1;

    // Windows of equal size, `step` apart.
    static WindowSpace OfWindows(const std::vector<int64_t>& dims, const std::vector<int64_t>& size,
                                 const std::vector<int64_t>& steps,
                                 const std::vector<int64_t>& padding,
                                 const std::vector<int64_t>& apart, bool ceil) {
        WindowSpace space;
        if (!space.TakePlanes(dims, size.size())) {
            return space;
        }
        const size_t lead = static_cast<size_t>(kWindowAxes) - size.size();
        for (size_t i = 0; i < size.size(); ++i) {
            space.TakeWindows(lead + i, size[i], steps[i], padding[i], apart[i], ceil);
        }
        space.TakeShape(dims, size.size());
        return space;
    }
    // So many windows that share the axes evenly.
    static WindowSpace OfCounts(const std::vector<int64_t>& dims,
                                const std::vector<int64_t>& counts) {
        WindowSpace space;
        if (!space.TakePlanes(dims, counts.size())) {
            return space;
        }
        const size_t lead = static_cast<size_t>(kWindowAxes) - counts.size();
        for (size_t i = 0; i < counts.size(); ++i) {
            space.TakeCount(lead + i, counts[i]);
        }
        space.TakeShape(dims, counts.size());
        return space;
    }
    // The gradient of such windows. dims: of the gradient that arrives, one number per window;
    // sizes: of the axes that the windows are along.
    static WindowSpace OfWindowGradient(const std::vector<int64_t>& dims,
                                        const std::vector<int64_t>& sizes,
                                        const std::vector<int64_t>& size,
                                        const std::vector<int64_t>& steps,
                                        const std::vector<int64_t>& padding,
                                        const std::vector<int64_t>& apart, bool ceil) {
        WindowSpace space = OfWindows(Whole(dims, sizes), size, steps, padding, apart, ceil);
        space.Reverse(dims, sizes);
        return space;
    }
    static WindowSpace OfCountGradient(const std::vector<int64_t>& dims,
                                       const std::vector<int64_t>& sizes) {
        const size_t axes = std::min(dims.size(), sizes.size());
        const std::vector<int64_t> counts(dims.end() - static_cast<int64_t>(axes), dims.end());
        WindowSpace space = OfCounts(Whole(dims, sizes), counts);
        space.Reverse(dims, sizes);
        return space;
    }
    // The share of an element in an average where all windows count alike, else 0.
    double Share(bool padded, int64_t divisor) const {
        if (divisor != 0) {
            return 1.0 / static_cast<double>(divisor);
        }
        int64_t count = 1;
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            const int64_t windows = reversed ? inputs[i] : outputs[i];
            const int64_t elements = reversed ? outputs[i] : inputs[i];
            const int64_t last = (windows - 1) * step[i] - before[i] + window[i];
            const bool inside = before[i] == 0 && last <= elements;
            if (adaptive[i] != 0 || !(inside || (padded && last <= elements + before[i]))) {
                return 0;
            }
            count = Times(count, window[i]);
        }
        return 1.0 / static_cast<double>(count);
    }
    // Choose tiles. element: bytes of one in memory; compared: whether positions are searched;
    // room: bytes of UB. A refusal says why there is no tile.
    void Choose(const WindowBudget& budget, int64_t element, bool compared, int64_t room,
                int64_t coresOfChip) {
        budget_ = budget;
        room_ = room;
        inputUnit_ = kBlockBytes / element;
        laneUnit_ = compared ? kComparedLanes : kLanes;
        int64_t read = Times(planes, element);
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            read = Times(read, reversed ? outputs[i] : inputs[i]);
        }
        const int64_t worthwhile = std::max<int64_t>(1, read / kWindowBytesPerCore);
        const int64_t used = std::min(coresOfChip, worthwhile);
        if (!ChooseTile(used)) {
            refusal = "UB has no room for one window at a time, " + std::to_string(room) + " bytes";
            return;
        }
        int64_t planeBytes = element;
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            planeBytes = Times(planeBytes, std::max(inputs[i], outputs[i]));
        }
        if (tilePlanes == 1 || Times(planeBytes, 8) <= kMaxRowBytes) {
            Grow(tilePlanes, CeilDiv(std::max<int64_t>(1, planes), used));
        }
        int64_t tiles = CeilDiv(planes, tilePlanes);
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            tiles = Times(tiles, CeilDiv(outputs[i], tileOutputs[i]));
        }
        tiles = std::max<int64_t>(1, tiles);
        cores = std::min(used, tiles);
        cores = CeilDiv(tiles, CeilDiv(tiles, cores));
        Holds();
    }

 private:
    static constexpr int64_t kBlockBytes = 32;

    WindowSpace() {
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            inputs[i] = outputs[i] = window[i] = step[i] = dilation[i] = 1;
            before[i] = adaptive[i] = 0;
            tileOutputs[i] = chunkInputs[i] = 1;
        }
    }
    bool TakePlanes(const std::vector<int64_t>& dims, size_t axes) {
        if (dims.size() < axes) {
            refusal = "a tensor of shape " + ShapeText(dims) + " has fewer than " +
                      std::to_string(axes) + " axes";
            return false;
        }
        if (!Addressable(dims)) {
            refusal = UnreachableText(dims);
            return false;
        }
        for (size_t i = 0; i < dims.size() - axes; ++i) {
            planes *= dims[i];
        }
        for (size_t i = 0; i < axes; ++i) {
            inputs[static_cast<size_t>(kWindowAxes) - axes + i] = dims[dims.size() - axes + i];
        }
        return true;
    }
    void TakeWindows(size_t i, int64_t size, int64_t every, int64_t padding, int64_t apart,
                     bool ceil) {
        if (size < 1 || every < 1 || apart < 1 || size > INT32_MAX || every > INT32_MAX ||
            apart > INT32_MAX / size) {
            refusal = "windows of " + std::to_string(size) + " elements, " + std::to_string(apart) +
                      " apart, in steps of " + std::to_string(every) +
                      ": all are 1 at least, and fit 32 bits";
            return;
        }
        const int64_t reach = (size - 1) * apart + 1;
        if (padding < 0 || padding > reach / 2) {
            refusal = "padding " + std::to_string(padding) + " is more than half of a window, " +
                      std::to_string(size);
            return;
        }
        const int64_t span = inputs[i] + 2 * padding - reach;
        if (span < 0) {
            refusal = "a window of " + std::to_string(reach) +
                      " elements is larger than an axis of " + std::to_string(inputs[i]) +
                      " with padding " + std::to_string(padding);
            return;
        }
        outputs[i] = (ceil ? CeilDiv(span, every) : span / every) + 1;
        if (ceil && (outputs[i] - 1) * every >= inputs[i] + padding) {
            --outputs[i];  // the last window would begin behind the tensor
        }
        window[i] = size;
        step[i] = every;
        before[i] = padding;
        dilation[i] = apart;
    }
    void TakeCount(size_t i, int64_t count) {
        if (count < 1 || count > INT32_MAX) {
            refusal = std::to_string(count) + " windows along an axis";
            return;
        }
        outputs[i] = count;
        if (inputs[i] % count == 0) {
            window[i] = step[i] = std::max<int64_t>(1, inputs[i] / count);
        } else {
            adaptive[i] = 1;
        }
    }
    void TakeShape(const std::vector<int64_t>& dims, size_t axes) {
        shape.assign(dims.begin(), dims.end() - static_cast<int64_t>(axes));
        int64_t plane = 1;
        for (size_t i = static_cast<size_t>(kWindowAxes) - axes; i < kWindowAxes; ++i) {
            shape.push_back(outputs[i]);
            plane = Times(plane, inputs[i]);
        }
        if (refusal.empty() && plane == 0 && planes > 0) {
            refusal = "a plane of shape " + ShapeText(dims) + " has no elements";
        }
        if (refusal.empty() && (plane > INT32_MAX || !Addressable(shape))) {
            refusal = "a plane of " + std::to_string(plane) + " elements, of 2^31 - 1 at most";
        }
    }
    // The shape of a tensor with windows along its last axes, which have these sizes.
    static std::vector<int64_t> Whole(const std::vector<int64_t>& dims,
                                      const std::vector<int64_t>& sizes) {
        const size_t axes = std::min(dims.size(), sizes.size());
        std::vector<int64_t> whole(dims.begin(), dims.end() - static_cast<int64_t>(axes));
        whole.insert(whole.end(), sizes.begin(), sizes.end());
        return whole;
    }
    // Exchange windows and elements, for a gradient of shape `dims`.
    void Reverse(const std::vector<int64_t>& dims, const std::vector<int64_t>& sizes) {
        if (refusal.empty() && shape != dims) {
            refusal = "a gradient of shape " + ShapeText(dims) + " arrives, the windows have " +
                      ShapeText(shape);
        }
        reversed = true;
        shape = Whole(dims, sizes);
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            if (adaptive[i] != 0) {
                window[i] = CeilDiv(inputs[i], outputs[i]) + 1;  // of the largest
            }
            std::swap(inputs[i], outputs[i]);
        }
    }
    // Elements that `count` windows next to one another cover, at most.
    int64_t Needed(int64_t i, int64_t count) const {
        if (reversed && adaptive[i] == 0) {  // windows that hold one of so many elements
            const int64_t most = (count - 1 + (window[i] - 1) * dilation[i]) / step[i] + 1;
            return std::max<int64_t>(1, std::min(inputs[i], most));
        }
        const int64_t all = adaptive[i] != 0
                                ? CeilDiv(count * inputs[i], outputs[i]) + 1
                                : (count - 1) * step[i] + (window[i] - 1) * dilation[i] + 1;
        return std::max<int64_t>(1, std::min(inputs[i], all));
    }
    void TakeTile(int64_t depth, int64_t height, int64_t width) {
        tileOutputs[0] = depth;
        tileOutputs[1] = height;
        tileOutputs[2] = width;
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            chunkInputs[i] = Needed(i, tileOutputs[i]);
        }
    }
    // Whether UB holds the tile; sets the lengths of its buffers.
    bool Holds() {
        const int64_t rows = Times(Times(tilePlanes, chunkInputs[0]), chunkInputs[1]);
        const int64_t results = Times(Times(tilePlanes, tileOutputs[0]), tileOutputs[1]);
        if (rows > kMaxBlockCount || results > kMaxBlockCount || chunkInputs[2] > room_ ||
            tileOutputs[2] > room_) {
            return false;
        }
        const int64_t inPitch = AlignUp(chunkInputs[2], inputUnit_);
        const int64_t outPitch = AlignUp(tileOutputs[2], laneUnit_);
        const int64_t lanes = AlignUp(rows, laneUnit_);
        inputLength = rows * inPitch;
        columnsLength = lanes * inPitch;
        joinedLength = lanes * outPitch;
        outputLength = results * outPitch;
        sharesLength = reversed ? inPitch : outPitch;
        return budget_.element * static_cast<double>(columnsLength) +
                   budget_.joined * static_cast<double>(joinedLength) +
                   budget_.result * static_cast<double>(outputLength) <=
               static_cast<double>(room_);
    }
    // The largest value up to `most` with which UB holds the tile; `value` may be a size of it.
    void Grow(int64_t& value, int64_t most) {
        int64_t low = value;
        int64_t high = std::max(value, most);
        while (low < high) {
            value = low + (high - low + 1) / 2;
            if (Holds()) {
                low = value;
            } else {
                high = value - 1;
            }
        }
        value = low;
    }
    // The most windows along an axis, up to `most`, with which UB holds what they need; 0: not one.
    template <typename Take>
    int64_t Most(int64_t most, const Take& take) {
        int64_t low = 0;
        int64_t high = most;
        while (low < high) {
            const int64_t middle = low + (high - low + 1) / 2;
            take(middle);
            if (Holds()) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        if (low > 0) {
            // tiles of about the same size
            take(CeilDiv(most, CeilDiv(most, low)));
        }
        return low;
    }
    // One plane at a time, or less: as many windows as fit, with all that they cover; else rows, or
    // parts of rows, one after another.
    bool ChooseTile(int64_t usedCores) {
        tilePlanes = 1;
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            outputs[i] = std::max<int64_t>(1, outputs[i]);
        }
        // parts of a plane where there are fewer planes than cores
        int64_t parts = CeilDiv(usedCores, std::max<int64_t>(1, planes));
        int64_t most[kWindowAxes];
        for (int64_t i = 0; i < kWindowAxes; ++i) {
            const int64_t least = i == 2 ? kComparedLanes : std::min<int64_t>(outputs[i], 4);
            most[i] =
                std::min(outputs[i], std::max(CeilDiv(outputs[i], parts), i == 0 ? 1 : least));
            parts = CeilDiv(parts, CeilDiv(outputs[i], most[i]));
        }
        const auto deep = [&](int64_t n) { TakeTile(n, most[1], most[2]); };
        const auto high = [&](int64_t n) { TakeTile(1, n, most[2]); };
        const auto rows = [&](int64_t n) {
            TakeTile(1, 1, most[2]);
            chunkInputs[0] = 1;
            chunkInputs[1] = n;
        };
        const auto wide = [&](int64_t n) {
            TakeTile(1, 1, n);
            chunkInputs[0] = chunkInputs[1] = 1;
        };
        const auto narrow = [&](int64_t n) {
            TakeTile(1, 1, 1);
            chunkInputs[0] = chunkInputs[1] = 1;
            chunkInputs[2] = n;
        };
        return Most(most[0], deep) > 0 || Most(most[1], high) > 0 || Most(Needed(1, 1), rows) > 0 ||
               Most(most[2], wide) > 0 || Most(Needed(2, 1), narrow) > 0;
    }

    WindowBudget budget_{0, 0, 0};
    int64_t room_ = 0;
    int64_t inputUnit_ = 1;
    int64_t laneUnit_ = kLanes;
};

}  // namespace opgen

#endif  // OPGEN_HOST_WINDOW_SPACE_H
