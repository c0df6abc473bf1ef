// SPDX-License-Identifier: Apache-2.0
// What op-host functions log. The runtime keeps the lines of the running step and puts them into
// the error text when the step fails.
#ifndef ASCENDC_EMU_HOST_LOG_H
#define ASCENDC_EMU_HOST_LOG_H

#include <string>

namespace ascendc_emu {
enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kEvent = 4, kNull = 5 };

// printf-style, without newline. Errors and warnings are kept for the step's report; a line also
// goes to stderr when its level is at least OPGEN_HOST_LOG (debug, info, warning, error; unset:
// nothing is printed).
void HostLog(LogLevel level, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool HostLogEnabled(LogLevel level);

// The lines kept on this thread since the last call, one per line; empties the store.
std::string TakeHostLog();

// Text to print for the first argument of CANN's log macros: a name, or a context with a node name.
inline const char *LogName(const char *name) { return name == nullptr ? "nil" : name; }
inline const char *LogName(const std::string &name) { return name.c_str(); }
template <typename Context>
auto LogName(const Context *context) -> decltype(context->GetNodeName()) {
    return context == nullptr || context->GetNodeName() == nullptr ? "nil" : context->GetNodeName();
}
}  // namespace ascendc_emu

#define OPGEN_HOST_LOG_AT(level, ...) \
    ::ascendc_emu::HostLog(::ascendc_emu::LogLevel::level, __FILE__, __LINE__, __VA_ARGS__)

#endif  // ASCENDC_EMU_HOST_LOG_H
