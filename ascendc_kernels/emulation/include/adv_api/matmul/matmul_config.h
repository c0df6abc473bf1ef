// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Compile-time configuration of the Matmul object. Most of it chooses how data travels through L1
// and L0 on the device; the results do not depend on it, so the emulation stores it and uses
// little.
#ifndef ADV_API_MATMUL_MATMUL_CONFIG_H
#define ADV_API_MATMUL_MATMUL_CONFIG_H

#include "ascendc_emu/tensor.h"
#include "kernel_tiling/cube_tiling.h"

// The configuration lives in the global namespace, as in CANN; AscendC re-exports it below.

enum class CubeFormat {
    ND = 0,
    NZ,
    ZN,
    ZZ,
    NN,
    ND_ALIGN,
    SCALAR,
    VECTOR,
    ROW_MAJOR = ND,
    COLUMN_MAJOR = 8,
};
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH, DYNAMIC };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT };
enum IterateMode : uint8_t {
    ITERATE_MODE_NORMAL = 1,
    ITERATE_MODE_ALL = 2,
    ITERATE_MODE_BATCH = 4,
    ITERATE_MODE_N_BATCH = 8,
    ITERATE_MODE_DEFAULT = 255,
};
enum class MatmulConfigMode { CONFIG_NORM, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };

struct MatmulConfig {
    bool doNorm = false;
    bool doBasicBlock = false;
    bool doMultiDataLoad = false;
    uint32_t basicM = 0;
    uint32_t basicN = 0;
    uint32_t basicK = 0;
    bool intrinsicsCheck = false;
    bool isNBatch = false;
    bool enVecND2NZ = false;
    bool doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0;
    uint32_t singleCoreM = 0;
    uint32_t singleCoreN = 0;
    uint32_t singleCoreK = 0;
    uint32_t stepM = 0;
    uint32_t stepN = 0;
    uint32_t baseMN = 0;
    uint32_t singleCoreMN = 0;
    bool enUnitFlag = true;
    bool isPerTensor = false;
    bool hasAntiQuantOffset = false;
    bool doIBShareNorm = false;
    bool doSpecialMDL = false;
    bool enableInit = true;
    BatchMode batchMode = BatchMode::NONE;
    bool enableEnd = true;
    bool enableGetTensorC = true;
    bool enableSetOrgShape = true;
    bool enableSetBias = true;
    bool enableSetTail = true;
    bool enableQuantVector = true;
    bool enableSetDefineData = true;
    uint8_t iterateMode = IterateMode::ITERATE_MODE_DEFAULT;
    bool enableReuse = true;
    bool enableUBReuse = false;
    bool enableL1CacheUB = false;
    bool intraBlockPartSum = false;
    IterateOrder iterateOrder{IterateOrder::UNDEF};
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableDoubleCache = false;
    bool isBiasBatch = true;
    bool enableStaticPadZeros = false;
    bool isPartialOutput = false;
    bool enableMixDualMaster = false;
    bool isA2B2Shared = false;
    bool isEnableChannelSplit = false;
    bool enableKdimReorderLoad = false;
    bool isCO1Shared = false;
    uint32_t sharedCO1BufferSize = 64 * 1024;
    BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
    bool enableL1BankConflictOptimise = false;
    bool enableRelu = false;
};

