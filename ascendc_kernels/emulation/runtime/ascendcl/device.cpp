// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Initialisation, devices, contexts and device properties.
#include <strings.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "state.h"
#include "version/asc_devkit_version.h"

namespace opgen_runtime {
namespace {

const SocRow kSocs[] = {
#include "soc_table.inc"
};

constexpr int32_t kCannVersion =
    ASC_DEVKIT_MAJOR * 10000000 + ASC_DEVKIT_MINOR * 100000 + ASC_DEVKIT_PATCH * 1000;

std::mutex state_mutex;  // guards everything below
std::map<int32_t, Context*> primary_contexts;
std::set<Context*> contexts;
std::map<int, int64_t> sys_params;
bool initialized = false;
aclrtFloatOverflowMode saturation_mode = ACL_RT_OVERFLOW_MODE_INFNAN;

thread_local Context* current_context = nullptr;

// A family name ("ascend910b") stands for one SoC, see msopgen_wrap/platforms.py.
const struct {
    const char* family;
    const char* soc;
} kFamilies[] = {
#include "soc_families.inc"
};

// The SoC of an exact or family name in any case; null when there is none.
const SocRow* FindSoc(const char* wanted) {
    for (const auto& entry : kFamilies) {
        if (strcasecmp(entry.family, wanted) == 0) wanted = entry.soc;
    }
    for (const SocRow& row : kSocs) {
        if (strcasecmp(row.name, wanted) == 0) return &row;
    }
    return nullptr;
}

uint64_t ParseBytes(const char* text) {
    char* end = nullptr;
    double value = std::strtod(text, &end);
    if (end == text || value <= 0) return 0;
    switch (*end) {
        case '\0':
            break;
        case 'k':
        case 'K':
            value *= 1024.0;
            break;
        case 'm':
        case 'M':
            value *= 1024.0 * 1024;
            break;
        case 'g':
        case 'G':
            value *= 1024.0 * 1024 * 1024;
            break;
        default:
            return 0;
    }
    return static_cast<uint64_t>(value);
}

Context* NewContext(int32_t device) {
    auto* context = new Context;
    context->device = device;
    context->default_stream = NewStream(device, 0, 0);
    contexts.insert(context);
    return context;
}

int CheckDevice(int32_t device, const char* api) {
    if (device >= 0 && device < DeviceCount()) return ACL_SUCCESS;
    return Fail(ACL_ERROR_RT_INVALID_DEVICEID,
                "%s: device %d does not exist; the emulation has %d device(s). Set "
                "OPGEN_NPU_DEVICES to emulate more.",
                api, device, DeviceCount());
}

}  // namespace

const SocRow* CurrentSoc() {
    static const SocRow* row = [] {
        const char* wanted = std::getenv("OPGEN_SOC");
        if (wanted == nullptr || *wanted == '\0') return &kSocs[0];
        return FindSoc(wanted);
    }();
    if (row == nullptr) {
        Fail(ACL_ERROR_INVALID_PARAM,
             "OPGEN_SOC=%s is not a SoC the emulation knows; use a name such as Ascend910B3.",
             std::getenv("OPGEN_SOC"));
    }
    return row;
}

int DeviceCount() {
    static const int count = [] {
        const char* text = std::getenv("OPGEN_NPU_DEVICES");
        int value = text != nullptr ? std::atoi(text) : 1;
        return value < 0 ? 0 : (value > 16 ? 16 : value);
    }();
    return count;
}

uint64_t DeviceMemoryBytes() {
    static const uint64_t bytes = [] {
        const char* text = std::getenv("OPGEN_NPU_MEMORY");
        uint64_t value = text != nullptr ? ParseBytes(text) : 0;
        if (value == 0 && CurrentSoc() != nullptr) value = CurrentSoc()->memory_bytes;
        if (value == 0) {
            // The table has no figure for this SoC: the host's memory is the only honest bound.
            value = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
        }
        return value;
    }();
    return bytes;
}

Context* CurrentContext() { return current_context; }

}  // namespace opgen_runtime

using namespace opgen_runtime;  // NOLINT: the C entry points below are thin

