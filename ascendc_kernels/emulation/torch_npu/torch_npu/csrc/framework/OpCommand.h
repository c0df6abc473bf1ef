// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// torch_npu's task queue, where torch_npu is not installed: a task runs at once.
#ifndef OPGEN_TORCH_NPU_OP_COMMAND_H
#define OPGEN_TORCH_NPU_OP_COMMAND_H

#include <functional>
#include <string>

namespace at_npu {
namespace native {

class OpCommand {
 public:
    // `call` returns 0 when it has launched its kernel.
    static void RunOpApi(const std::string&, const std::function<int()>& call, bool = false) {
        call();
    }
    static void RunOpApiV2(const std::string&, const std::function<int()>& call, bool = false) {
        call();
    }
};

}  // namespace native
}  // namespace at_npu
#endif  // OPGEN_TORCH_NPU_OP_COMMAND_H