struct MatmulShapeParams {
    uint32_t singleCoreM;
    uint32_t singleCoreN;
    uint32_t singleCoreK;
    uint32_t basicM;
    uint32_t basicN;
    uint32_t basicK;
};
struct MatmulQuantParams {
    bool isPerTensor;
    bool hasAntiQuantOffset;
};
struct MatmulBatchParams {
    bool isNBatch;
    BatchMode batchMode;
    bool isBiasBatch = true;
    BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulFuncParams {
    bool intrinsicsCheck = false;
    bool enVecND2NZ = false;
    bool enableDoubleCache = false;
    bool enableL1CacheUB = false;
    uint32_t doMTE2Preload = 0;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableReuse = true;
    bool enableUBReuse = false;
    bool isPartialOutput = false;
    bool isA2B2Shared = false;
    bool isEnableChannelSplit = false;
    bool enableKdimReorderLoad = false;
    bool enableL1BankConflictOptimise = false;
    bool enableRelu = false;
};
struct MatmulBiasParams {
    bool enableSetBias = true;
};
struct MatrixOffset {
    int32_t offset;
    int32_t row;
    int32_t col;
    int32_t height;
    int32_t width;
};

namespace ascendc_emu {
namespace matmul_config {
constexpr MatmulConfig ConfigOf(MatmulConfigMode mode) {
    MatmulConfig c;
    c.doNorm = mode == MatmulConfigMode::CONFIG_NORM;
    c.doMultiDataLoad = mode == MatmulConfigMode::CONFIG_MDL;
    c.doSpecialMDL = mode == MatmulConfigMode::CONFIG_SPECIALMDL;
    c.doIBShareNorm = mode == MatmulConfigMode::CONFIG_IBSHARE;
    return c;
}
constexpr void Apply(MatmulConfig& c, const MatmulShapeParams& p) {
    c.singleCoreM = p.singleCoreM;
    c.singleCoreN = p.singleCoreN;
    c.singleCoreK = p.singleCoreK;
    c.basicM = p.basicM;
    c.basicN = p.basicN;
    c.basicK = p.basicK;
    c.singleCoreMN = p.singleCoreM * p.singleCoreN;
    c.baseMN = p.basicM * p.basicN;
}
constexpr void Apply(MatmulConfig& c, const MatmulQuantParams& p) {
    c.isPerTensor = p.isPerTensor;
    c.hasAntiQuantOffset = p.hasAntiQuantOffset;
}
constexpr void Apply(MatmulConfig& c, const MatmulBatchParams& p) {
    c.isNBatch = p.isNBatch;
    c.batchMode = p.batchMode;
    c.isBiasBatch = p.isBiasBatch;
    c.bmmOutMode = p.bmmOutMode;
}
constexpr void Apply(MatmulConfig& c, const MatmulFuncParams& p) {
    c.intrinsicsCheck = p.intrinsicsCheck;
    c.enVecND2NZ = p.enVecND2NZ;
    c.enableDoubleCache = p.enableDoubleCache;
    c.enableL1CacheUB = p.enableL1CacheUB;
    c.doMTE2Preload = p.doMTE2Preload;
    c.iterateOrder = p.iterateOrder;
    c.scheduleType = p.scheduleType;
    c.enableReuse = p.enableReuse;
    c.enableUBReuse = p.enableUBReuse;
    c.isA2B2Shared = p.isA2B2Shared;
    c.enableKdimReorderLoad = p.enableKdimReorderLoad;
    c.enableL1BankConflictOptimise = p.enableL1BankConflictOptimise;
    c.isPartialOutput = p.isPartialOutput;
    c.isEnableChannelSplit = p.isEnableChannelSplit;
    c.enableRelu = p.enableRelu;
}
constexpr void Apply(MatmulConfig& c, const MatmulBiasParams& p) {
    c.enableSetBias = p.enableSetBias;
}
}  // namespace matmul_config
}  // namespace ascendc_emu

template <MatmulConfigMode mode, typename... Params>
constexpr MatmulConfig GetMMConfig(Params&&... params) {
    MatmulConfig c = ascendc_emu::matmul_config::ConfigOf(mode);
    (ascendc_emu::matmul_config::Apply(c, params), ...);
    return c;
}
// The positional forms; parameters and defaults are the documented ones.
constexpr MatmulConfig GetNormalConfig(
    const bool intrinsicsLimit = false, const bool batchLoop = false, const bool isVecND2NZ = false,
    const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1, const bool isMsgReuse = true,
    const IterateOrder iterateOrder = IterateOrder::UNDEF,
    const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT, const bool enUnitFlag = true,
    const bool enableMixDualMaster = false,
    const BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH) {
    MatmulConfig c = ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_NORM);
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.enVecND2NZ = isVecND2NZ;
    c.batchMode = bmmMode;
    c.enableReuse = isMsgReuse;
    c.iterateOrder = iterateOrder;
    c.scheduleType = scheduleType;
    c.enUnitFlag = enUnitFlag;
    c.enableMixDualMaster = enableMixDualMaster;
    c.bmmOutMode = bmmOutMode;
    return c;
}
constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false,
                                    const bool batchLoop = false, const uint32_t doMTE2Preload = 0,
                                    const bool isVecND2NZ = false, bool isPerTensor = false,
                                    bool hasAntiQuantOffset = false, const bool enUnitFlag = false,
                                    const bool isMsgReuse = true, const bool enableUBReuse = true,
                                    const bool enableL1CacheUB = false,
                                    const bool enableMixDualMaster = false,
                                    const bool enableKdimReorderLoad = false) {
    MatmulConfig c = ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_MDL);
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.doMTE2Preload = doMTE2Preload;
    c.enVecND2NZ = isVecND2NZ;
    c.isPerTensor = isPerTensor;
    c.hasAntiQuantOffset = hasAntiQuantOffset;
    c.enUnitFlag = enUnitFlag;
    c.enableReuse = isMsgReuse;
    c.enableUBReuse = enableUBReuse;
    c.enableL1CacheUB = enableL1CacheUB;
    c.enableMixDualMaster = enableMixDualMaster;
    c.enableKdimReorderLoad = enableKdimReorderLoad;
    return c;
}
constexpr MatmulConfig GetSpecialMDLConfig(const bool intrinsicsLimit = false,
                                           const bool batchLoop = false,
                                           const uint32_t doMTE2Preload = 0,
                                           const bool isVecND2NZ = false, bool isPerTensor = false,
                                           bool hasAntiQuantOffset = false) {
    MatmulConfig c = ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_SPECIALMDL);
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.doMTE2Preload = doMTE2Preload;
    c.enVecND2NZ = isVecND2NZ;
    c.isPerTensor = isPerTensor;
    c.hasAntiQuantOffset = hasAntiQuantOffset;
    return c;
}
constexpr MatmulConfig GetIBShareNormConfig(const bool intrinsicsLimit = false,
                                            const bool batchLoop = false,
                                            const bool isVecND2NZ = false,
                                            const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                            const bool isDoubleCache = false,
                                            const bool enUnitFlag = true) {
    MatmulConfig c = ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_IBSHARE);
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.enVecND2NZ = isVecND2NZ;
    c.batchMode = bmmMode;
    c.enableDoubleCache = isDoubleCache;
    c.enUnitFlag = enUnitFlag;
    return c;
}
constexpr MatmulConfig GetBasicConfig(const uint32_t basicM, const uint32_t basicN,
                                      const uint32_t basicK, const bool intrinsicsLimit = false,
                                      const bool batchLoop = false,
                                      const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c;
    c.doBasicBlock = true;
    c.basicM = basicM;
    c.basicN = basicN;
    c.basicK = basicK;
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.batchMode = bmmMode;
    return c;
}
constexpr MatmulConfig GetSpecialBasicConfig(
    const uint32_t basicM, const uint32_t basicN, const uint32_t basicK, const uint32_t singleCoreM,
    const uint32_t singleCoreN, const uint32_t singleCoreK, const uint32_t stepM,
    const uint32_t stepN, const bool intrinsicsLimit = false, const bool batchLoop = false,
    const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c = GetBasicConfig(basicM, basicN, basicK, intrinsicsLimit, batchLoop, bmmMode);
    c.doBasicBlock = false;
    c.doSpecialBasicBlock = true;
    ascendc_emu::matmul_config::Apply(
        c, MatmulShapeParams{singleCoreM, singleCoreN, singleCoreK, basicM, basicN, basicK});
    c.stepM = stepM;
    c.stepN = stepN;
    return c;
}

