// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include <algorithm>
#include <vector>

#include "adv/element_io.h"
#include "ascendc_emu/adv_tensor_api.h"
#include "ascendc_emu/adv_trans_data_api.h"

namespace ascendc_emu {
namespace {

bool OnCubeCore() { return Current().kind == CoreKind::kAic; }

// Copies the source before the destination is written: public kernels broadcast in place.
std::vector<uint8_t> Snapshot(const TensorRef& t, uint64_t elements, uint32_t width) {
    return std::vector<uint8_t>(t.ptr, t.ptr + elements * width);
}

// Where element [row, column] of a [rows, ...] matrix in the NZ layout lies: stripes of 16 columns.
uint64_t NzIndex(uint64_t rows, uint64_t row, uint64_t column) {
    const uint64_t padded = (rows + 15) / 16 * 16;
    return (column / 16 * padded + row) * 16 + column % 16;
}
uint64_t NzSize(uint64_t rows, uint64_t columns) {
    return (rows + 15) / 16 * 16 * ((columns + 15) / 16 * 16);
}

}  // namespace

void RunBroadcast(Api api, DType type, const TensorRef& dst, const TensorRef& src, uint32_t rows,
                  uint32_t columns, uint32_t srcRows, uint32_t srcColumns, const TensorRef* tmp,
                  Loc loc) {
    if ((srcRows != rows && srcRows != 1) || (srcColumns != columns && srcColumns != 1)) {
        TrapCheck(Current(), loc, "ErrorParam", api, "every source size is 1 or the result's",
                  "[%u, %u] cannot be broadcast to [%u, %u]", srcRows, srcColumns, rows, columns);
    }
    const uint64_t all = static_cast<uint64_t>(rows) * columns;
    const uint64_t from = static_cast<uint64_t>(srcRows) * srcColumns;
    const AdvOperand operands[] = {{"dst", &dst, type, all, Access::kWrite},
                                   {"src", &src, type, from, Access::kRead},
                                   Tmp(tmp)};
    if (!AdvBegin(api, loc, operands, 3)) return;
    if (OnCubeCore()) return;
    const uint32_t width = DTypeBits(type) / 8;
    const std::vector<uint8_t> source = Snapshot(src, from, width);
    for (uint32_t i = 0; i < rows; ++i) {
        for (uint32_t j = 0; j < columns; ++j) {
            const uint64_t at = static_cast<uint64_t>(srcRows == 1 ? 0 : i) * srcColumns +
                                (srcColumns == 1 ? 0 : j);
            memcpy(dst.ptr + (static_cast<uint64_t>(i) * columns + j) * width,
                   source.data() + at * width, width);
        }
    }
}

void RunArange(Api api, DType type, const TensorRef& dst, double first, double step, int32_t count,
               Loc loc) {
    if (count <= 0) {
        TrapCheck(Current(), loc, "ErrorParam", api, "count is positive", "count is %d", count);
    }
    const uint64_t elements = static_cast<uint64_t>(count);
    // The scalar unit writes the first data block; vector instructions only what is behind it.
    const uint16_t width = static_cast<uint16_t>(DTypeBits(type) / 8);
    const uint16_t align = elements * width <= 32 ? width : 32;
    const AdvOperand operands[] = {{"dst", &dst, type, elements, Access::kWrite, align}};
    if (!AdvBegin(api, loc, operands, 1)) return;
    if (OnCubeCore()) return;
    for (int32_t i = 0; i < count; ++i) {
        const double v = first + step * i;
        if (IsInteger(type)) {
            StoreInt(dst, type, i, static_cast<int64_t>(v));
        } else {
            StoreReal(dst, type, i, v);
        }
    }
}

void RunPad(const PadCall& c) {
    const uint32_t width = DTypeBits(c.type) / 8;
    const bool aligned = c.width * width % 32 == 0;
    // An aligned source holds its padding already: the result has the same width.
    const uint32_t out = c.remove  ? c.width - std::min(c.right, c.width)
                         : aligned ? c.width
                                   : c.left + c.width + c.right;
    if (c.height == 0 || c.width == 0 || (c.remove && c.right >= c.width)) {
        TrapCheck(Current(), c.loc, "ErrorParam", c.api, "fill the tiling on the host",
                  "the tiling says [%u, %u], %u columns on the right", c.height, c.width, c.right);
    }
    if (!c.remove && aligned && c.left != 0) {
        TrapCheck(Current(), c.loc, "ErrorParam", c.api, "pad on the right only",
                  "a width of %u is aligned to 32 bytes; leftPad is %u", c.width, c.left);
    }
    const uint64_t from = static_cast<uint64_t>(c.height) * c.width;
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, static_cast<uint64_t>(c.height) * out, Access::kWrite},
        {"src", c.src, c.type, from, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, 3)) return;
    if (OnCubeCore()) return;
    const std::vector<uint8_t> source = Snapshot(*c.src, from, width);
    const uint32_t keep = aligned && !c.remove ? std::min(c.validWidth, c.width) : c.width;
    for (uint32_t i = 0; i < c.height; ++i) {
        for (uint32_t j = 0; j < out; ++j) {
            const uint64_t to = static_cast<uint64_t>(i) * out + j;
            if (c.remove || (j >= c.left && j < c.left + keep)) {
                const uint64_t at = static_cast<uint64_t>(i) * c.width + j - c.left;
                memcpy(c.dst->ptr + to * width, source.data() + at * width, width);
            } else if (IsInteger(c.type)) {
                StoreInt(*c.dst, c.type, to, c.value);
            } else {
                StoreReal(*c.dst, c.type, to, c.value);
            }
        }
    }
}

