// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface of vector and cube kernels.
#include "c_api/asc_simd.h"

// The C interface: a pipelined kernel, its synchronous forms, conversions and reductions.

constexpr uint32_t kTile = 64;

// z[:n] = x + y by tiles, each waiting for the last; then per tile of 64 the sum and the rounded
// values.
extern "C" __global__ __aicore__ void c_api(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR,
                                            GM_ADDR tiling) {
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
    asc_copy_ub2gm_align_sync(reinterpret_cast<int32_t*>(zGm + n + 1), whole,
                              uint32_t(sizeof(whole)));
}

// z = [x < y ? x : y][:64], then x[i] where the bit of x >= 0 is set else 0, then x backwards, then
// x - 1 copied and its first 8 elements as a block each.
extern "C" __global__ __aicore__ void c_api_select(GM_ADDR x, GM_ADDR y, GM_ADDR order, GM_ADDR z,
                                                   GM_ADDR) {
    asc_init();
    const uint32_t bytes = kTile * sizeof(float);
    float* zGm = reinterpret_cast<float*>(z);
    __ubuf__ float a[kTile], b[kTile], out[kTile], zero[kTile];
    __ubuf__ uint8_t bits[32];
    __ubuf__ uint32_t offsets[kTile];
    asc_copy_gm2ub(a, reinterpret_cast<float*>(x), bytes);
    asc_copy_gm2ub(b, reinterpret_cast<float*>(y), bytes);
    asc_copy_gm2ub(offsets, reinterpret_cast<uint32_t*>(order), bytes);
    asc_duplicate(zero, 0.0f, kTile);
    asc_sync();
    asc_lt(a, b, 1, 1, 1, 1, 8, 8, 8);
    asc_sync_pipe(PIPE_V);
    asc_select_sync(out, a, b, 1, 1, 1, 1, 8, 8, 8);
    asc_copy_ub2gm_sync(zGm, out, bytes);
    asc_ge_scalar_sync(bits, a, 0.0f, 1, 1, 1, 8, 8);
    asc_set_cmp_mask(bits);
    asc_sync_pipe(PIPE_V);
    asc_select_sync(out, a, zero, 1, 1, 1, 1, 8, 8, 8);
    asc_copy_ub2gm_sync(zGm + kTile, out, bytes);
    asc_gather_sync(out, a, offsets, kTile);
    asc_copy_ub2gm_sync(zGm + 2 * kTile, out, bytes);
    asc_sub_scalar_sync(b, a, 1.0f, kTile);
    asc_copy_sync(reinterpret_cast<uint32_t*>(out), reinterpret_cast<uint32_t*>(b), kTile);
    asc_copy_ub2gm_sync(zGm + 3 * kTile, out, bytes);
    asc_brcb_sync(reinterpret_cast<uint32_t*>(b), reinterpret_cast<uint32_t*>(out), 1, 8, 1);
    asc_copy_ub2gm(zGm + 4 * kTile, b, bytes);
    asc_sync_notify(PIPE_MTE3, PIPE_S, 0);
    asc_sync_wait(PIPE_MTE3, PIPE_S, 0);
}

// x: 64 float scores, y: 64 indices; z: sorted records of 32, the kept lower halves, the transposed
// 16 x 16 of x's bits, counts. Then a sum of all cores by atomics and a flag between the cores of a
// kind.
extern "C" __global__ __aicore__ void c_api_sort(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    asc_init();
    __ubuf__ float score[64];
    __ubuf__ uint32_t index[64];
    __ubuf__ float sorted[128], merged[128];
    __ubuf__ uint32_t kept[64];
    __ubuf__ uint16_t turned[256];
    asc_copy_gm2ub_sync(score, (__gm__ float*)x, 256);
    asc_copy_gm2ub_sync(index, (__gm__ uint32_t*)y, 256);
    asc_bitsort_sync(sorted, score, index, 2);
    __ubuf__ float* lists[4] = {sorted, sorted + 64, sorted, sorted};
    asc_mrgsort4_sync(merged, lists, 1, 32, 32, 0, 0, false, 3);
    asc_copy_ub2gm_sync((__gm__ float*)z, merged, 512);
    asc_set_mask_norm();
    asc_set_vector_mask(0, ~0ull);
    asc_reduce(kept, (__ubuf__ uint32_t*)score, (__ubuf__ uint32_t*)score, 1, 1, 1, 8, 0);
    asc_sync();
    asc_copy_ub2gm_sync((__gm__ uint32_t*)z + 128, kept, 128);
    __ubuf__ uint16_t* from[16];
    __ubuf__ uint16_t* to[16];
    for (int i = 0; i < 16; ++i) {
        from[i] = (__ubuf__ uint16_t*)sorted + i * 16;
        to[i] = turned + i * 16;
    }
    asc_set_va_reg(VA0, to);
    asc_set_va_reg(VA1, to + 8);
    asc_set_va_reg(VA2, from);
    asc_set_va_reg(VA3, from + 8);
    asc_transto5hd_b16_sync(VA0, VA2, 1, 0, 0);
    asc_copy_ub2gm_sync((__gm__ uint16_t*)z + 320, turned, 512);
    __ubuf__ int32_t counts[8];
    asc_duplicate_sync(counts, 0, 8);
    counts[0] = asc_get_rsvd_count();
    counts[1] = asc_popc(0xf0f0);
    counts[2] = asc_ffs(0x50);
    counts[3] = asc_ffz(0x0f);
    counts[4] = asc_clz(1);
    counts[5] = asc_set_nthbit(1, 4);
    counts[6] = asc_clear_nthbit(0x1f, 4);
    counts[7] = asc_zero_bits_cnt(0xff);
    asc_sync_notify(PIPE_S, PIPE_MTE3, 0);
    asc_sync_wait(PIPE_S, PIPE_MTE3, 0);
    asc_copy_ub2gm_sync((__gm__ int32_t*)z + 288, counts, 32);
    asc_set_atomic_add_int();
    asc_copy_ub2gm_sync((__gm__ int32_t*)z + 296, counts, 32);
    asc_set_atomic_max_int();
    asc_copy_ub2gm_sync((__gm__ int32_t*)z + 304, counts, 32);
    asc_set_atomic_none();
}

