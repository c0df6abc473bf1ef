// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Errors and sizes, as every binding of the ops has them.
#ifndef OPGEN_BINDING_CHECKS_H
#define OPGEN_BINDING_CHECKS_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// A binding turns the exception into its framework's error; torch makes a RuntimeError of it.
// A framework's own check macros would put file and line of a header before the message, which
// tells a caller nothing.
#define OPGEN_CHECK(condition, message)        \
    do {                                       \
        if (!(condition)) {                    \
            throw std::runtime_error(message); \
        }                                      \
    } while (false)

namespace opgen_binding __attribute__((visibility("hidden"))) {

    using Sizes = std::vector<int64_t>;

    inline std::string Text(const Sizes& sizes) {
        std::string text = "[";
        for (size_t i = 0; i < sizes.size(); ++i) {
            text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
        }
        return text + "]";
    }

}  // namespace opgen_binding

#endif  // OPGEN_BINDING_CHECKS_H