namespace {

// ConfusionTranspose of [b, n, s, d], or of the plane [b, n]. H = n * d.
struct Transposition {
    uint8_t scene;
    uint64_t b, n, s, d;

    bool Plane() const { return scene == 7; }
    bool SplitSource() const { return scene == 3 || scene == 4; }  // [B, S, H]
    uint64_t H() const { return n * d; }
    uint64_t Padded(uint64_t columns) const { return (columns + 15) / 16 * 16; }

    uint64_t SourceSize() const {
        return Plane() ? b * n : SplitSource() ? b * NzSize(s, H()) : b * n * NzSize(s, d);
    }

    uint64_t TargetSize() const {
        switch (scene) {
            case 1:
                return b * s * n * d;
            case 2:
                return b * s * NzSize(n, d);
            case 3:
                return b * n * NzSize(s, d);
            case 4:
                return b * n * s * Padded(d);
            case 5:
                return b * s * Padded(H());
            case 6:
                return b * NzSize(s, H());
            default:
                return SourceSize();
        }
    }

    // Where element (ib, in, is, id) is in the source, and where it goes.
    uint64_t Origin(uint64_t ib, uint64_t in, uint64_t is, uint64_t id) const {
        return SplitSource() ? ib * NzSize(s, H()) + NzIndex(s, is, in * d + id)
                             : (ib * n + in) * NzSize(s, d) + NzIndex(s, is, id);
    }
    uint64_t Target(uint64_t ib, uint64_t in, uint64_t is, uint64_t id) const {
        switch (scene) {
            case 1:
                return ((ib * s + is) * n + in) * d + id;
            case 2:
                return (ib * s + is) * NzSize(n, d) + NzIndex(n, in, id);
            case 4:
                return ((ib * n + in) * s + is) * Padded(d) + id;
            case 5:
                return (ib * s + is) * Padded(H()) + in * d + id;
            case 6:
                return ib * NzSize(s, H()) + NzIndex(s, is, in * d + id);
            default:
                return (ib * n + in) * NzSize(s, d) + NzIndex(s, is, id);
        }
    }

    // Calls f(target, origin) for all elements.
    template <typename F>
    void ForElements(F f) const {
        for (uint64_t ib = 0; ib < b; ++ib) {
            for (uint64_t in = 0; in < n; ++in) {
                if (Plane()) f(in * b + ib, ib * n + in);
                for (uint64_t is = 0; is < s && !Plane(); ++is) {
                    for (uint64_t id = 0; id < d; ++id) {
                        f(Target(ib, in, is, id), Origin(ib, in, is, id));
                    }
                }
            }
        }
    }
};

}  // namespace

void RunConfusionTranspose(Api api, DType type, const TensorRef& dst, const TensorRef& src,
                           const TensorRef* tmp, uint8_t scene, const uint32_t dims[4], Loc loc) {
    if (scene < 1 || scene > 7) {
        Trap(Current(), loc, api, "transpose type %u is not available on this arch (1 to 7 are)",
             scene);
    }
    const Transposition move{scene, dims[0], dims[1], dims[2], dims[3]};
    const uint64_t from = move.SourceSize(), to = move.TargetSize();
    if (from == 0) {
        TrapCheck(Current(), loc, "ErrorParam", api, "fill the tiling with GetTransposeTilingInfo",
                  "the tiling holds no shape");
    }
    const AdvOperand operands[] = {{"dst", &dst, type, to, Access::kWrite},
                                   {"src", &src, type, from, Access::kRead},
                                   Tmp(tmp)};
    if (!AdvBegin(api, loc, operands, 3)) return;
    if (OnCubeCore()) return;
    const uint32_t width = DTypeBits(type) / 8;
    const std::vector<uint8_t> source = Snapshot(src, from, width);
    move.ForElements([&](uint64_t target, uint64_t origin) {
        memcpy(dst.ptr + target * width, source.data() + origin * width, width);
    });
}

