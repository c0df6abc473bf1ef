// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Launching kernels by handle, and the ways to hand over their arguments (aclrtLaunchKernel*,
// aclrtKernelArgs*). Source: CANN's acl API reference.
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>

#include "acl/acl.h"
#include "state.h"

using namespace opgen_runtime;

namespace {

// A parameter: its value, or for a placeholder the bytes whose device address is the value.
struct Parameter {
    std::vector<char> value;
    std::vector<char> pointed;
};

// Arguments collected one by one. Addresses of buffers stay: the caller fills them later.
struct Arguments {
    std::deque<Parameter> parameters;
    bool open = true;
};

// Device memory with what a launch's arguments point to. As on the device a launch has its own
// copy.
class DeviceCopies {
 public:
    explicit DeviceCopies(const Stream& stream) : captured_(stream.capture != nullptr) {}
    // A captured launch runs later, as often as its model: its copies stay.
    ~DeviceCopies() {
        for (void* block : blocks_) {
            if (!captured_) aclrtFree(block);
        }
    }
    DeviceCopies(const DeviceCopies&) = delete;
    DeviceCopies& operator=(const DeviceCopies&) = delete;

    aclError Add(const void* data, size_t size, void** block) {
        if (aclError failed = aclrtMalloc(block, size, ACL_MEM_MALLOC_HUGE_FIRST)) return failed;
        blocks_.push_back(*block);
        return aclrtMemcpy(*block, size, data, size, ACL_MEMCPY_HOST_TO_DEVICE);
    }

 private:
    bool captured_;
    std::vector<void*> blocks_;
};

std::mutex arguments_mutex;

std::unordered_map<const Function*, std::unique_ptr<Arguments>>& AllArguments() {
    static std::unordered_map<const Function*, std::unique_ptr<Arguments>> all;
    return all;
}

Arguments* ResolveArguments(aclrtArgsHandle handle, const char* api) {
    std::lock_guard<std::mutex> lock(arguments_mutex);
    for (const auto& entry : AllArguments()) {
        if (entry.second.get() == handle) return entry.second.get();
    }
    Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: the handle is no list of arguments", api);
    return nullptr;
}

// A parameter's handle is its place plus one: never null.
Parameter* ResolveParameter(Arguments& arguments, aclrtParamHandle handle, const char* api) {
    const size_t place = reinterpret_cast<size_t>(handle) - 1;
    if (place < arguments.parameters.size()) return &arguments.parameters[place];
    Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: the handle is none of this list's parameters", api);
    return nullptr;
}

// Refuses attributes that would change the result; the others are hints.
aclError CheckConfig(const aclrtLaunchKernelCfg* config, const char* api) {
    for (size_t i = 0; config != nullptr && config->attrs != nullptr && i < config->numAttrs; ++i) {
        const aclrtLaunchKernelAttr& attr = config->attrs[i];
        if (attr.id == ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE ||
            (attr.id == ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET &&
             attr.value.blockDimOffset != 0)) {
            return Fail(ACL_ERROR_FEATURE_UNSUPPORTED, "%s: launch attribute %d is not emulated",
                        api, static_cast<int>(attr.id));
        }
    }
    return ACL_SUCCESS;
}

aclError Launch(const Function& function, uint32_t blocks, aclrtStream stream,
                const aclrtLaunchKernelCfg* config, void* const* args, const char* api) {
    if (blocks == 0)
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: %s on 0 blocks", api, function.name.c_str());
    if (aclError failed = CheckConfig(config, api)) return failed;
    if (ResolveStream(stream, api) == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    function.kernel->launch(blocks, stream, args);
    return ACL_SUCCESS;
}

aclError LaunchBlock(const Function& function, uint32_t blocks, aclrtStream stream,
                     const aclrtLaunchKernelCfg* config, const char* data, size_t size,
                     const char* api) {
    const OpgenRuntimeKernel& kernel = *function.kernel;
    if (size < kernel.bytes || (data == nullptr && kernel.bytes != 0)) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: the arguments of %s are %u bytes, %zu are given",
                    api, function.name.c_str(), kernel.bytes, data == nullptr ? size_t{0} : size);
    }
    std::vector<void*> args(kernel.count + 1);
    for (uint32_t i = 0; i < kernel.count; ++i)
        args[i] = const_cast<char*>(data) + kernel.offsets[i];
    return Launch(function, blocks, stream, config, args.data(), api);
}

}  // namespace

