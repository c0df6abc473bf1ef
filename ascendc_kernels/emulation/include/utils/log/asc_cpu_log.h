// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// ASC_CPU_LOG_*: the log macros of tiling functions that may run on the device's CPU. They go where
// the other logs of op_host go. Source: AscendC's page ASC_CPU_LOG.
#ifndef OPGEN_EMULATION_UTILS_LOG_ASC_CPU_LOG_H
#define OPGEN_EMULATION_UTILS_LOG_ASC_CPU_LOG_H

#include "ascendc_emu/host_log.h"

#define OPGEN_CPU_LOG(level, format, ...) \
    OPGEN_HOST_LOG_AT(level, "[%s] " format, __func__, ##__VA_ARGS__)
#define ASC_CPU_LOG_ERROR(...) OPGEN_CPU_LOG(kError, __VA_ARGS__)
#define ASC_CPU_LOG_WARNING(...) OPGEN_CPU_LOG(kWarning, __VA_ARGS__)
#define ASC_CPU_LOG_INFO(...) OPGEN_CPU_LOG(kInfo, __VA_ARGS__)
#define ASC_CPU_LOG_DEBUG(...) OPGEN_CPU_LOG(kDebug, __VA_ARGS__)

#endif  // OPGEN_EMULATION_UTILS_LOG_ASC_CPU_LOG_H