constexpr MatmulConfig CFG_NORM =
    ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_NORM);
constexpr MatmulConfig CFG_MDL = ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_MDL);
constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);
constexpr MatmulConfig CFG_IBSHARE_NORM =
    ascendc_emu::matmul_config::ConfigOf(MatmulConfigMode::CONFIG_IBSHARE);

// A tiling known at compile time: the configuration plus the numbers of a TCubeTiling; values that
// are 0 come from the run-time tiling.
struct MatmulApiStaticTiling : public ::TCubeTiling {
    constexpr MatmulApiStaticTiling() = default;
    MatmulConfig cfg;
};

namespace AscendC {
/** The configuration itself, whether a Matmul object was given one or a static tiling. */
constexpr const MatmulConfig& ToMatmulConfig(const MatmulConfig& cfg) { return cfg; }
constexpr const MatmulConfig& ToMatmulConfig(const MatmulApiStaticTiling& cfg) { return cfg.cfg; }

using ::BatchMode;
using ::BatchOutMode;
using ::CFG_IBSHARE_NORM;
using ::CFG_MDL;
using ::CFG_NORM;
using ::CubeFormat;
using ::GetBasicConfig;
using ::GetIBShareNormConfig;
using ::GetMDLConfig;
using ::GetMMConfig;
using ::GetNormalConfig;
using ::GetSpecialBasicConfig;
using ::GetSpecialMDLConfig;
using ::IterateMode;
using ::IterateOrder;
using ::LayoutMode;
using ::MatmulApiStaticTiling;
using ::MatmulBatchParams;
using ::MatmulBiasParams;
using ::MatmulConfig;
using ::MatmulConfigMode;
using ::MatmulFuncParams;
using ::MatmulQuantParams;
using ::MatmulShapeParams;
using ::MatrixOffset;
using ::MM_CFG_BB;
using ::ScheduleType;

// Position, layout and element type of one operand; isTrans allows a transposed one.
template <TPosition position, CubeFormat cubeFormat, typename TYPE, bool transposed = false,
          LayoutMode layoutMode = LayoutMode::NONE, bool shared = false,
          TPosition srcPosition = TPosition::GM>
struct MatmulType {
    static constexpr TPosition pos = position;
    static constexpr CubeFormat format = cubeFormat;
    using T = TYPE;
    static constexpr bool isTrans = transposed;
    static constexpr LayoutMode layout = layoutMode;
    static constexpr bool ibShare = shared;
    static constexpr TPosition srcPos = srcPosition;
    static constexpr bool isSparse = false;
};
// A 4:2 compressed B; its index matrix comes with SetSparseIndex.
template <TPosition position, TPosition index, CubeFormat cubeFormat, typename TYPE,
          bool transposed = false, LayoutMode layoutMode = LayoutMode::NONE, bool shared = false>
struct SparseMatmulType : MatmulType<position, cubeFormat, TYPE, transposed, layoutMode, shared> {
    static constexpr TPosition indexPosition = index;
    static constexpr bool isSparse = true;
};

// The device library's own helpers, with their 16-bit results.
__aicore__ inline uint16_t CeilDiv(uint16_t a, uint16_t b) {
    return b == 0 ? 0 : static_cast<uint16_t>((a + b - 1) / b);
}
__aicore__ inline uint16_t CeilAlign(uint16_t a, uint16_t b) {
    return static_cast<uint16_t>(CeilDiv(a, b) * b);
}

template <typename A, typename B = A, typename C = A, typename BIAS = C>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& config, int32_t = 0) {
    MatmulApiStaticTiling t;
    t.cfg = config;
    t.singleCoreM = int32_t(config.singleCoreM);
    t.singleCoreN = int32_t(config.singleCoreN);
    t.singleCoreK = int32_t(config.singleCoreK);
    t.baseM = int32_t(config.basicM);
    t.baseN = int32_t(config.basicN);
    t.baseK = int32_t(config.basicK);
    return t;
}

