// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Calls that compile for arch 2201 and do nothing there: in a branch that the caller takes or not.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void absent_api(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 8192);
    LocalTensor<half> a = buffer.Get<half>();
    const uint32_t form = *(__gm__ uint32_t*)tiling;
    if (form == 1) ProposalConcat(a, a, 1, 4);                     // form 1
    if (form == 2) RpSort16<half>(a, a, 1);                        // form 2
    if (form == 3) VectorPadding<half, true>(a, a, 0, false, 64);  // form 3
    y[0] = 1;
}
