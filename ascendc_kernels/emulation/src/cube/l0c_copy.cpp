// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Between L0C and UB on unified cores (arch 2002), where no Fixpipe is: results leave by the vector
// unit, converted on the way, and a bias or an earlier sum enters by it. Source: the API pages
// "DataCopy (L0C Buffer to UB)" and "BroadCastVecToMM".
#include <math.h>
#include <string.h>

#include <algorithm>

#include "ascendc_emu/copy_api.h"
#include "ascendc_emu/types.h"
#include "cube/cube.h"

namespace ascendc_emu {
namespace {

using AscendC::BlockMode;
using AscendC::DeqScale;

bool IsVector(DeqScale mode) {
    return mode == DeqScale::VDEQ || mode == DeqScale::VDEQ8 || mode == DeqScale::VDEQ16;
}
bool IsHalfScale(DeqScale mode) { return mode == DeqScale::DEQ || mode == DeqScale::VDEQ; }

float HalfOf(uint64_t bits) { return HalfBitsToFloat(static_cast<uint16_t>(bits)); }

// Shifted to the right and, as a 16-bit number, saturated.
int32_t Shifted(int32_t value, uint64_t scale) {
    const int32_t v = value >> (((scale >> 32) & 15) + 1);
    return std::min(std::max(v, -32768), 32767);
}

// value * M of a 64-bit scale; its bit 36 (MCB) shifts the value first.
float Scaled(int32_t value, uint64_t scale) {
    const int32_t v = (scale >> 36) & 1 ? Shifted(value, scale) : value;
    return static_cast<float>(v) * BitCast<float>(static_cast<uint32_t>(scale));
}

int32_t Byte(int32_t value, uint64_t scale, bool relu) {
    const bool isSigned = (scale >> 46) & 1;
    const int32_t offset = static_cast<int32_t>((scale >> 37) & 0x1ff);
    const float scaled = nearbyintf(Scaled(relu ? std::max(value, 0) : value, scale));
    const float moved = scaled + static_cast<float>(offset >= 256 ? offset - 512 : offset);
    const float low = isSigned ? -128.0f : 0.0f, high = isSigned ? 127.0f : 255.0f;
    return static_cast<int32_t>(std::min(std::max(moved, low), high));
}

// Bits of one element of L0C as UB stores it.
uint32_t Convert(uint32_t raw, DType from, DType to, DeqScale mode, uint64_t scale, bool relu) {
    const int32_t integer = static_cast<int32_t>(raw);
    if (from == DType::kI32 && to != DType::kI32) {
        relu |= !IsHalfScale(mode) && ((scale >> 47) & 1);
        if (to == DType::kI8 || to == DType::kU8)
            return static_cast<uint32_t>(Byte(integer, scale, relu));
        if (to == DType::kI16) {
            return static_cast<uint32_t>(std::max(Shifted(integer, scale), relu ? 0 : -32768));
        }
        const float v = IsHalfScale(mode) ? static_cast<float>(integer) * HalfOf(scale)
                                          : Scaled(integer, scale);
        return FloatToHalfBits(relu ? std::max(v, 0.0f) : v);
    }
    if (from == DType::kI32 || from == DType::kU32) {
        return relu && from == DType::kI32 ? static_cast<uint32_t>(std::max(integer, 0)) : raw;
    }
    float v = from == DType::kF16 ? HalfOf(raw) : BitCast<float>(raw);
    if (mode == DeqScale::DEQ) v *= HalfOf(scale);
    if (relu && v < 0.0f) v = 0.0f;
    return to == DType::kF16 ? FloatToHalfBits(v) : BitCast<uint32_t>(v);
}

struct L0cCopy {
    uint32_t blocks, fractals;    // fractals of a block
    uint32_t rows;                // of a fractal that are copied
    uint32_t srcSize, dstSize;    // bytes of an element
    uint64_t srcBlock, dstBlock;  // bytes from one block to the next
    uint32_t dstRow;              // bytes from one row of 16 elements to the next
    uint32_t dstSide;             // bytes to the row's place in a data block
    bool paired;                  // two fractals side by side in data blocks of 32 bytes

