// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Mmad: fractals are unpacked to plain matrices, multiplied (the products of one element are added
// in K order in fp32), and packed again.
#include <string.h>

#include <vector>

#include "ascendc_emu/types.h"
#include "core/thread_object.h"
#include "cube/cube.h"

namespace ascendc_emu {

namespace {

struct Shape {
    uint32_t m, n, k;
    uint32_t mBlocks, nBlocks, kBlocks, k0;
    bool gemv;
};

// A as [m][k].
template <typename Out>
void UnpackA(Out* out, const uint8_t* l0a, const Shape& s, DType type) {
    const uint32_t rowBytes = kBlock;
    if (s.gemv) {
        // M = 1: the hardware reads A as one plain row.
        UnpackRow(out, l0a, 0, s.k, type);
        return;
    }
    for (uint32_t m = 0; m < s.m; ++m) {
        for (uint32_t kb = 0; kb < CeilDiv(s.k, s.k0); ++kb) {
            const uint8_t* in = l0a +
                                (static_cast<uint64_t>(m / kCube) * s.kBlocks + kb) * kFractal +
                                m % kCube * rowBytes;
            const uint32_t count = s.k - kb * s.k0 < s.k0 ? s.k - kb * s.k0 : s.k0;
            UnpackRow(out + static_cast<uint64_t>(m) * s.k + kb * s.k0, in, 0, count, type);
        }
    }
}

// B as [k][n].
template <typename Out>
void UnpackB(Out* out, const uint8_t* l0b, const Shape& s, DType type) {
    Out fractal[kCube * 64];  // [n][k0], at most 64 int4 in a row
    for (uint32_t kb = 0; kb < CeilDiv(s.k, s.k0); ++kb) {
        const uint32_t depth = s.k - kb * s.k0 < s.k0 ? s.k - kb * s.k0 : s.k0;
        for (uint32_t n0 = 0; n0 < s.n; n0 += kCube) {
            const uint32_t width = s.n - n0 < kCube ? s.n - n0 : kCube;
            UnpackRow(fractal,
                      l0b + (static_cast<uint64_t>(kb) * s.nBlocks + n0 / kCube) * kFractal, 0,
                      kCube * s.k0, type);
            for (uint32_t i = 0; i < depth; ++i) {
                Out* line = out + (static_cast<uint64_t>(kb) * s.k0 + i) * s.n + n0;
                for (uint32_t j = 0; j < width; ++j) line[j] = fractal[j * s.k0 + i];
            }
        }
    }
}

// B as [k][n] from its 4:2 compressed form [k / 2][n]. Of every 4 rows two are given: row `first`
// and row 1 + `second`, by the 2-bit positions that LoadDataWithSparse loaded along with them.
template <typename Out>
void UnpackSparseB(Out* out, const uint8_t* l0b, const uint8_t* positions, const Shape& s,
                   DType type, std::vector<Out>& compressed) {
    Shape half = s;
    half.k = s.k / 2;
    compressed.resize(static_cast<size_t>(half.k) * s.n);
    UnpackB(compressed.data(), l0b, half, type);
    memset(out, 0, sizeof(Out) * s.k * s.n);
    for (uint32_t n = 0; n < s.n; ++n) {
        for (uint32_t k = 0; k + 1 < half.k; k += 2) {
            const uint64_t fractal = static_cast<uint64_t>(k / s.k0) * s.nBlocks + n / kCube;
            const uint32_t bit = (n % kCube * s.k0 + k % s.k0) * 2;
            const uint8_t byte = positions[fractal * kIndexFractal + bit / 8];
            const uint32_t first = (byte >> bit % 8) & 3,
                           second = 1 + ((byte >> (bit % 8 + 2)) & 3);
            const uint32_t group = k * 2;
            out[static_cast<uint64_t>(group + (first & 3)) * s.n + n] +=
                compressed[static_cast<size_t>(k) * s.n + n];
            // (2, 0) and (1, 0) stand for one element only: its partner is 0.
            const uint32_t other = second > first ? (second & 3) : first;
            out[static_cast<uint64_t>(group + other) * s.n + n] +=
                compressed[static_cast<size_t>(k + 1) * s.n + n];
        }
    }
}

template <typename Acc>
Acc* CElement(uint8_t* l0c, const Shape& s, uint32_t m, uint32_t n) {
    return reinterpret_cast<Acc*>(l0c) +
           (static_cast<uint64_t>(n / kCube) * s.mBlocks + m / kCube) * kCube * kCube +
           m % kCube * kCube + n % kCube;
}

// Integers saturate to 32 bits at the end ("integer types only have saturation", Mmad page).
int32_t Narrow(int64_t v, int32_t) {
    return static_cast<int32_t>(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
float Narrow(float v, float) { return v; }
half Narrow(float v, half) { return half(v); }
float Widen(half v) { return static_cast<float>(v); }
template <typename T>
T Widen(T v) {
    return v;
}

// Kept from product to product.
template <typename Wide>
struct Operands {
    std::vector<Wide> left, right, sums, compressed;
};

template <typename Acc, typename Wide>
void Run(Core& core, const TensorRef& c, const TensorRef& a, DType aType, const TensorRef& b,
         DType bType, const TensorRef* bias, const MmadArgs& args, const Shape& s) {
    Operands<Wide>& operands = OfThread<Operands<Wide>>();
    std::vector<Wide>&left = operands.left, &right = operands.right, &sums = operands.sums;
    left.resize(static_cast<size_t>(s.m) * s.k);
    right.resize(static_cast<size_t>(s.k) * s.n);
    sums.assign(static_cast<size_t>(s.m) * s.n, Wide(0));
    UnpackA(left.data(), a.ptr, s, aType);
    if (args.sparse) {
        UnpackSparseB(right.data(), b.ptr, StateOf(core).sparse + b.addr / 4, s, bType,
                      operands.compressed);
    } else {
        UnpackB(right.data(), b.ptr, s, bType);
    }
    if (aType == DType::kF32 && core.regs.hf32) {
        RoundToHf32(left.data(), left.size(), core.regs.hf32Trans);
        RoundToHf32(right.data(), right.size(), core.regs.hf32Trans);
    }
    const bool keep = !args.initZero && !args.fromBias;
    for (uint32_t m = 0; m < s.m && (keep || args.fromBias); ++m) {
        for (uint32_t n = 0; n < s.n; ++n) {
            Acc start;
            if (args.fromBias) {
                const uint8_t* table = bias != nullptr ? bias->ptr : core.memory[int(Mem::kBt)];
                const bool full = bias != nullptr && bias->mem == Mem::kL0c;
                start = full ? *CElement<Acc>(bias->ptr, s, m, n)
                             : reinterpret_cast<const Acc*>(table)[n];
            } else {
                start = *CElement<Acc>(c.ptr, s, m, n);
            }
            sums[static_cast<size_t>(m) * s.n + n] = Widen(start);
        }
    }
    Gemm(sums.data(), s.n, left.data(), s.k, right.data(), s.n, s.m, s.n, s.k,
         aType != DType::kF32 || core.regs.hf32);
    for (uint32_t m = 0; m < s.m; ++m) {
        for (uint32_t n = 0; n < s.n; ++n) {
            *CElement<Acc>(c.ptr, s, m, n) = Narrow(sums[static_cast<size_t>(m) * s.n + n], Acc());
        }
    }
}

}  // namespace

void CubeMmad(const TensorRef& dst, DType cType, const TensorRef& left, DType aType,
              const TensorRef& right, DType bType, const TensorRef* bias, const MmadArgs& args,
              Loc loc) {
    Core& core = Current();
    TensorRef starts[3];
    const TensorRef& c = FromStart(dst, AscendC::TPosition::CO1, starts[0]);
    const TensorRef& a = FromStart(left, AscendC::TPosition::A2, starts[1]);
    const TensorRef& b = FromStart(right, AscendC::TPosition::B2, starts[2]);
    if (args.m == 0 || args.n == 0 || args.k == 0) return;
    const Api api = args.sparse ? Api::kMmadWithSparse : Api::kMmad;
    if (args.m > 4095 || args.n > 4095 || args.k > 4095) {
        TrapCheck(core, loc, "ErrorParam", api, "split the matrix into smaller blocks",
                  "m=%u n=%u k=%u: each must be at most 4095", args.m, args.n, args.k);
    }
    Shape s;
    s.m = args.m;
    s.n = args.n;
    s.k = args.k;
    s.k0 = kBlock * 8 / DTypeBits(aType);
    s.mBlocks = CeilDiv(s.m, kCube);
    s.nBlocks = CeilDiv(s.n, kCube);
    s.kBlocks = CeilDiv(s.k, s.k0);
    if (aType == DType::kF32 && args.kAlign16) s.kBlocks = CeilDiv(s.k, kCube) * 2;
    s.gemv = s.m == 1 && !args.sparse;
    const uint64_t aBytes = s.gemv ? static_cast<uint64_t>(CeilDiv(s.k, s.k0)) * kBlock
                                   : static_cast<uint64_t>(s.mBlocks) * s.kBlocks * kFractal;
    const uint64_t bBytes =
        static_cast<uint64_t>(CeilDiv(args.sparse ? s.k / 2 : s.k, s.k0)) * s.nBlocks * kFractal;
    const uint64_t cBytes =
        static_cast<uint64_t>(s.mBlocks) * s.nBlocks * kCube * kCube * (DTypeBits(cType) / 8);
    CheckRange(core, a, aBytes, "fm", api, loc);
    CheckRange(core, b, bBytes, "filter", api, loc);
    CheckRange(core, c, cBytes, "dst", api, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kM;
        r.loc = Where(core, loc);
        r.unitFlag = args.unitFlag;
        r.m = static_cast<uint16_t>(s.m);
        r.n = static_cast<uint16_t>(s.n);
        // Of dense weights it takes the index to tell which of its elements meet which.
        r.k = args.sparse ? 0 : static_cast<uint16_t>(s.k);
        const bool reads = !args.initZero && !args.fromBias;
        Operand& dst =
            AddOperand(r, "dst", c, cType, reads ? Access::kReadWrite : Access::kWrite, 64);
        dst.blockBytes = static_cast<uint32_t>(cBytes);
        Operand& left = AddOperand(r, {"fm", Use::kLeft}, a, aType, Access::kRead, kFractal);
        left.blockBytes = static_cast<uint32_t>(aBytes);
        Operand& right = AddOperand(r, {"filter", Use::kRight}, b, bType, Access::kRead, kFractal);
        right.blockBytes = static_cast<uint32_t>(bBytes);
        if (bias != nullptr) {
            Operand& init = AddOperand(r, "bias", *bias, cType, Access::kRead, 64);
            init.blockBytes = s.n * 4;
        }
        Emit(core, r);
        if (core.timeOnly) return;
    }
    if (cType == DType::kI32) {
        Run<int32_t, int64_t>(core, c, a, aType, b, bType, bias, args, s);
    } else if (cType == DType::kF16) {
        Run<half, float>(core, c, a, aType, b, bType, bias, args, s);
    } else {
        Run<float, float>(core, c, a, aType, b, bType, bias, args, s);
    }
}

}  // namespace ascendc_emu
