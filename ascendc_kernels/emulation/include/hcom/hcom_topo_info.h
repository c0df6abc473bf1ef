// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Communication domains by name, as tiling of communication ops asks for them. A domain that nobody
// set has one rank: the emulation runs one device.
#ifndef OPGEN_EMULATION_HCOM_HCOM_TOPO_INFO_H
#define OPGEN_EMULATION_HCOM_HCOM_TOPO_INFO_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "graph/types.h"

namespace ge {
static constexpr uint32_t COMM_MESH = 1U;
static constexpr uint32_t COMM_SWITCH = COMM_MESH << 1U;
static constexpr uint32_t COMM_RING = COMM_MESH << 2U;
static constexpr uint32_t COMM_PAIRWISE = COMM_MESH << 3U;

// The functions are the library's: repositories declare the class in headers of their own.
class HcomTopoInfo {
 public:
    enum class TopoLevel { L0 = 0, L1, MAX };
    struct TopoLevelDesc {
        uint32_t comm_sets;
        uint32_t rank_size;
    };
    using TopoDescs = TopoLevelDesc[static_cast<int32_t>(TopoLevel::MAX)];
    struct TopoInfo {
        int64_t rank_size;
        void *notify_handle;
        TopoDescs topo_level_descs;
    };

    static HcomTopoInfo &Instance();
    bool TopoInfoHasBeenSet(const char_t *group);
    bool TryGetGroupTopoInfo(const char_t *group, TopoInfo &info);
    Status SetGroupTopoInfo(const char_t *group, const TopoInfo &info);
    Status GetGroupRankSize(const char_t *group, int64_t &rank_size);
    TopoDescs *GetGroupTopoDesc(const char_t *group);
    Status GetGroupNotifyHandle(const char_t *group, void *&notify_handle);
    void UnsetGroupTopoInfo(const char_t *group);

 private:
    TopoInfo *Find(const char_t *group);

    std::map<std::string, TopoInfo> groups_;
    TopoInfo alone_ = {1, nullptr, {{COMM_MESH, 1}, {0, 0}}};
    std::mutex mutex_;
};
}  // namespace ge

#endif  // OPGEN_EMULATION_HCOM_HCOM_TOPO_INFO_H
