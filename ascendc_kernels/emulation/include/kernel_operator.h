// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The AscendC device API on a CPU: what a kernel includes.
#ifndef ASCENDC_EMU_KERNEL_OPERATOR_H
#define ASCENDC_EMU_KERNEL_OPERATOR_H

#include "ascendc_emu/absent_api.h"
#include "ascendc_emu/copy_api.h"
#include "ascendc_emu/list_tensor.h"
#include "ascendc_emu/pipe.h"
#include "ascendc_emu/system_api.h"
#include "ascendc_emu/control_api.h"
#include "ascendc_emu/debug_api.h"
#include "ascendc_emu/super_kernel.h"
#include "ascendc_emu/tiling_macros.h"
#include "ascendc_emu/vector_api.h"
#include "ascendc_emu/dequant_api.h"
#include "ascendc_emu/select_api.h"
#include "ascendc_emu/expression.h"
#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/interpolation_api.h"
#include "ascendc_emu/internal_names.h"
#include "ascendc_emu/reduce_api.h"
#if __has_include("ascendc_emu/cube_api.h")
#include "ascendc_emu/cube_api.h"
#endif
#include "ascendc_emu/adv_api.h"
#include "adv_api/hccl/hccl.h"

// Data type and format numbers for `#if ORIG_DTYPE_X == DT_FLOAT16`. A program that holds host and
// device code in one file has them as ge:: enumerators instead.
#if defined(__CCE_AICORE__) && !defined(OPGEN_PROGRAM)
#include "ascendc_emu/dtype_macros.h"
#endif

#endif  // ASCENDC_EMU_KERNEL_OPERATOR_H
