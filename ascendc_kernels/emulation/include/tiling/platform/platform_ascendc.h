// SPDX-License-Identifier: Apache-2.0
// platform_ascendc: hardware facts for tiling functions, and NpuArch.
#ifndef OPGEN_EMULATION_TILING_PLATFORM_PLATFORM_ASCENDC_H
#define OPGEN_EMULATION_TILING_PLATFORM_PLATFORM_ASCENDC_H

#include <csignal>
#include <cstdint>
#include <mutex>

// NpuArch: architecture numbers of CANN 9.
enum class NpuArch : uint32_t {
    DAV_1001 = 1001,
    DAV_2002 = 2002,
    DAV_2201 = 2201,
    DAV_3002 = 3002,
    DAV_3003 = 3003,
    DAV_3102 = 3102,
    DAV_3113 = 3113,
    DAV_3510 = 3510,
    DAV_5102 = 5102,
    DAV_RESV = 0xffffffffU
};

#ifndef ASCENDC_ASSERT
#define ASCENDC_ASSERT(cond, behavior) \
    do {                               \
        if (!(cond)) {                 \
            behavior;                  \
            raise(SIGABRT);            \
        }                              \
    } while (0)
#endif

namespace fe {
class PlatFormInfos;
}

namespace platform_ascendc {
enum class CoreMemType {
    L0_A = 0,
    L0_B = 1,
    L0_C = 2,
    L1 = 3,
    L2 = 4,
    UB = 5,
    HBM = 6,
    FB = 7,
    BT = 8,
    RESERVED
};

enum class SocVersion {
    ASCEND910 = 0,
    ASCEND910B = 1,
    ASCEND310P = 2,
    ASCEND310B = 3,
    ASCEND950 = 4,
    ASCEND910_95 = ASCEND950,
    ASCEND910_55 = 5,
    AS31XM1 = 6,
    ASCEND031 = 7,
    ASCEND035 = 8,
    ASCEND310 = 9,
    ASCEND610 = 10,
    ASCEND610Lite = 11,
    ASCEND910_93 = 12,
    BS9SX1A = 13,
    BS9SX2A = 14,
    HI3796CV300CS = 15,
    HI3796CV300ES = 16,
    MC61AM21A = 17,
    MC62 = 18,
    SD3403 = 19,
    KIRINX90 = 20,
    KIRIN9030 = 21,
    RESERVED_VERSION = 99999
};

enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };

class PlatformAscendC {
 public:
    PlatformAscendC() = delete;
    // Null: the process's platform (OPGEN_SOC, or the default).
    explicit PlatformAscendC(fe::PlatFormInfos *platform_info) : info_(platform_info) {}

    // AI cores (aic) of a coupled SoC; vector cores where cube and vector cores are separate.
    uint32_t GetCoreNum(void) const;
    uint32_t GetCoreNumAic(void) const;
    uint32_t GetCoreNumAiv(void) const;
    uint32_t GetCoreNumVector(void) const;
    // Block dim of a mixed kernel whose `slice_num` slices are spread over vector cores.
    uint32_t CalcTschBlockDim(uint32_t slice_num, uint32_t aic_core_num,
                              uint32_t aiv_core_num) const;
    uint32_t CalcTschNumBlocks(uint32_t slice_num, uint32_t aic_core_num,
                               uint32_t aiv_core_num) const {
        return CalcTschBlockDim(slice_num, aic_core_num, aiv_core_num);
    }
    // Bytes of workspace that SyncAll, matmul objects and printf need in front of the user's.
    uint32_t GetLibApiWorkSpaceSize(void) const;
    uint32_t GetResCubeGroupWorkSpaceSize(void) const;
    uint32_t GetResGroupBarrierWorkSpaceSize(void) const;
    // Bytes that a kernel may use of one core's memory (L2, HBM: of the device).
    void GetCoreMemSize(const CoreMemType &mem_type, uint64_t &size) const;
    // Bytes per cycle of one core.
    void GetCoreMemBw(const CoreMemType &mem_type, uint64_t &bandwidth) const;
    // Keeps part of UB away from what GetCoreMemSize reports.
    void ReserveLocalMemory(ReservedSize size);
    SocVersion GetSocVersion(void) const;
    NpuArch GetCurNpuArch(void) const;
    uint32_t GetVecRegLen(void) const;

 private:
    fe::PlatFormInfos *Info() const;

    fe::PlatFormInfos *info_;
    uint32_t reserved_bytes_ = 0;
};

class PlatformAscendCManager {
 public:
    // The process's platform.
    static PlatformAscendC *GetInstance();
    // The first call decides the SoC, as in CANN; null when the name is unknown.
    static PlatformAscendC *GetInstance(const char *custom_soc_version);
};
}  // namespace platform_ascendc

#endif  // OPGEN_EMULATION_TILING_PLATFORM_PLATFORM_ASCENDC_H