void RunBytesSelect(const BytesSelectCall& c) {
    const uint64_t all = static_cast<uint64_t>(c.rows) * c.columns;
    if (c.maskColumns < c.columns) {
        TrapCheck(Current(), c.loc, "ErrorParam", "Select", "maskLastAxis >= srcLastAxis",
                  "the mask has %u columns, the source %u", c.maskColumns, c.columns);
    }
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, all, Access::kWrite},
        {"src", c.src, c.type, all, Access::kRead},
        {"mask", c.mask, c.maskType, static_cast<uint64_t>(c.rows) * c.maskColumns, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(Api::kSelect, c.loc, operands, 4)) return;
    if (OnCubeCore()) return;
    const uint32_t width = DTypeBits(c.type) / 8;
    for (uint32_t i = 0; i < c.rows; ++i) {
        for (uint32_t j = 0; j < c.columns; ++j) {
            const uint64_t at = static_cast<uint64_t>(i) * c.columns + j;
            const bool second =
                LoadInt(*c.mask, c.maskType, static_cast<uint64_t>(i) * c.maskColumns + j) != 0;
            if (second != c.scalarIsFirst) {
                StoreReal(*c.dst, c.type, at, c.scalar);
            } else {
                memmove(c.dst->ptr + at * width, c.src->ptr + at * width, width);
            }
        }
    }
}

void RunDropOut(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& mask,
                const TensorRef* tmp, double keepProb, uint32_t rows, uint32_t columns,
                uint32_t maskColumns, uint32_t mode, Loc loc) {
    // 1, 2: one byte per element; 3: packed bits; 4: bits with every row padded.
    if (mode == 0) {
        if (maskColumns >= columns) {
            mode = maskColumns == columns ? 2 : 1;
        } else {
            mode = maskColumns * 8 == columns ? 3 : 4;
        }
    }
    const bool bits = mode >= 3;
    const uint64_t all = static_cast<uint64_t>(rows) * columns;
    const uint64_t rowBits = mode == 3 ? columns : static_cast<uint64_t>(maskColumns) * 8;
    if (keepProb <= 0 || keepProb >= 1 || mode > 4 ||
        (bits ? rowBits < columns : maskColumns < columns)) {
        TrapCheck(Current(), loc, "ErrorParam", "DropOut", "see DropOutShapeInfo",
                  "keepProb %g, %u columns with %u mask columns, mode %u", keepProb, columns,
                  maskColumns, mode);
    }
    const uint64_t maskBytes =
        bits ? (rowBits * rows + 7) / 8 : static_cast<uint64_t>(rows) * maskColumns;
    const AdvOperand operands[] = {{"dst", &dst, type, all, Access::kWrite},
                                   {"src", &src, type, all, Access::kRead},
                                   {"mask", &mask, DType::kU8, maskBytes, Access::kRead},
                                   Tmp(tmp)};
    if (!AdvBegin(Api::kDropOut, loc, operands, 4)) return;
    if (OnCubeCore()) return;
    for (uint32_t i = 0; i < rows; ++i) {
        for (uint32_t j = 0; j < columns; ++j) {
            const uint64_t at = static_cast<uint64_t>(i) * columns + j;
            const uint64_t bit = i * rowBits + j;
            const bool keep = bits ? (mask.ptr[bit / 8] >> (bit % 8) & 1) != 0
                                   : mask.ptr[static_cast<uint64_t>(i) * maskColumns + j] != 0;
            StoreReal(dst, type, at, keep ? LoadReal(src, type, at) / keepProb : 0);
        }
    }
}

