// SPDX-License-Identifier: Apache-2.0
// dlog: the log calls under CANN's log macros.
#ifndef OPGEN_EMULATION_TOOLCHAIN_SLOG_H
#define OPGEN_EMULATION_TOOLCHAIN_SLOG_H

#include <cstdint>

#include "ascendc_emu/host_log.h"

#define DLOG_DEBUG 0
#define DLOG_INFO 1
#define DLOG_WARN 2
#define DLOG_ERROR 3
#define DLOG_EVENT 4
#define DLOG_NULL 5
#define DLOG_TYPE_DEBUG 0
#define DLOG_TYPE_RUN 1
#ifndef OP
#define OP 63  // module number of operators
#endif

#define dlog_debug(module, ...) OPGEN_HOST_LOG_AT(kDebug, __VA_ARGS__)
#define dlog_info(module, ...) OPGEN_HOST_LOG_AT(kInfo, __VA_ARGS__)
#define dlog_warn(module, ...) OPGEN_HOST_LOG_AT(kWarning, __VA_ARGS__)
#define dlog_error(module, ...) OPGEN_HOST_LOG_AT(kError, __VA_ARGS__)
#define dlog_event(module, ...) OPGEN_HOST_LOG_AT(kEvent, __VA_ARGS__)
#define DlogSub(module, submodule, level, ...)                                              \
    ::ascendc_emu::HostLog(static_cast<::ascendc_emu::LogLevel>(level), __FILE__, __LINE__, \
                           __VA_ARGS__)
#define Dlog(module, level, ...) DlogSub(module, "", level, __VA_ARGS__)
#define DlogRecord(module, level, ...) DlogSub(module, "", level, __VA_ARGS__)
#define AlogRecord(module, type, level, ...) DlogSub(module, "", level, __VA_ARGS__)
#define DlogErrorInner(module, ...) OPGEN_HOST_LOG_AT(kError, __VA_ARGS__)
#define DlogWarnInner(module, ...) OPGEN_HOST_LOG_AT(kWarning, __VA_ARGS__)
#define DlogInfoInner(module, ...) OPGEN_HOST_LOG_AT(kInfo, __VA_ARGS__)
#define DlogDebugInner(module, ...) OPGEN_HOST_LOG_AT(kDebug, __VA_ARGS__)

// Repositories compile these in through their build files.
#ifndef OPS_UTILS_LOG_SUB_MOD_NAME
#define OPS_UTILS_LOG_SUB_MOD_NAME "OP"
#endif
#ifndef OPS_UTILS_LOG_PACKAGE_TYPE
#define OPS_UTILS_LOG_PACKAGE_TYPE ""
#endif

// 1 when a line of the level is kept or printed. Declared as in CANN: sources may define their own.
extern "C" int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel);
static inline int AlogCheckDebugLevel(unsigned int, int level) { return CheckLogLevel(0, level); }

// Which lines are printed is up to OPGEN_HOST_LOG; a level that a program sets is accepted and has
// no effect. The level that is asked for is the lowest that is kept or printed.
static inline int dlog_setlevel(int, int, int) { return 0; }
static inline int dlog_getlevel(int, int *enableEvent) {
    if (enableEvent != nullptr) *enableEvent = 1;
    int level = DLOG_DEBUG;
    while (level < DLOG_ERROR && CheckLogLevel(0, level) == 0) ++level;
    return level;
}

#endif  // OPGEN_EMULATION_TOOLCHAIN_SLOG_H
