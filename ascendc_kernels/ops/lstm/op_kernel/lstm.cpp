// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// LSTM: layers of cells whose gates i, f, g, o are
//
//   x W_ih^T + b_ih + h W_hh^T + b_hh
//
// c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c), or that times W_hr^T.
// Handwritten: steps multiply states. Cube and vector cores take turns in each step
// (opgen/recurrent_space.h).
//
// States are float32 from step to step; what a step multiplies is rounded to the type of the
// tensors, which the cube core multiplies.
#include "kernel_operator.h"
#define ASCENDC_CUBE_ONLY  // Matmul objects live on the cube cores
#include "lib/matmul_intf.h"
#include "opgen/gate_functions.h"
#include "opgen/project.h"
#include "opgen/recurrent_product.h"
#include "opgen/recurrent_rows.h"
#if OPGEN_PLAIN_TILING
#include "lstm_tiling_data.h"
#endif

extern "C" __global__ __aicore__ void lstm(GM_ADDR x, GM_ADDR weight_ih, GM_ADDR weight_hh,
                                           GM_ADDR bias_ih, GM_ADDR bias_hh, GM_ADDR weight_hr,
                                           GM_ADDR h0, GM_ADDR c0, GM_ADDR y, GM_ADDR hn,
                                           GM_ADDR cn, GM_ADDR workspace, GM_ADDR tiling) {
    // Every cube core (AIC) with its two vector cores (AIV).
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(LstmTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    GM_ADDR shared = AscendC::GetUserWorkspace(workspace);
    AscendC::TPipe pipe;
    if ASCEND_IS_AIC {
        opgen::RecurrentProducts<DTYPE_X, opgen::LstmCell::kGates> kernel;
        kernel.Init(x, weight_ih, weight_hh, weight_hr, shared, tilingData, &pipe);
        kernel.Process(tilingData.inputCube, tilingData.resultCube, tilingData.stateCube,
                       tilingData.projectionCube);
    }
    if ASCEND_IS_AIV {
        opgen::RecurrentRows<DTYPE_X, opgen::LstmCell> kernel;
        kernel.Init(bias_ih, bias_hh, h0, c0, y, hn, cn, shared, tilingData, &pipe);
        kernel.Process();
    }
}
