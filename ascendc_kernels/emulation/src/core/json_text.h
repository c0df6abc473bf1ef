// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef ASCENDC_EMU_CORE_JSON_TEXT_H
#define ASCENDC_EMU_CORE_JSON_TEXT_H

#include <cstdio>
#include <string>

namespace ascendc_emu {

// Appends a text as a JSON string.
inline void AppendQuoted(std::string* out, const std::string& text) {
    out->push_back('"');
    for (const unsigned char c : text) {
        switch (c) {
            case '"':
                *out += "\\\"";
                break;
            case '\\':
                *out += "\\\\";
                break;
            case '\n':
                *out += "\\n";
                break;
            case '\t':
                *out += "\\t";
                break;
            default:
                if (c < 0x20) {
                    char code[8];
                    std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
                    *out += code;
                } else {
                    out->push_back(static_cast<char>(c));
                }
        }
    }
    out->push_back('"');
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_CORE_JSON_TEXT_H
