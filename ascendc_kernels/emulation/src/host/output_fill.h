// SPDX-License-Identifier: Apache-2.0
// OpParamDef::InitValue: outputs that are filled before the kernel runs.
#ifndef OPGEN_HOST_OUTPUT_FILL_H
#define OPGEN_HOST_OUTPUT_FILL_H

#include "host/op_call.h"

namespace ascendc_emu {
// Writes `value`, converted to the dtype, to every element. Throws OpError for a dtype without a
// conversion.
void FillOutput(const OpCall::Param &param, double value);
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OUTPUT_FILL_H
