// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Findings: one entry per different bug, with a count; kept over launches until cleared. And the
// options that decide what is one.
#ifndef ASCENDC_EMU_SANITIZER_REPORT_H
#define ASCENDC_EMU_SANITIZER_REPORT_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ascendc_emu/record.h"

namespace ascendc_emu {
namespace sanitizer {

struct Options {
    // The compiler's own synchronisation (documentation: core-internal sync, "key features"): V
    // after V, and the scalar unit with V, MTE2 and MTE3, on vector cores only.
    bool autoSync = true;
    // What auto-sync would have ordered is a warning: see "auto-sync=project".
    bool autoOrderIsWarning = false;
    bool uninit = true;
    bool suspicious = true;
    // A write into the 32-byte block of a tensor's last byte: an error instead of a warning.
    bool tailWriteIsError = false;
    // Any use of a tensor after FreeTensor, also where nobody allocates again: an error, as in
    // npuchk.
    bool freedTensorIsError = false;
    // Programs: device memory that is never freed, and such that nobody ever writes.
    bool leakCheck = false;
    bool unusedMemory = false;
    // Bytes of an output that nobody has written.
    bool unwritten = true;
};

Options& GetOptions();

// "name=value"; false when either is unknown.
bool SetOption(const std::string& text);

// Who did an access: the conflicting one of a race, or the producer of bad data.
struct Actor {
    std::string op;
    std::string file;
    uint32_t line = 0;
    std::string pipe;
    std::string core;
    std::string access;  // "read", "write" or what else it did
};

struct Finding {
    std::string check;
    bool warning = false;
    std::string what;
    std::string why;
    std::string fix;
    std::string op;
    std::string file;
    uint32_t line = 0;
    std::string kernel;
    std::string role;  // operand: parameter name; empty: the finding is not about an operand
    std::string memory;
    std::string name;  // tensor, queue or buffer the range is relative to
    std::string dtype;
    uint64_t begin = 0;
    uint64_t end = 0;
    int coreId = -1;
    std::string coreKind;
    int block = 0;
    int subBlock = 0;
    std::string pipe;
    bool hasOther = false;
    Actor other;
    uint64_t count = 1;
};

// What is wrong with the operands as they are, which rule says so, what to change.
struct Words {
    std::string what;
    std::string why;
    std::string fix;
};

class Findings {
 public:
    static Findings& Instance();

    void Add(const Finding& finding);
    bool Has(const std::string& check, const std::string& op, Loc loc) const;
    void Clear();
    std::string Json() const;
    uint64_t Errors() const { return errors_; }
    uint64_t Warnings() const { return warnings_; }

 private:
    using Key = std::tuple<std::string, std::string, uint32_t, std::string, std::string,
                           std::string, uint32_t>;

    std::vector<Finding> items_;
    std::map<Key, size_t> index_;
    uint64_t errors_ = 0;
    uint64_t warnings_ = 0;
};

// printf into a std::string.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_REPORT_H
