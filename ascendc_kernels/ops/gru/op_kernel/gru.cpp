// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// GRU: layers of gated recurrent units, with the gates r, z, n of
//
//   x W_ih^T + b_ih and h W_hh^T + b_hh
//
// h = (1 - sigmoid(z)) n + sigmoid(z) h, n = tanh(n of x + sigmoid(r) n of h).
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
#include "gru_tiling_data.h"
#endif

extern "C" __global__ __aicore__ void gru(GM_ADDR x, GM_ADDR weight_ih, GM_ADDR weight_hh,
                                          GM_ADDR bias_ih, GM_ADDR bias_hh, GM_ADDR h0, GM_ADDR y,
                                          GM_ADDR hn, GM_ADDR workspace, GM_ADDR tiling) {
    // Every cube core (AIC) with its two vector cores (AIV).
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(GruTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    GM_ADDR shared = AscendC::GetUserWorkspace(workspace);
    AscendC::TPipe pipe;
    if ASCEND_IS_AIC {
        opgen::RecurrentProducts<DTYPE_X, opgen::GruCell::kGates> kernel;
        kernel.Init(x, weight_ih, weight_hh, nullptr, shared, tilingData, &pipe);
        kernel.Process(tilingData.inputCube, tilingData.resultCube, tilingData.stateCube,
                       tilingData.stateCube);
    }
    if ASCEND_IS_AIV {
        opgen::RecurrentRows<DTYPE_X, opgen::GruCell> kernel;
        kernel.Init(bias_ih, bias_hh, h0, nullptr, y, hn, nullptr, shared, tilingData, &pipe);
        kernel.Process();
    }
}
