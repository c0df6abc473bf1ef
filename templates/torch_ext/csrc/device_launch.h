// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Phase 2 on the CPU, or on torch_npu's current stream. torch_npu is reached through its exported
// functions, looked up when an NPU tensor arrives: the binding loads where it is not installed.
#ifndef OPGEN_BINDING_DEVICE_LAUNCH_H
#define OPGEN_BINDING_DEVICE_LAUNCH_H

#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "opapi_library.h"
#include "torch_api.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

// Same size class and calling convention as c10_npu::NPUStream (a c10::Stream with a destructor,
// so it is returned through memory); only ever passed back to torch_npu.
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

    static const TorchNpu& Get() {
        static const TorchNpu npu = Load();
        return npu;
    }

private:
    static TorchNpu Load() {
        void* handle = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
        OPGEN_CHECK(handle != nullptr,
                    "tensors are on an NPU but libtorch_npu.so is not loaded: import torch_npu");
        TorchNpu npu;
        std::string missing;
        Resolve(handle, "_ZN7c10_npu19getCurrentNPUStreamEa", &npu.current_stream, &missing);
        Resolve(handle, "_ZNK7c10_npu9NPUStream6streamEb", &npu.raw_stream, &missing);
        Resolve(handle,
                "_ZN6at_npu6native9OpCommand10RunOpApiV2ERKNSt7__cxx1112basic_stringIcSt11char_"
                "traitsIcESaIcEEERKSt8functionIFivEEb",
                &npu.run_op_api, &missing);
        OPGEN_CHECK(missing.empty(), "this torch_npu exports no " + missing +
                                         "; the binding knows torch_npu 2.6 to 2.14");
        return npu;
    }
};

// 512-byte aligned host memory, as NPU allocations are.
struct HostWorkspace {
    explicit HostWorkspace(uint64_t bytes) {
        if (bytes > 0) {
            OPGEN_CHECK(posix_memalign(&data, 512, bytes) == 0,
                        "no memory for a workspace of " + std::to_string(bytes) + " bytes");
        }
    }
    ~HostWorkspace() { std::free(data); }
    HostWorkspace(const HostWorkspace&) = delete;
    HostWorkspace& operator=(const HostWorkspace&) = delete;
    void* data = nullptr;
};

inline void CountCall(const char* op, const char* backend) {
    BindingState& state = State();
    std::lock_guard<std::mutex> lock(state.mutex);
    ++state.calls[op];
    state.last_backend = backend;
}

// `arguments` keeps the acl objects alive until phase 2 has read them.
inline void RunLaunch(const char* op, const char* aclnn, const OpFunctions& functions,
                      uint64_t workspace_bytes, aclOpExecutor* executor, const Tensor& like,
                      std::shared_ptr<void> arguments) {
    const OpApi& api = *functions.api;
    if (OnCpu(like)) {
        const HostWorkspace workspace(workspace_bytes);
        const int status = functions.launch(workspace.data, workspace_bytes, executor, nullptr);
        if (status != 0) {
            FailPhase(op, aclnn, api, 2, status);
        }
        CountCall(op, "emulated");
        return;
    }
    const TorchNpu& npu = TorchNpu::Get();
    // From torch_npu's caching allocator: freed here, reused only by later work of this stream.
    void* workspace = nullptr;
    Tensor buffer = like;
    if (workspace_bytes > 0) {
        buffer = Empty({static_cast<int64_t>(workspace_bytes)}, ScalarType::Byte, like);
        workspace = DataOf(buffer);
    }
    const NpuStream current = npu.current_stream(static_cast<int8_t>(DeviceIndex(like)));
    void* stream = npu.raw_stream(&current, false);
    const LaunchFn launch = functions.launch;
    const std::string name = aclnn;
    npu.run_op_api(
        name,
        [launch, workspace, workspace_bytes, executor, stream, arguments]() -> int {
            return launch(workspace, workspace_bytes, executor, stream);
        },
        false);
    CountCall(op, api.emulated ? "emulated" : "npu");
}

}  // namespace opgen_torch

#endif  // OPGEN_BINDING_DEVICE_LAUNCH_H
