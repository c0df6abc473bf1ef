// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Capture of streams into a model that runs as often as wanted (aclgraph): copies, fills, host
// functions and kernels of a program. Source: CANN's acl API reference, aclmdlRI*.
#include <cstdio>
#include <memory>
#include <unordered_set>

#include "acl/acl_mdl.h"
#include "state.h"

#define EXPORT __attribute__((visibility("default")))

using namespace opgen_runtime;

namespace {

std::mutex models_mutex;
std::unordered_set<void*>& Models() {
    static std::unordered_set<void*> all;
    return all;
}

ModelRI* Resolve(aclmdlRI handle, const char* api) {
    std::lock_guard<std::mutex> lock(models_mutex);
    if (Models().count(handle) != 0) return static_cast<ModelRI*>(handle);
    Fail(ACL_ERROR_INVALID_PARAM, "%s: the handle is no live model", api);
    return nullptr;
}

}  // namespace

extern "C" {

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode) {
    Stream* found = ResolveStream(stream, "aclmdlRICaptureBegin");
    if (found == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (stream == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM,
                    "aclmdlRICaptureBegin: the default stream cannot be captured; create one");
    }
    std::lock_guard<std::recursive_mutex> run(found->run);
    if (found->capture != nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureBegin: the stream is being captured");
    }
    ModelRI* model = new ModelRI;
    {
        std::lock_guard<std::mutex> lock(models_mutex);
        Models().insert(model);
    }
    found->capture = model;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status,
                                aclmdlRI* model) {
    Stream* found = ResolveStream(stream, "aclmdlRICaptureGetInfo");
    if (found == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (status != nullptr) {
        *status = found->capture != nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                                            : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    }
    if (model != nullptr) *model = found->capture;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* model) {
    Stream* found = ResolveStream(stream, "aclmdlRICaptureEnd");
    if (found == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (model == nullptr || found->capture == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureEnd: %s",
                    model == nullptr ? "null argument" : "the stream is not being captured");
    }
    *model = found->capture;
    found->capture->open = false;
    LeaveCapture(found->capture);
    return ACL_SUCCESS;
}

// The mode of captures of other threads; tasks run in their callers' threads, so it has no effect.
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
    static thread_local aclmdlRICaptureMode current = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    if (mode == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureThreadExchangeMode: null argument");
    std::swap(current, *mode);
    return ACL_SUCCESS;
}

aclError aclmdlRIExecuteAsync(aclmdlRI handle, aclrtStream stream) {
    ModelRI* model = Resolve(handle, "aclmdlRIExecuteAsync");
    Stream* found = model != nullptr ? ResolveStream(stream, "aclmdlRIExecuteAsync") : nullptr;
    if (found == nullptr) return ACL_ERROR_INVALID_PARAM;
    if (model->open) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIExecuteAsync: the capture has not ended");
    }
    std::lock_guard<std::recursive_mutex> run(found->run);
    for (const ModelRI::Task& task : model->tasks) {
        if (const int error = task.run()) return error;
    }
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroy(aclmdlRI handle) {
    ModelRI* model = Resolve(handle, "aclmdlRIDestroy");
    if (model == nullptr) return ACL_ERROR_INVALID_PARAM;
    LeaveCapture(model);
    std::lock_guard<std::mutex> lock(models_mutex);
    Models().erase(model);
    delete model;
    return ACL_SUCCESS;
}

aclError aclmdlRIDebugPrint(aclmdlRI handle) {
    ModelRI* model = Resolve(handle, "aclmdlRIDebugPrint");
    if (model == nullptr) return ACL_ERROR_INVALID_PARAM;
    for (const ModelRI::Task& task : model->tasks) printf("%s\n", task.name);
    return ACL_SUCCESS;
}

// {"tasks": ["aclrtMemcpyAsync", ...]}: the device writes more.
aclError aclmdlRIDebugJsonPrint(aclmdlRI handle, const char* path, uint32_t) {
    ModelRI* model = Resolve(handle, "aclmdlRIDebugJsonPrint");
    if (model == nullptr) return ACL_ERROR_INVALID_PARAM;
    FILE* file = path != nullptr ? fopen(path, "w") : nullptr;
    if (file == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIDebugJsonPrint: cannot write the file");
    fputs("{\"tasks\": [", file);
    const char* separator = "";
    for (const ModelRI::Task& task : model->tasks) {
        fprintf(file, "%s\"%s\"", separator, task.name);
        separator = ", ";
    }
    fputs("]}\n", file);
    fclose(file);
    return ACL_SUCCESS;
}

// A kernel launch of a program: 1 when the stream is captured, `run` and `drop` are called later
// then.
EXPORT int opgen_capture_launch(void* stream, const char* name, void (*run)(void*),
                                void (*drop)(void*), void* context) {
    Stream* found = ResolveStream(stream, "launch");
    if (found == nullptr || found->capture == nullptr) return 0;
    const std::shared_ptr<void> kept(context, drop);
    found->capture->tasks.push_back({name, [=] {
                                         run(kept.get());
                                         return ACL_SUCCESS;
                                     }});
    return 1;
}

// Whether operators that cannot be captured would run on a stream that is.
EXPORT int opgen_is_captured(void* stream) {
    Stream* found = stream != nullptr ? ResolveStream(stream, "launch") : nullptr;
    return found != nullptr && found->capture != nullptr;
}

}  // extern "C"
