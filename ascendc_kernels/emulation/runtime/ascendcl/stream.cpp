// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Streams, events and host callbacks. A stream runs each task before the call that enqueues it
// returns, so program order is execution order. Callbacks are the exception: they belong to the
// thread that subscribed, and wait for its aclrtProcessReport.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <unordered_set>

#include "state.h"

namespace opgen_runtime {
namespace {

std::mutex registry_mutex;
// Never destroyed: torch_npu releases streams and events while the process exits.
std::unordered_set<void*>& Streams() {
    static auto* set = new std::unordered_set<void*>;
    return *set;
}
std::unordered_set<void*>& Events() {
    static auto* set = new std::unordered_set<void*>;
    return *set;
}

std::atomic<int32_t> next_stream_id{0};
std::atomic<uint32_t> next_event_id{0};

int64_t NowNanoseconds() {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               steady_clock::now().time_since_epoch())
        .count();
}

struct Callback {
    aclrtCallback function = nullptr;
    void* user_data = nullptr;
    bool done = false;
};

std::mutex callback_mutex;
std::condition_variable callback_changed;
std::map<uint64_t, std::deque<std::shared_ptr<Callback>>>& CallbackQueues() {
    static auto* queues = new std::map<uint64_t, std::deque<std::shared_ptr<Callback>>>;
    return *queues;
}

uint64_t ThisThread() { return static_cast<uint64_t>(pthread_self()); }

}  // namespace

Stream* NewStream(int32_t device, uint32_t priority, uint32_t flags) {
    auto* stream = new Stream;
    stream->id = next_stream_id++;
    stream->device = device;
    stream->priority = priority;
    stream->flags = flags;
    std::lock_guard<std::mutex> lock(registry_mutex);
    Streams().insert(stream);
    return stream;
}

void LeaveCapture(ModelRI* model) {
    std::lock_guard<std::mutex> lock(registry_mutex);
    for (void* handle : Streams()) {
        Stream* stream = static_cast<Stream*>(handle);
        if (stream->capture == model) stream->capture = nullptr;
    }
    for (void* handle : Events()) {
        Event* event = static_cast<Event*>(handle);
        if (event->capture == model) event->capture = nullptr;
    }
}

void DeleteStream(Stream* stream) {
    std::lock_guard<std::mutex> lock(registry_mutex);
    Streams().erase(stream);
    delete stream;
}

Stream* ResolveStream(aclrtStream handle, const char* api) {
    if (handle == nullptr) {
        Context* context = CurrentContext();
        if (context != nullptr) return context->default_stream;
        Fail(ACL_ERROR_RT_CONTEXT_NULL,
             "%s: the default stream needs a device; call aclrtSetDevice in this thread", api);
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(registry_mutex);
    if (Streams().count(handle) != 0) return static_cast<Stream*>(handle);
    Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is not a live stream", api, handle);
    return nullptr;
}

Event* ResolveEvent(aclrtEvent handle, const char* api) {
    std::lock_guard<std::mutex> lock(registry_mutex);
    if (Events().count(handle) != 0) return static_cast<Event*>(handle);
    Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is not a live event", api, handle);
    return nullptr;
}

}  // namespace opgen_runtime

using namespace opgen_runtime;  // NOLINT: the C entry points below are thin

// Resolves `stream` into `name` or returns the stored error.
#define RESOLVE_STREAM(name, handle)                                                          \
    Stream* name = ResolveStream(handle, __func__);                                           \
    if (name == nullptr) {                                                                    \
        return (handle) == nullptr ? ACL_ERROR_RT_CONTEXT_NULL : ACL_ERROR_RT_INVALID_HANDLE; \
    }
#define RESOLVE_EVENT(name, handle)               \
    Event* name = ResolveEvent(handle, __func__); \
    if (name == nullptr) return ACL_ERROR_RT_INVALID_HANDLE
#define REQUIRE(pointer)                                                            \
    if ((pointer) == nullptr) {                                                     \
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: " #pointer " is null", __func__); \
    }

extern "C" {

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    REQUIRE(stream);
    Context* context = CurrentContext();
    if (context == nullptr) {
        return Fail(ACL_ERROR_RT_CONTEXT_NULL,
                    "aclrtCreateStream: this thread has no device; call aclrtSetDevice first");
    }
    *stream = NewStream(context->device, priority, flag);
    return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream* stream) {
    return aclrtCreateStreamWithConfig(stream, 0, 0);
}

aclError aclrtDestroyStream(aclrtStream stream) {
    REQUIRE(stream);
    RESOLVE_STREAM(found, stream);
    DeleteStream(found);
    return ACL_SUCCESS;
}

aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }

