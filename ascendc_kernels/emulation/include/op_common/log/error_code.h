// SPDX-License-Identifier: Apache-2.0
// CANN 9's error-code header; only its log macros matter here.
#ifndef OPGEN_EMULATION_OP_COMMON_ERROR_CODE_H
#define OPGEN_EMULATION_OP_COMMON_ERROR_CODE_H

#include "op_common/log/log.h"

#endif  // OPGEN_EMULATION_OP_COMMON_ERROR_CODE_H