// z: the distance of the second of two tiles made by hand from the start of UB, its first value,
// and the base of the cross-core flags as it was set.
extern "C" __global__ __aicore__ void c_api_addresses(GM_ADDR x, GM_ADDR z, GM_ADDR, GM_ADDR) {
    asc_init();
    AscendC::TPipe pipe;
    const uint64_t tile = 64 * sizeof(float);
    auto* second = reinterpret_cast<__ubuf__ float*>(asc_get_phy_buf_addr(tile));
    asc_copy_gm2ub_sync(second, (__gm__ float*)x, tile);
    auto* out = reinterpret_cast<__ubuf__ int32_t*>(asc_get_phy_buf_addr(0));
    uint8_t* base = pipe.GetBaseAddr(static_cast<int8_t>(AscendC::TPosition::VECIN));
    asc_set_ffts_base_addr(0x1234);
    out[0] = static_cast<int32_t>(reinterpret_cast<uint8_t*>(second) - base);
    out[1] = static_cast<int32_t>(second[0]);
    out[2] = static_cast<int32_t>(asc_get_ffts_base_addr());
    for (int i = 3; i < 8; ++i) out[i] = 0;
    asc_sync_notify(PIPE_S, PIPE_MTE3, 0);
    asc_sync_wait(PIPE_S, PIPE_MTE3, 0);
    asc_copy_ub2gm_sync((__gm__ int32_t*)z, out, 32);
}

// ---- cube kernels -------------------------------------------------------------------------------
// Cube kernels of the C interface, on arrays that lie in L1, L0A, L0B, L0C, the bias table and the
// fixpipe buffer.

constexpr uint16_t kM = 32, kK = 64, kN = 48;

// z = x[32,64] * y[64,48] + bias, rows of float.
extern "C" __global__ __cube__ void c_api_product(GM_ADDR x, GM_ADDR y, GM_ADDR bias, GM_ADDR z,
                                                  GM_ADDR, GM_ADDR) {
    asc_init();
    asc_set_ffts_base_addr(0);
    __cbuf__ half a1[kM * kK], b1[kK * kN];
    __cbuf__ float bias1[kN];
    __ca__ half a2[kM * kK];
    __cb__ half b2[kK * kN];
    __cc__ float c[kM * kN];
    __biasbuf__ float table[kN];
    asc_copy_gm2l1_nd2nz(a1, (__gm__ half*)x, 1, kM, kK, 0, kK, kM, 1, 0);
    asc_copy_gm2l1_nd2nz(b1, (__gm__ half*)y, 1, kK, kN, 0, kN, kK, 1, 0);
    asc_copy_gm2l1((__cbuf__ void*)bias1, (__gm__ void*)bias, kN * sizeof(float));
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
    // Zz: the fractals of a row of fractals one after another.
    for (uint16_t i = 0; i < kM / 16; ++i) {
        asc_copy_l12l0a(a2 + i * 16 * kK, a1, i, kK / 16, kM / 16, 0);
    }
    // Zn of B: columns of fractals, each transposed.
    for (uint16_t k = 0; k < kK / 16; ++k) {
        asc_copy_l12l0b_trans(b2 + k * 16 * kN, b1, k, kN / 16, kK / 16, 0, false, 0);
    }
    asc_copy_l12bt(reinterpret_cast<uint64_t>(table), bias1, 0, 1, kN * sizeof(float) / 32, 0, 0);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad(c, a2, b2, kM, kK, kN, 0, false, true, false);
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    asc_set_l0c_copy_params(1, 1, 1);
    asc_copy_l0c2gm((__gm__ float*)z, c, kN, kM, kN, kM, 0, QuantMode_t::NoQuant, 0, false, true);
    asc_sync();
}

