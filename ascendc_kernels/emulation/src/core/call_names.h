// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a kernel's author calls the tensors and queues of a call, read from the source.
#ifndef ASCENDC_EMU_SRC_CORE_CALL_NAMES_H
#define ASCENDC_EMU_SRC_CORE_CALL_NAMES_H

#include <string>

#include "ascendc_emu/record.h"

namespace ascendc_emu {

// Names of a call such as `tensor = object.method(argument)`; what the line does not have is empty.
struct CallNames {
    std::string result;  // what the call's value is assigned to
    std::string object;
    std::string argument;  // the first one, when it is a name
};

// Reads the line of the call. All names are empty when the source is not there any more, or when
// the line has no such call or several.
CallNames NamesOfCall(Loc loc, const char* method);

// The tensor that AllocTensor or DeQue at this place gives, and the one that EnQue takes.
std::string TensorNameAt(Loc loc, const char* method);

// The queue whose AllocTensor stands at `alloc` and whose InitBuffer at `declared`.
std::string QueueNameAt(Loc alloc, Loc declared);

}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SRC_CORE_CALL_NAMES_H
