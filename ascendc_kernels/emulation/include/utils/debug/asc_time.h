// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// clock() of kernels is the C library's here: the processor time of the program in microseconds,
// not the device's cycles. Source: AscendC's page clock.
#ifndef OPGEN_EMULATION_UTILS_DEBUG_ASC_TIME_H
#define OPGEN_EMULATION_UTILS_DEBUG_ASC_TIME_H

#include <time.h>

#include "kernel_operator.h"

#endif  // OPGEN_EMULATION_UTILS_DEBUG_ASC_TIME_H
