// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// TransDataTo5HD (16 rows by address), Transpose of 16 x 16, and the NCHW / NHWC forms; Brcb.
#include <algorithm>
#include <cstring>
#include <vector>

#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/reduce_api.h"
#include "core/scheduler.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

// A row given by host address as a tensor of the core's UB.
TensorRef Row(Core& core, uint64_t address, const char* role, Loc loc) {
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(Mem::kUb)]);
    if (address < base || address >= base + core.capacity[static_cast<int>(Mem::kUb)]) {
        TrapCheck(core, loc, "TensorScope", "TransDataTo5HD",
                  "take the addresses from GetPhyAddr()", "%s holds an address outside UB", role);
    }
    TensorRef t;
    t.ptr = reinterpret_cast<uint8_t*>(address);
    t.addr = static_cast<uint32_t>(address - base);
    return t;
}

void EmitRows(Core& core, DType type, const TensorRef (&d)[16], const TensorRef (&s)[16],
              const AscendC::TransDataTo5HDParams& p, Loc loc) {
    const uint32_t es = DTypeBits(type) / 8;
    // Two records keep each within the operand limit: the reads, then the writes.
    for (int half = 0; half < 2; ++half) {
        Record r;
        r.SetApi(Api::kTransDataTo5HD);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        r.repeat = p.repeatTimes;
        for (int i = 0; i < 16; ++i) {
            const TensorRef& t = half == 0 ? s[i] : d[i];
            const bool high = half == 0 ? p.srcHighHalf : p.dstHighHalf;
            Operand& o =
                DescribePlain(r, half == 0 ? "srcList" : "dstList", t, type,
                              half == 0 ? Access::kRead : Access::kWrite, es == 1 ? 16 : 32);
            if (es == 1 && high) o.addr += 16;
            if (es == 1) o.align = 16;
            o.repeats = p.repeatTimes;
            o.repeatStride = (half == 0 ? p.srcRepStride : p.dstRepStride) * 32ll;
        }
        core.sink->OnInstruction(core, r);
    }
}

using Square = uint8_t[16][32];

// Rows of a square become columns; out(i): where row i of the result goes.
template <typename Out>
void TransposeSquare(const Square& in, uint32_t es, const AscendC::TransDataTo5HDParams& p,
                     Out out) {
    if (es == 2) {
        for (int i = 0; i < 16; ++i) {
            uint8_t row[32];
            for (int j = 0; j < 16; ++j) memcpy(row + j * 2, in[j] + i * 2, 2);
            memcpy(out(i), row, 32);
        }
    } else if (es == 1) {
        const int from = p.srcHighHalf ? 16 : 0, to = p.dstHighHalf ? 16 : 0;
        for (int i = 0; i < 16; ++i) {
            for (int j = 0; j < 16; ++j) out(i)[to + j] = in[j][from + i];
        }
    } else {
        // 16 rows of 8: column c becomes rows 2c (sources 0..7) and 2c + 1 (sources 8..15).
        for (int c = 0; c < 8; ++c) {
            for (int h = 0; h < 2; ++h) {
                uint8_t row[32];
                for (int j = 0; j < 8; ++j) memcpy(row + j * 4, in[h * 8 + j] + c * 4, 4);
                memcpy(out(2 * c + h), row, 32);
            }
        }
    }
}

}  // namespace

void RunTransBlocks(DType type, const uint64_t dst[16], const uint64_t src[16],
                    const AscendC::TransDataTo5HDParams& p, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic || p.repeatTimes == 0) return;
    const uint32_t es = DTypeBits(type) / 8;
    TensorRef d[16], s[16];
    for (int i = 0; i < 16; ++i) {
        d[i] = Row(core, dst[i], "dstList", loc);
        s[i] = Row(core, src[i], "srcList", loc);
    }
    const uint64_t last = static_cast<uint64_t>(p.repeatTimes - 1) * 32;
    for (int i = 0; i < 16; ++i) {
        CheckEnd(core, d[i], d[i].addr + last * p.dstRepStride + 32, Api::kTransDataTo5HD,
                 "dstList", loc);
        CheckEnd(core, s[i], s[i].addr + last * p.srcRepStride + 32, Api::kTransDataTo5HD,
                 "srcList", loc);
    }
    if (core.sink) EmitRows(core, type, d, s, p, loc);
    if (core.timeOnly) return;
    Square in;
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        // All rows are read before any is written: in-place use is common.
        for (int i = 0; i < 16; ++i)
            memcpy(in[i], s[i].ptr + static_cast<uint64_t>(r) * p.srcRepStride * 32, 32);
        auto out = [&](int i) { return d[i].ptr + static_cast<uint64_t>(r) * p.dstRepStride * 32; };
        TransposeSquare(in, es, p, out);
    }
}

