// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "lib/matmul/matmul_tiling_base.h"
