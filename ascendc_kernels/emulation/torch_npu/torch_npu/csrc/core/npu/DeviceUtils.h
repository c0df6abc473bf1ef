// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// torch_npu's question for a tensor's device, where torch_npu is not installed: memory of the host
// is the emulated device's memory, so a CPU tensor is one of the device.
#ifndef OPGEN_TORCH_NPU_DEVICE_UTILS_H
#define OPGEN_TORCH_NPU_DEVICE_UTILS_H

#include <ATen/Tensor.h>

namespace torch_npu {
namespace utils {

inline bool is_npu(const at::Tensor& tensor) {
    return tensor.device().is_cpu() || tensor.device().is_privateuseone();
}
inline bool is_npu(const at::TensorOptions& options) {
    return options.device().is_cpu() || options.device().is_privateuseone();
}
inline bool is_npu(const at::Device& device) {
    return device.is_cpu() || device.is_privateuseone();
}

}  // namespace utils
}  // namespace torch_npu
#endif  // OPGEN_TORCH_NPU_DEVICE_UTILS_H
