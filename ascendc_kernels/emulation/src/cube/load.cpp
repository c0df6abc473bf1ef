// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Loads into L1 and L0: 2D, transposing, image-to-column, fill.
#include <string.h>

#include <algorithm>

#include "core/scheduler.h"
#include "cube/cube.h"

namespace ascendc_emu {
namespace {

void TransposeFractal16(uint16_t* dst, const uint16_t* src) {
    for (uint32_t r = 0; r < kCube; ++r) {
        for (uint32_t c = 0; c < kCube; ++c) dst[c * kCube + r] = src[r * kCube + c];
    }
}

// One fractal after another from `base` (host address of the source tensor); what of global memory
// is no tensor's reads as 0.
void Load2d(Core& core, const TensorRef& dst, const uint8_t* base, bool isGm, DType type,
            const Load2dArgs& args, Api api, Loc loc) {
    if (args.repeat == 0) return;
    if (args.transpose && DTypeBits(type) != 16) {
        Trap(core, loc, api, "ifTranspose needs a 16-bit type, not %s", Name(type));
    }
    CheckRange(core, dst, ((args.repeat - 1ull) * args.dstStride + 1) * kFractal, "dst", api, loc);
    for (uint32_t i = 0; i < args.repeat; ++i) {
        const int64_t from = args.start + static_cast<int64_t>(i) * args.srcStride;
        const uint8_t* in = base + from * kFractal;
        uint8_t* out = dst.ptr + static_cast<uint64_t>(i) * args.dstStride * kFractal;
        uint16_t copy[kFractal / 2] = {};
        memcpy(copy, in,
               isGm ? GmBytes(core, in, kFractal, false, api, Where(core, loc)) : kFractal);
        if (args.transpose) {
            TransposeFractal16(reinterpret_cast<uint16_t*>(out), copy);
        } else {
            memcpy(out, copy, kFractal);
        }
    }
}

void FillFractals(Operand& dst, Operand& src, const Load2dArgs& args) {
    dst.blockBytes = src.blockBytes = kFractal;
    dst.repeats = src.repeats = args.repeat;
    dst.repeatStride = static_cast<int64_t>(args.dstStride) * kFractal;
    src.repeatStride = static_cast<int64_t>(args.srcStride) * kFractal;
    src.addr += static_cast<uint64_t>(args.start) * kFractal;
}

// Rows and columns of the matrix that image-to-column gives, read element by element.
class ColumnMatrix {
 public:
    ColumnMatrix(const Load3dArgs& args, uint32_t c0, uint32_t size, const uint8_t* image)
        : a_(args), c0_(c0), size_(size), image_(image) {
        const uint32_t spanW = (args.filterW - 1) * args.dilationW + 1;
        const int32_t outW = (int32_t(args.width) + args.pad[0] + args.pad[1] - int32_t(spanW)) /
                                 int32_t(std::max(args.strideW, 1u)) +
                             1;
        outW_ = outW > 0 ? uint32_t(outW) : 1;
    }

    // Bytes of element (row, column); null: padding.
    const uint8_t* At(uint32_t row, uint32_t column) const {
        const uint32_t channel0 = column % c0_;
        const uint32_t point = column / c0_;
        const uint32_t filter = a_.filterW * a_.filterH;
        const uint32_t c1 = point / filter;
        const uint32_t fh = point % filter / a_.filterW;
        const uint32_t fw = point % a_.filterW;
        const int32_t h = int32_t(row / outW_ * a_.strideH + fh * a_.dilationH) - a_.pad[2];
        const int32_t w = int32_t(row % outW_ * a_.strideW + fw * a_.dilationW) - a_.pad[0];
        const bool inside = h >= 0 && w >= 0 && h < int32_t(a_.height) && w < int32_t(a_.width);
        if (!inside || c1 * c0_ + channel0 >= AlignedChannels()) return nullptr;
        const uint64_t index =
            ((static_cast<uint64_t>(c1) * a_.height + h) * a_.width + w) * c0_ + channel0;
        return image_ + index * size_;
    }

 private:
    uint32_t AlignedChannels() const { return CeilDiv(a_.channels, c0_) * c0_; }

