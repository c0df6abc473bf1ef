// SPDX-License-Identifier: Apache-2.0
// OP_LOG*, OP_CHECK*: the log macros of op-host sources.
#ifndef OPGEN_EMULATION_OP_COMMON_LOG_H
#define OPGEN_EMULATION_OP_COMMON_LOG_H

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "ascendc_emu/host_log.h"
#include "common/util/error_manager/error_manager.h"
#include "op_common/op_host/util/shape_util.h"
#include "toolchain/slog.h"

namespace Ops {
namespace Base {
// The name to log for a context, or the text itself.
inline std::string GetOpInfo(const std::string &name) { return name; }
inline std::string GetOpInfo(const char *name) { return ascendc_emu::LogName(name); }
template <typename Context>
auto GetOpInfo(const Context *context) -> decltype(std::string(context->GetNodeName())) {
    return ascendc_emu::LogName(context);
}
inline std::string LogText(const std::string &text) { return text; }
inline std::string LogText(const char *text) { return ascendc_emu::LogName(text); }
template <typename T>
auto LogText(const T &value) -> decltype(std::to_string(value)) {
    return std::to_string(value);
}
inline const char *GetSafeStr(const char *text) { return ascendc_emu::LogName(text); }
inline const char *GetSafeStr(const std::string &text) { return text.c_str(); }
}  // namespace Base
}  // namespace Ops

#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#endif
#ifndef unlikely
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

