// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling structs of the high-level APIs as kernels see them. Field order and types are part of the
// interface: the host writes these structs into the tiling data byte by byte.
#ifndef KERNEL_TILING_KERNEL_TILING_H
#define KERNEL_TILING_KERNEL_TILING_H

#include <stdint.h>

#include "kernel_tiling/cube_tiling.h"

// Fields of the high-level APIs' tiling data, F(type, name) each. Order and types are part of the
// host-kernel interface; kernel structs and host classes are both made from these lists.
// clang-format off: a field is no statement
#define OPGEN_UN_PAD_TILING_FIELDS(F) \
    F(uint32_t, srcHeight) F(uint32_t, srcWidth) F(uint32_t, tmpBuffer1BlockNum) \
    F(uint32_t, tmpBuffer1RowNum) F(uint32_t, tmpBuffer2Offset) F(uint32_t, widthTiling) \
    F(uint32_t, widthFractal) F(uint32_t, widthFractalTail)

#define OPGEN_PAD_TILING_FIELDS(F) \
    F(uint32_t, srcHeight) F(uint32_t, srcWidth) F(uint32_t, srcOriWidth) \
    F(uint32_t, widthWithoutLastBlock) F(uint32_t, blocksPerRow) F(uint32_t, heightTiling) \
    F(uint32_t, heightFractal) F(uint32_t, heightFractalTail) F(uint32_t, mainLoopOffset) \
    F(uint32_t, tailBlockOffset) F(uint32_t, tmpBuffer1BlockNum) F(uint32_t, tmpBuffer1RowNum) \
    F(uint32_t, tmpBuffer2Offset) F(uint32_t, widthTiling) F(uint32_t, widthFractal) \
    F(uint32_t, widthFractalTail) F(uint32_t, widthFractalTailAlingned) F(uint32_t, brcbTiling) \
    F(uint32_t, brcbFractal) F(uint32_t, brcbFractalTail) F(uint32_t, maxRepeatTimes) \
    F(uint32_t, brcbTilingRepeatTimes) F(uint32_t, brcbTilingRepeatTimesTail) \
    F(uint32_t, brcbFractalTailRepeatTimes) F(uint32_t, brcbFractalTailRepeatTimesTail) \
    F(uint32_t, reserved)

#define OPGEN_TOPK_TILING_FIELDS(F) \
    F(int32_t, tmpLocalSize) F(int32_t, allDataSize) F(int32_t, innerDataSize) \
    F(uint32_t, sortRepeat) F(int32_t, mrgSortRepeat) F(int32_t, kAlignFourBytes) \
    F(int32_t, kAlignTwoBytes) F(int32_t, maskOffset) F(int32_t, maskVreducev2FourBytes) \
    F(int32_t, maskVreducev2TwoBytes) F(int32_t, mrgSortSrc1offset) \
    F(int32_t, mrgSortSrc2offset) F(int32_t, mrgSortSrc3offset) \
    F(int32_t, mrgSortTwoQueueSrc1Offset) F(int32_t, mrgFourQueueTailPara1) \
    F(int32_t, mrgFourQueueTailPara2) F(int32_t, srcIndexOffset) \
    F(uint32_t, copyUbToUbBlockCount) F(int32_t, topkMrgSrc1MaskSizeOffset) \
    F(int32_t, topkNSmallSrcIndexOffset) F(uint32_t, vreduceValMask0) \
    F(uint32_t, vreduceValMask1) F(uint32_t, vreduceIdxMask0) F(uint32_t, vreduceIdxMask1) \
    F(uint16_t, vreducehalfValMask0) F(uint16_t, vreducehalfValMask1) \
    F(uint16_t, vreducehalfValMask2) F(uint16_t, vreducehalfValMask3) \
    F(uint16_t, vreducehalfValMask4) F(uint16_t, vreducehalfValMask5) \
    F(uint16_t, vreducehalfValMask6) F(uint16_t, vreducehalfValMask7)

#define OPGEN_LAYER_NORM_TILING_FIELDS(F) \
    F(uint32_t, bLength) F(uint32_t, sLength) F(uint32_t, hLength) F(uint32_t, originalHLength) \
    F(uint32_t, inputXSize) F(uint32_t, meanVarSize) F(uint32_t, numberOfTmpBuf) \
    F(uint32_t, meanTmpTensorPos) F(uint32_t, meanTmpTensorSize) \
    F(uint32_t, varianceTmpTensorPos) F(uint32_t, varianceTmpTensorSize) F(uint32_t, tmpBufSize) \
    F(uint32_t, oneTmpSize) F(uint32_t, firstTmpStartPos) F(uint32_t, secondTmpStartPos) \
    F(uint32_t, thirdTmpStartPos) F(uint32_t, loopRound) F(uint32_t, inputRoundSize) \
    F(uint32_t, inputTailSize) F(uint32_t, inputTailPos) F(uint32_t, meanVarRoundSize) \
    F(uint32_t, meanVarTailSize) F(uint32_t, meanVarTailPos) F(uint32_t, bshCurLength) \
    F(uint32_t, bsCurLength) F(float, lastDimValueBack)

