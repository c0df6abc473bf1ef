// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of collective communication: what a task needs, packed into its tiling structs.
// Source: asc-devkit docs, HCCL tiling interface. The layout inside the structs is this kit's own;
// kernels hand them on without looking.
#ifndef ADV_API_HCCL_HCCL_TILING_H
#define ADV_API_HCCL_HCCL_TILING_H

#include <algorithm>
#include <cstring>
#include <string>

#include "adv_api/hccl/hccl_common.h"
#include "kernel_tiling/kernel_tiling.h"
#include "register/tilingdata_base.h"

namespace optiling {
// Communication tiling for ops in the BEGIN_TILING_DATA_DEF style.
BEGIN_TILING_DATA_DEF(Mc2ServerCfg)
TILING_DATA_FIELD_DEF(uint32_t, version);
TILING_DATA_FIELD_DEF(uint8_t, debugMode);
TILING_DATA_FIELD_DEF(uint8_t, sendArgIndex);
TILING_DATA_FIELD_DEF(uint8_t, recvArgIndex);
TILING_DATA_FIELD_DEF(uint8_t, commOutArgIndex);
TILING_DATA_FIELD_DEF_ARR(uint8_t, 8, reserved);
END_TILING_DATA_DEF;

BEGIN_TILING_DATA_DEF(Mc2HcommCfg)
TILING_DATA_FIELD_DEF(uint8_t, skipLocalRankCopy);
TILING_DATA_FIELD_DEF(uint8_t, skipBufferWindowCopy);
TILING_DATA_FIELD_DEF(uint8_t, stepSize);
TILING_DATA_FIELD_DEF_ARR(char, 13, reserved);
TILING_DATA_FIELD_DEF_ARR(char, 128, groupName);
TILING_DATA_FIELD_DEF_ARR(char, 128, algConfig);
TILING_DATA_FIELD_DEF(uint32_t, opType);
TILING_DATA_FIELD_DEF(uint32_t, reduceType);
END_TILING_DATA_DEF;

BEGIN_TILING_DATA_DEF(Mc2InitTiling)
TILING_DATA_FIELD_DEF_ARR(uint8_t, 64, reserved);
END_TILING_DATA_DEF;

BEGIN_TILING_DATA_DEF(Mc2CcTiling)
TILING_DATA_FIELD_DEF_ARR(uint8_t, 280, reserved);
END_TILING_DATA_DEF;
}  // namespace optiling

namespace AscendC {
class Mc2CcTilingConfig {
 public:
    // Setters and GetTiling return 0, other numbers on failure.
    explicit Mc2CcTilingConfig(const std::string& groupName, uint32_t opType,
                               const std::string& algConfig, uint32_t reduceType = 0,
                               uint8_t dstDataType = 0, uint8_t srcDataType = 0,
                               uint8_t commEngine = 0) {
        SetGroupName(groupName);
        SetOpType(opType);
        SetAlgConfig(algConfig);
        SetReduceType(reduceType, dstDataType, srcDataType);
        SetCommEngine(commEngine);
    }
    virtual ~Mc2CcTilingConfig() = default;

    uint32_t GetTiling(::Mc2InitTiling& tiling) {
        std::memset(tiling.reserved, 0, sizeof(tiling.reserved));
        const uint32_t version = 100;
        std::memcpy(tiling.reserved, &version, sizeof(version));
        tiling.reserved[4] = debugMode_;
        std::memcpy(tiling.reserved + 6, &queueNum_, sizeof(queueNum_));
        std::memcpy(tiling.reserved + 8, &commBlockNum_, sizeof(commBlockNum_));
        return valid_ ? 0 : 1;
    }
    uint32_t GetTiling(::Mc2CcTiling& tiling) {
        static_assert(sizeof(config_) == sizeof(tiling.reserved), "one image");
        std::memcpy(tiling.reserved, &config_, sizeof(config_));
        return valid_ ? 0 : 1;
    }
    // Sections of a BEGIN_TILING_DATA_DEF struct.
    uint32_t GetTiling(optiling::Mc2InitTiling& tiling) {
        ::Mc2InitTiling plain;
        const uint32_t result = GetTiling(plain);
        tiling.set_reserved(plain.reserved);
        return result;
    }
    uint32_t GetTiling(optiling::Mc2CcTiling& tiling) {
        ::Mc2CcTiling plain;
        const uint32_t result = GetTiling(plain);
        tiling.set_reserved(plain.reserved);
        return result;
    }

    uint32_t SetOpType(uint32_t opType) {
        config_.opType = opType;
        return Check(opType > 0 && opType < static_cast<uint32_t>(HcclCMDType::HCCL_CMD_ALL));
    }
    uint32_t SetGroupName(const std::string& groupName) {
        return Check(Store(config_.groupName, groupName));
    }
    uint32_t SetAlgConfig(const std::string& algConfig) {
        return Check(Store(config_.algConfig, algConfig));
    }
    uint32_t SetReduceType(uint32_t reduceType, uint8_t dstDataType = 0, uint8_t srcDataType = 0) {
        config_.reduceType = reduceType;
        config_.reserved[0] = static_cast<char>(dstDataType);
        config_.reserved[1] = static_cast<char>(srcDataType);
        return Check(reduceType < HCCL_REDUCE_RESERVED);
    }
    uint32_t SetStepSize(uint8_t stepSize) {
        config_.stepSize = stepSize;
        return 0;
    }
    uint32_t SetSkipLocalRankCopy(uint8_t skip) {
        config_.skipLocalRankCopy = skip;
        return 0;
    }
    uint32_t SetSkipBufferWindowCopy(uint8_t skip) {
        config_.skipBufferWindowCopy = skip;
        return 0;
    }
    uint32_t SetDebugMode(uint8_t debugMode) {
        debugMode_ = debugMode;
        return 0;
    }
    uint32_t SetQueueNum(uint16_t num) {
        queueNum_ = num;
        return 0;
    }
    uint32_t SetCommBlockNum(uint16_t num) {
        commBlockNum_ = num;
        return 0;
    }
    uint32_t SetCommEngine(uint8_t commEngine) {
        config_.reserved[2] = static_cast<char>(commEngine);
        return 0;
    }

 private:
    uint32_t Check(bool good) {
        valid_ = valid_ && good;
        return good ? 0 : 1;
    }
    // Up to 128 bytes, as documented.
    static bool Store(char (&to)[128], const std::string& text) {
        std::memset(to, 0, sizeof(to));
        std::memcpy(to, text.data(), std::min(text.size(), sizeof(to)));
        return text.size() <= sizeof(to);
    }

    ::Mc2HcommCfg config_;
    uint8_t debugMode_ = 0;
    uint16_t queueNum_ = 0;
    uint16_t commBlockNum_ = 0;
    bool valid_ = true;
};
}  // namespace AscendC

#endif  // ADV_API_HCCL_HCCL_TILING_H
