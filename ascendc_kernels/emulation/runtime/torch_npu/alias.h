// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// NPU tensors seen as CPU tensors. Device memory of the emulation is host memory, so a CPU tensor
// over the same bytes needs no copy; results move back by one copy into torch_npu's allocator.
#ifndef OPGEN_RUNTIME_TORCH_NPU_ALIAS_H
#define OPGEN_RUNTIME_TORCH_NPU_ALIAS_H

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <utility>
#include <vector>

namespace opgen_npu {

// Whether a defined tensor is a dense tensor on the emulated device.
inline bool IsNpu(const at::Tensor& tensor) {
    return tensor.defined() && tensor.device().type() == c10::DeviceType::PrivateUse1;
}

// The CPU views of one operator call. Tensors that share a storage on the device share one on the
// CPU, so kernels that look for overlap see what is there.
class AliasMap {
 public:
    // Returns a CPU tensor over the same memory (same dtype, sizes, strides, offset).
    at::Tensor ToCpu(const at::Tensor& npu);

    // Carries back what a kernel may have changed about a tensor it was allowed to write: sizes,
    // strides, or a storage that had to grow. The data itself is shared and needs nothing.
    void CommitChanges();

    // Returns the NPU tensor for a CPU result: the original for an alias that was passed in, a
    // view for a result inside an alias's storage, a copy on `device` otherwise.
    at::Tensor ToNpu(const at::Tensor& cpu, c10::Device device);

 private:
    struct Entry {
        at::Tensor npu;
        at::Tensor cpu;
        void* data = nullptr;  // of the CPU storage when the alias was made
    };
    at::Tensor Alias(const at::Tensor& npu);

    std::vector<Entry> entries_;
};

// Copies a CPU tensor into fresh device memory, keeping strides.
at::Tensor CopyToNpu(const at::Tensor& cpu, c10::Device device);

}  // namespace opgen_npu

#endif  // OPGEN_RUNTIME_TORCH_NPU_ALIAS_H
