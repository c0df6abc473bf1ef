// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The entry that SessionOptions.register_custom_ops_library looks for.
#include "ops.h"
#include "ort_ops.h"

extern "C" {

__attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                    const OrtApiBase* base) {
    opgen_binding::SearchBeside(reinterpret_cast<const void*>(&RegisterCustomOps));
    return opgen_ort::Register(options, base, OPGEN_BINDING_VENDOR, kernels::Ops());
}

// How many calls of an op ("" for all) ran an AscendC kernel; for tests, by ctypes.
__attribute__((visibility("default"))) uint64_t opgen_door_calls(const char* op) {
    std::lock_guard<std::mutex> lock(opgen_binding::State().mutex);
    uint64_t total = 0;
    for (const auto& entry : opgen_binding::State().calls) {
        total += *op == '\0' || entry.first == op ? entry.second : 0;
    }
    return total;
}

}  // extern "C"
