// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The profiler hooks torch_npu links against. No profiling session can start in the emulation
// (aclprof* is absent), so a registered command handle is kept and never called, and reports that
// arrive anyway are refused.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "state.h"

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT int32_t MsprofRegisterCallback(uint32_t, int32_t (*)(uint32_t, void*, uint32_t)) {
    return 0;
}

EXPORT uint64_t MsprofSysCycleTime(void) {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

EXPORT uint64_t MsprofGetHashId(const char* text, size_t length) {
    return text != nullptr ? std::hash<std::string>{}(std::string(text, length)) : 0;
}

}  // extern "C"
