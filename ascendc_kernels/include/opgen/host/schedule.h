// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a spec asks of the tiling of a call (`schedule:`). C++11, no CANN header needed.
#ifndef OPGEN_HOST_SCHEDULE_H
#define OPGEN_HOST_SCHEDULE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace opgen {

enum class RowPlace { kAny, kResident, kStreamed };

// Numbers that are 0 leave the choice to the tiling.
struct Schedule {
    int64_t tile = 0;             // elements a tile holds at most
    int64_t buffers = 0;          // copies of each queue
    int64_t cores = 0;            // that share the work
    int64_t elementsPerCore = 0;  // a core more must have so many
    RowPlace rows = RowPlace::kAny;
    int64_t elements = 0;  // of the largest tensor of the call

    // How many of the cores of a chip the call may use.
    int64_t Cores(int64_t ofChip) const {
        int64_t most = cores > 0 ? std::min(cores, ofChip) : ofChip;
        if (elementsPerCore > 0) {
            most = std::min(most, std::max<int64_t>(1, elements / elementsPerCore));
        }
        return most;
    }
    // The longest tile, of what UB holds.
    int64_t Tile(int64_t longest) const { return tile > 0 ? std::min(tile, longest) : longest; }
};

// The elements of the largest input or output of a call.
template <typename TilingContext>
int64_t LargestTensor(const TilingContext* context) {
    int64_t most = 0;
    for (size_t i = 0; i < context->GetComputeNodeInputNum(); ++i) {
        const auto* shape = context->GetInputShape(i);
        most = shape == nullptr ? most : std::max(most, shape->GetStorageShape().GetShapeSize());
    }
    for (size_t i = 0; i < context->GetComputeNodeOutputNum(); ++i) {
        const auto* shape = context->GetOutputShape(i);
        most = shape == nullptr ? most : std::max(most, shape->GetStorageShape().GetShapeSize());
    }
    return most;
}

// The size of an axis of a shape, negative axes count from the end; 0: the shape has no such axis.
template <typename Shape>
int64_t DimOf(const Shape& shape, int64_t axis) {
    const int64_t rank = static_cast<int64_t>(shape.GetDimNum());
    const int64_t at = axis < 0 ? axis + rank : axis;
    return at < 0 || at >= rank ? 0 : shape.GetDim(static_cast<size_t>(at));
}

}  // namespace opgen

#endif  // OPGEN_HOST_SCHEDULE_H
