// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of the Matmul API: from shapes, types and buffer sizes to a TCubeTiling.
// Interface: "Matmul Tiling classes" of the AscendC high-level API documentation.
#ifndef ADV_API_MATMUL_MATMUL_TILING_BASE_H
#define ADV_API_MATMUL_MATMUL_TILING_BASE_H

#include <cstdint>
#include <map>

#include "adv_api/matmul/matmul_tilingdata.h"
#include "kernel_tiling/cube_tiling.h"
#include "tiling/platform/platform_ascendc.h"

#ifdef OPGEN_HOST_HALF
// What CANN's header calls half in host code, where it serves for sizes only (it has 8 bytes).
using half = double;
#endif

namespace matmul_tiling {

enum class DataType : int32_t {
    DT_FLOAT = 0,
    DT_FLOAT16 = 1,
    DT_INT8 = 2,
    DT_INT32 = 3,
    DT_UINT8 = 4,
    DT_INT16 = 6,
    DT_UINT16 = 7,
    DT_UINT32 = 8,
    DT_INT64 = 9,
    DT_UINT64 = 10,
    DT_DOUBLE = 11,
    DT_BOOL = 12,
    DT_STRING = 13,
    DT_DUAL_SUB_INT8 = 14,
    DT_DUAL_SUB_UINT8 = 15,
    DT_COMPLEX64 = 16,
    DT_COMPLEX128 = 17,
    DT_QINT8 = 18,
    DT_QINT16 = 19,
    DT_QINT32 = 20,
    DT_QUINT8 = 21,
    DT_QUINT16 = 22,
    DT_RESOURCE = 23,
    DT_STRING_REF = 24,
    DT_DUAL = 25,
    DT_VARIANT = 26,
    DT_BF16 = 27,
    DT_UNDEFINED = 28,
    DT_INT4 = 29,
    DT_UINT1 = 30,
    DT_INT2 = 31,
    DT_UINT2 = 32,
    DT_BFLOAT16 = 33,
    DT_HIFLOAT8 = 34,
    DT_FLOAT8_E4M3FN = 35,
    DT_FLOAT8_E5M2 = 36,
    DT_FLOAT4_E2M1 = 37,
    DT_FLOAT8_E8M0 = 38,
    DT_FLOAT4_E1M2 = 39,
    DT_MAX = 40,
};

// Bits per element; types that the cube of arch 2201 cannot read are absent.
const std::map<DataType, uint32_t> DTYPE_BIT_TAB = {
    {DataType::DT_FLOAT, 32},  {DataType::DT_FLOAT16, 16}, {DataType::DT_INT8, 8},
    {DataType::DT_INT16, 16},  {DataType::DT_UINT16, 16},  {DataType::DT_UINT8, 8},
    {DataType::DT_INT32, 32},  {DataType::DT_INT64, 64},   {DataType::DT_UINT32, 32},
    {DataType::DT_UINT64, 64}, {DataType::DT_BF16, 16},    {DataType::DT_BFLOAT16, 16},
    {DataType::DT_INT4, 4}};

enum class TPosition : int32_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    MAX,
};

enum class TilingPolicy : int32_t { FIXED_A_TSCM, FIXED_B_TSCM, FIXED_A_B_TSCM, NO_POLICY };

enum class CubeFormat : int32_t {
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

enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 = 1 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR = 1 };
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT = 1, N_BUFFER_33 = 2 };

struct SysTilingTempBufSize {
    int32_t ubSize = 0;  // bytes
    int32_t l1Size = 0;
    int32_t l0cSize = 0;
};

struct MatTilingType {
    TPosition pos = TPosition::GM;
    CubeFormat type = CubeFormat::ND;
    DataType dataType = DataType::DT_FLOAT;
    bool isTrans = false;
    bool isDB = false;
};

struct PlatformInfo {
    platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::ASCEND910B;
    uint64_t l1Size = 0;
    uint64_t l0CSize = 0;
    uint64_t ubSize = 0;
    uint64_t l0ASize = 0;
    uint64_t l0BSize = 0;
};

struct MatmulConfigParams {
    int32_t mmConfigType;
    bool enableL1CacheUB;
    ScheduleType scheduleType;
    MatrixTraverse traverse;
    bool enVecND2NZ;
    MatmulConfigParams(int32_t type = 1, bool cacheUb = false,
                       ScheduleType schedule = ScheduleType::INNER_PRODUCT,
                       MatrixTraverse order = MatrixTraverse::NOSET, bool vecNd2Nz = false)
        : mmConfigType(type),
          enableL1CacheUB(cacheUb),
          scheduleType(schedule),
          traverse(order),
          enVecND2NZ(vecNd2Nz) {}
};