// int8 rows times int8 columns, each column of the sums scaled to int8, Relu on the way. y has the
// fractals of B in the order of L0B, factors are the 64-bit ones of fixpipe.
extern "C" __global__ __cube__ void c_api_quantised(GM_ADDR x, GM_ADDR y, GM_ADDR factors,
                                                    GM_ADDR z, GM_ADDR, GM_ADDR) {
    asc_init();
    __cbuf__ int8_t a1[kM * kK];
    __cbuf__ uint64_t factors1[kN];
    __ca__ int8_t a2[kM * kK];
    __cb__ int8_t b2[kK * kN];
    __cc__ int32_t c[kM * kN];
    __fbuf__ uint64_t unused[16], factors2[kN];
    (void)unused;
    asc_copy_gm2l1_nd2nz_sync(a1, (__gm__ int8_t*)x, 1, kM, kK, 0, kK, kM, 1, 0);
    asc_copy_gm2l1((__cbuf__ void*)factors1, (__gm__ void*)factors, 1, kN * 8 / 32, 0, 0);
    asc_copy_gm2l0b(b2, (__gm__ int8_t*)y, 0, kK * kN / 512, 1, 0);
    asc_sync();
    asc_copy_l12fb(factors2, factors1, kN * 8);
    for (uint16_t i = 0; i < kM / 16; ++i) {
        asc_copy_l12l0a_sync(a2 + i * 16 * kK, a1, i, kK / 32, kM / 16, 0);
    }
    asc_mmad_sync(c, a2, b2, kM, kK, kN, 0, 0, 0, false, false, false, true);
    asc_set_l0c2gm_config(0, 1, false);
    if (asc_get_l0c2gm_prequant() != 1 || asc_get_l0c2gm_unitflag() != 0) return;
    asc_copy_l0c2gm_sync((__gm__ int8_t*)z, c, kN, kM, kN, kM, 0, QuantMode_t::VREQ8, 1, false,
                         true);
}

// A 3x3 window over an image of 4 x 5 x 16 channels with a border of 7: its columns, times the unit
// matrix (first 16 of the columns), and what asc_fill_* leaves.
extern "C" __global__ __cube__ void c_api_columns(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR filled,
                                                  GM_ADDR, GM_ADDR) {
    asc_init();
    constexpr uint16_t rows = 32;  // 20 places, rounded up
    __cbuf__ half image[20 * 16];
    __cbuf__ float ones[64];
    __ca__ half a2[rows * 16];
    __cb__ half b2[256];
    __cc__ float c[rows * 16];
    asc_copy_gm2l1(image, (__gm__ half*)x, 0, 1, 0, 0);
    asc_copy_gm2l1((__cbuf__ void*)(image + 256), (__gm__ void*)(x + 512), 128);
    asc_copy_gm2l0b(b2, (__gm__ half*)y, 0, 1, 1, 0);
    asc_fill_value_config fill;
    fill.repeat = 2, fill.blk_num = 2, fill.dst_gap = 2;
    asc_fill_l1(ones, uint32_t(0), asc_fill_value_config{8 << 16 | 1});
    asc_sync();
    asc_fill_l1(ones, uint32_t(0x3f800000), fill);
    asc_l13d_fmatrix_config map;
    map.l1_height = 4, map.l1_width = 5;
    map.padding_left_size = map.padding_right_size = map.padding_top_size =
        map.padding_bottom_size = 1;
    asc_set_l13d_fmatrix(map);
    asc_set_l13d_padding(half(7));
    asc_load3d_v2_config once;
    asc_set_l13d_rpt(once);
    asc_set_l13d_size(0);
    asc_sync();
    // The columns of one place of the window: the fifth is the middle.
    const uint16_t place = *(__gm__ int32_t*)filled;
    asc_copy_l12l0a(a2, image, 16, rows, place * 16, 0, 1, 1, 3, 3, 1, 1, false, false, false,
                    false, 16);
    asc_sync();
    asc_mmad(c, a2, b2, rows, 16, 16, 0, false, false, true);
    asc_sync();
    asc_copy_l0c2gm((__gm__ float*)z, c, 16, 20, 16, rows, 0, QuantMode_t::NoQuant, 0, false, true);
    asc_copy_l12gm((__gm__ float*)filled, ones, 1, 8, 0, 0);
    asc_sync();
}

// What is not emulated stops the kernel.
extern "C" __global__ __cube__ void c_api_refused(GM_ADDR x, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR,
                                                  GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(uint32_t, which, tiling);
    __cbuf__ half image[256];
    switch (which) {
        case 0:
            asc_copy_gm2l1_pad3((__cbuf__ void*)image, (__gm__ void*)x, 32);
            break;
        case 1:
            asc_set_l13d_size(1024);
            break;
        default:
            asc_set_l0c2gm_config(1, 0, false);
            break;
    }
}
