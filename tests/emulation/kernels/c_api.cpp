// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// The C interface: a pipelined kernel, its synchronous forms, conversions and reductions.
#include "c_api/asc_simd.h"

constexpr uint32_t kTile = 64;

// z[:n] = x + y by tiles, each waiting for the last; then per tile of 64 the sum and the rounded values.
extern "C" __global__ __aicore__ void c_api(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR, GM_ADDR tiling)
{
    GET_TILING_DATA_WITH_STRUCT(uint32_t, n, tiling);
    asc_init();
    float* xGm = reinterpret_cast<float*>(x);
    float* yGm = reinterpret_cast<float*>(y);
    float* zGm = reinterpret_cast<float*>(z);
    for (uint32_t i = 0; i < n; i += kTile) {
        __ubuf__ float xUb[kTile];
        __ubuf__ float yUb[kTile];
        __ubuf__ float zUb[2][kTile];
        static_assert(sizeof(zUb) == 2 * kTile * sizeof(float));
        float* out = zUb[i / kTile % 2];
        const event_t free = i / kTile % 2 == 0 ? EVENT_ID0 : EVENT_ID1;
        if (i > 0) asc_sync_wait(PIPE_V, PIPE_MTE2, EVENT_ID0);
        asc_copy_gm2ub(xUb, xGm + i, kTile * sizeof(float));
        asc_copy_gm2ub(yUb, yGm + i, 1, kTile / 8, 0, 0);
        asc_sync_notify(PIPE_MTE2, PIPE_V, EVENT_ID0);
        asc_sync_wait(PIPE_MTE2, PIPE_V, EVENT_ID0);
        if (i >= 2 * kTile) asc_sync_wait(PIPE_MTE3, PIPE_V, free);
        asc_add(out, xUb, yUb, 1, 1, 1, 1, 8, 8, 8);
        if (i + kTile < n) asc_sync_notify(PIPE_V, PIPE_MTE2, EVENT_ID0);
        asc_sync_notify(PIPE_V, PIPE_MTE3, EVENT_ID0);
        asc_sync_wait(PIPE_V, PIPE_MTE3, EVENT_ID0);
        asc_copy_ub2gm(zGm + i, out, kTile * sizeof(float));
        if (i + 2 * kTile < n) asc_sync_notify(PIPE_MTE3, PIPE_V, free);
    }
    asc_sync();
    __ubuf__ float a[kTile], sums[8];
    asc_copy_gm2ub_sync(a, xGm, kTile * sizeof(float));
    asc_repeat_reduce_sum_sync(sums, a, 1, 1, 1, 8);
    asc_copy_ub2gm_align_sync(zGm + n, sums, uint32_t(sizeof(float)));
    __ubuf__ int32_t whole[kTile];
    asc_mul_scalar_sync(a, a, 2.0f, kTile);
    asc_max_scalar(a, a, -3.0f, kTile);
    asc_sync_vec();
    asc_float2int32_rd_sync(whole, a, kTile);
    asc_copy_ub2gm_align_sync(reinterpret_cast<int32_t*>(zGm + n + 1), whole, uint32_t(sizeof(whole)));
}
