// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <unordered_map>

// Of libascendcl, which a process with operators only may lack.
extern "C" __attribute__((weak)) int opgen_is_captured(void* stream);

namespace opgen_nnopbase {
namespace {

thread_local std::string recent_error;

// Live executors. CANN crashes on a stale or foreign pointer; here it is looked up first.
struct Registry {
    std::mutex mutex;
    std::unordered_map<aclOpExecutor*, std::unique_ptr<aclOpExecutor>> live;
};

Registry& Executors() {
    static Registry* registry = new Registry;  // never destroyed: streams may outlive main()
    return *registry;
}

// What libascendcl offers us, when it is the emulated one and loaded.
using SetErrorFn = int (*)(int code, const char* message);

aclnnStatus SetAddress(aclOpExecutor* executor, bool output, size_t index, size_t relative,
                       void* addr, const char* api) {
    Registry& registry = Executors();
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (executor == nullptr || registry.live.count(executor) == 0) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: null or dead executor", api);
    }
    if (!executor->repeatable) {
        return Fail(ACLNN_ERR_PARAM_INVALID,
                    "%s: the executor of %s is not repeatable; call "
                    "aclSetAclOpExecutorRepeatable first",
                    api, executor->api.c_str());
    }
    return executor->SetAddress(output, index, relative, addr);
}

aclnnStatus SetFlatAddress(aclOpExecutor* executor, size_t index, size_t relative, void* addr,
                           const char* api) {
    size_t inputs = 0;
    {
        Registry& registry = Executors();
        std::lock_guard<std::mutex> lock(registry.mutex);
        if (executor != nullptr && registry.live.count(executor) != 0) {
            inputs = executor->NumInputs();
        }
    }
    const bool output = index >= inputs;
    return SetAddress(executor, output, output ? index - inputs : index, relative, addr, api);
}

}  // namespace

aclnnStatus Fail(aclnnStatus status, const char* format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, format, args);
    va_end(args);
    std::string text(length > 0 ? length : 0, '\0');
    std::vsnprintf(&text[0], text.size() + 1, format, again);
    va_end(again);
    recent_error = text;
    // Inside torch_npu the message is read from libascendcl, so tell it as well.
    SetErrorFn forward = reinterpret_cast<SetErrorFn>(dlsym(RTLD_DEFAULT, "opgen_acl_set_error"));
    if (forward != nullptr) {
        forward(status, recent_error.c_str());
    }
    return status;
}

const char* RecentError() { return recent_error.c_str(); }

void Publish(std::unique_ptr<aclOpExecutor> prepared, aclOpExecutor** executor) {
    Registry& registry = Executors();
    std::lock_guard<std::mutex> lock(registry.mutex);
    *executor = prepared.get();
    registry.live[prepared.get()] = std::move(prepared);
}

aclnnStatus Launch(const char* api, void* workspace, uint64_t workspace_size,
                   aclOpExecutor* executor, void* stream) {
    if (executor == nullptr) {
        const std::string before = recent_error;
        return Fail(ACLNN_ERR_PARAM_NULLPTR,
                    "%s: executor is null; check the status of %sGetWorkspaceSize. %s%s", api, api,
                    before.empty() ? "" : "Last error: ", before.c_str());
    }
    if (opgen_is_captured != nullptr && opgen_is_captured(stream) != 0) {
        return Fail(
            ACLNN_ERR_RUNTIME_ERROR,
            "%s: operators on a stream that is being captured are not emulated; launch kernels "
            "with <<<>>> there",
            api);
    }
    std::unique_ptr<aclOpExecutor> owned;  // empty for a repeatable executor
    {
        Registry& registry = Executors();
        std::lock_guard<std::mutex> lock(registry.mutex);
        auto found = registry.live.find(executor);
        if (found == registry.live.end()) {
            return Fail(ACLNN_ERR_PARAM_INVALID,
                        "%s: the executor is dead; one that is not repeatable serves one launch",
                        api);
        }
        if (executor->api != api) {
            return Fail(ACLNN_ERR_PARAM_INVALID, "%s: the executor belongs to %s", api,
                        executor->api.c_str());
        }
        const uint64_t needed = executor->WorkspaceSize();
        if (needed > 0 && (workspace == nullptr || workspace_size < needed)) {
            return Fail(workspace == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                        "%s: workspace of %llu bytes given, %llu needed", api,
                        static_cast<unsigned long long>(workspace == nullptr ? 0 : workspace_size),
                        static_cast<unsigned long long>(needed));
        }
        if (!executor->repeatable) {
            owned = std::move(found->second);
            registry.live.erase(found);
        }
    }
    // At once: what torch_npu queues it queues itself, and streams of the emulation run in order.
    return executor->Run(workspace);
}

}  // namespace opgen_nnopbase

