// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "kernel_tiling/kernel_tiling.h"
