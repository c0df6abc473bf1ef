// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Registers of the cube unit that live in a core's extension slot, and helpers of the cube bodies.
#ifndef SRC_CUBE_CUBE_STATE_H
#define SRC_CUBE_CUBE_STATE_H

#include "ascendc_emu/core.h"
#include "ascendc_emu/cube_ops.h"

namespace ascendc_emu {

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
void CheckRange(Core& core, const TensorRef& t, uint64_t bytes, const char* role, const char* op,
                Loc loc);

// A tensor that nobody has placed has address 0 on the device, and the instruction says of which
// memory: it is put into `placed` at the start of that of `pos`; others are returned as they are.
const TensorRef& FromStart(const TensorRef& t, AscendC::TPosition pos, TensorRef& placed);

// Operand of a tensor, for records.
Operand& AddOperand(Record& r, const char* role, const TensorRef& t, DType type, Access access,
                    uint16_t align);
Operand& AddOperand(Record& r, const char* role, const GmRef& t, DType type, Access access);

}  // namespace ascendc_emu
#endif  // SRC_CUBE_CUBE_STATE_H
