// SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_EMULATION_ALOG_PUB_H
#define OPGEN_EMULATION_ALOG_PUB_H

#include "toolchain/slog.h"

#endif  // OPGEN_EMULATION_ALOG_PUB_H
