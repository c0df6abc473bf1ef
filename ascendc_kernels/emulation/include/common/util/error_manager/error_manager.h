// SPDX-License-Identifier: Apache-2.0
// Error reports of op-host code: they join the log of the running step.
#ifndef OPGEN_EMULATION_COMMON_UTIL_ERROR_MANAGER_H
#define OPGEN_EMULATION_COMMON_UTIL_ERROR_MANAGER_H

#include <map>
#include <string>
#include <vector>

#include "ascendc_emu/host_log.h"

#ifndef REPORT_INNER_ERROR
#define REPORT_INNER_ERROR(code, format, ...) \
    OPGEN_HOST_LOG_AT(kError, "%s " format, code, ##__VA_ARGS__)
#endif
#ifndef REPORT_CALL_ERROR
#define REPORT_CALL_ERROR REPORT_INNER_ERROR
#endif
#ifndef REPORT_INNER_ERR_MSG
#define REPORT_INNER_ERR_MSG REPORT_INNER_ERROR
#endif
// Keys and values are vectors of std::string of equal length.
#ifndef REPORT_INPUT_ERROR
#define REPORT_INPUT_ERROR(code, keys, values) \
    ErrorManager::GetInstance().Report(code, keys, values)
#endif
#ifndef REPORT_ENV_ERROR
#define REPORT_ENV_ERROR(code, keys, values) ErrorManager::GetInstance().Report(code, keys, values)
#endif
#ifndef REPORT_PREDEFINED_ERR_MSG
#define REPORT_PREDEFINED_ERR_MSG(code, keys, values) \
    ErrorManager::GetInstance().Report(code, keys, values)
#endif

class ErrorManager {
 public:
    static ErrorManager &GetInstance() {
        static ErrorManager manager;
        return manager;
    }
    template <typename Text>
    int Report(const std::string &code, const std::vector<Text> &keys,
               const std::vector<Text> &values) {
        std::string text = code;
        for (size_t i = 0; i < keys.size() && i < values.size(); ++i) {
            text += (" " + std::string(keys[i])) + "=" + std::string(values[i]);
        }
        OPGEN_HOST_LOG_AT(kError, "%s", text.c_str());
        return 0;
    }
    int ATCReportErrMessage(const std::string &code, const std::vector<std::string> &keys = {},
                            const std::vector<std::string> &values = {}) {
        return Report(code, keys, values);
    }
    int ReportErrMessage(const std::string &code, const std::map<std::string, std::string> &args) {
        std::string text = code;
        for (const auto &item : args) {
            text += " " + item.first + "=" + item.second;
        }
        OPGEN_HOST_LOG_AT(kError, "%s", text.c_str());
        return 0;
    }
};

#endif  // OPGEN_EMULATION_COMMON_UTIL_ERROR_MANAGER_H
