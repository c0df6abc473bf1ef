// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// All high-level (lib) APIs except the Matmul object, which has its own header as in CANN.
#ifndef ASCENDC_EMU_ADV_API_H
#define ASCENDC_EMU_ADV_API_H

#include "ascendc_emu/adv_math_api.h"
#include "ascendc_emu/adv_norm_api.h"
#include "ascendc_emu/adv_quant_api.h"
#include "ascendc_emu/adv_reduce_api.h"
#include "ascendc_emu/adv_softmax_api.h"
#include "ascendc_emu/adv_tensor_api.h"
#include "ascendc_emu/adv_trans_data_api.h"

#endif  // ASCENDC_EMU_ADV_API_H
