// SPDX-License-Identifier: Apache-2.0
// Lower case of ASCII names: SoCs are named in either case.
#ifndef OPGEN_HOST_LOWER_CASE_H
#define OPGEN_HOST_LOWER_CASE_H

#include <string>

namespace ascendc_emu {
inline std::string Lower(std::string text) {
    for (char &c : text) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
}
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_LOWER_CASE_H