    const Load3dArgs& a_;
    uint32_t c0_, size_, outW_;
    const uint8_t* image_;
};

}  // namespace

void CubeLoad2d(const TensorRef& dst, const TensorRef& src, DType type, const Load2dArgs& args,
                Api api, Loc loc) {
    Core& core = Current();
    if (core.sink != nullptr && args.repeat != 0) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kMte1;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, type, Access::kWrite, kFractal);
        Operand& from = AddOperand(r, "src", src, type, Access::kRead, kBlock);
        FillFractals(to, from, args);
        Emit(core, r);
        if (core.timeOnly) return;
    }
    const int64_t last = args.start + static_cast<int64_t>(args.repeat - 1ull) * args.srcStride;
    if (args.repeat != 0 && last >= 0) {
        CheckRange(core, src, (std::max<uint64_t>(last, args.start) + 1) * kFractal, "src", api,
                   loc);
    }
    Load2d(core, dst, src.ptr, false, type, args, api, loc);
}

void CubeLoad2d(const TensorRef& dst, const GmRef& src, DType type, const Load2dArgs& args, Api api,
                Loc loc) {
    Core& core = Current();
    if (core.sink != nullptr && args.repeat != 0) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kMte2;
        r.loc = Where(core, loc);
        const bool l0 = dst.mem == Mem::kL0a || dst.mem == Mem::kL0b;
        Operand& to = AddOperand(r, "dst", dst, type, Access::kWrite, l0 ? kFractal : kBlock);
        Operand& from = AddOperand(r, "src", src, type, Access::kRead);
        FillFractals(to, from, args);
        Emit(core, r);
        if (core.timeOnly) return;
    }
    Load2d(core, dst, src.ptr, true, type, args, api, loc);
}

void CubeLoadTranspose(const TensorRef& dst, const TensorRef& src, DType type,
                       const LoadTransposeArgs& args, Loc loc) {
    Core& core = Current();
    NeedsApi(core, loc, Api::kLoadDataWithTranspose);
    const Api api = Api::kLoadDataWithTranspose;
    if (args.repeat == 0) return;
    const uint32_t bits = DTypeBits(type);
    if (bits > 32) Trap(core, loc, api, "%s is not supported", Name(type));
    // A square of `side` elements made of fractals: stacked for 4 and 8 bit, side by side for 32.
    const uint32_t side = bits == 32 ? 16 : kBlock * 8 / bits;
    const uint32_t fractals = bits == 16 ? 1 : bits == 32 ? 2 : side / kCube;
    const uint32_t squareBytes = fractals * kFractal;
    const uint32_t width = kBlock * 8 / bits;  // elements in a row of a fractal
    const uint64_t span =
        ((args.repeat - 1ull) * (args.dstGap + 1) + (fractals - 1ull) * (args.dstFracGap + 1) + 1) *
        kFractal;
    CheckRange(core, dst, span, "dst", api, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kMte1;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, type, Access::kWrite, kFractal);
        to.blockBytes = kFractal;
        to.blocks = fractals;
        to.blockStride = static_cast<int64_t>(args.dstFracGap + 1) * kFractal;
        to.repeats = args.repeat;
        to.repeatStride = static_cast<int64_t>(args.dstGap + 1) * kFractal;
        Operand& from = AddOperand(r, "src", src, type, Access::kRead, kBlock);
        from.addr += static_cast<uint64_t>(args.start) * squareBytes;
        from.blockBytes = squareBytes;
        from.repeats = args.repeat;
        from.repeatStride = static_cast<int64_t>(args.srcStride) * squareBytes;
        Emit(core, r);
        if (core.timeOnly) return;
    }
    const auto nibble = [](const uint8_t* p, uint32_t i) {
        return static_cast<uint8_t>((i & 1) ? p[i / 2] >> 4 : p[i / 2] & 15);
    };
    for (uint32_t rep = 0; rep < args.repeat; ++rep) {
        uint8_t in[4 * kFractal];
        memcpy(in,
               src.ptr +
                   (static_cast<int64_t>(args.start) + static_cast<int64_t>(rep) * args.srcStride) *
                       squareBytes,
               squareBytes);
        uint8_t* out = dst.ptr + static_cast<uint64_t>(rep) * (args.dstGap + 1) * kFractal;
        for (uint32_t r = 0; r < side; ++r) {
            for (uint32_t c = 0; c < side; ++c) {
                // Source (r, c) goes to (c, r).
                const uint32_t from =
                    bits == 32 ? (c / width) * 128 + r * width + c % width : r * side + c;
                const uint32_t fractal = bits == 32 ? r / width : c / kCube;
                const uint32_t inside =
                    bits == 32 ? c * width + r % width : (c % kCube) * width + r;
                uint8_t* target =
                    out + static_cast<uint64_t>(fractal) * (args.dstFracGap + 1) * kFractal;
                if (bits == 4) {
                    const uint8_t value = nibble(in, from);
                    uint8_t& byte = target[inside / 2];
                    byte = (inside & 1) ? (byte & 15) | (value << 4) : (byte & 0xf0) | value;
                } else {
                    memcpy(target + inside * (bits / 8), in + from * (bits / 8), bits / 8);
                }
            }
        }
    }
}

