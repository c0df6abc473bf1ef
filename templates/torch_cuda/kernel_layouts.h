// Where the elements of tensors lie, as kernels are told: plain C++, for host and device.
#ifndef KERNEL_LAYOUTS_H
#define KERNEL_LAYOUTS_H

#include <cstdint>

namespace gpu {

constexpr int kMostAxes = 8;

// All elements of a shape that some tensors are broadcast to.
template <int Tensors>
struct ElementLayout {
    int64_t count;
    int rank;
    int64_t sizes[kMostAxes];
    int64_t strides[Tensors][kMostAxes];
};

// Rows of the same length; an element is `steps` elements behind the one before it.
template <int Tensors>
struct RowLayout {
    ElementLayout<Tensors> rows;
    int64_t columns;
    int64_t steps[Tensors];
};

}  // namespace gpu

#endif  // KERNEL_LAYOUTS_H
