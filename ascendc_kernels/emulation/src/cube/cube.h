// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the sources of the cube unit share: its registers, operands and elements, the product, and
// where the matrices of a Matmul object lie.
#ifndef SRC_CUBE_CUBE_H
#define SRC_CUBE_CUBE_H

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "ascendc_emu/core.h"
#include "ascendc_emu/cube_ops.h"
#include "ascendc_emu/matmul_ops.h"
#include "ascendc_emu/types.h"
#include "vector/floats.h"

namespace ascendc_emu {

// ---- Registers and operands

constexpr uint32_t kFractal = 512;  // bytes
constexpr uint32_t kBlock = 32;     // bytes; the K side of a fractal
constexpr uint32_t kCube = 16;      // the other side
constexpr uint32_t kIndexFractal = kFractal / 4;

struct CubeState {
    struct Fmatrix {
        uint32_t height = 0, width = 0;
        uint8_t pad[4] = {0, 0, 0, 0};
    } left, right;
    uint64_t padding = 0;
    // SetLoadDataRepeat: image-to-column loads run `repeatTime` times along M or K.
    uint32_t repeatTime = 1, repeatStride = 0;
    bool repeatAlongK = false;
    // 2-bit positions that LoadDataWithSparse loaded, 128 bytes for each fractal of L0B.
    uint8_t sparse[65536 / 4] = {};
    uint32_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
    uint64_t quantScalar = 0;
    TensorRef quantTable;
    bool hasTable = false;
    bool unitFlag = false;
};

CubeState& StateOf(Core& core);

inline uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// A kernel without KERNEL_TASK_TYPE that uses the cube is a mixed one with two vector cores per
// cube core: CANN finds that out by looking at the instructions. Restarts the launch as such if
// needed.
void RequireCubeCores(Core& core, Loc loc);

// Stops the kernel when [addr, addr + bytes) leaves the on-chip memory of `t`: the bodies below
// write straight into it.
void CheckRange(Core& core, const TensorRef& t, uint64_t bytes, const char* role, Api api, Loc loc);

// A tensor that nobody has placed has address 0 on the device, and the instruction says of which
// memory: it is put into `placed` at the start of that of `pos`; others are returned as they are.
const TensorRef& FromStart(const TensorRef& t, AscendC::TPosition pos, TensorRef& placed);

// Operand of a tensor, for records.
Operand& AddOperand(Record& r, Role role, const TensorRef& t, DType type, Access access,
                    uint16_t align);
Operand& AddOperand(Record& r, Role role, const GmRef& t, DType type, Access access);

// ---- Elements of any type the cube takes, as the numbers it multiplies: float, or int64 for integers

// out[count] <- elements first, first + 1, ... of packed data.
template <typename Out>
void UnpackRow(Out* out, const uint8_t* data, uint64_t first, uint32_t count, DType type) {
    auto copy = [&](auto element) {
        using T = decltype(element);
        const T* in = reinterpret_cast<const T*>(data) + first;
        if constexpr (std::is_same<Out, float>::value &&
                      (std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value)) {
            Load(out, in, count);
        } else {
            for (uint32_t i = 0; i < count; ++i)
                out[i] = static_cast<Out>(static_cast<float>(in[i]));
        }
    };
    auto integers = [&](auto element) {
        const auto* in = reinterpret_cast<const decltype(element)*>(data) + first;
        for (uint32_t i = 0; i < count; ++i) out[i] = static_cast<Out>(in[i]);
    };
    switch (type) {
        case DType::kF16:
            return copy(half());
        case DType::kBf16:
            return copy(bfloat16_t());
        case DType::kF32:
            return copy(float());
        case DType::kI8:
            return integers(int8_t());
        case DType::kU8:
            return integers(uint8_t());
        case DType::kI32:
            return integers(int32_t());
        case DType::kI4:
            for (uint32_t i = 0; i < count; ++i) {
                const uint64_t at = first + i;
                const int32_t v = (at & 1) ? data[at / 2] >> 4 : data[at / 2] & 15;
                out[i] = static_cast<Out>(v >= 8 ? v - 16 : v);
            }
            return;
        default:
            for (uint32_t i = 0; i < count; ++i) out[i] = Out(0);
    }
}

// FP32 numbers rounded to HF32 (8 bits exponent, 11 bits mantissa): nearest even, or towards zero.
template <typename Out>
void RoundToHf32(Out* values, size_t count, bool towardsZero) {
    for (size_t i = 0; i < count; ++i) {
        Out& v = values[i];
        uint32_t bits = BitCast<uint32_t>(static_cast<float>(v));
        if ((bits & 0x7f800000u) == 0x7f800000u) continue;
        if (!towardsZero) bits += 0x7ffu + ((bits >> 12) & 1u);
        v = static_cast<Out>(BitCast<float>(bits & ~0xfffu));
    }
}

// ---- The product

// c[m][ldc] += a[m][lda] * b[k][ldb]; every element adds its products in K order. exact: a product
// has at most 24 significant bits (half, bfloat16 and HF32 operands), so that a fused multiply-add
// gives the same bits as a product and a sum, in half the time; integers always are.
void Gemm(float* c, uint64_t ldc, const float* a, uint64_t lda, const float* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool exact);
void Gemm(int64_t* c, uint64_t ldc, const int64_t* a, uint64_t lda, const int64_t* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool exact);

// ---- An element on its way out of the cube (fixpipe.cpp)

// Whether arch 2201 has a QuantMode_t.
bool HasQuant(int32_t quant);
// Whether a QuantMode_t takes its parameter per column.
bool UsesTable(int32_t quant);

// The bits the destination stores for the 32-bit accumulator `raw` (fp32 or int32).
uint32_t ConvertElement(uint32_t raw, DType srcType, DType dstType, const FixpipeArgs& args,
                        uint64_t parameter);

// Store a row of fp32 accumulators that only have to be rounded to the destination's float type;
// false, and nothing done, when `args` ask for more.
bool StoreFloats(uint8_t* out, DType type, const float* from, uint32_t count,
                 const FixpipeArgs& args);

// out = op(out, bits); op: 1 add, 2 max, 3 min. The caller holds AtomicLock().
void StoreAtomic(uint8_t* out, uint32_t bits, DType type, uint8_t op);

// Atomic stores of several cores may meet at one address.
std::mutex& AtomicLock();

// ---- Where the elements of a Matmul object's matrices lie, and what of them is memory of the launch

// Elements in a row of a fractal.
inline uint32_t RowOf(const MatrixRef& m) {
    return m.nzWidth ? m.nzWidth : kBlock * 8 / DTypeBits(m.type);
}

// Position of (row, column) in elements.
inline uint64_t IndexOf(const MatrixRef& m, uint32_t row, uint32_t column) {
    if (m.transposed) std::swap(row, column);
    if (m.format == MatrixFormat::kNd) return static_cast<uint64_t>(row) * m.stride + column;
    const uint32_t c0 = RowOf(m);
    return static_cast<uint64_t>(column / c0) * m.stride * c0 + static_cast<uint64_t>(row) * c0 +
           column % c0;
}

// A block of a matrix, rows x columns at (row, column); `role` is its name in messages.
struct MatrixBlock {
    const char* role;
    uint32_t row, rows, column, columns;
};

// Whether all of a block is memory of the launch. Ends the launch where a block on the chip does
// not fit its memory.
bool IsInside(Core& core, const MatrixRef& m, const MatrixBlock& block, Api api, Loc loc);

// A matrix to read a block of: itself, or a copy where part of the block is outside global memory,
// with zeros there. Too much outside ends the launch, as for a copy.
class ReadableMatrix {
 public:
    ReadableMatrix(Core& core, const MatrixRef& m, const MatrixBlock& block, Api api, Loc loc);
    const MatrixRef& operator*() const { return matrix_; }

 private:
    MatrixRef matrix_;
    std::vector<uint8_t> copy_;
};

}  // namespace ascendc_emu
#endif  // SRC_CUBE_CUBE_H