// User functions that replace a copy of the Matmul object; nullptr keeps the object's own.
template <void (*copyOut)(const __gm__ void*, const LocalTensor<int8_t>&, const void*,
                          const uint64_t, const uint64_t) = nullptr,
          void (*copyA1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int,
                         const uint64_t, const uint64_t) = nullptr,
          void (*copyB1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int,
                         const uint64_t, const uint64_t) = nullptr>
struct MatmulCallBackFunc {
    static constexpr auto DataCopyOutFunc = copyOut;
    static constexpr auto CopyA1Func = copyA1;
    static constexpr auto CopyB1Func = copyB1;
    static constexpr bool copiesOut = copyOut != nullptr;
};

// What a copy-out callback is told.
struct DataCopyOutParams {
    DataCopyOutParams() {}
    DataCopyOutParams(uint16_t count, uint16_t len, uint16_t src, uint32_t dst, bool nz2nd,
                      uint64_t quant, uint64_t ubAddr)
        : cBurstNum(count),
          burstLen(len),
          srcStride(src),
          dstStride(dst),
          enUnitFlag(0),
          quantMode(0),
          quantScalar(quant),
          cbufWorkspaceAddr(ubAddr) {
        (void)nz2nd;
    }
    uint16_t cBurstNum = 0;
    uint16_t burstLen = 0;
    uint16_t srcStride = 0;
    uint32_t dstStride = 0;
    uint16_t oriNSize = 0;
    bool enableNZ2ND = false;
    uint64_t quantMode = 0;
    uint64_t quantScalar = 0;
    uint64_t cbufWorkspaceAddr = 0;
    uint8_t enUnitFlag = 0;
    uint8_t reluEn = 0;
};

