// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Forms of APIs that few kernels use: x, y and z go to UB, z comes back.
#include "frame.h"

// x: [8, 64] values, y: inSum[8], inMax[8]; z: dst[8, 64], reduceMax[8], sum[8], max[8], expMax[8].
constexpr SoftmaxConfig kNarrow(true, 8, 64, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC);
KERNEL(flash_narrow) {
    Frame f(x, y, z, tiling);
    auto out = f.Z<float>();
    const SoftMaxShapeInfo shape{8, 64, 8, 64};
    const SoftMaxTiling t = SoftMaxFlashV2TilingFunc(shape, 4, 4, 65536, true);
    SoftmaxFlashV2<float, true, false, false, false, kNarrow>(
        out, out[512], out[520], out[528], f.X<float>(), out[536], f.Y<float>(), f.Y<float>()[8],
        f.W<uint8_t>(), t, shape);
    f.End(z);
}

// The same rows through SoftMax with deduced types; the row tensors are blocks of 8.
KERNEL(softmax_deduced) {
    Frame f(x, y, z, tiling);
    auto out = f.Z<float>();
    SoftMax(out, out[512], out[576], f.X<float>(), f.W<uint8_t>(), SoftMaxTiling(),
            SoftMaxShapeInfo{8, 64, 8, 64});
    f.End(z);
}

// x: 64 int16; z: x >> 3 by count, by mask, by bits with rounding.
KERNEL(shift_typed) {
    Frame f(x, y, z, tiling);
    auto in = f.X<int16_t>(), out = f.Z<int16_t>();
    uint64_t bits[2] = {FULL_MASK, 0};
    ShiftRight<int16_t, int16_t>(out, in, static_cast<int16_t>(3), 64);
    ShiftRight<int16_t, int16_t, true>(out[64], in, static_cast<int16_t>(3), 64ul, 1, {1, 1, 8, 8},
                                       false);
    ShiftRight<int16_t, int16_t>(out[128], in, static_cast<int16_t>(3), bits, 1, {1, 1, 8, 8},
                                 true);
    f.End(z);
}

// x, y: 32 words; z: the first 48 halves of them by And as float, the next by Or as uint8.
KERNEL(bits_of_any_type) {
    Frame f(x, y, z, tiling);
    And(f.Z<float>(), f.X<float>(), f.Y<float>(), 48);
    Or(f.Z<uint8_t>()[128], f.X<uint8_t>(), f.Y<uint8_t>(), 48);
    f.End(z);
}

// x: 512 half, y: 32 block offsets and the weights; z: two rows of 128.
__aicore__ inline void Interpolate(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling, bool perBlock) {
    Frame f(x, y, z, tiling);
    auto offsets = f.Y<uint32_t>();
    auto weights = f.Y<half>()[64];
    if (perBlock) {
        BilinearInterpolation(f.Z<half>(), f.X<half>(), offsets, weights, 128ul, 2, true, 1, 128, 2,
                              f.W<uint8_t>());
    } else {
        uint64_t bits[2] = {FULL_MASK, FULL_MASK};
        BilinearInterpolation(f.Z<half>(), f.X<half>(), offsets, weights, bits, 2, false, 1, 128, 2,
                              f.W<uint8_t>());
    }
    f.End(z);
}
KERNEL(interpolate) { Interpolate(x, y, z, tiling, false); }
KERNEL(interpolate_blocks) { Interpolate(x, y, z, tiling, true); }

// x: 256 float, out to the workspace and back with gaps.
KERNEL(spm) {
    Frame f(x, y, z, tiling);
    GlobalTensor<float> space;
    space.SetGlobalBuffer((__gm__ float*)GetUserWorkspace(workspace), 1024);
    f.pipe.InitSpmBuffer(space, 4096);
    f.pipe.WriteSpmBuffer(f.X<float>(), 128, 0);
    f.pipe.WriteSpmBuffer(f.X<float>()[128], DataCopyParams(8, 2, 0, 2), 256);
    Duplicate(f.X<float>(), 0.0f, 256);
    f.pipe.ReadSpmBuffer(f.Z<float>(), 128);
    f.pipe.ReadSpmBuffer(f.Z<float>()[128], DataCopyParams(8, 2, 2, 0), 256);
    f.End(z);
}

// Keys 1 and 2 add x * 2, key 3 and 4 x * 3; a file keeps x.
KERNEL(key_list) {
    Frame f(x, y, z, tiling);
    if (TILING_KEY_LIST(1, 2)) {
        Axpy(f.Z<float>(), f.X<float>(), 2.0f, 64);
    } else if (TILING_KEY_LIST(3, 4)) {
        Axpy(f.Z<float>(), f.X<float>(), 3.0f, 64);
    }
    auto part = f.X<float>()[8];
    part.SetSize(16);
    ASSERT(part.ToFile("part.bin") == 0);
    f.End(z);
}
