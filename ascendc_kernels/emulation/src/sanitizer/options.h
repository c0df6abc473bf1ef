// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Choices where the documentation leaves a choice; see ascendc_emu/sanitizer.h.
#ifndef ASCENDC_EMU_SANITIZER_OPTIONS_H
#define ASCENDC_EMU_SANITIZER_OPTIONS_H

#include <string>

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

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_OPTIONS_H
