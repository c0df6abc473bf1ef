// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// KERNEL_LOG, ASSERT and their relatives.
#include "ascendc_emu/tiling_macros.h"