extern "C" {

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void* argsData,
                           size_t argsSize, aclrtStream stream) {
    return aclrtLaunchKernelV2(funcHandle, numBlocks, argsData, argsSize, nullptr, stream);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void* argsData,
                             size_t argsSize, aclrtLaunchKernelCfg* cfg, aclrtStream stream) {
    const Function* function = ResolveFunction(funcHandle, "aclrtLaunchKernel");
    if (function == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    return LaunchBlock(*function, numBlocks, stream, cfg, static_cast<const char*>(argsData),
                       argsSize, "aclrtLaunchKernel");
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks,
                                       aclrtStream stream, aclrtLaunchKernelCfg* cfg,
                                       void* hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo* placeHolderArray,
                                       size_t placeHolderNum) {
    const char* const api = "aclrtLaunchKernelWithHostArgs";
    const Function* function = ResolveFunction(funcHandle, api);
    if (function == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if ((hostArgs == nullptr && argsSize != 0) ||
        (placeHolderArray == nullptr && placeHolderNum != 0)) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: null argument", api);
    }
    Stream* found = ResolveStream(stream, api);
    if (found == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    const char* const data = static_cast<const char*>(hostArgs);
    std::vector<char> block(data, data + argsSize);
    DeviceCopies copies(*found);
    void* device = nullptr;
    if (placeHolderNum != 0) {
        if (aclError failed = copies.Add(data, argsSize, &device)) return failed;
    }
    for (size_t i = 0; i < placeHolderNum; ++i) {
        const aclrtPlaceHolderInfo& info = placeHolderArray[i];
        if (info.addrOffset > argsSize || argsSize - info.addrOffset < sizeof(void*) ||
            info.dataOffset >= argsSize) {
            return Fail(ACL_ERROR_INVALID_PARAM,
                        "%s: placeholder %zu lies outside the %zu bytes of arguments", api, i,
                        argsSize);
        }
        void* const address = static_cast<char*>(device) + info.dataOffset;
        std::memcpy(block.data() + info.addrOffset, &address, sizeof(address));
    }
    return LaunchBlock(*function, numBlocks, stream, cfg, block.data(), argsSize, api);
}

aclError aclrtLaunchKernelWithArgsArray(void* func, uint32_t numBlocks, aclrtStream stream,
                                        aclrtLaunchKernelCfg* cfg, void** args) {
    const char* const api = "aclrtLaunchKernelWithArgsArray";
    const Function* function = ResolveFunction(func, api);
    if (function == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    for (uint32_t i = 0; i < function->kernel->count; ++i) {
        if (args == nullptr || args[i] == nullptr) {
            return Fail(ACL_ERROR_INVALID_PARAM,
                        "%s: %s has %u parameters, and there is no argument %u", api,
                        function->name.c_str(), function->kernel->count, i);
        }
    }
    return Launch(*function, numBlocks, stream, cfg, args, api);
}

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle* argsHandle) {
    const Function* function = ResolveFunction(funcHandle, "aclrtKernelArgsInit");
    if (function == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (argsHandle == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtKernelArgsInit: null argument");
    std::lock_guard<std::mutex> lock(arguments_mutex);
    // A function has one list at a time: beginning anew lets go of the last one.
    std::unique_ptr<Arguments>& slot = AllArguments()[function];
    slot = std::make_unique<Arguments>();
    *argsHandle = slot.get();
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void* param, size_t paramSize,
                               aclrtParamHandle* paramHandle) {
    Arguments* arguments = ResolveArguments(argsHandle, "aclrtKernelArgsAppend");
    if (arguments == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (param == nullptr || paramSize == 0 || !arguments->open) {
        return Fail(
            ACL_ERROR_INVALID_PARAM, "aclrtKernelArgsAppend: %s",
            arguments->open ? "no value" : "the list is finished (aclrtKernelArgsFinalize)");
    }
    const char* const bytes = static_cast<const char*>(param);
    arguments->parameters.push_back({{bytes, bytes + paramSize}, {}});
    if (paramHandle != nullptr)
        *paramHandle = reinterpret_cast<void*>(arguments->parameters.size());
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle,
                                          aclrtParamHandle* paramHandle) {
    void* none = nullptr;
    return aclrtKernelArgsAppend(argsHandle, &none, sizeof(none), paramHandle);
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle,
                                             aclrtParamHandle paramHandle, size_t dataSize,
                                             void** bufferAddr) {
    const char* const api = "aclrtKernelArgsGetPlaceHolderBuffer";
    Arguments* arguments = ResolveArguments(argsHandle, api);
    Parameter* found =
        arguments != nullptr ? ResolveParameter(*arguments, paramHandle, api) : nullptr;
    if (found == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (bufferAddr == nullptr || dataSize == 0 || found->value.size() != sizeof(void*)) {
        return Fail(ACL_ERROR_INVALID_PARAM,
                    "%s: no size, a null argument, or a parameter that is no placeholder", api);
    }
    found->pointed.assign(dataSize, 0);
    *bufferAddr = found->pointed.data();
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
                                   void* param, size_t paramSize) {
    const char* const api = "aclrtKernelArgsParaUpdate";
    Arguments* arguments = ResolveArguments(argsHandle, api);
    Parameter* found =
        arguments != nullptr ? ResolveParameter(*arguments, paramHandle, api) : nullptr;
    if (found == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (param == nullptr || paramSize != found->value.size()) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: the parameter has %zu bytes, %zu are given", api,
                    found->value.size(), param == nullptr ? size_t{0} : paramSize);
    }
    std::memcpy(found->value.data(), param, paramSize);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
    Arguments* arguments = ResolveArguments(argsHandle, "aclrtKernelArgsFinalize");
    if (arguments == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    arguments->open = false;
    return ACL_SUCCESS;
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks,
                                     aclrtStream stream, aclrtLaunchKernelCfg* cfg,
                                     aclrtArgsHandle argsHandle, void*) {
    const char* const api = "aclrtLaunchKernelWithConfig";
    const Function* function = ResolveFunction(funcHandle, api);
    Arguments* arguments = function != nullptr ? ResolveArguments(argsHandle, api) : nullptr;
    if (arguments == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    Stream* target = ResolveStream(stream, api);
    if (target == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    const OpgenRuntimeKernel& kernel = *function->kernel;
    std::deque<Parameter> parameters = arguments->parameters;
    if (parameters.size() != kernel.count) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: %s has %u parameters, the list %zu", api,
                    function->name.c_str(), kernel.count, parameters.size());
    }
    DeviceCopies copies(*target);
    std::vector<void*> args(kernel.count + 1);
    for (uint32_t i = 0; i < kernel.count; ++i) {
        Parameter& parameter = parameters[i];
        if (parameter.value.size() < kernel.sizes[i]) {
            return Fail(ACL_ERROR_INVALID_PARAM,
                        "%s: parameter %u of %s has %u bytes, the list %zu", api, i,
                        function->name.c_str(), kernel.sizes[i], parameter.value.size());
        }
        if (!parameter.pointed.empty()) {
            void* device = nullptr;
            if (aclError failed =
                    copies.Add(parameter.pointed.data(), parameter.pointed.size(), &device)) {
                return failed;
            }
            std::memcpy(parameter.value.data(), &device, sizeof(device));
        }
        args[i] = parameter.value.data();
    }
    return Launch(*function, numBlocks, stream, cfg, args.data(), api);
}

}  // extern "C"
