// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdio>
#include <cstdlib>

namespace ascendc_emu {
namespace sanitizer {

namespace {

bool Apply(Options* options, const std::string& text) {
    size_t equals = text.find('=');
    if (equals == std::string::npos) return false;
    std::string name = text.substr(0, equals);
    std::string value = text.substr(equals + 1);
    if (name == "tail-write") {
        options->tailWriteIsError = value == "error";
        return value == "error" || value == "warning";
    }
    if (name == "freed-tensor") {
        options->freedTensorIsError = value == "error";
        return value == "error" || value == "warning";
    }
    if (name == "auto-sync") options->autoOrderIsWarning = value == "project";
    if (name == "auto-sync" && value == "project") {
        options->autoSync = false;
        return true;
    }
    if (value != "on" && value != "off") return false;
    bool on = value == "on";
    if (name == "auto-sync") {
        options->autoSync = on;
    } else if (name == "uninit") {
        options->uninit = on;
    } else if (name == "suspicious") {
        options->suspicious = on;
    } else if (name == "leak-check") {
        options->leakCheck = on;
    } else if (name == "unused-memory") {
        options->unusedMemory = on;
    } else if (name == "unwritten") {
        options->unwritten = on;
    } else {
        return false;
    }
    return true;
}

Options FromEnvironment() {
    Options options;
    const char* text = std::getenv("OPGEN_CHECK");
    std::string rest = text ? text : "";
    while (!rest.empty()) {
        size_t comma = rest.find(',');
        std::string item = rest.substr(0, comma);
        rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        if (!item.empty() && !Apply(&options, item)) {
            // A mistyped option must not silently weaken or strengthen the checks.
            std::fprintf(stderr, "opgen: OPGEN_CHECK: unknown option \"%s\" ignored\n",
                         item.c_str());
        }
    }
    return options;
}

}  // namespace

Options& GetOptions() {
    static Options options = FromEnvironment();
    return options;
}

bool SetOption(const std::string& text) { return Apply(&GetOptions(), text); }

}  // namespace sanitizer
}  // namespace ascendc_emu
