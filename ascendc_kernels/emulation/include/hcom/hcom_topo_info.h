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

    static HcomTopoInfo &Instance() {
        static HcomTopoInfo info;
        return info;
    }
    bool TopoInfoHasBeenSet(const char_t *group) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return groups_.count(group) != 0;
    }
    bool TryGetGroupTopoInfo(const char_t *group, TopoInfo &info) {
        info = *Find(group);
        return true;
    }
    Status SetGroupTopoInfo(const char_t *group, const TopoInfo &info) {
        const std::lock_guard<std::mutex> lock(mutex_);
        groups_[group] = info;
        return SUCCESS;
    }
    Status GetGroupRankSize(const char_t *group, int64_t &rank_size) {
        rank_size = Find(group)->rank_size;
        return SUCCESS;
    }
    TopoDescs *GetGroupTopoDesc(const char_t *group) {
        return &Find(group)->topo_level_descs;
    }
    Status GetGroupNotifyHandle(const char_t *group, void *&notify_handle) {
        notify_handle = Find(group)->notify_handle;
        return SUCCESS;
    }
    void UnsetGroupTopoInfo(const char_t *group) {
        const std::lock_guard<std::mutex> lock(mutex_);
        groups_.erase(group);
    }

private:
    TopoInfo *Find(const char_t *group) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto it = groups_.find(group);
        return it == groups_.end() ? &alone_ : &it->second;
    }

    std::map<std::string, TopoInfo> groups_;
    TopoInfo alone_ = {1, nullptr, {{COMM_MESH, 1}, {0, 0}}};
    std::mutex mutex_;
};
}  // namespace ge

#endif  // OPGEN_EMULATION_HCOM_HCOM_TOPO_INFO_H
