// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Parameter structs of the cube instructions. Names, fields and defaults are the documented ones
// (asc-devkit docs, "matrix computation (ISASI)").
#ifndef ASCENDC_EMU_CUBE_PARAMS_H
#define ASCENDC_EMU_CUBE_PARAMS_H

#include "ascendc_emu/enums.h"

// Values of MmadParams::unitFlag and FixpipeParams::unitFlag by the compiler's names: off, wait for
// the block and keep it, wait for the block and hand it over.
enum unit_flag_mode_t : uint8_t { UFMode0 = 0, UFMode2 = 2, UFMode3 = 3 };

namespace AscendC {

constexpr int32_t PAD_SIZE = 4;

enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };
enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR, COLUMN_MAJOR };

struct LoadData2DParams {
    LoadData2DParams() {}
    LoadData2DParams(uint16_t start, uint8_t repeat, uint16_t stride, uint8_t sidIn, uint16_t gap,
                     bool transpose, uint8_t mode)
        : startIndex(start),
          dstGap(gap),
          srcStride(stride),
          ifTranspose(transpose),
          repeatTimes(repeat),
          sid(sidIn),
          addrMode(mode) {}
    uint16_t startIndex = 0;  // fractal of 512 bytes
    uint16_t dstGap = 0;      // fractals between the end of one and the start of the next
    uint16_t srcStride = 0;   // fractals from start to start
    bool ifTranspose = false;
    uint8_t repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0;  // 1: source index decreases
};
using LoadData2dParams = LoadData2DParams;

struct LoadData2DParamsV2 {
    LoadData2DParamsV2() {}
    LoadData2DParamsV2(uint32_t mStart, uint32_t kStart, uint16_t mSteps, uint16_t kSteps,
                       int32_t src, uint16_t dst, bool transpose, uint8_t sidIn)
        : mStartPosition(mStart),
          kStartPosition(kStart),
          mStep(mSteps),
          kStep(kSteps),
          srcStride(src),
          dstStride(dst),
          ifTranspose(transpose),
          sid(sidIn) {}
    uint32_t mStartPosition = 0;  // fractals
    uint32_t kStartPosition = 0;
    uint16_t mStep = 0;
    uint16_t kStep = 0;
    int32_t srcStride = 0;   // fractals between K columns of fractals in the source
    uint16_t dstStride = 0;  // the same in the destination
    bool ifTranspose = false;
    uint8_t sid = 0;
};

struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() {}
    LoadData2dTransposeParams(uint16_t start, uint8_t repeat, uint16_t stride, uint16_t gap,
                              uint16_t fracGap, uint8_t mode = 0)
        : startIndex(start),
          repeatTimes(repeat),
          srcStride(stride),
          dstGap(gap),
          dstFracGap(fracGap),
          addrMode(mode) {}
    uint16_t startIndex = 0;  // square blocks
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;   // square blocks
    uint16_t dstGap = 0;      // fractals
    uint16_t dstFracGap = 0;  // fractals
    uint8_t addrMode = 0;
};