void RunTranspose16(DType type, const TensorRef& dst, const TensorRef& src, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    if (core.sink) {
        Record r;
        r.SetApi(Api::kTranspose);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribePlain(r, "dst", dst, type, Access::kWrite, 512);
        DescribePlain(r, "src", src, type, Access::kRead, 512);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + 512, Api::kTranspose, "dst", loc);
    CheckEnd(core, src, src.addr + 512, Api::kTranspose, "src", loc);
    uint16_t in[256], out[256];
    memcpy(in, src.ptr, 512);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) out[i * 16 + j] = in[j * 16 + i];
    }
    memcpy(dst.ptr, out, 512);
}

void RunTransposeExt(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& tmp,
                     const AscendC::TransposeParamsExt& p, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    using AscendC::TransposeType;
    if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16)
        return RunTranspose16(type, dst, src, loc);
    const bool toNhwc = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
    if (!toNhwc && p.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW) {
        Trap(core, loc, "Transpose", "transpose type %d is not emulated in the basic API",
             static_cast<int>(p.transposeType));
    }
    const uint32_t es = DTypeBits(type) / 8;
    const uint64_t hw = static_cast<uint64_t>(p.hSize) * p.wSize;
    const uint64_t image = hw * p.cSize;
    const uint64_t bytes = image * p.nSize * es;
    if (core.sink) {
        Record r;
        r.SetApi(Api::kTranspose);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribePlain(r, "dst", dst, type, Access::kWrite, bytes);
        DescribePlain(r, "src", src, type, Access::kRead, bytes);
        DescribePlain(r, kTmpRole, tmp, DType::kU8, Access::kWrite, tmp.size);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + bytes, Api::kTranspose, "dst", loc);
    CheckEnd(core, src, src.addr + bytes, Api::kTranspose, "src", loc);
    std::vector<uint8_t> in(src.ptr, src.ptr + bytes);
    const uint64_t rows = toNhwc ? p.cSize : hw, cols = toNhwc ? hw : p.cSize;
    for (uint32_t n = 0; n < p.nSize; ++n) {
        for (uint64_t i = 0; i < rows; ++i) {
            for (uint64_t j = 0; j < cols; ++j) {
                memcpy(dst.ptr + (n * image + j * rows + i) * es,
                       in.data() + (n * image + i * cols + j) * es, es);
            }
        }
    }
}

namespace {

// Each element of src fills a block of dst.
template <typename T>
void FillBlocks(const TensorRef& dst, const TensorRef& src, int32_t repeats, int32_t dstBlk,
                int32_t dstRep) {
    constexpr uint32_t kElements = 32 / sizeof(T);
    for (int32_t r = 0; r < repeats; ++r) {
        T row[8];  // dst may lie over src
        memcpy(row, src.ptr + static_cast<uint64_t>(r) * sizeof(row), sizeof(row));
        for (int32_t b = 0; b < 8; ++b) {
            T block[kElements];
            std::fill_n(block, kElements, row[b]);
            memcpy(dst.ptr +
                       (static_cast<int64_t>(r) * dstRep + static_cast<int64_t>(b) * dstBlk) * 32,
                   block, sizeof(block));
        }
    }
}

}  // namespace

void RunBrcb(DType type, const TensorRef& dst, const TensorRef& src, int32_t repeats,
             int32_t dstBlk, int32_t dstRep, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const uint32_t es = DTypeBits(type) / 8;
    const uint64_t srcBytes = static_cast<uint64_t>(std::max(0, repeats)) * 8 * es;
    if (core.sink) {
        Record r;
        r.SetApi(Api::kBrcb);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        Operand& d = DescribePlain(r, "dst", dst, type, Access::kWrite, 32);
        d.blocks = 8;
        d.blockStride = dstBlk * 32ll;
        d.repeats = static_cast<uint32_t>(std::max(0, repeats));
        d.repeatStride = dstRep * 32ll;
        DescribePlain(r, "src0", src, type, Access::kRead, srcBytes);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (repeats <= 0) return;
    CheckEnd(core, src, src.addr + srcBytes, Api::kBrcb, "src0", loc);
    CheckEnd(core, dst,
             dst.addr + static_cast<uint64_t>(repeats - 1) * static_cast<uint64_t>(dstRep) * 32 +
                 7ull * static_cast<uint64_t>(dstBlk) * 32 + 32,
             Api::kBrcb, "dst", loc);
    (es == 2 ? &FillBlocks<uint16_t> : &FillBlocks<uint32_t>)(dst, src, repeats, dstBlk, dstRep);
}

}  // namespace ascendc_emu