namespace {

// Two channels of half a byte are one of a byte; no element is taken apart.
Load3dArgs PairsOf(const Load3dArgs& args) {
    Load3dArgs pairs = args;
    pairs.channels /= 2;
    pairs.kExtent /= 2;
    pairs.kStart /= 2;
    pairs.padBits = (args.padBits & 15) | (args.padBits & 15) << 4;
    return pairs;
}

// The destination of image-to-column: a matrix as [outer][inner] fractals. With a repeat all blocks
// form one matrix; each is rounded up to whole fractals.
struct ColumnFractals {
    uint32_t c0;                     // elements in 32 bytes
    bool toB;                        // L0B: fractals of [columns][rows]
    bool flip;                       // L0A, transposed
    uint32_t rowsPer, columnsPer;    // of a block
    uint32_t rows, columns;          // of the matrix
    uint32_t outer, inner;           // fractals
    uint32_t fullRows, fullColumns;  // of all fractals

    ColumnFractals(const Load3dArgs& args, const CubeState& state, uint32_t elements, bool l0b)
        : c0(elements), toB(l0b), flip(!l0b && args.transpose) {
        const uint32_t rowUnit = toB || flip ? c0 : kCube, columnUnit = toB || flip ? kCube : c0;
        const bool repeated = state.repeatTime > 1;
        rowsPer = repeated ? CeilDiv(args.mExtent, rowUnit) * rowUnit : args.mExtent;
        columnsPer = repeated ? CeilDiv(args.kExtent, columnUnit) * columnUnit : args.kExtent;
        rows = rowsPer * (state.repeatAlongK ? 1 : state.repeatTime);
        columns = columnsPer * (state.repeatAlongK ? state.repeatTime : 1);
        const uint32_t down = CeilDiv(rows, rowUnit), across = CeilDiv(columns, columnUnit);
        outer = flip ? across : down;
        inner = flip ? down : across;
        fullRows = down * rowUnit;
        fullColumns = across * columnUnit;
    }

    // Position of an element, in elements.
    uint64_t At(uint32_t r, uint32_t c) const {
        uint32_t fractal, inside;
        if (toB || flip) {
            fractal = toB ? r / c0 * inner + c / kCube : c / kCube * inner + r / c0;
            inside = c % kCube * c0 + r % c0;
        } else {
            fractal = r / kCube * inner + c / c0;
            inside = r % kCube * c0 + c % c0;
        }
        return static_cast<uint64_t>(fractal) * kCube * c0 + inside;
    }
};

}  // namespace

void CubeLoad3d(const TensorRef& dst, const TensorRef& src, DType type, const Load3dArgs& args,
                Loc loc) {
    Core& core = Current();
    const Api api = Api::kLoadData;
    if (args.height == 0 || args.width == 0 || args.channels == 0 || args.kExtent == 0 ||
        args.mExtent == 0 || args.filterW == 0 || args.filterH == 0) {
        return;
    }
    const uint32_t bits = DTypeBits(type);
    if (bits < 8) {
        if (dst.mem == Mem::kL0b || args.transpose ||
            (args.channels | args.kExtent | args.kStart) % 2 != 0) {
            Trap(core, loc, api,
                 "image to column of %s is emulated for whole bytes, not transposed", Name(type));
        }
        return CubeLoad3d(dst, src, DType::kI8, PairsOf(args), loc);
    }
    const uint32_t size = bits / 8;
    const uint32_t c0 = kBlock / size;
    const CubeState& state = StateOf(core);
    if (state.repeatTime == 0) return;
    const ColumnFractals target(args, state, c0, dst.mem == Mem::kL0b);
    const uint32_t fractals = target.outer * target.inner;
    CheckRange(core, dst, static_cast<uint64_t>(fractals) * kFractal, "dst", api, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kMte1;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, type, Access::kWrite, kFractal);
        to.blockBytes = kFractal;
        to.blocks = fractals;
        to.blockStride = kFractal;
        Operand& from = AddOperand(r, "src", src, type, Access::kRead, kBlock);
        from.blockBytes = CeilDiv(args.channels, c0) * args.height * args.width * kBlock;
        if (from.hi > from.addr && from.addr + from.blockBytes > from.hi) {
            from.blockBytes = static_cast<uint32_t>(from.hi - from.addr);
        }
        Emit(core, r);
        if (core.timeOnly) return;
    }
    const ColumnMatrix matrix(args, c0, size, src.ptr);
    uint8_t padding[8];
    memcpy(padding, &args.padBits, sizeof(padding));
    // Rows and columns up to the fractal are written as well; the surplus is never used.
    for (uint32_t r = 0; r < target.fullRows; ++r) {
        for (uint32_t c = 0; c < target.fullColumns; ++c) {
            const uint32_t m = r % target.rowsPer, k = c % target.columnsPer;
            const uint32_t mStep = r / target.rowsPer * state.repeatStride * kCube;
            const uint32_t kStep = c / target.columnsPer * state.repeatStride * c0;
            const bool inside =
                r < target.rows && c < target.columns && m < args.mExtent && k < args.kExtent;
            const uint8_t* from =
                inside ? matrix.At(args.mStart + mStep + m, args.kStart + kStep + k) : nullptr;
            memcpy(dst.ptr + target.At(r, c) * size, from != nullptr ? from : padding, size);
        }
    }
}

