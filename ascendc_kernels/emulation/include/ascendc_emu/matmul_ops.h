// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Body of the Matmul object in the prebuilt library.
#ifndef ASCENDC_EMU_MATMUL_OPS_H
#define ASCENDC_EMU_MATMUL_OPS_H

#include "ascendc_emu/cube_ops.h"

namespace ascendc_emu {

enum class MatrixFormat : uint8_t { kNd, kNz, kScalar };

// A matrix in GM or on the chip. Element (row, column) of an ND matrix is data[row * stride +
// column], with rows and columns exchanged when `transposed`; NZ: fractal columns of `stride` rows
// each.
struct MatrixRef {
    uint8_t* data = nullptr;
    DType type = DType::kNone;
    MatrixFormat format = MatrixFormat::kNd;
    bool transposed = false;
    uint64_t stride = 0;  // elements; NZ: rows of a fractal column, a multiple of 16
    bool onChip = false;
    bool hidden = false;   // the library's own memory: no record
    uint32_t nzWidth = 0;  // elements in a row of an NZ fractal; 0: 32 bytes
    GmRef gm;              // for records
    TensorRef local;       // for records
    double scalar = 0;
};

constexpr uint8_t kPlainStore = 4;  // whatever the registers say

struct MatmulArgs {
    MatrixRef a, b, c, bias;
    MatrixRef initial;  // what `partial` adds to: fp32 or int32 blocks of L0C
    bool hasBias = false;
    uint32_t m0 = 0, m = 0;  // rows of C to compute: [m0, m0 + m)
    uint32_t n0 = 0, n = 0;
    uint32_t k = 0;
    uint32_t cRow = 0, cColumn = 0;  // where (m0, n0) goes in C
    bool partial = false;            // the sums start at `initial`
    uint8_t atomic = 0;              // 0: as the registers say; 1 add, 2 max, 3 min, kPlainStore
    bool hf32 = false;
    bool relu = false;
    int32_t quant = 0;  // QuantMode_t
    uint64_t quantScalar = 0;
    const uint64_t* quantVector = nullptr;  // per column, counted from column 0
    uint32_t blocks = 1;                    // base blocks: the fixpipe stores each by itself
};

// C = A * B (+ bias) in fp32 (int32 for integers), products added in K order. The call waits for
// everything the core has issued before it and is complete when it returns.
void MatmulCompute(const MatmulArgs& args, Api api, Loc loc);

// True on a core that only serves Matmul requests of the vector cores: an AIC of a mixed kernel
// whose Matmul objects live on the AIVs.
bool IsMatmulServer(Loc loc);

// Memory of one Matmul object that lives as long as the core; it moves when it grows.
uint8_t* MatmulScratch(const void* owner, int slot, uint64_t bytes);

// While it lives, the core has L1 and L0C buffers of the library's own and the identity of the AIC
// that runs a user's copy function on the device. What that function does is not recorded.
class CubeRole {
 public:
    CubeRole();
    ~CubeRole();
    CubeRole(const CubeRole&) = delete;
    CubeRole& operator=(const CubeRole&) = delete;
    uint8_t* L1() const { return l1_; }
    uint8_t* L0c() const { return l0c_; }

 private:
    uint8_t* l1_;
    uint8_t* l0c_;
    uint8_t* oldMemory_[2];
    uint32_t oldCapacity_[2];
    Sink* oldSink_;
    CoreKind oldKind_;
    int32_t oldBlock_;
};

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_MATMUL_OPS_H
