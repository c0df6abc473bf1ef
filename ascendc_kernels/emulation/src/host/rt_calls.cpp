// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include "platform_instance.h"
#include "runtime/rt_external_base.h"

extern "C" rtError_t rtGetSocSpec(const char *label, const char *key, char *val, uint32_t maxLen) {
    constexpr rtError_t kInvalid = 107000;  // ACL_ERROR_RT_PARAM_INVALID
    if (label == nullptr || key == nullptr || val == nullptr) return kInvalid;
    std::string text;
    const bool found = ascendc_emu::CurrentPlatform()->GetPlatformRes(label, key, text);
    if (!found || text.size() >= maxLen) return kInvalid;
    memcpy(val, text.c_str(), text.size() + 1);
    return RT_ERROR_NONE;
}
