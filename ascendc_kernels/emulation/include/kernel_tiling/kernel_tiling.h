// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling structs of the high-level APIs as kernels see them.
#ifndef KERNEL_TILING_KERNEL_TILING_H
#define KERNEL_TILING_KERNEL_TILING_H

#include "kernel_tiling/adv_tiling.h"
#include "kernel_tiling/cube_tiling.h"
#include "kernel_tiling/hccl_tiling.h"
#include "kernel_tiling/softmax_tiling.h"

#endif  // KERNEL_TILING_KERNEL_TILING_H