#define OPGEN_LAYER_NORM_SEPARATE_TILING_FIELDS(F) \
    F(uint32_t, aLength) F(uint32_t, rLength) F(uint32_t, halfAddRepeatTimes) \
    F(uint32_t, rHeadLength) F(float, k2Rec) F(float, k2RRec) F(uint32_t, inputXSize) \
    F(uint32_t, meanVarSize) F(uint32_t, numberOfTmpBuf) F(uint32_t, varianceTmpTensorPos) \
    F(uint32_t, varianceTmpTensorSize) F(uint32_t, tmpBufSize) F(uint32_t, oneTmpSize) \
    F(uint32_t, firstTmpStartPos) F(uint32_t, secondTmpStartPos) F(uint32_t, thirdTmpStartPos) \
    F(uint32_t, loopRound) F(uint32_t, inputRoundSize) F(uint32_t, inputTailSize) \
    F(uint32_t, inputTailPos) F(uint32_t, meanVarRoundSize) F(uint32_t, meanVarTailSize) \
    F(uint32_t, meanVarTailPos) F(uint32_t, arCurLength) F(uint32_t, aCurLength) \
    F(float, rValueBack)

#define OPGEN_LAYER_NORM_GRAD_BETA_TILING_FIELDS(F) \
    F(uint32_t, stackBufferSize) F(uint32_t, bLength) F(uint32_t, sLength) F(uint32_t, hLength) \
    F(uint32_t, originalHLength) F(uint32_t, bshLength) F(uint32_t, bsLength) \
    F(uint32_t, oneCalSize) F(uint32_t, numberOfTmpBuf) F(uint32_t, loopRound) \
    F(uint32_t, inputTailSize) F(uint32_t, inputTailPos) F(uint32_t, bsTailSize) \
    F(uint32_t, bshCurLength) F(uint32_t, bsCurLength) F(uint32_t, gammaTempTensorPos) \
    F(uint32_t, betaTempTensorPos) F(uint32_t, inputDyTmpTensorPos) \
    F(uint32_t, resForGammaTmpTensorPos) F(uint32_t, reserved)

#define OPGEN_LAYER_NORM_GRAD_TILING_FIELDS(F) \
    F(uint32_t, stackBufferSize) F(uint32_t, bLength) F(uint32_t, sLength) F(uint32_t, hLength) \
    F(uint32_t, originalHLength) F(uint32_t, oneCalSize) F(uint32_t, nohCalSize) \
    F(uint32_t, loopNum) F(uint32_t, tailSize) F(uint32_t, nohTailSize) \
    F(uint32_t, tmpTensorBSHPos) F(uint32_t, tmpTensorBSHSize) F(uint32_t, pdVarTensorPos) \
    F(uint32_t, pdVarTensorSize) F(uint32_t, pdMeanTensorPos) F(uint32_t, pdMeanTensorSize) \
    F(uint32_t, x1TensorPos) F(uint32_t, x1TensorSize) F(uint32_t, x2TensorPos) \
    F(uint32_t, x2TensorSize) F(uint32_t, x3TensorPos) F(uint32_t, x3TensorSize) \
    F(uint32_t, tmpTensorPos) F(uint32_t, tmpTensorSize) F(uint32_t, tmpTensor1Pos) \
    F(uint32_t, tmpTensor1Size) F(uint32_t, tmpTensor2Pos) F(uint32_t, tmpTensor2Size) \
    F(uint32_t, lastDimValueBack) F(uint32_t, lastDimValueBackMulTwo)

#define OPGEN_RMS_NORM_TILING_FIELDS(F) \
    F(uint32_t, bLength) F(uint32_t, sLength) F(uint32_t, hLength) F(uint32_t, originalHLength) \
    F(float, reciprocalOfHLength) F(uint32_t, mainBshLength) F(uint32_t, mainBsLength) \
    F(uint32_t, mainBsLengthAlign) F(uint32_t, loopRound) F(uint32_t, inputTailPos) \
    F(uint32_t, tailBshLength) F(uint32_t, tailBsLength)

