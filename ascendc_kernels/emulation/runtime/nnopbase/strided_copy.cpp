// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace opgen_aclnn {
namespace {

struct Axis {
    int64_t size;
    int64_t stride;
};

// Drop axes of 1 and merge neighbours that one stride covers.
std::vector<Axis> Collapse(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    std::vector<Axis> axes;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 1) {
            continue;
        }
        if (!axes.empty() && axes.back().stride == strides[i] * shape[i]) {
            axes.back().size *= shape[i];
            axes.back().stride = strides[i];
        } else {
            axes.push_back({shape[i], strides[i]});
        }
    }
    if (axes.empty()) {
        axes.push_back({1, 1});
    }
    return axes;
}

template <typename T, bool kGather>
void CopyRow(T* dense, T* view, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) {
        if (kGather) {
            dense[i] = view[i * stride];
        } else {
            view[i * stride] = dense[i];
        }
    }
}

template <typename T, bool kGather>
void Copy(T* dense, T* view, const std::vector<Axis>& axes) {
    const Axis row = axes.back();
    std::vector<int64_t> index(axes.size() - 1, 0);
    for (;;) {
        if (row.stride == 1) {
            std::memcpy(kGather ? dense : view, kGather ? view : dense, row.size * sizeof(T));
        } else {
            CopyRow<T, kGather>(dense, view, row.size, row.stride);
        }
        dense += row.size;
        size_t axis = index.size();
        for (; axis > 0; --axis) {
            view += axes[axis - 1].stride;
            if (++index[axis - 1] < axes[axis - 1].size) {
                break;
            }
            view -= axes[axis - 1].stride * axes[axis - 1].size;
            index[axis - 1] = 0;
        }
        if (axis == 0) {
            return;
        }
    }
}

struct Wide {
    uint64_t half[2];
};

template <bool kGather>
void Dispatch(void* dense, void* view, const std::vector<int64_t>& shape,
              const std::vector<int64_t>& strides, uint64_t element_bytes) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
        return;
    }
    const std::vector<Axis> axes = Collapse(shape, strides);
    switch (element_bytes) {
        case 1:
            return Copy<uint8_t, kGather>(static_cast<uint8_t*>(dense), static_cast<uint8_t*>(view),
                                          axes);
        case 2:
            return Copy<uint16_t, kGather>(static_cast<uint16_t*>(dense),
                                           static_cast<uint16_t*>(view), axes);
        case 4:
            return Copy<uint32_t, kGather>(static_cast<uint32_t*>(dense),
                                           static_cast<uint32_t*>(view), axes);
        case 8:
            return Copy<uint64_t, kGather>(static_cast<uint64_t*>(dense),
                                           static_cast<uint64_t*>(view), axes);
        default:
            return Copy<Wide, kGather>(static_cast<Wide*>(dense), static_cast<Wide*>(view), axes);
    }
}

}  // namespace

bool IsContiguous(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    int64_t expected = 1;
    bool dense = true;
    for (size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 0) {
            return true;
        }
        if (shape[i] != 1) {
            dense = dense && strides[i] == expected;
            expected *= shape[i];
        }
    }
    return dense;
}

bool MayOverlap(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0) {
            return false;
        }
        if (shape[i] > 1) {
            axes.emplace_back(strides[i] < 0 ? -strides[i] : strides[i], shape[i]);
        }
    }
    // Sorted by stride, each axis must step over everything the smaller ones can reach.
    std::sort(axes.begin(), axes.end());
    int64_t reach = 0;
    for (const auto& axis : axes) {
        if (axis.first <= reach) {
            return true;
        }
        reach += axis.first * (axis.second - 1);
    }
    return false;
}

void GatherView(void* dense, const void* view, const std::vector<int64_t>& shape,
                const std::vector<int64_t>& strides, uint64_t element_bytes) {
    Dispatch<true>(dense, const_cast<void*>(view), shape, strides, element_bytes);
}

void ScatterView(void* view, const void* dense, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& strides, uint64_t element_bytes) {
    Dispatch<false>(const_cast<void*>(dense), view, shape, strides, element_bytes);
}

}  // namespace opgen_aclnn
