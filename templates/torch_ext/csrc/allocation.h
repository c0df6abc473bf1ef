// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tensors that the binding makes: outputs and workspaces.
#ifndef OPGEN_BINDING_ALLOCATION_H
#define OPGEN_BINDING_ALLOCATION_H

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "opapi_library.h"
#include "torch_api.h"
#include "torch_npu_functions.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

#ifdef OPGEN_TORCH_CLASSIC

    inline Tensor NewTensor(const Sizes& sizes, ScalarType dtype, const Tensor& like) {
        return Empty(sizes, dtype, like);
    }

#else

    // torch's stable interface makes a code of every exception, without its type and mostly without
    // its text. A program that catches torch.OutOfMemoryError, or reads what torch says on the CPU,
    // needs both: asks the allocator itself, by functions that torch and torch_npu export, so that
    // it throws again. Returns when it has the memory now, or when these libraries have no such
    // functions.
    inline void AskAllocator(size_t bytes, const Tensor& like) {
        if (OnCpu(like)) {
            void* (*take)(size_t) = nullptr;
            void (*give)(void*) = nullptr;
            std::string missing;
            void* handle = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
            if (handle == nullptr) {
                return;
            }
            Resolve(handle, "_ZN3c109alloc_cpuEm", &take, &missing);
            Resolve(handle, "_ZN3c108free_cpuEPv", &give, &missing);
            if (missing.empty()) {
                give(take(bytes));
            }
            return;
        }
        const TorchNpu& npu = TorchNpu::Get();
        if (npu.take_block == nullptr || npu.give_block == nullptr) {
            return;
        }
        void* block = npu.take_block(bytes, npu.StreamOf(like), DeviceIndex(like));
        if (block != nullptr) {
            npu.give_block(block);
        }
    }

    inline Tensor NewTensor(const Sizes& sizes, ScalarType dtype, const Tensor& like) {
        try {
            return Empty(sizes, dtype, like);
        } catch (const std::runtime_error&) {
            size_t bytes = static_cast<size_t>(Empty({0}, dtype, like).element_size());
            for (const int64_t size : sizes) {
                if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes)) {
                    throw;  // of another reason
                }
            }
            AskAllocator(bytes, like);
            throw;
        }
    }

#endif

}  // namespace opgen_torch

#endif  // OPGEN_BINDING_ALLOCATION_H
