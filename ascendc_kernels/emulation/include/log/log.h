// SPDX-License-Identifier: Apache-2.0
// OP_LOG*, OP_CHECK*: the log macros of op-host sources.
#ifndef OPGEN_EMULATION_LOG_LOG_H
#define OPGEN_EMULATION_LOG_LOG_H

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "ascendc_emu/host_log.h"
#include "common/util/error_manager/error_manager.h"
#include "toolchain/slog.h"

#define OPGEN_OP_LOG(level, op, format, ...)                                      \
    OPGEN_HOST_LOG_AT(level, "OpName:[%s] " format, ::ascendc_emu::LogName(op), ##__VA_ARGS__)

#define OpLogSub(module, level, op, format, ...)                                              \
    ::ascendc_emu::HostLog(static_cast<::ascendc_emu::LogLevel>(level), __FILE__, __LINE__,   \
                           "OpName:[%s] " format, ::ascendc_emu::LogName(op), ##__VA_ARGS__)

#define OP_LOGD(op, ...) OPGEN_OP_LOG(kDebug, op, __VA_ARGS__)
#define OP_LOGI(op, ...) OPGEN_OP_LOG(kInfo, op, __VA_ARGS__)
#define OP_LOGW(op, ...) OPGEN_OP_LOG(kWarning, op, __VA_ARGS__)
#define OP_LOGE(op, ...) OPGEN_OP_LOG(kError, op, __VA_ARGS__)
#define OP_LOGE_WITHOUT_REPORT(op, ...) OPGEN_OP_LOG(kError, op, __VA_ARGS__)
#define OP_EVENT(op, ...) OPGEN_OP_LOG(kEvent, op, __VA_ARGS__)
#define D_OP_LOGD(op, ...) OP_LOGD(op, __VA_ARGS__)
#define D_OP_LOGI(op, ...) OP_LOGI(op, __VA_ARGS__)
#define D_OP_LOGW(op, ...) OP_LOGW(op, __VA_ARGS__)
#define D_OP_LOGE(op, ...) OP_LOGE(op, __VA_ARGS__)
#define OP_LOGD_FULL(op, ...) OP_LOGD(op, __VA_ARGS__)
#define OP_LOGI_FULL(op, ...) OP_LOGI(op, __VA_ARGS__)
#define OP_LOGW_FULL(op, ...) OP_LOGW(op, __VA_ARGS__)
#define OP_LOGE_FULL(op, ...) OP_LOGE(op, __VA_ARGS__)

#define OP_CHECK_IF(condition, log, action) \
    do {                                    \
        if (condition) {                    \
            log;                            \
            action;                         \
        }                                   \
    } while (0)
#define OP_CHECK(condition, log, action) OP_CHECK_IF(condition, log, action)
#define OP_TILING_CHECK(condition, log, action) OP_CHECK_IF(condition, log, action)
#define OP_LOGE_IF(condition, value, op, ...) \
    OP_CHECK_IF(condition, OP_LOGE(op, __VA_ARGS__), return value)
#define OP_LOGW_IF(condition, op, ...) OP_CHECK_IF(condition, OP_LOGW(op, __VA_ARGS__), (void)0)
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer) \
    OP_CHECK_IF((pointer) == nullptr, OP_LOGE(context, "%s is null", #pointer), \
                return ge::GRAPH_FAILED)
#define OP_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, value) \
    OP_CHECK_IF((pointer) == nullptr, OP_LOGE(context, "%s is null", #pointer), return value)

// What a check of a named input or attribute found; all arguments are texts.
#define OP_LOGE_WITH_INVALID_INPUT(op, name) OP_LOGE(op, "input %s is invalid", name)
#define OPGEN_OP_LOG_INVALID(op, what, name, value, expected)                                   \
    OP_LOGE(op, "%s of %s is %s, expected %s", what, ::ascendc_emu::LogName(name),              \
            ::ascendc_emu::LogName(value), ::ascendc_emu::LogName(expected))
#define OP_LOGE_FOR_INVALID_VALUE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "value", name, value, expected)
#define OP_LOGE_FOR_INVALID_VALUE_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "value", name, value, expected)
#define OP_LOGE_FOR_INVALID_DTYPE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "dtype", name, value, expected)
#define OP_LOGE_FOR_INVALID_DTYPE_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "dtype", name, value, expected)
#define OP_LOGE_FOR_INVALID_DTYPES_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "dtypes", name, value, expected)
#define OP_LOGE_FOR_INVALID_FORMAT(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "format", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "shape", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPE_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "shape", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPES_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "shapes", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPEDIM(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "rank", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPEDIM_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "rank", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPESIZE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "size", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPESIZE_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "size", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPESIZES_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "sizes", name, value, expected)
#define OP_LOGE_FOR_INVALID_VALUES_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "values", name, value, expected)
#define OP_LOGE_FOR_INVALID_FORMATS_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "formats", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPEDIMS_WITH_REASON(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "ranks", name, value, expected)

#endif  // OPGEN_EMULATION_LOG_LOG_H