#define OPGEN_BATCH_NORM_TILING_FIELDS(F) \
    F(uint32_t, originalBLength) F(uint32_t, meanVarSize) F(uint32_t, meanTmpTensorPos) \
    F(uint32_t, varianceTmpTensorPos) F(uint32_t, tmpBufSize) F(uint32_t, oneTmpSize) \
    F(uint32_t, firstTmpStartPos) F(uint32_t, secondTmpStartPos) F(uint32_t, thirdTmpStartPos) \
    F(uint32_t, loopRound) F(uint32_t, inputTailSize) F(uint32_t, inputTailPos) \
    F(uint32_t, meanVarTailSize) F(uint32_t, meanVarTailPos) F(uint32_t, bshCurLength) \
    F(uint32_t, shCurLength) F(float, firstDimValueBack) F(uint32_t, castHalfRepStride) \
    F(uint32_t, shCurLengthBlockNum) F(uint32_t, castHalfOutRepStride)

#define OPGEN_GROUP_NORM_TILING_FIELDS(F) \
    F(uint32_t, n) F(uint32_t, c) F(uint32_t, hw) F(uint32_t, g) F(uint32_t, d) \
    F(uint32_t, hwAlignSize) F(uint32_t, dhwAlignSize) F(uint32_t, inputXSize) \
    F(uint32_t, meanVarSize) F(uint32_t, numberOfTmpBuf) F(uint32_t, meanTmpTensorPos) \
    F(uint32_t, meanTmpTensorSize) F(uint32_t, varianceTmpTensorPos) \
    F(uint32_t, varianceTmpTensorSize) F(uint32_t, tmpBufSize) F(uint32_t, oneTmpSize) \
    F(uint32_t, firstTmpStartPos) F(uint32_t, secondTmpStartPos) F(uint32_t, thirdTmpStartPos) \
    F(uint32_t, loopRound) F(uint32_t, inputRoundSize) F(uint32_t, inputTailSize) \
    F(uint32_t, inputTailPos) F(uint32_t, meanVarRoundSize) F(uint32_t, meanVarTailSize) \
    F(uint32_t, meanVarTailPos) F(uint32_t, bshCurLength) F(uint32_t, bsCurLength) \
    F(float, factor) F(bool, smallShape)

#define OPGEN_DEEP_NORM_TILING_FIELDS(F) \
    F(uint32_t, bLength) F(uint32_t, sLength) F(uint32_t, hLength) F(uint32_t, originalHLength) \
    F(uint32_t, inputXSize) F(uint32_t, meanVarSize) F(uint32_t, numberOfTmpBuf) \
    F(uint32_t, meanTmpTensorPos) F(uint32_t, meanTmpTensorSize) \
    F(uint32_t, varianceTmpTensorPos) F(uint32_t, varianceTmpTensorSize) F(uint32_t, tmpBufSize) \
    F(uint32_t, oneTmpSize) F(uint32_t, firstTmpStartPos) F(uint32_t, secondTmpStartPos) \
    F(uint32_t, thirdTmpStartPos) F(uint32_t, loopRound) F(uint32_t, inputRoundSize) \
    F(uint32_t, inputTailSize) F(uint32_t, inputTailPos) F(uint32_t, meanVarRoundSize) \
    F(uint32_t, meanVarTailSize) F(uint32_t, meanVarTailPos) F(uint32_t, bshCurLength) \
    F(uint32_t, bsCurLength) F(float, lastDimValueBack)

#define OPGEN_CONFUSION_TRANSPOSE_TILING_FIELDS(F) \
    F(uint32_t, param0) F(uint32_t, param1) F(uint32_t, param2) F(uint32_t, param3) \
    F(uint32_t, param4) F(uint32_t, param5) F(uint32_t, param6) F(uint32_t, param7) \
    F(uint32_t, param8) F(uint32_t, param9) F(uint32_t, param10) F(uint32_t, param11) \
    F(uint32_t, param12) F(uint32_t, param13) F(uint32_t, param14) F(uint32_t, param15) \
    F(uint32_t, param16) F(uint32_t, param17)

#define OPGEN_SOFT_MAX_TILING_FIELDS(F) \
    F(uint32_t, srcM) F(uint32_t, srcK) F(uint32_t, srcSize) F(uint32_t, outMaxM) \
    F(uint32_t, outMaxK) F(uint32_t, outMaxSize) F(uint32_t, splitM) F(uint32_t, splitK) \
    F(uint32_t, splitSize) F(uint32_t, reduceM) F(uint32_t, reduceK) F(uint32_t, reduceSize) \
    F(uint32_t, rangeM) F(uint32_t, tailM) F(uint32_t, tailSplitSize) \
    F(uint32_t, tailReduceSize)
// clang-format on

