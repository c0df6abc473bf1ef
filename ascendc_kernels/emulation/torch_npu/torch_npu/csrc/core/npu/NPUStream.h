// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The part of torch_npu's stream that kernel launches use, where torch_npu is not installed: the
// default stream of the emulated runtime, on which everything has run when a call returns.
#ifndef OPGEN_TORCH_NPU_STREAM_H
#define OPGEN_TORCH_NPU_STREAM_H

#include <cstdint>

namespace c10_npu {

class NPUStream {
 public:
    // Whether to wait for what torch has queued makes no difference here.
    void* stream(bool = true) const { return nullptr; }
    operator void*() const { return nullptr; }
    void synchronize() const {}
    bool query() const { return true; }
    int8_t device_index() const { return 0; }
};

inline NPUStream getCurrentNPUStream(int8_t = -1) { return NPUStream(); }
inline NPUStream getDefaultNPUStream(int8_t = -1) { return NPUStream(); }

}  // namespace c10_npu
#endif  // OPGEN_TORCH_NPU_STREAM_H
