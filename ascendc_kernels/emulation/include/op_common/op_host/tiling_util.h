// SPDX-License-Identifier: Apache-2.0
// The same under its other name.
#ifndef OPGEN_EMULATION_OP_COMMON_TILING_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_TILING_UTIL_H

#include <set>
#include <vector>

#include "op_common/log/log.h"
#include "op_common/op_host/util/math_util.h"
#include "op_common/op_host/util/platform_util.h"
#include "op_common/op_host/util/shape_util.h"
#include "register/op_impl_registry.h"

#endif  // OPGEN_EMULATION_OP_COMMON_TILING_UTIL_H
