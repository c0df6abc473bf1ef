// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Error texts, last error codes, application log.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ascendc_emu/acl_error.h"
#include "state.h"

namespace {

// The text handed out must outlive the call that clears it, hence two strings.
thread_local std::string pending_text;
thread_local std::string handed_out;
thread_local int last_code = 0;

// Callers that never read their errors must not grow the text without bound.
constexpr size_t kMaxText = 64 * 1024;

}  // namespace

extern "C" __attribute__((visibility("default"))) int opgen_acl_set_error(int code,
                                                                          const char* message) {
    last_code = code;
    if (pending_text.size() > kMaxText) pending_text.clear();
    if (!pending_text.empty()) pending_text += '\n';
    pending_text += message;
    if (std::getenv("OPGEN_NPU_LOG") != nullptr) {
        std::fprintf(stderr, "[opgen runtime] %d: %s\n", code, message);
    }
    return code;
}

namespace opgen_runtime {

int Fail(int code, const char* format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return opgen_acl_set_error(code, text);
}

}  // namespace opgen_runtime

extern "C" {

const char* aclGetRecentErrMsg() {
    handed_out.swap(pending_text);
    pending_text.clear();
    return handed_out.c_str();
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return last_code; }

aclError aclrtGetLastError(aclrtLastErrLevel) {
    int code = last_code;
    last_code = 0;
    return code;
}

void aclAppLog(aclLogLevel level, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
    // ASCEND_GLOBAL_LOG_LEVEL as in CANN: 0 debug ... 3 error, 4 none; unset means errors only.
    // Errors of torch_npu are also raised as exceptions, so they are printed only on request.
    static const int threshold = [] {
        const char* value = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
        return value != nullptr && *value >= '0' && *value <= '4' ? *value - '0' : 4;
    }();
    if (static_cast<int>(level) < threshold) return;
    static const char* const kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
    char text[2048];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int index = level >= ACL_DEBUG && level <= ACL_ERROR ? level : ACL_ERROR;
    std::fprintf(stderr, "[%s] %s:%u %s: %s\n", kNames[index], file != nullptr ? file : "?", line,
                 func != nullptr ? func : "?", text);
}

}  // extern "C"