namespace AscendC {
// Tiling of the high-level APIs (pad, sort, normalisation, transpose) as kernels see it.
namespace tiling {

#define OPGEN_TILING_FIELD(type, name) type name = 0;
struct UnPadTiling {
    OPGEN_UN_PAD_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct PadTiling {
    OPGEN_PAD_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct TopkTiling {
    OPGEN_TOPK_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormTiling {
    OPGEN_LAYER_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormSeparateTiling {
    OPGEN_LAYER_NORM_SEPARATE_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormGradBetaTiling {
    OPGEN_LAYER_NORM_GRAD_BETA_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormGradTiling {
    OPGEN_LAYER_NORM_GRAD_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct RmsNormTiling {
    OPGEN_RMS_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct BatchNormTiling {
    OPGEN_BATCH_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct GroupNormTiling {
    OPGEN_GROUP_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct DeepNormTiling {
    OPGEN_DEEP_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct ConfusionTransposeTiling {
    OPGEN_CONFUSION_TRANSPOSE_TILING_FIELDS(OPGEN_TILING_FIELD)
};
#undef OPGEN_TILING_FIELD

}  // namespace tiling
}  // namespace AscendC

using UnPadTiling = AscendC::tiling::UnPadTiling;
using PadTiling = AscendC::tiling::PadTiling;
using TopkTiling = AscendC::tiling::TopkTiling;
using LayerNormTiling = AscendC::tiling::LayerNormTiling;
using LayerNormSeparateTiling = AscendC::tiling::LayerNormSeparateTiling;
using LayerNormGradBetaTiling = AscendC::tiling::LayerNormGradBetaTiling;
using LayerNormGradTiling = AscendC::tiling::LayerNormGradTiling;
using RmsNormTiling = AscendC::tiling::RmsNormTiling;
using BatchNormTiling = AscendC::tiling::BatchNormTiling;
using GroupNormTiling = AscendC::tiling::GroupNormTiling;
using DeepNormTiling = AscendC::tiling::DeepNormTiling;
using ConfusionTransposeTiling = AscendC::tiling::ConfusionTransposeTiling;

namespace AscendC {
// Softmax tiling as the kernel sees it; the fields are part of the host-kernel interface.
namespace tiling {

struct SoftMaxTiling {
    uint32_t srcM = 0;  // rows and columns of the source
    uint32_t srcK = 0;
    uint32_t srcSize = 0;
    uint32_t outMaxM = 0;  // of the max and sum tensors
    uint32_t outMaxK = 0;
    uint32_t outMaxSize = 0;
    uint32_t splitM = 0;  // worked on at a time
    uint32_t splitK = 0;
    uint32_t splitSize = 0;
    uint32_t reduceM = 0;
    uint32_t reduceK = 0;
    uint32_t reduceSize = 0;
    uint32_t rangeM = 0;
    uint32_t tailM = 0;
    uint32_t tailSplitSize = 0;
    uint32_t tailReduceSize = 0;
};

struct LogSoftMaxTiling {
#define OPGEN_TILING_FIELD(type, name) type name = 0;
    OPGEN_SOFT_MAX_TILING_FIELDS(OPGEN_TILING_FIELD)
#undef OPGEN_TILING_FIELD
};

}  // namespace tiling
}  // namespace AscendC

using SoftMaxTiling = AscendC::tiling::SoftMaxTiling;
using LogSoftMaxTiling = AscendC::tiling::LogSoftMaxTiling;

namespace AscendC {
// What the host tells kernels about communication; only the library reads it.
namespace tiling {

struct Mc2ServerCfg {
    uint32_t version = 0;
    uint8_t debugMode = 0;
    uint8_t sendArgIndex = 0;
    uint8_t recvArgIndex = 0;
    uint8_t commOutArgIndex = 0;
    uint8_t reserved[8] = {};
};

struct Mc2HcommCfg {
    uint8_t skipLocalRankCopy = 0;
    uint8_t skipBufferWindowCopy = 0;
    uint8_t stepSize = 0;
    char reserved[13] = {};
    char groupName[128] = {};
    char algConfig[128] = {};
    uint32_t opType = 0;
    uint32_t reduceType = 0;
};

struct Mc2InitTiling {
    uint8_t reserved[64] = {};
};

struct Mc2CcTiling {
    uint8_t reserved[280] = {};
};

}  // namespace tiling
}  // namespace AscendC

using Mc2ServerCfg = AscendC::tiling::Mc2ServerCfg;
using Mc2HcommCfg = AscendC::tiling::Mc2HcommCfg;
using Mc2InitTiling = AscendC::tiling::Mc2InitTiling;
using Mc2CcTiling = AscendC::tiling::Mc2CcTiling;

#endif  // KERNEL_TILING_KERNEL_TILING_H
