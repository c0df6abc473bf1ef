// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The runtime's own calls that op_host sources make.
#ifndef RUNTIME_RT_EXTERNAL_BASE_H
#define RUNTIME_RT_EXTERNAL_BASE_H

#include <cstdint>

typedef int32_t rtError_t;
static const int32_t RT_ERROR_NONE = 0;

extern "C" {
// Copies an entry of the platform description ("version"/"NpuArch", "version"/"Short_SoC_version",
// "SoCInfo"/"ai_core_cnt", ...) of the SoC in use to `val`, a string of at most `maxLen` bytes with
// its end. Not RT_ERROR_NONE: there is no such entry, or too little room.
rtError_t rtGetSocSpec(const char *label, const char *key, char *val, uint32_t maxLen);
}

#endif  // RUNTIME_RT_EXTERNAL_BASE_H
