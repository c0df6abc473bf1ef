// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// torch_npu, reached through its exported functions, looked up when an NPU tensor arrives: the
// binding loads where torch_npu is not installed.
#ifndef OPGEN_BINDING_TORCH_NPU_FUNCTIONS_H
#define OPGEN_BINDING_TORCH_NPU_FUNCTIONS_H

#include <dlfcn.h>

#include <functional>
#include <string>

#include "opapi_library.h"
#include "torch_api.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

    // Same size class and calling convention as c10_npu::NPUStream (a c10::Stream with a
    // destructor, so it is returned through memory); only ever passed back to torch_npu.
    struct NpuStream {
        NpuStream() {}
        NpuStream(const NpuStream& other) : words{other.words[0], other.words[1]} {}
        ~NpuStream() {}
        int64_t words[2] = {0, 0};
        int64_t spare[6] = {0, 0, 0, 0, 0, 0};
    };

    // torch_npu's functions by their C++ names (public headers NPUStream.h and OpCommand.h).
    struct TorchNpu {
        NpuStream (*current_stream)(int8_t) = nullptr;
        void* (*raw_stream)(const NpuStream*, bool) = nullptr;
        void (*run_op_api)(const std::string&, const std::function<int()>&, bool) = nullptr;
        // Of the caching allocator; null where a torch_npu has no such functions.
        void* (*take_block)(size_t, void*, int) = nullptr;
        void (*give_block)(void*) = nullptr;

        void* StreamOf(const Tensor& t) const {
            const NpuStream current = current_stream(static_cast<int8_t>(DeviceIndex(t)));
            return raw_stream(&current, false);
        }

        static const TorchNpu& Get() {
            static const TorchNpu npu = Load();
            return npu;
        }

     private:
        static TorchNpu Load() {
            void* handle = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
            OPGEN_CHECK(
                handle != nullptr,
                "tensors are on an NPU but libtorch_npu.so is not loaded: import torch_npu");
            TorchNpu npu;
            std::string missing;
            Resolve(handle, "_ZN7c10_npu19getCurrentNPUStreamEa", &npu.current_stream, &missing);
            Resolve(handle, "_ZNK7c10_npu9NPUStream6streamEb", &npu.raw_stream, &missing);
            Resolve(handle,
                    "_ZN6at_npu6native9OpCommand10RunOpApiV2ERKNSt7__cxx1112basic_stringIcSt11char_"
                    "traitsIcESaIcEEERKSt8functionIFivEEb",
                    &npu.run_op_api, &missing);
            std::string tolerated;
            Resolve(handle, "_ZN7c10_npu19NPUCachingAllocator11MallocBlockEmPvi", &npu.take_block,
                    &tolerated);
            Resolve(handle, "_ZN7c10_npu19NPUCachingAllocator9FreeBlockEPv", &npu.give_block,
                    &tolerated);
            OPGEN_CHECK(missing.empty(), "this torch_npu exports no " + missing +
                                             "; the binding knows torch_npu 2.6 to 2.14");
            return npu;
        }
    };

}  // namespace opgen_torch

#endif  // OPGEN_BINDING_TORCH_NPU_FUNCTIONS_H
