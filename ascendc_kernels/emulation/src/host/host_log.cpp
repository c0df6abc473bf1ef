// SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/host_log.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace ascendc_emu {
namespace {
// A step that logs in a loop must not fill memory; the first lines name the cause.
constexpr size_t kMaxLines = 64;

std::vector<std::string> &Lines() {
    thread_local std::vector<std::string> lines;
    return lines;
}

int PrintLevel() {
    static const int level = [] {
        const char *const text = std::getenv("OPGEN_HOST_LOG");
        const char *const names[] = {"debug", "info", "warning", "error"};
        for (int i = 0; text != nullptr && i < 4; ++i) {
            if (std::strcmp(text, names[i]) == 0) {
                return i;
            }
        }
        return 100;
    }();
    return level;
}
}  // namespace

bool HostLogEnabled(LogLevel level) {
    return level >= LogLevel::kWarning || static_cast<int>(level) >= PrintLevel();
}

void HostLog(LogLevel level, const char *file, int line, const char *format, ...) {
    if (!HostLogEnabled(level)) {
        return;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *const slash = std::strrchr(file, '/');
    const std::string entry =
        std::string(slash == nullptr ? file : slash + 1) + ":" + std::to_string(line) + ": " + text;
    if (static_cast<int>(level) >= PrintLevel()) {
        std::fprintf(stderr, "%s\n", entry.c_str());
    }
    std::vector<std::string> &lines = Lines();
    if ((level == LogLevel::kWarning || level == LogLevel::kError) && lines.size() < kMaxLines &&
        (lines.empty() || lines.back() != entry)) {
        lines.push_back(entry);
    }
}

std::string TakeHostLog() {
    std::string text;
    for (const std::string &line : Lines()) {
        text += text.empty() ? line : "\n" + line;
    }
    Lines().clear();
    return text;
}
}  // namespace ascendc_emu

extern "C" int32_t CheckLogLevel(int32_t, int32_t logLevel) {
    return ascendc_emu::HostLogEnabled(static_cast<ascendc_emu::LogLevel>(logLevel)) ? 1 : 0;
}
