// SPDX-License-Identifier: Apache-2.0
// Ops::Base::bfloat16: the data type on the host.
#ifndef OPGEN_EMULATION_OP_COMMON_OP_HOST_UTIL_BFLOAT16_H
#define OPGEN_EMULATION_OP_COMMON_OP_HOST_UTIL_BFLOAT16_H

#include "opdev/bfloat16.h"

namespace Ops {
namespace Base {
using bfloat16 = ::op::bfloat16;
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_OP_HOST_UTIL_BFLOAT16_H
