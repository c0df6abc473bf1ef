// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Pipes of a cube core: z[16, 16] = x[16, 16] * y[16, 16] in half, accumulated in float.
#include "skeleton.h"

namespace {

constexpr uint32_t kFractal = 16 * 16;

struct Cube {
    __aicore__ inline Cube(GM_ADDR x_, GM_ADDR y_, GM_ADDR z_)
        : a1(TPosition::A1, 0, kFractal),
          b1(TPosition::B1, kFractal * sizeof(half), kFractal),
          a2(TPosition::A2, 0, kFractal),
          b2(TPosition::B2, 0, kFractal),
          c(TPosition::CO1, 0, kFractal) {
        x.SetGlobalBuffer((__gm__ half*)x_, kFractal);
        y.SetGlobalBuffer((__gm__ half*)y_, kFractal);
        z.SetGlobalBuffer((__gm__ float*)z_, 2 * kFractal);
        load.repeatTimes = 1;
        loadTransposed.repeatTimes = 1;
        loadTransposed.ifTranspose = true;
        mmad.m = mmad.n = mmad.k = 16;
        mmad.cmatrixInitVal = true;
        fix.nSize = fix.mSize = 16;
        fix.srcStride = 16;
        fix.dstStride = 16;
    }
    __aicore__ inline void LoadL1() {
        DataCopy(a1, x, nd);
        DataCopy(b1, y, nd);
        Sync<HardEvent::MTE2_MTE1>();
    }
    // Both operands to L0.
    __aicore__ inline void Load() {
        LoadL1();
        LoadData(a2, a1, load);
        LoadData(b2, b1, loadTransposed);
        Sync<HardEvent::MTE1_M>();
    }
    __aicore__ inline void Store() {
        Sync<HardEvent::M_FIX>();
        Fixpipe(z, c, fix);
    }
    GlobalTensor<half> x, y;
    GlobalTensor<float> z;
    LocalTensor<half> a1, b1, a2, b2;
    LocalTensor<float> c;
    // One matrix of 16 x 16 fractals: rows of 32 bytes.
    Nd2NzParams nd = {1, 16, 16, 0, 16, 16, 1, 0};
    LoadData2DParams load, loadTransposed;
    MmadParams mmad;
    FixpipeParamsV220 fix;
};

}  // namespace

// case l0a_loaded_before_l1_arrived: ErrorSync2 found kind=aic
KERNEL(l0a_loaded_before_l1_arrived) {
    Cube k(x, y, z);
    DataCopy(k.a1, k.x, k.nd);
    DataCopy(k.b1, k.y, k.nd);
    LoadData(k.a2, k.a1, k.load);  // <- ErrorSync2
    Sync<HardEvent::MTE2_MTE1>();
    LoadData(k.b2, k.b1, k.loadTransposed);
    Sync<HardEvent::MTE1_M>();
    Mmad(k.c, k.a2, k.b2, k.mmad);
    k.Store();
}

// case mmad_before_l0_loaded: ErrorSync2 found kind=aic
KERNEL(mmad_before_l0_loaded) {
    Cube k(x, y, z);
    k.LoadL1();
    LoadData(k.a2, k.a1, k.load);
    Sync<HardEvent::MTE1_M>();
    LoadData(k.b2, k.b1, k.loadTransposed);
    Mmad(k.c, k.a2, k.b2, k.mmad);  // <- ErrorSync2
    k.Store();
}

// case fixpipe_before_mmad_done: ErrorSync2 found kind=aic
KERNEL(fixpipe_before_mmad_done) {
    Cube k(x, y, z);
    k.Load();
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z, k.c, k.fix);  // <- ErrorSync2
}

