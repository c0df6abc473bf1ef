// SPDX-License-Identifier: Apache-2.0
// Tiling of the high-level APIs for op-host code; each area's functions are in headers of its own.
#ifndef OPGEN_EMULATION_TILING_TILING_API_H
#define OPGEN_EMULATION_TILING_TILING_API_H

#include "adv_api/hccl/hccl_tiling.h"
#include "tiling/platform/platform_ascendc.h"
#if __has_include("adv_api/matmul/matmul_tiling.h")
#include "adv_api/matmul/matmul_tiling.h"
#endif
#if __has_include("adv_api/tiling_functions.h")
#include "adv_api/tiling_functions.h"
#endif

#endif  // OPGEN_EMULATION_TILING_TILING_API_H