#define OPGEN_OP_LOG(level, op, format, ...) \
    OPGEN_HOST_LOG_AT(level, "OpName:[%s] " format, ::ascendc_emu::LogName(op), ##__VA_ARGS__)

#define OpLogSub(module, level, op, format, ...)                                            \
    ::ascendc_emu::HostLog(static_cast<::ascendc_emu::LogLevel>(level), __FILE__, __LINE__, \
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
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer)                            \
    OP_CHECK_IF((pointer) == nullptr, OP_LOGE(context, "%s is null", #pointer), \
                return ge::GRAPH_FAILED)
#define OP_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, value) \
    OP_CHECK_IF((pointer) == nullptr, OP_LOGE(context, "%s is null", #pointer), return value)

// Texts and numbers as text.
#define OPGEN_OP_LOG_TEXT_OF(value) ::Ops::Base::LogText(value).c_str()

// What a check of named inputs or attributes found. All arguments are texts; the last one says
// what was expected, or why the value is wrong.
#define OP_LOGE_WITH_INVALID_INPUT(op, name) \
    OP_LOGE(op, "input %s is invalid", OPGEN_OP_LOG_TEXT_OF(name))
#define OPGEN_OP_LOG_INVALID(op, what, name, value, expected)                    \
    OP_LOGE(op, "%s of %s is %s, expected %s", what, OPGEN_OP_LOG_TEXT_OF(name), \
            OPGEN_OP_LOG_TEXT_OF(value), OPGEN_OP_LOG_TEXT_OF(expected))
#define OPGEN_OP_LOG_REASON(op, what, name, value, reason)              \
    OP_LOGE(op, "%s of %s is %s: %s", what, OPGEN_OP_LOG_TEXT_OF(name), \
            OPGEN_OP_LOG_TEXT_OF(value), OPGEN_OP_LOG_TEXT_OF(reason))
#define OP_LOGE_FOR_INVALID_VALUE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "value", name, value, expected)
#define OP_LOGE_FOR_INVALID_VALUE_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "value", name, value, reason)
#define OP_LOGE_FOR_INVALID_DTYPE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "dtype", name, value, expected)
#define OP_LOGE_FOR_INVALID_DTYPE_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "dtype", name, value, reason)
#define OP_LOGE_FOR_INVALID_FORMAT(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "format", name, value, expected)
#define OP_LOGE_FOR_INVALID_FORMAT_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "format", name, value, reason)
#define OP_LOGE_FOR_INVALID_SHAPE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "shape", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPE_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "shape", name, value, reason)
#define OP_LOGE_FOR_INVALID_SHAPEDIM(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "rank", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPEDIM_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "rank", name, value, reason)
#define OP_LOGE_FOR_INVALID_SHAPESIZE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "size", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPESIZE_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "size", name, value, reason)
#define OP_LOGE_FOR_INVALID_LISTSIZE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "length", name, value, expected)
#define OP_LOGE_FOR_INVALID_LISTSIZE_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "length", name, value, reason)
#define OP_LOGE_FOR_INVALID_TENSORNUM(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "number of tensors", name, value, expected)
#define OP_LOGE_FOR_INVALID_TENSORNUM_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "number of tensors", name, value, reason)
#define OP_LOGE_FOR_INVALID_STRIDE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "stride", name, value, expected)
#define OP_LOGE_FOR_INVALID_STRIDE_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "stride", name, value, reason)
#define OP_LOGE_FOR_INVALID_VALUES(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "values", name, value, expected)
#define OP_LOGE_FOR_INVALID_VALUES_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "values", name, value, reason)
#define OP_LOGE_FOR_INVALID_DTYPES(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "dtypes", name, value, expected)
#define OP_LOGE_FOR_INVALID_DTYPES_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "dtypes", name, value, reason)
#define OP_LOGE_FOR_INVALID_FORMATS(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "formats", name, value, expected)
#define OP_LOGE_FOR_INVALID_FORMATS_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "formats", name, value, reason)
#define OP_LOGE_FOR_INVALID_SHAPES(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "shapes", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPES_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "shapes", name, value, reason)
#define OP_LOGE_FOR_INVALID_SHAPEDIMS(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "ranks", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPEDIMS_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "ranks", name, value, reason)
#define OP_LOGE_FOR_INVALID_SHAPESIZES(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "sizes", name, value, expected)
#define OP_LOGE_FOR_INVALID_SHAPESIZES_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "sizes", name, value, reason)
#define OP_LOGE_FOR_INVALID_LISTSIZES(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "lengths", name, value, expected)
#define OP_LOGE_FOR_INVALID_LISTSIZES_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "lengths", name, value, reason)
#define OP_LOGE_FOR_INVALID_TENSORNUMS(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "numbers of tensors", name, value, expected)
#define OP_LOGE_FOR_INVALID_TENSORNUMS_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "numbers of tensors", name, value, reason)
#define OP_LOGE_FOR_INVALID_STRIDES(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "strides", name, value, expected)
#define OP_LOGE_FOR_INVALID_STRIDES_WITH_REASON(op, name, value, reason) \
    OPGEN_OP_LOG_REASON(op, "strides", name, value, reason)
#define OP_LOGE_WITH_INVALID_INPUT_DTYPE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "dtype", name, value, expected)
#define OP_LOGE_WITH_INVALID_INPUT_FORMAT(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "format", name, value, expected)
#define OP_LOGE_WITH_INVALID_INPUT_SHAPE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "shape", name, value, expected)
#define OP_LOGE_WITH_INVALID_INPUT_SHAPESIZE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "size", name, value, expected)
#define OP_LOGE_WITH_INVALID_ATTR(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "attribute", name, value, expected)
#define OP_LOGE_WITH_INVALID_ATTR_SIZE(op, name, value, expected) \
    OPGEN_OP_LOG_INVALID(op, "length of attribute", name, value, expected)

// Configuration files and values in them.
#define OP_LOGE_FOR_INVALID_CONFIG(op, file, name, value, expected)      \
    OP_LOGE(op, "%s: %s is %s, expected %s", OPGEN_OP_LOG_TEXT_OF(file), \
            OPGEN_OP_LOG_TEXT_OF(name), OPGEN_OP_LOG_TEXT_OF(value),     \
            OPGEN_OP_LOG_TEXT_OF(expected))
#define OPGEN_OP_LOG_CONFIG(op, file, name, value, reason)                                  \
    OP_LOGE(op, "%s: %s is %s: %s", OPGEN_OP_LOG_TEXT_OF(file), OPGEN_OP_LOG_TEXT_OF(name), \
            OPGEN_OP_LOG_TEXT_OF(value), OPGEN_OP_LOG_TEXT_OF(reason))
#define OP_LOGE_FOR_INVALID_CONFIG_WITH_REASON(op, file, name, value, reason) \
    OPGEN_OP_LOG_CONFIG(op, file, name, value, reason)
#define OP_LOGE_FOR_INVALID_CONFIGS_WITH_REASON(op, file, name, value, reason) \
    OPGEN_OP_LOG_CONFIG(op, file, name, value, reason)
#define OPGEN_OP_LOG_ABOUT(op, what, reason) \
    OP_LOGE(op, "%s: %s", OPGEN_OP_LOG_TEXT_OF(what), OPGEN_OP_LOG_TEXT_OF(reason))
#define OP_LOGE_FOR_INVALID_ARGUMENT_WITH_REASON(op, what, reason) \
    OPGEN_OP_LOG_ABOUT(op, what, reason)
#define OP_LOGE_FOR_FILE_PARSE(op, file, reason) OPGEN_OP_LOG_ABOUT(op, file, reason)
#define OP_LOGE_FOR_FILE_PATH(op, file, reason) OPGEN_OP_LOG_ABOUT(op, file, reason)
#define OP_LOGE_FOR_FILE_OPEN(op, file, reason) OPGEN_OP_LOG_ABOUT(op, file, reason)

// Names of CANN 8's error reports.
#define VECTOR_INNER_ERR_REPORT_TILING(op, ...) OP_LOGE(op, __VA_ARGS__)
#define VECTOR_INFER_SHAPE_INNER_ERR_REPORT(op, text) OPGEN_OP_LOG_TEXT(op, text)
#define OPGEN_OP_LOG_TEXT(op, text) OP_LOGE(op, "%s", OPGEN_OP_LOG_TEXT_OF(text))
// Repositories define these in headers of their own as well.
#ifndef OPS_REPORT_VECTOR_INNER_ERR
#define OPS_REPORT_VECTOR_INNER_ERR(op, ...) OP_LOGE(op, __VA_ARGS__)
#endif
#ifndef OPS_REPORT_CUBE_INNER_ERR
#define OPS_REPORT_CUBE_INNER_ERR(op, ...) OP_LOGE(op, __VA_ARGS__)
#endif

#endif  // OPGEN_EMULATION_OP_COMMON_LOG_H