// case next_tile_over_l0_in_use: ErrorSync1 found kind=aic
KERNEL(next_tile_over_l0_in_use) {
    Cube k(x, y, z);
    k.Load();
    Mmad(k.c, k.a2, k.b2, k.mmad);
    LoadData(k.a2, k.b1, k.load);  // <- ErrorSync1
    Sync<HardEvent::MTE1_M>();
    k.mmad.cmatrixInitVal = false;
    Mmad(k.c, k.a2, k.b2, k.mmad);
    k.Store();
}

// case matmul_with_flags: ErrorSync2 silent kind=aic
KERNEL(matmul_with_flags) {
    Cube k(x, y, z);
    k.Load();
    Mmad(k.c, k.a2, k.b2, k.mmad);
    k.Store();
}

// case accumulate_with_flags: ErrorSync1 silent kind=aic
KERNEL(accumulate_with_flags) {
    Cube k(x, y, z);
    k.LoadL1();
    for (int i = 0; i < 3; ++i) {
        LoadData(k.a2, k.a1, k.load);
        LoadData(k.b2, k.b1, k.loadTransposed);
        Sync<HardEvent::MTE1_M>();
        k.mmad.cmatrixInitVal = i == 0;
        Mmad(k.c, k.a2, k.b2, k.mmad);
        Sync<HardEvent::M_MTE1>();
    }
    k.Store();
}

namespace {

// Two products into the same L0C, each taken away by Fixpipe; no events between the two pipes.
__aicore__ inline void TwoProducts(Cube& k, uint8_t mmadFlag, uint8_t fixFlag) {
    k.Load();
    k.mmad.unitFlag = mmadFlag;
    k.fix.unitFlag = fixFlag;
}

}  // namespace

// case unit_flag_instead_of_events: ErrorSync2 silent kind=aic
KERNEL(unit_flag_instead_of_events) {
    Cube k(x, y, z);
    TwoProducts(k, 3, 3);
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z, k.c, k.fix);
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z[kFractal], k.c, k.fix);
}

// case unit_flag_of_the_last_mmad: ErrorSync2 silent kind=aic
KERNEL(unit_flag_of_the_last_mmad) {
    Cube k(x, y, z);
    TwoProducts(k, 2, 3);
    Mmad(k.c, k.a2, k.b2, k.mmad);
    k.mmad.cmatrixInitVal = false;
    k.mmad.unitFlag = 3;
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z, k.c, k.fix);
}

// case unit_flag_of_mmad_alone: ErrorSync2 found kind=aic
KERNEL(unit_flag_of_mmad_alone) {
    Cube k(x, y, z);
    TwoProducts(k, 3, 0);
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z, k.c, k.fix);  // <- ErrorSync2
}

// case unit_flag_never_last: ErrorSync2 found kind=aic
KERNEL(unit_flag_never_last) {
    Cube k(x, y, z);
    TwoProducts(k, 2, 3);
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z, k.c, k.fix);  // <- ErrorSync2
}

// case next_mmad_without_unit_flag: ErrorSync1 found kind=aic
KERNEL(next_mmad_without_unit_flag) {
    Cube k(x, y, z);
    TwoProducts(k, 3, 3);
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Fixpipe(k.z, k.c, k.fix);
    k.mmad.unitFlag = 0;
    Mmad(k.c, k.a2, k.b2, k.mmad);  // <- ErrorSync1
    Sync<HardEvent::M_FIX>();
    k.fix.unitFlag = 0;
    Fixpipe(k.z[kFractal], k.c, k.fix);
}

