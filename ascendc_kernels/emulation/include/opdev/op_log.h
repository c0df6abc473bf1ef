// SPDX-License-Identifier: Apache-2.0
// Log macros of the aclnn layer, for op_host sources that include them; there the first argument names
// the op, as for those of the base library.
#include "op_common/log/log.h"