namespace Impl {
constexpr int32_t QUEUE_DEPTH = 1;
namespace Detail {
// Built-in policies. Only the triangles change results; the others move data differently.
template <const auto&, typename, typename, typename, typename, typename>
struct MatmulPolicy {
    static constexpr int triangle = 0;
};
template <const auto&, typename, typename, typename, typename, typename>
struct NBuffer33MatmulPolicy {
    static constexpr int triangle = 0;
};
// Base blocks below (upper) or above (lower) the diagonal are left as they are.
template <const auto&, typename, typename, typename, typename, typename>
struct TrianUpperMatmulPolicy {
    static constexpr int triangle = 1;
};
template <const auto&, typename, typename, typename, typename, typename>
struct TrianLowerMatmulPolicy {
    static constexpr int triangle = 2;
};

// What a policy of the user's own is written in terms of. The modules behind IMPL do not exist
// here: such a policy compiles, a Matmul object that has one stops the launch.
enum class InputTypeTag : uint8_t { A = 0, B = 1, C = 2, scaleA = 3, scaleB = 4 };
template <typename TYPE, typename TRANS>
struct MatmulInputAType : TYPE {
    static constexpr InputTypeTag TAG = InputTypeTag::A;
    using TRANS_T = TRANS;
};
template <typename TYPE, typename TRANS>
struct MatmulInputBType : TYPE {
    static constexpr InputTypeTag TAG = InputTypeTag::B;
    using TRANS_T = TRANS;
};
template <typename IMPL>
struct MatmulModules;

template <typename POLICY, typename = void>
constexpr bool kReplacesCopyIn = false;
template <typename POLICY>
constexpr bool kReplacesCopyIn<POLICY, std::void_t<typename POLICY::CopyCubeInA>> = true;
template <typename POLICY, typename = void>
constexpr bool kReplacesCopyOut = false;
template <typename POLICY>
constexpr bool kReplacesCopyOut<POLICY, std::void_t<typename POLICY::CopyCubeOut>> = true;
}  // namespace Detail
}  // namespace Impl
using Impl::Detail::MatmulPolicy;
#define MATMUL_USE_MODULE(NAME) static_assert(true, #NAME)
#define MATMUL_USE_MODULE_ON(NAME, TAG) static_assert(true, #NAME)
#define MATMUL_MODULE(NAME) \
    static_cast<typename ::AscendC::Impl::Detail::MatmulModules<IMPL>::NAME*>(nullptr)

// Element type of L0C for inputs of type T.
template <typename T>
struct GetMmDstType {
    using Type = float;
};
template <>
struct GetMmDstType<int8_t> {
    using Type = int32_t;
};
template <>
struct GetMmDstType<int4b_t> {
    using Type = int32_t;
};

}  // namespace AscendC

#endif  // ADV_API_MATMUL_MATMUL_CONFIG_H