void RunCumSum(DType type, const TensorRef& dst, const TensorRef* lastRow, const TensorRef& src,
               const TensorRef* tmp, uint32_t rows, uint32_t columns, bool alongLast, Loc loc) {
    const uint64_t all = static_cast<uint64_t>(rows) * columns;
    if (all == 0 || columns * (DTypeBits(type) / 8) % 32 != 0) {
        TrapCheck(Current(), loc, "ErrorParam", "CumSum", "inner * sizeof(T) is a multiple of 32",
                  "the shape is [%u, %u]", rows, columns);
    }
    const AdvOperand operands[] = {{"dst", &dst, type, all, Access::kWrite},
                                   {"src", &src, type, all, Access::kRead},
                                   {"lastRow", lastRow, type, columns, Access::kWrite},
                                   Tmp(tmp)};
    if (!AdvBegin(Api::kCumSum, loc, operands, 4)) return;
    if (OnCubeCore()) return;
    std::vector<float> column(columns, 0.0f);
    for (uint32_t i = 0; i < rows; ++i) {
        float row = 0;
        for (uint32_t j = 0; j < columns; ++j) {
            const uint64_t at = static_cast<uint64_t>(i) * columns + j;
            const float v = static_cast<float>(LoadReal(src, type, at));
            row += v;
            column[j] += v;
            StoreReal(dst, type, at, alongLast ? row : column[j]);
        }
    }
    if (lastRow == nullptr) return;
    const uint32_t width = DTypeBits(type) / 8;
    memcpy(lastRow->ptr, dst.ptr + static_cast<uint64_t>(rows - 1) * columns * width,
           columns * width);
}

namespace {

constexpr uint64_t kC0 = 16;  // also N0
constexpr uint64_t kWidth = 2;

struct Blocks {
    uint64_t c1, n1, plane;  // plane: H x W padded
    explicit Blocks(const TransDataCall& c)
        : c1((c.c + kC0 - 1) / kC0),
          n1((c.n + kC0 - 1) / kC0),
          plane((uint64_t(c.h) * c.w + kC0 - 1) / kC0 * kC0) {}
};

uint64_t SizeOf(AscendC::DataFormat f, const TransDataCall& c, const Blocks& b) {
    const uint64_t plane = uint64_t(c.h) * c.w;
    if (f == AscendC::DataFormat::NCDHW) return uint64_t(c.n) * c.c * c.d * b.plane;
    if (f == AscendC::DataFormat::NDC1HWC0) return uint64_t(c.n) * c.d * b.c1 * plane * kC0;
    return uint64_t(c.d) * b.c1 * plane * b.n1 * kC0 * kC0;
}

uint64_t IndexIn(AscendC::DataFormat f, const TransDataCall& c, const Blocks& b, uint64_t n,
                 uint64_t channel, uint64_t d, uint64_t hw) {
    const uint64_t plane = uint64_t(c.h) * c.w;
    if (f == AscendC::DataFormat::NCDHW) return ((n * c.c + channel) * c.d + d) * b.plane + hw;
    if (f == AscendC::DataFormat::NDC1HWC0) {
        return (((n * c.d + d) * b.c1 + channel / kC0) * plane + hw) * kC0 + channel % kC0;
    }
    const uint64_t row = ((d * b.c1 + channel / kC0) * plane + hw) * b.n1 + n / kC0;
    return (row * kC0 + n % kC0) * kC0 + channel % kC0;
}

}  // namespace

void RunTransData(const TransDataCall& c) {
    const Blocks b(c);
    const uint64_t from = SizeOf(c.from, c, b), to = SizeOf(c.to, c, b);
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, to, Access::kWrite},
        {"src", c.src, c.type, from, Access::kRead},
        {kTmpRole, c.tmp, DType::kU8, c.tmp != nullptr ? c.tmp->size : 0, Access::kWrite}};
    if (!AdvBegin(Api::kTransData, c.loc, operands, 3)) return;
    if (Current().kind == CoreKind::kAic) return;
    const std::vector<uint8_t> source(c.src->ptr, c.src->ptr + from * kWidth);
    if (c.to != AscendC::DataFormat::NCDHW) memset(c.dst->ptr, 0, to * kWidth);
    for (uint64_t n = 0; n < c.n; ++n) {
        for (uint64_t channel = 0; channel < c.c; ++channel) {
            for (uint64_t d = 0; d < c.d; ++d) {
                for (uint64_t hw = 0; hw < uint64_t(c.h) * c.w; ++hw) {
                    memcpy(c.dst->ptr + IndexIn(c.to, c, b, n, channel, d, hw) * kWidth,
                           source.data() + IndexIn(c.from, c, b, n, channel, d, hw) * kWidth,
                           kWidth);
                }
            }
        }
    }
}

}  // namespace ascendc_emu
