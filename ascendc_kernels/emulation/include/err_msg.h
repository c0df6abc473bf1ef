// SPDX-License-Identifier: Apache-2.0
// The name without its folder, as some build files have that on the include path.
#ifndef OPGEN_EMULATION_ERR_MSG_H
#define OPGEN_EMULATION_ERR_MSG_H

#include "base/err_msg.h"

#endif  // OPGEN_EMULATION_ERR_MSG_H
