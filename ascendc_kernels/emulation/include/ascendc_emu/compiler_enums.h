// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Enumerations that the device compiler itself knows: kernels name them, and define macros under
// their names (`#ifndef EVENT_ID0`), before they include anything.
#ifndef ASCENDC_EMU_COMPILER_ENUMS_H
#define ASCENDC_EMU_COMPILER_ENUMS_H

#include <stdint.h>

enum pipe_t {
    PIPE_S = 0,
    PIPE_V,
    PIPE_M,
    PIPE_MTE1,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_ALL,
    PIPE_MTE4,
    PIPE_MTE5,
    PIPE_V2,
    PIPE_FIX
};
enum event_t {
    EVENT_ID0 = 0,
    EVENT_ID1,
    EVENT_ID2,
    EVENT_ID3,
    EVENT_ID4,
    EVENT_ID5,
    EVENT_ID6,
    EVENT_ID7
};
enum QuantMode_t {
    NoQuant = 0,
    F322F16 = 1,
    F322BF16 = 16,
    DEQF16 = 5,
    VDEQF16 = 4,
    QF322B8_PRE = 24,
    VQF322B8_PRE = 23,
    REQ8 = 3,
    VREQ8 = 2,
    // Of other architectures: headers written for several name them; Fixpipe here refuses them. The
    // numbers are the emulation's own.
    QF322F16_PRE = 64,
    VQF322F16_PRE,
    QF322BF16_PRE,
    VQF322BF16_PRE,
    QF322FP8_PRE,
    VQF322FP8_PRE,
    QF322HIF8_PRE,
    VQF322HIF8_PRE,
    QF322HIF8_PRE_HYBRID,
    VQF322HIF8_PRE_HYBRID,
    QF322F32_PRE,
    VQF322F32_PRE,
    QS322BF16_PRE,
    VQS322BF16_PRE
};
enum pad_t : uint8_t { PAD_NONE = 0, PAD_MODE1, PAD_MODE2, PAD_MODE3, PAD_MODE4 };

#endif  // ASCENDC_EMU_COMPILER_ENUMS_H
