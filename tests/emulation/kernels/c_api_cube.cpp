// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Cube kernels of the C interface, on arrays that lie in L1, L0A, L0B, L0C, the bias table and the
// fixpipe buffer.
#include "c_api/asc_simd.h"

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