aclError aclrtSynchronizeStream(aclrtStream stream) {
    RESOLVE_STREAM(found, stream);
    std::lock_guard<std::recursive_mutex> wait(found->run);  // another thread's task ends first
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
    return aclrtSynchronizeStream(stream);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
    REQUIRE(status);
    RESOLVE_STREAM(found, stream);
    std::unique_lock<std::recursive_mutex> probe(found->run, std::try_to_lock);
    *status = probe.owns_lock() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
    REQUIRE(id);
    RESOLVE_STREAM(found, stream);
    *id = found->id;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
    REQUIRE(priority);
    RESOLVE_STREAM(found, stream);
    *priority = found->priority;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
    REQUIRE(flags);
    RESOLVE_STREAM(found, stream);
    *flags = found->flags;
    return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
    REQUIRE(stream);
    RESOLVE_STREAM(found, nullptr);
    *stream = found;
    return ACL_SUCCESS;
}

// A failing task returns its error to the caller at once, which is "stop on failure".
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    RESOLVE_STREAM(found, stream);
    (void)found;
    if (mode != ACL_STOP_ON_FAILURE && mode != ACL_CONTINUE_ON_FAILURE) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamFailureMode: unknown mode");
    }
    return ACL_SUCCESS;
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
    RESOLVE_STREAM(found, stream);
    found->overflow_switch = flag;
    return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
    REQUIRE(flag);
    RESOLVE_STREAM(found, stream);
    *flag = found->overflow_switch;
    return ACL_SUCCESS;
}

// --- events ------------------------------------------------------------------------------------

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    REQUIRE(event);
    if ((flag & ACL_EVENT_IPC) != 0) {
        return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "events shared between processes (ACL_EVENT_IPC) are not emulated");
    }
    auto* created = new Event;
    created->id = next_event_id++;
    created->flags = flag;
    std::lock_guard<std::mutex> lock(registry_mutex);
    Events().insert(created);
    *event = created;
    return ACL_SUCCESS;
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return aclrtCreateEventExWithFlag(event, flag);
}

aclError aclrtCreateEvent(aclrtEvent* event) {
    return aclrtCreateEventExWithFlag(event, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    RESOLVE_EVENT(found, event);
    std::lock_guard<std::mutex> lock(registry_mutex);
    Events().erase(found);
    delete found;
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    RESOLVE_EVENT(found, event);
    RESOLVE_STREAM(on, stream);
    std::lock_guard<std::recursive_mutex> wait(on->run);
    std::lock_guard<std::mutex> lock(registry_mutex);
    found->capture = on->capture;
    if (on->capture != nullptr) return ACL_SUCCESS;
    found->recorded = true;
    found->nanoseconds = NowNanoseconds();
    return ACL_SUCCESS;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    RESOLVE_EVENT(found, event);
    RESOLVE_STREAM(on, stream);
    (void)on;
    std::lock_guard<std::mutex> lock(registry_mutex);
    found->recorded = false;
    return ACL_SUCCESS;
}

// An event that was never recorded counts as complete, as torch users know it from CUDA.
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    REQUIRE(status);
    RESOLVE_EVENT(found, event);
    (void)found;
    *status = ACL_EVENT_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    REQUIRE(status);
    RESOLVE_EVENT(found, event);
    (void)found;
    *status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    REQUIRE(status);
    RESOLVE_EVENT(found, event);
    (void)found;
    *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    RESOLVE_EVENT(found, event);
    (void)found;
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t) {
    return aclrtSynchronizeEvent(event);
}

