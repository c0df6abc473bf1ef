// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The few things the binding needs from torch. From torch 2.10 on it uses torch's stable C
// interface: one second to compile, and the library keeps working with later torch versions. With
// older versions (or -DOPGEN_TORCH_CLASSIC) it uses torch/library.h, bound to one torch version.
#ifndef OPGEN_BINDING_TORCH_API_H
#define OPGEN_BINDING_TORCH_API_H

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#if !defined(OPGEN_TORCH_CLASSIC)
#if __has_include(<torch/csrc/stable/library.h>) && __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 10
#define OPGEN_TORCH_CLASSIC 1
#endif
#else
#define OPGEN_TORCH_CLASSIC 1
#endif
#endif

#ifdef OPGEN_TORCH_CLASSIC
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>
#else
#ifndef TORCH_TARGET_VERSION
#define TORCH_TARGET_VERSION ((2ULL << 56) | (10ULL << 48))
#endif
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#endif

#include "checks.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

    using namespace opgen_binding;

#ifdef OPGEN_TORCH_CLASSIC

    using Tensor = at::Tensor;
    using ScalarType = at::ScalarType;

    inline Sizes SizesOf(const Tensor& t) { return t.sizes().vec(); }
    inline Sizes StridesOf(const Tensor& t) { return t.strides().vec(); }
    inline void* DataOf(const Tensor& t) { return t.data_ptr(); }
    // Elements from the tensor's first one to the end of its storage.
    inline int64_t StorageElements(const Tensor& t) {
        return static_cast<int64_t>(t.storage().nbytes() / t.element_size()) - t.storage_offset();
    }
    inline bool OnCpu(const Tensor& t) { return t.is_cpu(); }
    inline int DeviceType(const Tensor& t) { return static_cast<int>(t.device().type()); }
    inline int DeviceIndex(const Tensor& t) { return t.device().index(); }
    inline ScalarType DtypeOf(const Tensor& t) { return t.scalar_type(); }
    inline Tensor Empty(const Sizes& sizes, ScalarType dtype, const Tensor& like) {
        return at::empty(sizes, at::TensorOptions().dtype(dtype).device(like.device()));
    }
    // Makes the tensors' NPU the current device, which the dispatcher does not do for custom ops.
    struct NpuGuard {
        explicit NpuGuard(int index)
            : guard(c10::Device(c10::DeviceType::PrivateUse1, static_cast<int8_t>(index))) {}
        c10::DeviceGuard guard;
    };

#define OPGEN_LIBRARY(ns, m) TORCH_LIBRARY(ns, m)
#define OPGEN_LIBRARY_IMPL(ns, key, m) TORCH_LIBRARY_IMPL(ns, key, m)
#define OPGEN_BOX(function) function

#else

    using Tensor = torch::stable::Tensor;
    using ScalarType = torch::headeronly::ScalarType;

    inline Sizes SizesOf(const Tensor& t) {
        const auto sizes = t.sizes();
        return Sizes(sizes.begin(), sizes.end());
    }
    inline Sizes StridesOf(const Tensor& t) {
        const auto strides = t.strides();
        return Sizes(strides.begin(), strides.end());
    }
    inline void* DataOf(const Tensor& t) { return t.data_ptr(); }
    // Elements from the tensor's first one to the end of its storage.
    inline int64_t StorageElements(const Tensor& t) {
        int64_t bytes = 0;
        const bool known = aoti_torch_get_storage_size(t.get(), &bytes) == AOTI_TORCH_SUCCESS;
        return known ? bytes / static_cast<int64_t>(t.element_size()) - t.storage_offset() : 0;
    }
    inline bool OnCpu(const Tensor& t) { return t.is_cpu(); }
    inline int DeviceType(const Tensor& t) { return static_cast<int>(t.device().type()); }
    inline int DeviceIndex(const Tensor& t) { return t.get_device_index(); }
    inline ScalarType DtypeOf(const Tensor& t) { return t.scalar_type(); }
    inline Tensor Empty(const Sizes& sizes, ScalarType dtype, const Tensor& like) {
        if (!OnCpu(like)) {
            return torch::stable::empty(sizes, dtype, std::nullopt, like.device());
        }
        // Without the dispatcher, whose boxed call takes longer than the allocation.
        Sizes strides(sizes.size(), 1);
        for (size_t i = sizes.size(); i-- > 1;) {
            const int64_t step = sizes[i] > 1 ? sizes[i] : 1;
            if (__builtin_mul_overflow(strides[i], step, &strides[i - 1])) {
                throw std::runtime_error("a tensor of shape " + Text(sizes) + " is too large");
            }
        }
        AtenTensorHandle made = nullptr;
        const auto rank = static_cast<int64_t>(sizes.size());
        if (aoti_torch_empty_strided(rank, sizes.data(), strides.data(),
                                     static_cast<int32_t>(dtype), aoti_torch_device_type_cpu(), 0,
                                     &made) != AOTI_TORCH_SUCCESS) {
            throw std::runtime_error("torch has no memory for a tensor of shape " + Text(sizes));
        }
        return Tensor(made);
    }
    using NpuGuard = torch::stable::accelerator::DeviceGuard;

#define OPGEN_LIBRARY(ns, m) STABLE_TORCH_LIBRARY(ns, m)
#define OPGEN_LIBRARY_IMPL(ns, key, m) STABLE_TORCH_LIBRARY_IMPL(ns, key, m)
#define OPGEN_BOX(function) TORCH_BOX(function)

#endif

    using OptionalTensor = std::optional<Tensor>;
    using TensorList = std::vector<Tensor>;

    // Shapes as the spec's rules read them. Absent optional inputs count as scalars, which
    // broadcast to anything.
    inline Sizes Shape(const Tensor& t) { return SizesOf(t); }
    inline Sizes Shape(const OptionalTensor& t) { return t.has_value() ? SizesOf(*t) : Sizes(); }
    inline Sizes Like(const Tensor& t) { return SizesOf(t); }
    inline Sizes Like(const OptionalTensor& t) {
        OPGEN_CHECK(t.has_value(),
                    "an output has the shape of an optional input that was not given");
        return SizesOf(*t);
    }

}  // namespace opgen_torch

#endif  // OPGEN_BINDING_TORCH_API_H