using opgen_nnopbase::Executors;
using opgen_nnopbase::Fail;
using opgen_nnopbase::Registry;

extern "C" {

aclnnStatus aclnnInit(const char* /*configPath*/) { return ACLNN_SUCCESS; }

aclnnStatus aclnnFinalize() { return ACLNN_SUCCESS; }

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
    Registry& registry = Executors();
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (executor == nullptr || registry.live.count(executor) == 0) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR,
                    "aclSetAclOpExecutorRepeatable: null or dead executor");
    }
    executor->repeatable = true;
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
    if (executor == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclDestroyAclOpExecutor: executor is null");
    }
    std::unique_ptr<aclOpExecutor> dead;
    Registry& registry = Executors();
    std::lock_guard<std::mutex> lock(registry.mutex);
    auto found = registry.live.find(executor);
    // Callers often destroy an executor that its launch has consumed already: harmless.
    if (found != registry.live.end()) {
        dead = std::move(found->second);
        registry.live.erase(found);
    }
    return ACLNN_SUCCESS;
}

#define OPGEN_SET_ADDRESS_FUNCTIONS(prefix)                                                  \
    aclnnStatus prefix##SetInputTensorAddr(aclOpExecutor* executor, const size_t index,      \
                                           aclTensor* /*tensor*/, void* addr) {              \
        return opgen_nnopbase::SetAddress(executor, false, index, 0, addr,                   \
                                          "aclSetInputTensorAddr");                          \
    }                                                                                        \
    aclnnStatus prefix##SetOutputTensorAddr(aclOpExecutor* executor, const size_t index,     \
                                            aclTensor* /*tensor*/, void* addr) {             \
        return opgen_nnopbase::SetAddress(executor, true, index, 0, addr,                    \
                                          "aclSetOutputTensorAddr");                         \
    }                                                                                        \
    aclnnStatus prefix##SetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,   \
                                                  const size_t relativeIndex,                \
                                                  aclTensorList* /*tensors*/, void* addr) {  \
        return opgen_nnopbase::SetAddress(executor, false, irIndex, relativeIndex, addr,     \
                                          "aclSetDynamicInputTensorAddr");                   \
    }                                                                                        \
    aclnnStatus prefix##SetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,  \
                                                   const size_t relativeIndex,               \
                                                   aclTensorList* /*tensors*/, void* addr) { \
        return opgen_nnopbase::SetAddress(executor, true, irIndex, relativeIndex, addr,      \
                                          "aclSetDynamicOutputTensorAddr");                  \
    }                                                                                        \
    aclnnStatus prefix##SetTensorAddr(aclOpExecutor* executor, const size_t index,           \
                                      aclTensor* /*tensor*/, void* addr) {                   \
        return opgen_nnopbase::SetFlatAddress(executor, index, 0, addr, "aclSetTensorAddr"); \
    }                                                                                        \
    aclnnStatus prefix##SetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,        \
                                             const size_t relativeIndex,                     \
                                             aclTensorList* /*tensors*/, void* addr) {       \
        return opgen_nnopbase::SetFlatAddress(executor, irIndex, relativeIndex, addr,        \
                                              "aclSetDynamicTensorAddr");                    \
    }

OPGEN_SET_ADDRESS_FUNCTIONS(acl)
OPGEN_SET_ADDRESS_FUNCTIONS(Acl)
#undef OPGEN_SET_ADDRESS_FUNCTIONS

}  // extern "C"
