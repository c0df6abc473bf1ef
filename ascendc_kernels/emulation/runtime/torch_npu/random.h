// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Random numbers for operators that run on the CPU in place of the NPU. The NPU generator's seed
// and offset are the only state: each call derives a CPU generator from them and advances the
// offset, so torch.npu.manual_seed, get/set_rng_state and checkpointing repeat exactly.
#ifndef OPGEN_RUNTIME_TORCH_NPU_RANDOM_H
#define OPGEN_RUNTIME_TORCH_NPU_RANDOM_H

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <optional>

namespace opgen_npu {

// Returns a CPU generator for one call on `device`, from `given` (an NPU generator) or the
// device's default one, which advances.
at::Generator NextCpuGenerator(const std::optional<at::Generator>& given, c10::Device device);

// For operators that draw from the CPU's default generator and take no generator argument: puts
// the derived state there for the scope's duration. Scopes exclude each other; a CPU operator that
// draws in another thread at the same time is not kept out.
class DefaultGeneratorScope {
 public:
    explicit DefaultGeneratorScope(c10::Device device);
    ~DefaultGeneratorScope();
    DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
    DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
    at::Tensor saved_;
};

}  // namespace opgen_npu

#endif  // OPGEN_RUNTIME_TORCH_NPU_RANDOM_H
