// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Phase 2 on the CPU, or on torch_npu's current stream.
#ifndef OPGEN_BINDING_DEVICE_LAUNCH_H
#define OPGEN_BINDING_DEVICE_LAUNCH_H

#include <memory>
#include <string>

#include "allocation.h"
#include "opapi_library.h"
#include "torch_npu_functions.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

    // `arguments` keeps the acl objects alive until phase 2 has read them.
    inline void RunLaunch(const char* op, const char* aclnn, const OpFunctions& functions,
                          uint64_t workspace_bytes, aclOpExecutor* executor, const Tensor& like,
                          std::shared_ptr<void> arguments) {
        const OpApi& api = *functions.api;
        // From torch's allocators; on an NPU freed here and reused only by later work of this
        // stream.
        void* workspace = nullptr;
        Tensor buffer = like;
        if (workspace_bytes > 0) {
            // NPU allocations are 512-byte aligned, those of the CPU less.
            constexpr uint64_t kAlignment = 512;
            const uint64_t spare = OnCpu(like) ? kAlignment - 1 : 0;
            buffer =
                NewTensor({static_cast<int64_t>(workspace_bytes + spare)}, ScalarType::Byte, like);
            const uintptr_t first = reinterpret_cast<uintptr_t>(DataOf(buffer)) + spare;
            workspace = reinterpret_cast<void*>(first - (spare > 0 ? first % kAlignment : 0));
        }
        if (OnCpu(like)) {
            const int status = functions.launch(workspace, workspace_bytes, executor, nullptr);
            if (status != 0) {
                FailPhase(op, aclnn, api, 2, status);
            }
            CountCall(op, "emulated");
            return;
        }
        const TorchNpu& npu = TorchNpu::Get();
        void* stream = npu.StreamOf(like);
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