    uint64_t Target(uint32_t block, uint32_t fractal, uint32_t row) const {
        const uint64_t start = block * dstBlock;
        if (!paired) return start + (uint64_t{fractal} * rows + row) * dstRow + dstSide;
        const bool hasPartner = (fractal | 1) < fractals;
        return start + uint64_t{fractal / 2} * rows * 32 +
               (hasPartner ? row * 32 + fractal % 2 * 16 : row * 16);
    }
};

L0cCopy Layout(const AscendC::DataCopyParams& p, const AscendC::DataCopyEnhancedParams& e,
               DType srcType, DType dstType) {
    L0cCopy c;
    c.blocks = p.blockCount;
    c.fractals = p.blockLen;
    c.rows = e.blockMode == BlockMode::BLOCK_MODE_VECTOR ? 1 : kCube;
    c.srcSize = DTypeBits(srcType) / 8;
    c.dstSize = DTypeBits(dstType) / 8;
    // One half of a data block a row, or (sidStoreMode 2) both by two fractals.
    c.paired = c.dstSize == 1 && e.sidStoreMode == 2;
    c.dstRow = c.dstSize == 1 && !c.paired ? 32 : kCube * c.dstSize;
    c.dstSide = c.dstSize == 1 && e.sidStoreMode == 1 ? 16 : 0;
    c.srcBlock = (uint64_t{p.blockLen} + p.srcStride) * kCube * kCube * c.srcSize;
    c.dstBlock = uint64_t{p.blockLen} * c.rows * c.dstRow + p.dstStride * uint64_t{32};
    return c;
}

void Check(Core& core, const L0cCopy& c, const TensorRef& dst, const TensorRef& src,
           const AscendC::DataCopyEnhancedParams& e, Loc loc) {
    if (!core.soc->traits.unified) {
        Trap(core, loc, "DataCopy", "%s has no way from L0C to UB; use Fixpipe", core.soc->name);
    }
    if (e.blockMode != BlockMode::BLOCK_MODE_MATRIX &&
        e.blockMode != BlockMode::BLOCK_MODE_VECTOR) {
        Trap(core, loc, "DataCopy",
             "from L0C: blockMode must be BLOCK_MODE_MATRIX or BLOCK_MODE_VECTOR");
    }
    const uint32_t last = c.blocks - 1;
    CheckRange(core, src, last * c.srcBlock + uint64_t{c.fractals} * kCube * kCube * c.srcSize,
               "src", Api::kDataCopy, loc);
    CheckRange(core, dst, last * c.dstBlock + uint64_t{c.fractals} * c.rows * c.dstRow, "dst",
               Api::kDataCopy, loc);
}

void Tell(Core& core, const L0cCopy& c, const TensorRef& dst, DType dstType, const TensorRef& src,
          DType srcType, const TensorRef* table, Loc loc) {
    if (core.sink == nullptr) return;
    Record r;
    r.SetApi(Api::kDataCopy);
    r.pipe = Pipe::kV;
    r.loc = Where(core, loc);
    const uint32_t fractal = kCube * kCube * c.srcSize;
    Operand& from = AddOperand(r, "src", src, srcType, Access::kRead, 64);
    from.blockBytes = c.rows * kCube * c.srcSize;
    from.blocks = c.fractals;
    from.blockStride = fractal;
    from.repeats = c.blocks;
    from.repeatStride = static_cast<int64_t>(c.srcBlock);
    Operand& to = AddOperand(r, "dst", dst, dstType, Access::kWrite, kBlock);
    const bool whole = c.dstSize != 1 || c.paired;
    to.addr += c.dstSide;
    to.align = whole ? kBlock : 16;
    to.blockBytes = whole ? c.fractals * c.rows * c.dstRow : 16;
    to.blocks = whole ? 1 : c.fractals * c.rows;
    to.blockStride = c.dstRow;
    to.repeats = c.blocks;
    to.repeatStride = static_cast<int64_t>(c.dstBlock);
    if (table != nullptr) {
        Operand& scales = AddOperand(r, "deqTensor", *table, DType::kU64, Access::kRead, kBlock);
        scales.blockBytes = table->size;
    }
    Emit(core, r);
}

}  // namespace

void RunCopyFromL0c(const TensorRef& dst, DType dstType, const TensorRef& src, DType srcType,
                    const AscendC::DataCopyParams& p, const AscendC::DataCopyEnhancedParams& e,
                    Loc loc) {
    Core& core = Current();
    if (p.blockCount == 0 || p.blockLen == 0) return;
    const L0cCopy c = Layout(p, e, srcType, dstType);
    Check(core, c, dst, src, e, loc);
    // The scales of a block: 16 of them, in UB, of which every row uses all.
    TensorRef table;
    const uint32_t scaleBytes = e.deqScale == DeqScale::VDEQ ? 2 : 8;
    if (IsVector(e.deqScale)) {
        uint8_t* const ub = core.memory[static_cast<int>(Mem::kUb)];
        table.mem = Mem::kUb;
        // Of an address that GetPhyAddr gave, the low half is the offset in UB.
        table.addr =
            static_cast<uint32_t>(e.deqTensorAddr != 0 ? e.deqTensorAddr : core.regs.deqScale);
        table.size = c.blocks * kCube * scaleBytes;
        table.ptr = ub + table.addr;
        CheckRange(core, table, table.size, "deqTensor", Api::kDataCopy, loc);
    }
    Tell(core, c, dst, dstType, src, srcType, IsVector(e.deqScale) ? &table : nullptr, loc);
    if (core.timeOnly) return;
    for (uint32_t block = 0; block < c.blocks; ++block) {
        for (uint32_t f = 0; f < c.fractals; ++f) {
            const uint8_t* in =
                src.ptr + block * c.srcBlock + uint64_t{f} * kCube * kCube * c.srcSize;
            for (uint32_t row = 0; row < c.rows; ++row) {
                uint8_t* out = dst.ptr + c.Target(block, f, row);
                for (uint32_t i = 0; i < kCube; ++i) {
                    uint64_t scale = e.deqValue;
                    if (table.size != 0) {
                        scale = 0;
                        memcpy(&scale, table.ptr + (block * kCube + i) * scaleBytes, scaleBytes);
                    }
                    uint32_t raw = 0;
                    memcpy(&raw, in + (row * kCube + i) * c.srcSize, c.srcSize);
                    const uint32_t bits =
                        Convert(raw, srcType, dstType, e.deqScale, scale, e.isRelu);
                    memcpy(out + i * c.dstSize, &bits, c.dstSize);
                }
            }
        }
    }
}

// The page has the way back from UB to L0C in its enums only. Its units mirror the table's: blocks
// and the gaps in L0C are fractals, or the first rows of fractals, the gaps in UB data blocks of 32
// bytes.
void RunCopyToL0c(const TensorRef& dst, DType dstType, const TensorRef& src, DType srcType,
                  const AscendC::DataCopyParams& p, const AscendC::DataCopyEnhancedParams& e,
                  Loc loc) {
    Core& core = Current();
    if (!core.soc->traits.unified) {
        Trap(core, loc, "DataCopy", "%s has no way from UB to L0C; unified cores have one",
             core.soc->name);
    }
    if (e.blockMode != BlockMode::BLOCK_MODE_MATRIX &&
        e.blockMode != BlockMode::BLOCK_MODE_VECTOR) {
        Trap(core, loc, "DataCopy",
             "to L0C: blockMode must be BLOCK_MODE_MATRIX or BLOCK_MODE_VECTOR");
    }
    const bool widens = srcType == DType::kF16 && dstType == DType::kF32;
    if (!widens && (srcType != dstType || DTypeBits(srcType) < 16)) {
        Trap(core, loc, "DataCopy",
             "to L0C: from half to float, or half, float, int32_t and uint32_t as they are");
    }
    if (p.blockCount == 0 || p.blockLen == 0) return;
    const uint32_t rows = e.blockMode == BlockMode::BLOCK_MODE_VECTOR ? 1 : kCube;
    const uint32_t srcSize = DTypeBits(srcType) / 8, dstSize = DTypeBits(dstType) / 8;
    const uint64_t srcPiece = uint64_t{rows} * kCube * srcSize,
                   fractal = uint64_t{kCube} * kCube * dstSize;
    const uint64_t srcBlock = p.blockLen * srcPiece + p.srcStride * uint64_t{32};
    const uint64_t dstBlock = (uint64_t{p.blockLen} + p.dstStride) * fractal;
    const uint32_t last = p.blockCount - 1;
    CheckRange(core, src, last * srcBlock + p.blockLen * srcPiece, "src", Api::kDataCopy, loc);
    CheckRange(core, dst, last * dstBlock + p.blockLen * fractal, "dst", Api::kDataCopy, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(Api::kDataCopy);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, dstType, Access::kWrite, 64);
        to.blockBytes = uint64_t{rows} * kCube * dstSize;
        to.blocks = p.blockLen;
        to.blockStride = static_cast<int64_t>(fractal);
        to.repeats = p.blockCount;
        to.repeatStride = static_cast<int64_t>(dstBlock);
        Operand& from = AddOperand(r, "src", src, srcType, Access::kRead, kBlock);
        from.blockBytes = p.blockLen * srcPiece;
        from.repeats = p.blockCount;
        from.repeatStride = static_cast<int64_t>(srcBlock);
        Emit(core, r);
        if (core.timeOnly) return;
    }
    for (uint32_t block = 0; block < p.blockCount; ++block) {
        for (uint32_t f = 0; f < p.blockLen; ++f) {
            const uint8_t* in = src.ptr + block * srcBlock + f * srcPiece;
            uint8_t* out = dst.ptr + block * dstBlock + f * fractal;
            if (!widens) {
                memcpy(out, in, srcPiece);
                continue;
            }
            for (uint32_t i = 0; i < rows * kCube; ++i) {
                uint16_t bits;
                memcpy(&bits, in + 2 * i, 2);
                const float value = HalfBitsToFloat(bits);
                memcpy(out + 4 * i, &value, 4);
            }
        }
    }
}