struct LoadData2dTransposeParamsV2 {
    LoadData2dTransposeParamsV2() {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint16_t dstGap = 0;
    uint16_t dstFracGap = 0;
    uint16_t srcFracGap = 0;
    uint8_t addrMode = 0;
};

template <typename T>
struct LoadData3DParamsV2 {
    LoadData3DParamsV2() {}
    LoadData3DParamsV2(const uint8_t pad[PAD_SIZE], uint16_t h, uint16_t w, uint16_t channels,
                       uint16_t kExt, uint16_t mExt, uint16_t kStart, uint16_t mStart,
                       uint8_t strideWIn, uint8_t strideHIn, uint8_t filterWIn, uint8_t filterHIn,
                       uint8_t dilationW, uint8_t dilationH, bool transpose, bool smallK, T padVal,
                       bool bigW = false, bool bigH = false, bool rightMatrix = false)
        : l1H(h),
          l1W(w),
          channelSize(channels),
          kExtension(kExt),
          mExtension(mExt),
          kStartPt(kStart),
          mStartPt(mStart),
          strideW(strideWIn),
          strideH(strideHIn),
          filterW(filterWIn),
          filterH(filterHIn),
          dilationFilterW(dilationW),
          dilationFilterH(dilationH),
          enTranspose(transpose),
          enSmallK(smallK),
          padValue(padVal),
          filterSizeW(bigW),
          filterSizeH(bigH),
          fMatrixCtrl(rightMatrix) {
        for (int i = 0; i < PAD_SIZE; ++i) padList[i] = pad[i];
    }
    uint8_t padList[PAD_SIZE] = {0, 0, 0, 0};  // left, right, top, bottom
    uint16_t l1H = 0;
    uint16_t l1W = 0;
    uint16_t channelSize = 0;
    uint16_t kExtension = 0;
    uint16_t mExtension = 0;
    uint16_t kStartPt = 0;
    uint16_t mStartPt = 0;
    uint8_t strideW = 1;
    uint8_t strideH = 1;
    uint8_t filterW = 1;
    uint8_t filterH = 1;
    uint8_t dilationFilterW = 1;
    uint8_t dilationFilterH = 1;
    bool enTranspose = false;
    bool enSmallK = false;
    T padValue = T();
    bool filterSizeW = false;  // filter width + 256
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

struct LoadData3DParamsV2Pro {
    LoadData3DParamsV2Pro() {}
    LoadData3DParamsV2Pro(uint16_t channels, bool transpose, bool smallK, bool bigW, bool bigH,
                          bool rightMatrix, uint64_t ext, uint64_t filter)
        : channelSize(channels),
          enTranspose(transpose),
          enSmallK(smallK),
          filterSizeW(bigW),
          filterSizeH(bigH),
          fMatrixCtrl(rightMatrix),
          extConfig(ext),
          filterConfig(filter) {}
    uint16_t channelSize = 0;
    bool enTranspose = false;
    bool enSmallK = false;
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
    uint64_t extConfig = 0;  // mStartPt, kStartPt, mExtension, kExtension, 16 bits each
    uint64_t filterConfig = 0x10101010101ull;
};

struct IsResetLoad3dConfig {
    bool isSetFMatrix = true;
    bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

struct LoadDataRepeatParam {
    LoadDataRepeatParam() {}
    LoadDataRepeatParam(uint16_t stride, uint8_t time, uint8_t mode)
        : repeatStride(stride), repeatTime(time), repeatMode(mode) {}
    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1;
    uint8_t repeatMode = 0;
    uint8_t reserved = 0;
};

struct MmadParams {
    MmadParams() {}
    MmadParams(uint16_t mIn, uint16_t nIn, uint16_t kIn, bool bias, int32_t offset, bool sparse,
               bool winogradA, bool winogradB)
        : m(mIn),
          n(nIn),
          k(kIn),
          isBias(bias),
          fmOffset(offset),
          enSsparse(sparse),
          enWinogradA(winogradA),
          enWinogradB(winogradB) {}
    MmadParams(uint16_t mIn, uint16_t nIn, uint16_t kIn, uint8_t unit, bool source, bool init)
        : m(mIn), n(nIn), k(kIn), unitFlag(unit), cmatrixSource(source), cmatrixInitVal(init) {}
    uint16_t m = 0;
    uint16_t n = 0;
    uint16_t k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false;
    bool cmatrixSource = false;
    bool cmatrixInitVal = true;
};

template <typename U>
struct InitConstValueParams {
    InitConstValueParams() {}
    InitConstValueParams(uint16_t repeat, uint16_t blocks, uint16_t gap, U value)
        : repeatTimes(repeat), blockNum(blocks), dstGap(gap), initValue(value) {}
    InitConstValueParams(uint16_t repeat, U value) : repeatTimes(repeat), initValue(value) {}
    uint16_t repeatTimes = 0;
    uint16_t blockNum = 0;
    uint16_t dstGap = 0;
    U initValue = U(0);
};

struct FixpipeConfig {
    constexpr FixpipeConfig(CO2Layout layout, bool toUb = false) : format(layout), isToUB(toUb) {}
    CO2Layout format;
    bool isToUB = false;
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};
constexpr FixpipeConfig CFG_COLUMN_MAJOR = {CO2Layout::COLUMN_MAJOR};

struct FixpipeParamsV220 {
    FixpipeParamsV220() {}
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu,
                      QuantMode_t quant = QuantMode_t::NoQuant, uint64_t scalar = 0,
                      uint16_t nds = 1, uint16_t srcNd = 0, uint16_t dstNd = 0, uint8_t unit = 0,
                      bool split = false)
        : nSize(n),
          mSize(m),
          srcStride(src),
          dstStride(dst),
          quantPre(quant),
          deqScalar(scalar),
          ndNum(nds),
          srcNdStride(srcNd),
          dstNdStride(dstNd),
          reluEn(relu),
          unitFlag(unit),
          isChannelSplit(split) {}
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint16_t srcStride = 0;  // 16 elements
    uint32_t dstStride = 0;  // NZ: 32 bytes; ND: elements
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint16_t dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};
using FixpipeParamsM300 = FixpipeParamsV220;
using FixpipeParamsM310 = FixpipeParamsV220;

// The older form: burst counts instead of matrix sizes.
struct Nz2NdParams {
    bool nz2ndEn = false;
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint16_t dstNdStride = 0;
    uint16_t originalNSize = 0;
};
struct QuantParams {
    QuantParams() {}
    QuantParams(QuantMode_t mode) : quantPre(mode) {}
    QuantParams(QuantMode_t mode, uint64_t scalar) : quantPre(mode), deqScalar(scalar) {}
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
};
template <typename SrcT>
struct FixpipeParams {
    FixpipeParams() {}
    FixpipeParams(uint16_t count, uint16_t len, uint16_t src, uint32_t dst)
        : cburstNum(count), burstLen(len), srcStride(src), dstStride(dst) {}
    uint16_t cburstNum = 1;
    uint16_t burstLen = 1;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    QuantParams quantParams;
    bool reluEn = false;
    Nz2NdParams nz2ndParams;
    uint8_t unitFlag = 0;
};

}  // namespace AscendC
#endif  // ASCENDC_EMU_CUBE_PARAMS_H