void CubeLoadSparse(const TensorRef& dst, const TensorRef& src, const TensorRef& index,
                    uint32_t start, uint32_t repeat, Loc loc) {
    Core& core = Current();
    const Api api = Api::kLoadDataWithSparse;
    RequireCubeCores(core, loc);
    if (core.kind == CoreKind::kAiv || repeat == 0) return;
    if (dst.mem != Mem::kL0b || src.mem != Mem::kL1 || index.mem != Mem::kL1) {
        TrapCheck(core, loc, "TensorScope", api, "B1 to B2, the index in B1",
                  "from %s and %s to %s", Name(src.mem), Name(index.mem), Name(dst.mem));
    }
    TensorRef from = src, positions = index;
    from.addr += start * kFractal;
    from.ptr += start * kFractal;
    positions.addr += start * kIndexFractal;
    positions.ptr += start * kIndexFractal;
    CheckRange(core, dst, static_cast<uint64_t>(repeat) * kFractal, "dst", api, loc);
    CheckRange(core, from, static_cast<uint64_t>(repeat) * kFractal, "src", api, loc);
    CheckRange(core, positions, static_cast<uint64_t>(repeat) * kIndexFractal, "idx", api, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kMte1;
        r.loc = Where(core, loc);
        AddOperand(r, "dst", dst, DType::kI8, Access::kWrite, kFractal).blockBytes =
            repeat * kFractal;
        AddOperand(r, "src", from, DType::kI8, Access::kRead, kBlock).blockBytes =
            repeat * kFractal;
        AddOperand(r, "idx", positions, DType::kU8, Access::kRead, kBlock).blockBytes =
            repeat * kIndexFractal;
        Emit(core, r);
        if (core.timeOnly) return;
    }
    memcpy(dst.ptr, from.ptr, static_cast<size_t>(repeat) * kFractal);
    memcpy(StateOf(core).sparse + dst.addr / 4, positions.ptr,
           static_cast<size_t>(repeat) * kIndexFractal);
}

void CubeFill(const TensorRef& dst, DType type, uint64_t valueBits, uint32_t repeat,
              uint32_t blocks, uint32_t gap, Loc loc) {
    Core& core = Current();
    RequireCubeCores(core, loc);
    if (core.kind == CoreKind::kAiv || repeat == 0 || blocks == 0) return;
    const uint32_t unit = dst.mem == Mem::kL1 ? kBlock : kFractal;
    const uint32_t size = DTypeBits(type) / 8;
    CheckRange(core, dst, ((repeat - 1ull) * (blocks + gap) + blocks) * unit, "dst", Api::kFill,
               loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(Api::kFill);
        r.pipe = dst.mem == Mem::kL1 ? Pipe::kMte2 : Pipe::kMte1;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, type, Access::kWrite, kBlock);
        to.blockBytes = blocks * unit;
        to.repeats = repeat;
        to.repeatStride = static_cast<int64_t>(blocks + gap) * unit;
        Emit(core, r);
        if (core.timeOnly) return;
    }
    for (uint32_t i = 0; i < repeat; ++i) {
        uint8_t* out = dst.ptr + static_cast<uint64_t>(i) * (blocks + gap) * unit;
        for (uint32_t b = 0; b < blocks * unit; b += size) memcpy(out + b, &valueBits, size);
    }
}

}  // namespace ascendc_emu
