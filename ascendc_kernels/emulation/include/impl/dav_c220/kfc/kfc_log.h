// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Trace of mixed kernels, empty as in CANN's builds without it.
#include "kernel_log.h"

#ifndef MIX_LOG
#define MIX_LOG(...)
#endif