// Setters return 0, or -1 for an argument they refuse; a value of -1 means "not set". Sizes are in
// elements unless a name says bytes. GetTiling returns 0, or -1 when no tiling fits.
class MatmulApiTilingBase {
 public:
    MatmulApiTilingBase();
    explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& platform);
    explicit MatmulApiTilingBase(const PlatformInfo& platform);
    virtual ~MatmulApiTilingBase();

    int32_t SetAType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans = false);
    int32_t SetBType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans = false);
    int32_t SetCType(TPosition pos, CubeFormat type, DataType dataType);
    int32_t SetBiasType(TPosition pos, CubeFormat type, DataType dataType);
    int32_t SetDequantType(DequantType dequantType);
    virtual int32_t SetShape(int32_t m, int32_t n, int32_t k);
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t k);
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb);
    int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k);
    int32_t SetBatchNum(int32_t batch);
    int32_t EnableBias(bool isBias = false);
    int32_t SetBias(bool isBias = false);
    int32_t SetFixSplit(int32_t baseM = -1, int32_t baseN = -1, int32_t baseK = -1);
    int32_t SetBufferSpace(int32_t l1Bytes = -1, int32_t l0CBytes = -1, int32_t ubBytes = -1,
                           int32_t btBytes = -1);
    int32_t SetTraverse(MatrixTraverse traverse);
    int32_t SetMadType(MatrixMadType madType);
    int32_t SetSplitRange(int32_t maxBaseM = -1, int32_t maxBaseN = -1, int32_t maxBaseK = -1,
                          int32_t minBaseM = -1, int32_t minBaseN = -1, int32_t minBaseK = -1);
    int32_t SetDoubleBuffer(bool a, bool b, bool c, bool bias, bool transND2NZ = true,
                            bool transNZ2ND = true);
    void SetMatmulConfigParams(int32_t mmConfigType = 1, bool enableL1CacheUB = false,
                               ScheduleType scheduleType = ScheduleType::INNER_PRODUCT,
                               MatrixTraverse traverse = MatrixTraverse::NOSET,
                               bool enVecND2NZ = false);
    void SetMatmulConfigParams(const MatmulConfigParams& params);
    int32_t SetSparse(bool isSparse = false);
    // L1 has no banks here: never worth it.
    bool EnableL1BankConflictOptimise() { return false; }

    int32_t GetBaseM() const { return plain_.baseM; }
    int32_t GetBaseN() const { return plain_.baseN; }
    int32_t GetBaseK() const { return plain_.baseK; }

    virtual int64_t GetTiling(optiling::TCubeTiling& tiling);
    virtual int64_t GetTiling(::TCubeTiling& tiling);

 protected:
    // Splits the work over cores: fills usedCoreNum and singleCoreM/N/K. False when impossible.
    virtual bool SplitCores() = 0;
    int64_t Compute();
    bool ChooseBase();
    bool ChooseDepth();

    ::TCubeTiling plain_;
    MatTilingType a_, b_, c_, bias_;
    bool hasBias_ = false;
    bool hf32_ = false;
    int32_t m_ = 0, n_ = 0, k_ = 0;
    int32_t orgM_ = 0, orgN_ = 0, orgKa_ = 0, orgKb_ = 0;
    int32_t fixM_ = -1, fixN_ = -1, fixK_ = -1;
    int32_t maxM_ = -1, maxN_ = -1, maxK_ = -1;
    int32_t singleM_ = -1, singleN_ = -1, singleK_ = -1;
    int32_t rangeM_ = -1, rangeN_ = -1, rangeK_ = -1;
    int32_t alignM_ = 1, alignN_ = 1, alignK_ = 1;
    int32_t dim_ = 1;
    bool splitK_ = false;
    MatrixTraverse traverse_ = MatrixTraverse::NOSET;
    int64_t l1_, l0c_, ub_, l0a_, l0b_;  // bytes
    int32_t batchA_ = 0, batchB_ = 0;
};

}  // namespace matmul_tiling

#endif  // ADV_API_MATMUL_MATMUL_TILING_BASE_H