void CubeBroadcast(const TensorRef& dst, const TensorRef& src, DType type, uint32_t blocks,
                   uint32_t length, uint32_t srcGap, uint32_t dstGap, Loc loc) {
    Core& core = Current();
    if (!core.soc->traits.unified) {
        Trap(core, loc, "BroadCastVecToMM", "%s has no way from UB to L0C; unified cores have one",
             core.soc->name);
    }
    if (blocks == 0 || length == 0) return;
    const uint32_t line = kCube * DTypeBits(type) / 8;
    const uint64_t srcBlock = uint64_t{length} * line + srcGap * uint64_t{32};
    const uint64_t dstBlock = (uint64_t{length} + dstGap) * kCube * line;
    const uint64_t srcBytes = (blocks - 1) * srcBlock + uint64_t{length} * line;
    const uint64_t dstBytes = (blocks - 1) * dstBlock + uint64_t{length} * kCube * line;
    CheckRange(core, src, srcBytes, "src", Api::kBroadCastVecToMM, loc);
    CheckRange(core, dst, dstBytes, "dst", Api::kBroadCastVecToMM, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(Api::kBroadCastVecToMM);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, type, Access::kWrite, 64);
        to.blockBytes = length * kCube * line;
        to.repeats = blocks;
        to.repeatStride = static_cast<int64_t>(dstBlock);
        Operand& from = AddOperand(r, "src", src, type, Access::kRead, kBlock);
        from.blockBytes = length * line;
        from.repeats = blocks;
        from.repeatStride = static_cast<int64_t>(srcBlock);
        Emit(core, r);
        if (core.timeOnly) return;
    }
    for (uint32_t b = 0; b < blocks; ++b) {
        for (uint32_t f = 0; f < length; ++f) {
            for (uint32_t row = 0; row < kCube; ++row) {
                memcpy(dst.ptr + b * dstBlock + (uint64_t{f} * kCube + row) * line,
                       src.ptr + b * srcBlock + uint64_t{f} * line, line);
            }
        }
    }
}

}  // namespace ascendc_emu
