// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface (asc_add, asc_copy_gm2ub, asc_mmad ...) on plain pointers, as far as
// ascendc_emu/c_api.h and the c_api_*.h beside it say.
#ifndef C_API_ASC_SIMD_H
#define C_API_ASC_SIMD_H

#include "kernel_operator.h"
#include "ascendc_emu/c_api.h"
#include "ascendc_emu/c_api_select.h"
#include "ascendc_emu/c_api_control.h"
#include "ascendc_emu/c_api_sort.h"
#include "ascendc_emu/c_api_product.h"

#endif  // C_API_ASC_SIMD_H