// The work before a recorded event is complete when the record call returns, so whatever this
// stream runs next already comes after it.
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    RESOLVE_STREAM(found, stream);
    RESOLVE_EVENT(waited, event);
    std::lock_guard<std::recursive_mutex> run(found->run);
    // A stream that waits for captured work belongs to the capture from here on.
    if (waited->capture != nullptr && waited->capture->open) found->capture = waited->capture;
    return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
    REQUIRE(ms);
    RESOLVE_EVENT(first, start);
    RESOLVE_EVENT(second, end);
    std::lock_guard<std::mutex> lock(registry_mutex);
    if (!first->recorded || !second->recorded) {
        return Fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                    "aclrtEventElapsedTime: the %s event was never recorded",
                    first->recorded ? "end" : "start");
    }
    *ms = static_cast<float>(static_cast<double>(second->nanoseconds - first->nanoseconds) / 1e6);
    return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
    REQUIRE(timestamp);
    RESOLVE_EVENT(found, event);
    std::lock_guard<std::mutex> lock(registry_mutex);
    if (!found->recorded) {
        return Fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                    "aclrtEventGetTimestamp: the event was never recorded");
    }
    *timestamp = static_cast<uint64_t>(found->nanoseconds / 1000);
    return ACL_SUCCESS;
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t* id) {
    REQUIRE(id);
    RESOLVE_EVENT(found, event);
    *id = found->id;
    return ACL_SUCCESS;
}

// --- host callbacks ----------------------------------------------------------------------------

aclError aclrtSubscribeReport(uint64_t thread, aclrtStream stream) {
    RESOLVE_STREAM(found, stream);
    std::lock_guard<std::mutex> lock(callback_mutex);
    if (found->has_report_thread) {
        return Fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                    "aclrtSubscribeReport: the stream already has a callback thread");
    }
    found->report_thread = thread;
    found->has_report_thread = true;
    CallbackQueues()[thread];
    return ACL_SUCCESS;
}

aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream stream) {
    RESOLVE_STREAM(found, stream);
    std::lock_guard<std::mutex> lock(callback_mutex);
    if (!found->has_report_thread || found->report_thread != thread) {
        return Fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                    "aclrtUnSubscribeReport: this thread is not subscribed to the stream");
    }
    found->has_report_thread = false;
    return ACL_SUCCESS;
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
    REQUIRE(fn);
    RESOLVE_STREAM(found, stream);
    std::unique_lock<std::mutex> lock(callback_mutex);
    if (!found->has_report_thread) {
        return Fail(ACL_ERROR_RT_STREAM_NO_CB_REG,
                    "aclrtLaunchCallback: no thread subscribed to this stream "
                    "(aclrtSubscribeReport)");
    }
    if (found->report_thread == ThisThread()) {
        lock.unlock();
        fn(userData);
        return ACL_SUCCESS;
    }
    auto callback = std::make_shared<Callback>();
    callback->function = fn;
    callback->user_data = userData;
    CallbackQueues()[found->report_thread].push_back(callback);
    callback_changed.notify_all();
    if (blockType == ACL_CALLBACK_BLOCK) {
        callback_changed.wait(lock, [&] { return callback->done; });
    }
    return ACL_SUCCESS;
}

aclError aclrtProcessReport(int32_t timeout) {
    std::unique_lock<std::mutex> lock(callback_mutex);
    auto queue = CallbackQueues().find(ThisThread());
    if (queue == CallbackQueues().end()) {
        return Fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                    "aclrtProcessReport: this thread has not subscribed to any stream");
    }
    auto ready = [&] { return !queue->second.empty(); };
    if (timeout < 0) {
        callback_changed.wait(lock, ready);
    } else if (!callback_changed.wait_for(lock, std::chrono::milliseconds(timeout), ready)) {
        return ACL_ERROR_WAIT_CALLBACK_TIMEOUT;  // the polling loop's normal answer: no text
    }
    std::shared_ptr<Callback> callback = queue->second.front();
    queue->second.pop_front();
    lock.unlock();
    callback->function(callback->user_data);
    lock.lock();
    callback->done = true;
    callback_changed.notify_all();
    return ACL_SUCCESS;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
    REQUIRE(fn);
    RESOLVE_STREAM(found, stream);
    std::lock_guard<std::recursive_mutex> run(found->run);
    if (found->capture != nullptr) {
        found->capture->tasks.push_back({"aclrtLaunchHostFunc", [=] {
                                             fn(args);
                                             return ACL_SUCCESS;
                                         }});
        return ACL_SUCCESS;
    }
    fn(args);
    return ACL_SUCCESS;
}

}  // extern "C"
