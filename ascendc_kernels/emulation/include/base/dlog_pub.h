// SPDX-License-Identifier: Apache-2.0
// Another name of the log header.
#ifndef OPGEN_EMULATION_BASE_DLOG_PUB_H
#define OPGEN_EMULATION_BASE_DLOG_PUB_H

#include "toolchain/slog.h"

#endif  // OPGEN_EMULATION_BASE_DLOG_PUB_H
