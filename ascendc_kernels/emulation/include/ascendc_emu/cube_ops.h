// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Bodies of the cube instructions in the prebuilt library. Layouts (arch 2201), with K0 = 32 bytes:
//   L0A  Zz: fractals [M/16][K/K0], inside a fractal [16][K0]
//   L0B  Zn: fractals [K/K0][N/16], inside a fractal [16 of N][K0]
//   L0C  Nz: fractals [N/16][M/16], inside a fractal [16 of M][16 of N]
#ifndef ASCENDC_EMU_CUBE_OPS_H
#define ASCENDC_EMU_CUBE_OPS_H

#include "ascendc_emu/tensor.h"

namespace ascendc_emu {

struct Load2dArgs {
    uint32_t start = 0;  // source fractal
    uint32_t repeat = 0;
    int32_t srcStride = 0;  // fractals
    uint32_t dstStride = 1;
    bool transpose = false;  // each fractal; 16-bit types
};
void CubeLoad2d(const TensorRef& dst, const TensorRef& src, DType type, const Load2dArgs& args,
                Api api, Loc loc);
void CubeLoad2d(const TensorRef& dst, const GmRef& src, DType type, const Load2dArgs& args, Api api,
                Loc loc);

// Fractals of a 4:2 compressed B into L0B, and their index fractals (128 bytes) into the core's
// index buffer, at a quarter of dst's address.
void CubeLoadSparse(const TensorRef& dst, const TensorRef& src, const TensorRef& index,
                    uint32_t start, uint32_t repeat, Loc loc);

struct LoadTransposeArgs {
    uint32_t start = 0;  // square blocks
    uint32_t repeat = 0;
    int32_t srcStride = 0;
    uint32_t dstGap = 0;
    uint32_t dstFracGap = 0;
};
void CubeLoadTranspose(const TensorRef& dst, const TensorRef& src, DType type,
                       const LoadTransposeArgs& args, Loc loc);

// Image to column of an NC1HWC0 feature map, then the block [mStart, +mExtent) x [kStart, +kExtent)
// of the column matrix.
struct Load3dArgs {
    uint8_t pad[4] = {0, 0, 0, 0};  // left, right, top, bottom
    uint32_t height = 0, width = 0, channels = 0;
    uint32_t kExtent = 0, mExtent = 0, kStart = 0, mStart = 0;
    uint32_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationW = 1, dilationH = 1;
    bool transpose = false;
    uint64_t padBits = 0;
};
void CubeLoad3d(const TensorRef& dst, const TensorRef& src, DType type, const Load3dArgs& args,
                Loc loc);

// Per-core registers of the load instructions.
void CubeSetFmatrix(uint32_t height, uint32_t width, const uint8_t pad[4], bool right);
void CubeGetFmatrix(bool right, Load3dArgs& args);
void CubeSetPadding(uint64_t bits);
// The following image-to-column loads run `time` times; each starts stride * 16 rows (along M) or
// stride * 32 bytes of columns (along K) further, and all blocks form one matrix in L0.
void CubeSetLoadRepeat(uint32_t time, uint32_t stride, bool alongK);
uint64_t CubePadding();

struct MmadArgs {
    uint32_t m = 0, n = 0, k = 0;
    bool initZero = true;   // C starts at 0
    bool fromBias = false;  // C starts at the bias table
    bool kAlign16 = false;  // fp32: K blocks come in pairs
    bool sparse = false;    // B is 4:2 compressed: k / 2 rows, see CubeLoadSparse
    uint8_t unitFlag = 0;
};
void CubeMmad(const TensorRef& c, DType cType, const TensorRef& a, DType aType, const TensorRef& b,
              DType bType, const TensorRef* bias, const MmadArgs& args, Loc loc);

struct FixpipeArgs {
    uint32_t n = 0, m = 0;
    uint32_t srcStride = 0;  // rows of 16 elements between columns of fractals
    uint32_t dstStride = 0;  // ND: elements; NZ: 32 bytes
    int32_t quant = 0;       // QuantMode_t
    uint64_t scalar = 0;
    bool relu = false;
    bool toNd = true;
    uint32_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
    bool channelSplit = false;
    uint8_t unitFlag = 0;
};
// `table`: the 64-bit parameters of vector quantisation (L1 or fixpipe buffer), or null.
void CubeFixpipe(const GmRef& dst, DType dstType, const TensorRef& src, DType srcType,
                 const TensorRef* table, const FixpipeArgs& args, Api api, Loc loc);
void CubeFixpipe(const TensorRef& dst, DType dstType, const TensorRef& src, DType srcType,
                 const TensorRef* table, const FixpipeArgs& args, Api api, Loc loc);
void CubeSetFixpipeNd(uint32_t ndNum, uint32_t srcNdStride, uint32_t dstNdStride);
void CubeGetFixpipeNd(FixpipeArgs& args);
void CubeSetFixpipeQuant(uint64_t scalar);
uint64_t CubeFixpipeQuant();
void CubeSetFixpipeTable(const TensorRef& table);
const TensorRef* CubeFixpipeTable();
// The unit flag of the register of vector quantisation; kept, without effect.
void CubeSetFixpipeUnitFlag(bool on);
bool CubeFixpipeUnitFlag();

// repeat x (blocks of 32 bytes in L1, 512 bytes in L0) of one value.
void CubeFill(const TensorRef& dst, DType type, uint64_t valueBits, uint32_t repeat,
              uint32_t blocks, uint32_t gap, Loc loc);

// Rows of 16 elements from UB, each to all rows of a fractal in L0C; srcGap: 32 bytes, dstGap:
// fractals.
void CubeBroadcast(const TensorRef& dst, const TensorRef& src, DType type, uint32_t blocks,
                   uint32_t length, uint32_t srcGap, uint32_t dstGap, Loc loc);

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_CUBE_OPS_H
