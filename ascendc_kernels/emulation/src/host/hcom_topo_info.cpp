// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Communication domains by name, see the header.
#include "hcom/hcom_topo_info.h"

namespace ge {

HcomTopoInfo &HcomTopoInfo::Instance() {
    static HcomTopoInfo info;
    return info;
}

bool HcomTopoInfo::TopoInfoHasBeenSet(const char_t *group) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return groups_.count(group) != 0;
}

bool HcomTopoInfo::TryGetGroupTopoInfo(const char_t *group, TopoInfo &info) {
    info = *Find(group);
    return true;
}

Status HcomTopoInfo::SetGroupTopoInfo(const char_t *group, const TopoInfo &info) {
    const std::lock_guard<std::mutex> lock(mutex_);
    groups_[group] = info;
    return SUCCESS;
}

Status HcomTopoInfo::GetGroupRankSize(const char_t *group, int64_t &rank_size) {
    rank_size = Find(group)->rank_size;
    return SUCCESS;
}

HcomTopoInfo::TopoDescs *HcomTopoInfo::GetGroupTopoDesc(const char_t *group) {
    return &Find(group)->topo_level_descs;
}

Status HcomTopoInfo::GetGroupNotifyHandle(const char_t *group, void *&notify_handle) {
    notify_handle = Find(group)->notify_handle;
    return SUCCESS;
}

void HcomTopoInfo::UnsetGroupTopoInfo(const char_t *group) {
    const std::lock_guard<std::mutex> lock(mutex_);
    groups_.erase(group);
}

HcomTopoInfo::TopoInfo *HcomTopoInfo::Find(const char_t *group) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = groups_.find(group);
    return it == groups_.end() ? &alone_ : &it->second;
}

}  // namespace ge