extern "C" {

aclError aclInit(const char*) {
    std::lock_guard<std::mutex> lock(state_mutex);
    if (initialized) {
        return Fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: already initialised in this process");
    }
    if (CurrentSoc() == nullptr) return ACL_ERROR_INVALID_PARAM;
    initialized = true;
    return ACL_SUCCESS;
}

aclError aclFinalize() {
    std::lock_guard<std::mutex> lock(state_mutex);
    if (!initialized) return Fail(ACL_ERROR_UNINITIALIZE, "aclFinalize without aclInit");
    initialized = false;
    return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
    if (major == nullptr || minor == nullptr || patch == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetVersion: null argument");
    }
    *major = ACL_MAJOR_VERSION;
    *minor = ACL_MINOR_VERSION;
    *patch = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char* package, int32_t* number) {
    if (package == nullptr || number == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionNum: null argument");
    }
    *number = kCannVersion;
    return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char* package, char* text) {
    if (package == nullptr || text == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionStr: null argument");
    }
    std::snprintf(text, ACL_PKG_VERSION_MAX_SIZE, "%s", ASC_DEVKIT_VERSION_STR);
    return ACL_SUCCESS;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
    if (version == nullptr || name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclsysGetCANNVersion: wrong package or null version");
    }
    *version = {};
    const auto part = [](char* text, int value) {
        std::snprintf(text, ACL_PKG_VERSION_PARTS_MAX_SIZE, "%d", value);
    };
    std::snprintf(version->version, sizeof(version->version), "%s", ASC_DEVKIT_VERSION_STR);
    part(version->majorVersion, ASC_DEVKIT_MAJOR);
    part(version->minorVersion, ASC_DEVKIT_MINOR);
    part(version->releaseVersion, ASC_DEVKIT_PATCH);
    part(version->patchVersion, 0);
    return ACL_SUCCESS;
}

const char* aclrtGetSocName() {
    const SocRow* soc = CurrentSoc();
    return soc != nullptr ? soc->name : nullptr;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
    if (count == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: null count");
    *count = static_cast<uint32_t>(DeviceCount());
    return ACL_SUCCESS;
}

aclError aclrtGetHardwareSyncAddr(void** addr) {
    static uint64_t flags[16];
    if (addr == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetHardwareSyncAddr: null addr");
    *addr = flags;
    return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device) {
    if (int code = CheckDevice(device, "aclrtSetDevice")) return code;
    std::lock_guard<std::mutex> lock(state_mutex);
    Context*& primary = primary_contexts[device];
    if (primary == nullptr) primary = NewContext(device);
    current_context = primary;
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t device) {
    if (int code = CheckDevice(device, "aclrtResetDevice")) return code;
    // The primary context stays alive: other threads may still hold it as current, and its only
    // resource is an idle stream. Memory is returned by the frees of its owners.
    if (current_context != nullptr && current_context->device == device) current_context = nullptr;
    return ACL_SUCCESS;
}

aclError aclrtResetDeviceForce(int32_t device) { return aclrtResetDevice(device); }

aclError aclrtGetDevice(int32_t* device) {
    if (device == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: null device");
    // torch_npu probes with this call, so "no context" is an answer and not worth an error text.
    if (current_context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    *device = current_context->device;
    return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* mode) {
    if (mode == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetRunMode: null mode");
    *mode = ACL_HOST;
    return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t device) {
    if (context == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateContext: null context");
    }
    if (int code = CheckDevice(device, "aclrtCreateContext")) return code;
    std::lock_guard<std::mutex> lock(state_mutex);
    Context* created = NewContext(device);
    current_context = created;
    *context = created;
    return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
    std::lock_guard<std::mutex> lock(state_mutex);
    auto* wanted = static_cast<Context*>(context);
    if (contexts.count(wanted) == 0) {
        return Fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtDestroyContext: not a live context");
    }
    for (const auto& entry : primary_contexts) {
        if (entry.second == wanted) {
            return Fail(ACL_ERROR_INVALID_PARAM,
                        "aclrtDestroyContext: this is device %d's default context; release it "
                        "with aclrtResetDevice",
                        entry.first);
        }
    }
    contexts.erase(wanted);
    if (current_context == wanted) current_context = nullptr;
    DeleteStream(wanted->default_stream);
    delete wanted;
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    std::lock_guard<std::mutex> lock(state_mutex);
    auto* wanted = static_cast<Context*>(context);
    if (contexts.count(wanted) == 0) {
        return Fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetCurrentContext: not a live context");
    }
    current_context = wanted;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    if (context == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: null context");
    }
    if (current_context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    *context = current_context;
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
    if (int code = CheckDevice(device, "aclrtGetPrimaryCtxState")) return code;
    std::lock_guard<std::mutex> lock(state_mutex);
    if (flags != nullptr) *flags = 0;
    if (active != nullptr) *active = primary_contexts.count(device) != 0 ? 1 : 0;
    return ACL_SUCCESS;
}

// Every task has finished before its enqueueing call returned, so there is nothing to wait for.
aclError aclrtSynchronizeDevice(void) { return aclrtSynchronizeDeviceWithTimeout(-1); }

aclError aclrtSynchronizeDeviceWithTimeout(int32_t) {
    if (current_context == nullptr) {
        return Fail(ACL_ERROR_RT_CONTEXT_NULL,
                    "aclrtSynchronizeDevice: this thread has no device; call aclrtSetDevice");
    }
    return ACL_SUCCESS;
}

aclError aclrtQueryDeviceStatus(int32_t device, aclrtDeviceStatus* status) {
    if (int code = CheckDevice(device, "aclrtQueryDeviceStatus")) return code;
    if (status == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryDeviceStatus: null");
    *status = ACL_RT_DEVICE_STATUS_NORMAL;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attr, int64_t* value) {
    if (int code = CheckDevice(static_cast<int32_t>(device), "aclrtGetDeviceInfo")) return code;
    if (value == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceInfo: null value");
    const SocRow* soc = CurrentSoc();
    if (soc == nullptr) return ACL_ERROR_INVALID_PARAM;
    uint64_t found = 0;
    switch (static_cast<int>(attr)) {
        case ACL_DEV_ATTR_AICPU_CORE_NUM:
            found = soc->ai_cpus;
            break;
        case ACL_DEV_ATTR_AICORE_CORE_NUM:
            found = soc->ai_cores;
            break;
        case ACL_DEV_ATTR_CUBE_CORE_NUM:
            found = soc->cube_cores;
            break;
        case ACL_DEV_ATTR_VECTOR_CORE_NUM:
            found = soc->vector_cores;
            break;
        case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
            found = soc->ub_bytes;
            break;
        case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
            found = DeviceMemoryBytes();
            break;
        case ACL_DEV_ATTR_L2_CACHE_SIZE:
            found = soc->l2_bytes;
            break;
        case ACL_DEV_ATTR_NPU_ARCH:
            found = soc->npu_arch;
            break;
        case ACL_DEV_ATTR_PHY_CHIP_ID:
            *value = device;
            return ACL_SUCCESS;
        case ACL_DEV_ATTR_IS_VIRTUAL:
            *value = 0;
            return ACL_SUCCESS;
        default:
            break;
    }
    if (found == 0) {
        return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "aclrtGetDeviceInfo: attribute %d of %s is not emulated",
                    static_cast<int>(attr), soc->name);
    }
    *value = static_cast<int64_t>(found);
    return ACL_SUCCESS;
}

aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo info, int64_t* value) {
    switch (info) {
        case ACL_DEVICE_INFO_AI_CORE_NUM:
            return aclrtGetDeviceInfo(device, ACL_DEV_ATTR_AICORE_CORE_NUM, value);
        case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
            return aclrtGetDeviceInfo(device, ACL_DEV_ATTR_VECTOR_CORE_NUM, value);
        case ACL_DEVICE_INFO_L2_SIZE:
            return aclrtGetDeviceInfo(device, ACL_DEV_ATTR_L2_CACHE_SIZE, value);
        default:
            return Fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: unknown kind %d",
                        static_cast<int>(info));
    }
}

aclError aclGetCannAttributeList(const aclCannAttr** list, size_t* num) {
    static const aclCannAttr kAttrs[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};
    if (list == nullptr || num == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttributeList: null argument");
    }
    *list = kAttrs;
    *num = sizeof kAttrs / sizeof kAttrs[0];
    return ACL_SUCCESS;
}

aclError aclGetCannAttribute(aclCannAttr attr, int32_t* value) {
    if (value == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: null value");
    *value = attr == ACL_CANN_ATTR_INF_NAN || attr == ACL_CANN_ATTR_BF16 ? 1 : 0;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetUuid(int32_t device, aclrtUuid* uuid) {
    if (int code = CheckDevice(device, "aclrtDeviceGetUuid")) return code;
    if (uuid == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceGetUuid: null uuid");
    std::memset(uuid->bytes, 0, sizeof uuid->bytes);
    std::memcpy(uuid->bytes, "opgen-emulated", 14);
    uuid->bytes[15] = static_cast<char>(device);
    return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
    if (can == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceCanAccessPeer: null");
    if (int code = CheckDevice(device, "aclrtDeviceCanAccessPeer")) return code;
    if (int code = CheckDevice(peer, "aclrtDeviceCanAccessPeer")) return code;
    *can = device != peer ? 1 : 0;  // all device memory is host memory of this process
    return ACL_SUCCESS;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
    return CheckDevice(peer, "aclrtDeviceEnablePeerAccess");
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t* const logic) {
    if (int code = CheckDevice(user, "aclrtGetLogicDevIdByUserDevId")) return code;
    if (logic == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetLogicDevId...: null");
    *logic = user;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
    if (pid == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceGetBareTgid: null pid");
    *pid = static_cast<int32_t>(getpid());
    return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    std::lock_guard<std::mutex> lock(state_mutex);
    sys_params[opt] = value;
    return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    if (value == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetSysParamOpt: null value");
    std::lock_guard<std::mutex> lock(state_mutex);
    auto found = sys_params.find(opt);
    *value = found != sys_params.end() ? found->second : 0;
    return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return aclrtSetSysParamOpt(opt, value);
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return aclrtGetSysParamOpt(opt, value);
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    // Kernels overflow to inf as the SoCs of this table do by default; saturation is not emulated.
    if (mode == ACL_RT_OVERFLOW_MODE_SATURATION) {
        return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "aclrtSetDeviceSatMode: saturation mode is not emulated, only inf/nan mode");
    }
    std::lock_guard<std::mutex> lock(state_mutex);
    saturation_mode = mode;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
    if (mode == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceSatMode: null mode");
    std::lock_guard<std::mutex> lock(state_mutex);
    *mode = saturation_mode;
    return ACL_SUCCESS;
}

// Timeouts bound tasks that hang; tasks here run to their end in the caller's thread, and the
// emulation reports a deadlocked kernel by itself.
aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }

}  // extern "C"
