// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "adv/element_io.h"
#include "ascendc_emu/adv_quant_api.h"

namespace ascendc_emu {
namespace {

double ToHalf(double v) { return HalfBitsToFloat(FloatToHalfBits(static_cast<float>(v))); }

// A 64-bit dequantisation scale holds the bits of a float32 in its low half.
float ScaleAt(const TensorRef& scale, DType type, uint64_t i) {
    if (type != DType::kU64 && type != DType::kI64)
        return static_cast<float>(LoadReal(scale, type, i));
    float value;
    memcpy(&value, scale.ptr + i * 8, sizeof(value));
    return value;
}

}  // namespace

void RunAscendQuant(const QuantCall& c) {
    if ((c.scale != nullptr && c.scaleCount == 0) || (c.offset != nullptr && c.offsetCount == 0)) {
        TrapCheck(Current(), c.loc, "ErrorParam", "AscendQuant", "scaleCount, offsetCount > 0",
                  "scaleCount %u, offsetCount %u", c.scaleCount, c.offsetCount);
    }
    const AdvOperand operands[] = {{"dst", c.dst, DType::kI8, c.count, Access::kWrite},
                                   {"src", c.src, c.type, c.count, Access::kRead},
                                   {"scale", c.scale, c.type, c.scaleCount, Access::kRead},
                                   {"offset", c.offset, c.type, c.offsetCount, Access::kRead},
                                   Tmp(c.tmp)};
    if (!AdvBegin(Api::kAscendQuant, c.loc, operands, 5)) return;
    if (Current().kind == CoreKind::kAic) return;
    for (uint32_t i = 0; i < c.count; ++i) {
        const double scale = c.scale ? LoadReal(*c.scale, c.type, i % c.scaleCount) : c.scale0;
        const double offset = c.offset ? LoadReal(*c.offset, c.type, i % c.offsetCount) : c.offset0;
        const double scaled = ToHalf(ToHalf(LoadReal(*c.src, c.type, i)) * ToHalf(scale));
        StoreReal(*c.dst, DType::kI8, i, ToHalf(scaled + ToHalf(offset)));
    }
}

void RunAscendDequant(const DequantCall& call) {
    DequantCall c = call;
    const uint32_t perBlock = 32 * 8 / DTypeBits(c.dstType);
    if (c.m == 0 || c.n == 0 || c.count == 0 || c.count > c.n) {
        TrapCheck(Current(), c.loc, "ErrorParam", "AscendDequant", "1 <= calCount <= n",
                  "m %u, n %u, calCount %u", c.m, c.n, c.count);
    }
    if (c.singleRow && c.m == 1 && c.count % perBlock == 0 && c.n % c.count == 0) {
        c.m = c.n / c.count;
        c.n = c.count;
    }
    const uint64_t dstRow = (c.n + perBlock - 1) / perBlock * perBlock;
    const AdvOperand operands[] = {
        {"dst", c.dst, c.dstType, (c.m - 1) * dstRow + c.count, Access::kWrite},
        {"src", c.src, DType::kI32, static_cast<uint64_t>(c.m - 1) * c.n + c.count, Access::kRead},
        {"deqScale", c.scale, c.scaleType, c.count, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(Api::kAscendDequant, c.loc, operands, 4)) return;
    if (Current().kind == CoreKind::kAic) return;
    for (uint32_t i = 0; i < c.m; ++i) {
        for (uint32_t j = 0; j < c.count; ++j) {
            const float scale =
                c.scale ? ScaleAt(*c.scale, c.scaleType, j) : static_cast<float>(c.scale0);
            const float v = static_cast<float>(
                LoadInt(*c.src, DType::kI32, static_cast<uint64_t>(i) * c.n + j));
            StoreReal(*c.dst, c.dstType, i * dstRow + j, v * scale);
        }
    }
}

void RunAscendAntiQuant(const AntiQuantCall& c) {
    const bool scalar = c.scale == nullptr;
    const uint32_t n = c.k == 0 ? 0 : c.count / c.k;
    uint32_t height = c.height, width = c.width;
    if (!scalar && (height == 0 || width == 0)) {  // one group
        height = c.transposed ? n : 1;
        width = c.transposed ? 1 : n;
    }
    const uint32_t groups = c.transposed ? width : height;
    const uint32_t channels = c.transposed ? height : width;
    if (c.k == 0 || n == 0 || (!scalar && (groups == 0 || c.k % groups != 0 || channels != n))) {
        TrapCheck(
            Current(), c.loc, "ErrorParam", "AscendAntiQuant",
            "src is [k, n] ([n, k] transposed), scale and offset one value per channel and group",
            "src has %u elements, k is %u, scale is [%u, %u]", c.count, c.k, height, width);
    }
    const uint64_t all = static_cast<uint64_t>(c.k) * n;
    const uint64_t factors = static_cast<uint64_t>(height) * width;
    const AdvOperand operands[] = {{"dst", c.dst, c.dstType, all, Access::kWrite},
                                   {"src", c.src, c.srcType, all, Access::kRead},
                                   {"offset", c.offset, c.dstType, factors, Access::kRead},
                                   {"scale", c.scale, c.dstType, factors, Access::kRead},
                                   Tmp(c.tmp)};
    if (!AdvBegin(Api::kAscendAntiQuant, c.loc, operands, 5)) return;
    if (Current().kind == CoreKind::kAic) return;
    const bool half = c.dstType == DType::kF16;  // bfloat16 is computed in float32
    for (uint64_t i = 0; i < all; ++i) {
        const uint64_t k = c.transposed ? i % c.k : i / n;
        const uint64_t channel = c.transposed ? i / c.k : i % n;
        uint64_t at = 0;
        if (!scalar) {
            const uint64_t group = k / (c.k / groups);
            at = c.transposed ? channel * groups + group : group * n + channel;
        }
        const double scale = c.scale ? LoadReal(*c.scale, c.dstType, at) : c.scale0;
        const double offset = c.offset ? LoadReal(*c.offset, c.dstType, at) : c.offset0;
        const double sum = LoadReal(*c.src, c.srcType, i) + offset;
        StoreReal(*c.dst, c.dstType, i, (half ? ToHalf(sum) : static_cast<float>(sum)) * scale);
    }
}

}  // namespace ascendc_emu