// case mmad_past_a_placed_tensor: ErrorWrite2 silent kind=aic
KERNEL(mmad_past_a_placed_tensor) {
    GlobalTensor<half> left, right;
    left.SetGlobalBuffer((__gm__ half*)x, kFractal);
    right.SetGlobalBuffer((__gm__ half*)y, kFractal);
    GlobalTensor<float> product;
    product.SetGlobalBuffer((__gm__ float*)z, kFractal);
    LocalTensor<half> a1(TPosition::A1, 0, kFractal);
    LocalTensor<half> b1(TPosition::B1, kFractal * sizeof(half), kFractal);
    LocalTensor<half> a2(TPosition::A2, 0, kFractal);
    LocalTensor<half> b2(TPosition::B2, 0, kFractal);
    // Sized for the eight valid rows; the cube writes a whole fractal.
    LocalTensor<float> c(TPosition::CO1, 0, kFractal / 2);
    const Nd2NzParams nd = {1, 16, 16, 0, 16, 16, 1, 0};
    LoadData2DParams load;
    load.repeatTimes = 1;
    MmadParams mmad(8, 16, 16, false, 0, false, false, false);
    mmad.cmatrixInitVal = true;
    FixpipeParamsV220 fix;
    fix.nSize = fix.srcStride = fix.dstStride = 16;
    fix.mSize = 8;
    DataCopy(a1, left, nd);
    DataCopy(b1, right, nd);
    Sync<HardEvent::MTE2_MTE1>();
    LoadData(a2, a1, load);
    load.ifTranspose = true;
    LoadData(b2, b1, load);
    Sync<HardEvent::MTE1_M>();
    Mmad(c, a2, b2, mmad);
    Sync<HardEvent::M_FIX>();
    Fixpipe(product, c, fix);
}

// case nd_rows_behind_the_tensor: ErrorRead3 found kind=aic
KERNEL(nd_rows_behind_the_tensor) {
    GlobalTensor<half> all;
    all.SetGlobalBuffer((__gm__ half*)x);
    // 192 rows of 32 bytes, 128 are there; the kernel goes on with the others.
    LocalTensor<half> a1(TPosition::A1, 0, 192 * 16);
    DataCopy(a1, all, Nd2NzParams{1, 192, 16, 0, 16, 192, 1, 0});  // <- ErrorRead3
    Sync<HardEvent::MTE2_MTE1>();
    LocalTensor<half> a2(TPosition::A2, 0, 256);
    LoadData2DParams load;
    load.repeatTimes = 1;
    LoadData(a2, a1, load);
}

namespace {

// One fractal of each operand, a product of more, and its first fractal stored.
__aicore__ inline void LoadAndMultiply(Cube& k) {
    k.a2 = LocalTensor<half>(TPosition::A2, 0, 2 * kFractal);
    k.b2 = LocalTensor<half>(TPosition::B2, 0, 2 * kFractal);
    k.c = LocalTensor<float>(TPosition::CO1, 0, 2 * kFractal);
    k.Load();
    Mmad(k.c, k.a2, k.b2, k.mmad);
    Sync<HardEvent::M_FIX>();
}

}  // namespace

// case product_deeper_than_what_was_loaded: ErrorRead2 found kind=aic
KERNEL(product_deeper_than_what_was_loaded) {
    Cube k(x, y, z);
    k.mmad.k = 32;
    LoadAndMultiply(k);
    Fixpipe(k.z, k.c, k.fix);  // <- ErrorRead2
}

// case product_deeper_by_one_element: ErrorRead2 found kind=aic
KERNEL(product_deeper_by_one_element) {
    Cube k(x, y, z);
    k.mmad.k = 17;
    LoadAndMultiply(k);
    Fixpipe(k.z, k.c, k.fix);  // <- ErrorRead2
}

// case product_with_rows_that_were_not_loaded: ErrorRead2 silent kind=aic
KERNEL(product_with_rows_that_were_not_loaded) {
    Cube k(x, y, z);
    k.mmad.m = 32;
    k.fix.srcStride = 32;
    LoadAndMultiply(k);
    Fixpipe(k.z, k.c, k.fix);
}

// case product_with_columns_that_were_not_loaded: ErrorRead2 silent kind=aic
KERNEL(product_with_columns_that_were_not_loaded) {
    Cube k(x, y, z);
    k.mmad.n = 32;
    LoadAndMultiply(k);
    Fixpipe(k.z, k.c, k.fix);
}
