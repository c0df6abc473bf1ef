// SPDX-License-Identifier: Apache-2.0
// CANN 9's name of the log header.
#ifndef OPGEN_EMULATION_BASE_ALOG_PUB_H
#define OPGEN_EMULATION_BASE_ALOG_PUB_H

#include "toolchain/slog.h"

#endif  // OPGEN_EMULATION_BASE_ALOG_PUB_H
