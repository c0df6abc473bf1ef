// SPDX-License-Identifier: Apache-2.0
// Writing JSON text.
#ifndef OPGEN_HOST_JSON_TEXT_H
#define OPGEN_HOST_JSON_TEXT_H

#include <cstdio>
#include <string>
#include <vector>

namespace ascendc_emu {
inline std::string JsonString(const std::string &text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
            quoted += escape;
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
}

// "[" + parts joined by commas + "]"; the parts are JSON already.
inline std::string JsonArray(const std::vector<std::string> &parts) {
    std::string text = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
        text += (i == 0 ? "" : ",") + parts[i];
    }
    return text + "]";
}

template <typename Values, typename ToJson>
std::string JsonArrayOf(const Values &values, ToJson to_json) {
    std::vector<std::string> parts;
    for (const auto &value : values) {
        parts.push_back(to_json(value));
    }
    return JsonArray(parts);
}

inline const char *JsonBool(bool value) { return value ? "true" : "false"; }
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_JSON_TEXT_H
