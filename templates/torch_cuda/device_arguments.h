// From tensors of torch to what kernels are called with.
#ifndef DEVICE_ARGUMENTS_H
#define DEVICE_ARGUMENTS_H

#include <ATen/core/Tensor.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../argument_checks.h"
#include "../strided_loops.h"
#include "kernel_layouts.h"

namespace gpu {

// The device's type for a type of torch; both have the same bits.
template <typename T>
struct DeviceType {
    using type = T;
};
template <>
struct DeviceType<at::Half> {
    using type = __half;
};
template <>
struct DeviceType<at::BFloat16> {
    using type = __nv_bfloat16;
};
template <typename T>
using Device = typename DeviceType<T>::type;

// The device of all tensors of a call; a kernel cannot read memory of another one.
inline at::Device CommonDevice(const char* op, opgen_torch::OptionalTensors tensors) {
    const at::Tensor* first = nullptr;
    for (const opgen_torch::OptionalTensor& tensor : tensors) {
        if (!tensor.has_value()) {
            continue;
        }
        first = first == nullptr ? &*tensor : first;
        TORCH_CHECK(tensor->is_cuda() && tensor->device() == first->device(), op,
                    ": all inputs must be on one CUDA device, got ", first->device(), " and ",
                    tensor->device());
    }
    TORCH_CHECK(first != nullptr, op, ": no input tells the device");
    return first->device();
}

template <int Tensors>
ElementLayout<Tensors> LayoutOf(const loops::Nest& nest, int64_t count) {
    TORCH_CHECK(nest.rank() <= kMostAxes, "tensors of more than 8 axes");
    ElementLayout<Tensors> layout = {};
    layout.count = count;
    layout.rank = static_cast<int>(nest.rank());
    for (int axis = 0; axis < layout.rank; ++axis) {
        layout.sizes[axis] = nest.sizes()[axis];
        for (size_t i = 0; i < nest.tensors(); ++i) {
            layout.strides[i][axis] = nest.strides(i)[axis];
        }
    }
    return layout;
}

template <int Tensors>
ElementLayout<Tensors> LayoutOf(const loops::Elements& elements) {
    return LayoutOf<Tensors>(elements.nest(), elements.count());
}

template <int Tensors>
RowLayout<Tensors> LayoutOf(const loops::Rows& rows) {
    RowLayout<Tensors> layout = {};
    layout.rows = LayoutOf<Tensors>(rows.nest(), rows.count());
    layout.columns = rows.columns();
    for (size_t i = 0; i < rows.nest().tensors(); ++i) {
        layout.steps[i] = rows.step(i);
    }
    return layout;
}

// The memory of the tensors that loops were made for.
template <typename T>
const Device<T>* Source(const loops::Nest& nest, size_t tensor) {
    return static_cast<const Device<T>*>(nest.data(tensor));
}

template <typename T>
Device<T>* Result(const at::Tensor& tensor) {
    return static_cast<Device<T>*>(tensor.mutable_data_ptr());
}

}  // namespace gpu

#endif  // DEVICE_ARGUMENTS_H
