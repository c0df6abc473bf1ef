// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Who wrote which part of an output, and whose share the rest was.
#ifndef ASCENDC_EMU_SANITIZER_OUTPUTS_H
#define ASCENDC_EMU_SANITIZER_OUTPUTS_H

#include <cstdint>
#include <string>
#include <vector>

#include "clock.h"
#include "local_shadow.h"
#include "report.h"

namespace ascendc_emu {
namespace sanitizer {

// Bytes that one core wrote.
struct WriterRun {
    uint64_t begin;
    uint64_t end;
    Epoch writer;
};

// What the writers of an output leave behind when their launch is over.
struct OutputTrace {
    struct Run {
        uint64_t begin;
        uint64_t end;
        uint32_t core;
        size_t finding;
    };
    std::vector<Run> runs;           // in order
    std::vector<Finding> findings;   // each names a source line that wrote
    std::vector<std::string> cores;  // names of the cores that ran
    std::vector<int> kinds;          // their CoreKind
    uint32_t item = 0;               // bytes of an element; 0: not known
};

// Makes the finding about `gaps` (not empty) of an output at [begin, end).
Finding UnwrittenFinding(const OutputTrace& trace, const std::string& name, uint64_t begin,
                         uint64_t end, const std::vector<ByteRun>& gaps);

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_OUTPUTS_H
