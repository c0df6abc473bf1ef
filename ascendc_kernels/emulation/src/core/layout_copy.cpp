// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Data movement that changes the layout (ND to NZ and back), by slices of several dimensions, and
// fills.
#include <cstring>
#include <vector>

#include "core/copy_steps.h"

namespace ascendc_emu {

namespace {
// Rows of C0 columns: element (n, d) of the matrix goes to fractal column d / C0.
template <typename Read>
void Nd2NzLoop(DType type, const TensorRef& dst, const AscendC::Nd2NzParams& p, Read read) {
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    for (uint32_t m = 0; m < p.ndNum; ++m) {
        uint8_t* const base = dst.ptr + static_cast<uint64_t>(m) * p.dstNzMatrixStride * es;
        for (uint32_t n = 0; n < p.nValue; ++n) {
            for (uint32_t d = 0; d < p.dValue; d += c0) {
                uint8_t* to = base + static_cast<uint64_t>(d / c0) * p.dstNzC0Stride * 32 +
                              static_cast<uint64_t>(n) * p.dstNzNStride * 32;
                const uint32_t cols = std::min<uint32_t>(c0, p.dValue - d);
                read(m, n, d, to, cols * es);
                // The last fractal column is padded with zeros.
                if (cols < c0) memset(to + cols * es, 0, (c0 - cols) * es);
            }
        }
    }
}

uint64_t Nd2NzEnd(DType type, const TensorRef& dst, const AscendC::Nd2NzParams& p) {
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    if (p.ndNum == 0 || p.nValue == 0 || p.dValue == 0) return dst.addr;
    const uint64_t columns = (p.dValue + c0 - 1) / c0;
    return dst.addr + static_cast<uint64_t>(p.ndNum - 1) * p.dstNzMatrixStride * es +
           (columns - 1) * p.dstNzC0Stride * 32 +
           static_cast<uint64_t>(p.nValue - 1) * p.dstNzNStride * 32 + 32;
}

void Nd2NzDst(Operand& o, DType type, const AscendC::Nd2NzParams& p) {
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    // Rows of one fractal column are contiguous when dstNzNStride is 1, the usual case.
    const uint32_t columns = (p.dValue + c0 - 1) / c0;
    if (p.dstNzNStride == 1) {
        o.blockBytes = static_cast<uint32_t>(p.nValue) * 32;
        o.blocks = columns;
        o.blockStride = static_cast<int64_t>(p.dstNzC0Stride) * 32;
    } else {
        o.blockBytes = columns > 0 ? 32 : 0;
        o.blocks = p.nValue;
        o.blockStride = static_cast<int64_t>(p.dstNzNStride) * 32;
    }
    o.repeats = p.dstNzNStride == 1 ? p.ndNum : columns;
    o.repeatStride = p.dstNzNStride == 1 ? static_cast<int64_t>(p.dstNzMatrixStride) * es
                                         : static_cast<int64_t>(p.dstNzC0Stride) * 32;
}

// The matrices as ND; `es`: bytes of an element.
void Nd2NzSrc(Operand& o, uint32_t es, const AscendC::Nd2NzParams& p) {
    o.blockBytes = p.dValue * es;
    o.blocks = p.nValue;
    o.blockStride = static_cast<int64_t>(p.srcDValue) * es;
    o.repeats = p.ndNum;
    o.repeatStride = static_cast<int64_t>(p.srcNdMatrixStride) * es;
}

// Elements before (n, d) of matrix m.
uint64_t Nd2NzFrom(const AscendC::Nd2NzParams& p, uint32_t m, uint32_t n, uint32_t d) {
    return static_cast<uint64_t>(m) * p.srcNdMatrixStride + static_cast<uint64_t>(n) * p.srcDValue +
           d;
}
}  // namespace

void RunNd2Nz(DType type, const TensorRef& dst, const GmRef& src, const AscendC::Nd2NzParams& p,
              Loc loc) {
    Core& core = Current();
    if (!Has(core, dst.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    if (core.sink) {
        Record r = Start(core, CopyCall{Api::kDataCopy, type, 1, 0, 0, 0, loc}, Pipe::kMte2);
        Nd2NzDst(AddTensor(r, "dst", dst, type, Access::kWrite), type, p);
        Nd2NzSrc(AddTensor(r, "src", src, type, Access::kRead), es, p);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckLocal(core, dst, Nd2NzEnd(type, dst, p), Api::kDataCopy, "dst", loc);
    Nd2NzLoop(type, dst, p, [&](uint32_t m, uint32_t n, uint32_t d, uint8_t* to, uint64_t bytes) {
        const uint8_t* from = src.ptr + Nd2NzFrom(p, m, n, d) * es;
        memcpy(to, from, GmBytes(core, from, bytes, false, Api::kDataCopy, loc));
    });
}

void RunNd2NzLocal(DType type, const TensorRef& dst, const TensorRef& src,
                   const AscendC::Nd2NzParams& p, Loc loc) {
    Core& core = Current();
    if (!Has(core, dst.mem) || !Has(core, src.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    if (core.sink) {
        Record r = Start(core, CopyCall{Api::kDataCopy, type, 1, 0, 0, 0, loc}, Pipe::kMte3);
        Nd2NzDst(AddTensor(r, "dst", dst, type, Access::kWrite), type, p);
        Nd2NzSrc(AddTensor(r, "src", src, type, Access::kRead), es, p);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckLocal(core, dst, Nd2NzEnd(type, dst, p), Api::kDataCopy, "dst", loc);
    Nd2NzLoop(type, dst, p, [&](uint32_t m, uint32_t n, uint32_t d, uint8_t* to, uint64_t bytes) {
        memcpy(to, src.ptr + Nd2NzFrom(p, m, n, d) * es, bytes);
    });
}

void RunPadNd2Nz(DType type, const TensorRef& dst, const TensorRef& src,
                 const AscendC::DataCopyExtParams& copy, const AscendC::Nd2NzParams& p, Loc loc) {
    Core& core = Current();
    if (!Has(core, dst.mem) || !Has(core, src.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    if (p.ndNum != 1) {
        TrapCheck(core, loc, "ErrorParam", "DataCopyPad", "call it once per matrix",
                  "ndNum is %u: UB to L1 moves one matrix", p.ndNum);
    }
    const uint64_t rowBytes = (copy.blockLen + 31ull) / 32 * 32 + copy.srcStride * 32ull;
    if (core.sink) {
        Record r = Start(core, CopyCall{Api::kDataCopyPad, type, 1, 0, 0, 0, loc}, Pipe::kMte3);
        Nd2NzDst(AddTensor(r, "dst", dst, type, Access::kWrite), type, p);
        Operand& o = AddTensor(r, "src", src, type, Access::kRead);
        o.blockBytes = copy.blockLen;
        o.blocks = copy.blockCount;
        o.blockStride = static_cast<int64_t>(rowBytes);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckLocal(core, dst, Nd2NzEnd(type, dst, p), Api::kDataCopyPad, "dst", loc);
    CheckLocal(core, src,
               src.addr + (copy.blockCount ? copy.blockCount - 1 : 0) * rowBytes + copy.blockLen,
               Api::kDataCopyPad, "src", loc);
    // What lies in the workspace between the two copies on the device.
    const uint64_t step = static_cast<uint64_t>(copy.blockLen) + copy.dstStride;
    std::vector<uint8_t> staged(copy.blockCount * step);
    for (uint32_t i = 0; i < copy.blockCount; ++i) {
        memcpy(staged.data() + i * step, src.ptr + i * rowBytes, copy.blockLen);
    }
    Nd2NzLoop(type, dst, p, [&](uint32_t, uint32_t n, uint32_t d, uint8_t* to, uint64_t bytes) {
        const uint64_t from = (static_cast<uint64_t>(n) * p.srcDValue + d) * es;
        if (from + bytes > staged.size()) {
            TrapCheck(core, loc, "ErrorParam", "DataCopyPad",
                      "make nValue, dValue and srcDValue fit the blocks",
                      "row %u of the matrix ends behind the %u blocks of %u bytes that are copied",
                      n, copy.blockCount, copy.blockLen);
        }
        memcpy(to, staged.data() + from, bytes);
    });
}

void RunNz2Nd(DType type, const GmRef& dst, const TensorRef& src, const AscendC::Nz2NdParamsFull& p,
              Loc loc) {
    Core& core = Current();
    if (!Has(core, src.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    const uint32_t columns = (p.dValue + c0 - 1) / c0;
    if (core.sink) {
        Record r = Start(core, CopyCall{Api::kDataCopy, type, 1, 0, 0, 0, loc}, Pipe::kMte3);
        Operand& d = AddTensor(r, "dst", dst, type, Access::kWrite);
        d.blockBytes = p.dValue * es;
        d.blocks = p.nValue;
        d.blockStride = static_cast<int64_t>(p.dstDStride) * es;
        d.repeats = p.ndNum;
        d.repeatStride = static_cast<int64_t>(p.dstNdMatrixStride) * es;
        d.atomic = core.regs.atomicOp != 0;
        Operand& o = AddTensor(r, "src", src, type, Access::kRead);
        o.blockBytes = static_cast<uint32_t>(p.nValue) * 32;
        o.blocks = columns;
        o.blockStride = static_cast<int64_t>(p.srcNStride) * 32;
        o.repeats = p.ndNum;
        o.repeatStride = static_cast<int64_t>(p.srcNdMatrixStride) * 512;
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    for (uint32_t m = 0; m < p.ndNum; ++m) {
        for (uint32_t n = 0; n < p.nValue; ++n) {
            for (uint32_t d = 0; d < p.dValue; d += c0) {
                const uint64_t at = static_cast<uint64_t>(m) * p.srcNdMatrixStride * 512 +
                                    static_cast<uint64_t>(d / c0) * p.srcNStride * 32 + n * 32ull;
                CheckLocal(core, src, src.addr + at + 32, Api::kDataCopy, "src", loc);
                uint8_t* to = dst.ptr + (static_cast<uint64_t>(m) * p.dstNdMatrixStride +
                                         static_cast<uint64_t>(n) * p.dstDStride + d) *
                                            es;
                const uint64_t bytes =
                    std::min<uint32_t>(c0, p.dValue - d) * static_cast<uint64_t>(es);
                Store(core, to, src.ptr + at, GmBytes(core, to, bytes, true, Api::kDataCopy, loc),
                      Api::kDataCopy, loc);
            }
        }
    }
}

namespace {
// One dimension-0 burst per combination of the outer dimensions' slices.
uint64_t SliceSteps(const AscendC::SliceInfo& s, uint64_t burst) {
    // Elements per step: the burst and the gap after it.
    const uint64_t length = static_cast<uint64_t>(s.endIndex) - s.startIndex + 1;
    const uint64_t step = burst + s.stride;
    return step == 0 ? 0 : (length + s.stride) / step;
}

// Element offsets of all bursts. Dimension 0 counts bursts of burstLen 32-byte units, the outer
// ones single rows.
template <typename F>
void ForSlices(const AscendC::SliceInfo* s, uint32_t dims, uint32_t es, F f) {
    const uint64_t burst = static_cast<uint64_t>(s[0].burstLen) * 32 / es;
    uint64_t counts[8] = {}, strides[8] = {};
    uint64_t stride = 1;
    for (uint32_t d = 0; d < dims && d < 8; ++d) {
        counts[d] = SliceSteps(s[d], d == 0 ? burst : 1);
        strides[d] = stride;
        stride *= s[d].shapeValue;
    }
    uint64_t total = 1;
    for (uint32_t d = 0; d < dims && d < 8; ++d) total *= counts[d];
    for (uint64_t i = 0; i < total; ++i) {
        uint64_t rest = i, offset = 0;
        for (uint32_t d = 0; d < dims && d < 8; ++d) {
            const uint64_t k = rest % counts[d];
            rest /= counts[d];
            offset += (s[d].startIndex + k * ((d == 0 ? burst : 1) + s[d].stride)) * strides[d];
        }
        f(i, offset, burst);
    }
}
// Calls f(byte offset in src, byte offset in dst, bytes) for every burst of two slices.
template <typename F>
void ForBursts(DType type, const AscendC::SliceInfo* d, const AscendC::SliceInfo* s, uint32_t dims,
               Loc loc, F f) {
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    std::vector<uint64_t> from, to;
    uint64_t burst = 0;
    ForSlices(s, dims, es, [&](uint64_t, uint64_t o, uint64_t b) { from.push_back(o), burst = b; });
    ForSlices(d, dims, es, [&](uint64_t, uint64_t o, uint64_t) { to.push_back(o); });
    // Both sides must name the same bursts: the device walks them in step.
    if (from.size() != to.size() || s[0].burstLen != d[0].burstLen) {
        Complain(Current(), loc, "ErrorParam", "DataCopy",
                 "give both slices the same burstLen and the same number of elements per dimension",
                 "srcSlice has %llu bursts of %u blocks, dstSlice %llu of %u",
                 static_cast<unsigned long long>(from.size()), s[0].burstLen,
                 static_cast<unsigned long long>(to.size()), d[0].burstLen);
    }
    LocScope scope(loc);
    for (size_t i = 0; i < from.size() && i < to.size(); ++i)
        f(from[i] * es, to[i] * es, burst * es);
}

TensorRef At(TensorRef t, uint64_t bytes) {
    t.ptr += bytes;
    t.addr += static_cast<uint32_t>(bytes);
    return t;
}
GmRef At(GmRef g, uint64_t bytes) {
    g.ptr += bytes;
    return g;
}

}  // namespace

void RunSliceIn(DType type, const TensorRef& dst, const GmRef& src, const AscendC::SliceInfo* d,
                const AscendC::SliceInfo* s, uint32_t dims, Loc loc) {
    ForBursts(type, d, s, dims, loc, [&](uint64_t from, uint64_t to, uint64_t bytes) {
        RunCopyIn(CopyCall{Api::kDataCopy, type, 1, bytes, 0, 0, loc}, At(dst, to), At(src, from));
    });
}

void RunSliceOut(DType type, const GmRef& dst, const TensorRef& src, const AscendC::SliceInfo* d,
                 const AscendC::SliceInfo* s, uint32_t dims, Loc loc) {
    ForBursts(type, d, s, dims, loc, [&](uint64_t from, uint64_t to, uint64_t bytes) {
        RunCopyOut(CopyCall{Api::kDataCopy, type, 1, bytes, 0, 0, loc}, At(dst, to), At(src, from));
    });
}

void RunGmFill(Api api, DType type, const GmRef& dst, uint64_t count, uint64_t value, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint64_t bytes = count * es;
    if (core.sink) {
        Record r = Start(core, CopyCall{api, type, 1, bytes, 0, 0, loc}, Pipe::kMte3);
        Operand& o = AddTensor(r, "gm", dst, type, Access::kWrite);
        SetBlocks(o, bytes, 1, 0);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (bytes == 0) return;
    const uint64_t room = GmBytes(core, dst.ptr, bytes, true, api, loc);
    for (uint64_t i = 0; i + es <= room; i += es) memcpy(dst.ptr + i, &value, es);
}

}  // namespace ascendc_emu
