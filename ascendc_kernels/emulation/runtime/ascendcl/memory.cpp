// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Device and pinned host memory. Both are host memory; a map of live allocations keeps them
// apart, bounds every copy and refuses pointers that no allocation contains, as the device would.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <shared_mutex>
#include <string>

#include "state.h"

// Where the kernel emulation is part of the process, it bounds kernels by the live allocations.
extern "C" {
__attribute__((weak)) void opgen_register_gm(void* data, uint64_t bytes, const char* name);
__attribute__((weak)) void opgen_unregister_gm(void* data);
__attribute__((weak)) void opgen_gm_fresh(void* data, uint64_t bytes);
__attribute__((weak)) void opgen_gm_released(void* data);
__attribute__((weak)) void opgen_gm_bad_free(const char* api, const char* problem);
__attribute__((weak)) void opgen_gm_filled(void* data, uint64_t bytes);
__attribute__((weak)) void opgen_gm_fetched(const void* data, uint64_t bytes);
}

namespace opgen_runtime {
namespace {

// Device allocations are 512-byte aligned like the hardware's; kernels and torch_npu rely on it.
constexpr size_t kDeviceAlignment = 512;
constexpr size_t kHostAlignment = 4096;
// A kernel may read up to one 32-byte block past an unaligned tail.
constexpr size_t kZeroedBySystem = 64u << 20;  // above malloc's largest mmap threshold
constexpr size_t kTailSlack = 64;

std::shared_timed_mutex map_mutex;
std::map<uintptr_t, Allocation>& Map() {
    static auto* map = new std::map<uintptr_t, Allocation>;  // never destroyed: used at exit
    return *map;
}

std::mutex budget_mutex;
std::map<int32_t, uint64_t>& Used() {
    static auto* used = new std::map<int32_t, uint64_t>;
    return *used;
}

// Bytes the host could still give, from /proc/meminfo; 0 when unknown.
uint64_t HostAvailable() {
    FILE* file = std::fopen("/proc/meminfo", "r");
    if (file == nullptr) return 0;
    char line[256];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof line, file) != nullptr) {
        if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
    }
    std::fclose(file);
    return kib * 1024;
}

const char* PlaceName(Place place) {
    return place == Place::kDevice ? "device" : place == Place::kHost ? "pinned host" : "unknown";
}

int Allocate(void** out, size_t size, Place place, const char* api) {
    if (out == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: null output pointer", api);
    if (size == 0) return Fail(ACL_ERROR_INVALID_PARAM, "%s: size 0", api);
    int32_t device = 0;
    if (place == Place::kDevice) {
        Context* context = CurrentContext();
        if (context == nullptr) {
            return Fail(ACL_ERROR_RT_CONTEXT_NULL,
                        "%s: this thread has no device; call aclrtSetDevice first", api);
        }
        device = context->device;
        if (!TakeBudget(device, size, api)) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
    const bool shareable = place == Place::kDevice && IsShareable(size);
    size_t alignment = place == Place::kDevice ? kDeviceAlignment : kHostAlignment;
    size_t room = size;
    if (shareable) {
        alignment = PageBytes();
        room = (size + alignment - 1) / alignment * alignment;
    }
    void* pointer = nullptr;
    if (posix_memalign(&pointer, alignment, room + kTailSlack) != 0) {
        if (place == Place::kDevice) GiveBudget(device, size);
        return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: the host has no %zu bytes left", api,
                    size);
    }
    // A process finds its first device memory zeroed; larger blocks come zeroed from the system.
    if (place == Place::kDevice && size < kZeroedBySystem)
        std::memset(pointer, 0, size + kTailSlack);
    RegisterRange(pointer, size, place, device);
    if (place == Place::kDevice && opgen_register_gm != nullptr) {
        opgen_register_gm(pointer, size, "");
        if (opgen_gm_fresh != nullptr) opgen_gm_fresh(pointer, size);
    }
    *out = pointer;
    return ACL_SUCCESS;
}

int Release(void* pointer, Place place, const char* api) {
    if (place == Place::kDevice && IsImported(pointer)) {
        return Fail(ACL_ERROR_INVALID_PARAM,
                    "%s: %p belongs to another process; call aclrtIpcMemClose", api, pointer);
    }
    Allocation found;
    {
        std::unique_lock<std::shared_timed_mutex> lock(map_mutex);
        auto entry = Map().find(reinterpret_cast<uintptr_t>(pointer));
        if (entry == Map().end() || entry->second.place != place) {
            lock.unlock();
            const bool unknown = FindAllocation(pointer).place == Place::kUnknown;
            const char* const hint = unknown
                                         ? " (freed twice, or not from this API?)"
                                         : " (it points into one, or to the other kind of memory)";
            // Freeing nothing is refused too, and cleanup code does so on purpose.
            if (opgen_gm_bad_free != nullptr && pointer != nullptr) {
                const std::string text = std::string(api) + " of what is not the start of a live " +
                                         PlaceName(place) + " allocation" + hint;
                opgen_gm_bad_free(api, text.c_str());
            }
            return Fail(ACL_ERROR_INVALID_PARAM,
                        "%s: %p is not the start of a live %s allocation%s", api, pointer,
                        PlaceName(place), hint);
        }
        found = entry->second;
        Map().erase(entry);
    }
    if (place == Place::kDevice) {
        GiveBudget(found.device, found.size);
        if (opgen_gm_released != nullptr) opgen_gm_released(pointer);
        if (opgen_gm_filled != nullptr) opgen_gm_filled(pointer, found.size);
        if (opgen_unregister_gm != nullptr) opgen_unregister_gm(pointer);
        EndSharing(pointer);
    }
    std::free(pointer);
    return ACL_SUCCESS;
}

// Checks that [pointer, pointer + count) may be used as `wanted` memory.
int CheckRange(const void* pointer, size_t count, Place wanted, const char* api,
               const char* operand) {
    Allocation found = FindAllocation(pointer);
    if (wanted == Place::kDevice && found.place != Place::kDevice) {
        return Fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%s: the %s %p is not inside any live device allocation", api, operand,
                    pointer);
    }
    if (wanted == Place::kHost && found.place == Place::kDevice) {
        return Fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%s: the %s %p is device memory, the copy kind says host memory", api, operand,
                    pointer);
    }
    if (found.place == Place::kUnknown) return ACL_SUCCESS;  // ordinary host memory: no bounds
    uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - found.base;
    if (offset + count > found.size) {
        return Fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%s: %zu bytes at offset %zu of the %s overrun its %s allocation of %zu bytes",
                    api, count, static_cast<size_t>(offset), operand, PlaceName(found.place),
                    found.size);
    }
    return ACL_SUCCESS;
}

int CheckCopy(const void* dst, const void* src, size_t count, aclrtMemcpyKind kind,
              const char* api) {
    Place to = Place::kUnknown;
    Place from = Place::kUnknown;
    switch (static_cast<int>(kind)) {
        case ACL_MEMCPY_HOST_TO_HOST:
            to = from = Place::kHost;
            break;
        case ACL_MEMCPY_HOST_TO_DEVICE:
        case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
            to = Place::kDevice;
            from = Place::kHost;
            break;
        case ACL_MEMCPY_DEVICE_TO_HOST:
            to = Place::kHost;
            from = Place::kDevice;
            break;
        case ACL_MEMCPY_DEVICE_TO_DEVICE:
        case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
        case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
            to = from = Place::kDevice;
            break;
        case ACL_MEMCPY_DEFAULT:
            break;
        default:
            return Fail(ACL_ERROR_INVALID_PARAM, "%s: unknown copy kind %d", api,
                        static_cast<int>(kind));
    }
    if (int code = CheckRange(dst, count, to, api, "destination")) return code;
    return CheckRange(src, count, from, api, "source");
}

int Copy(void* dst, size_t dst_max, const void* src, size_t count, aclrtMemcpyKind kind,
         const char* api) {
    if (count == 0) return ACL_SUCCESS;
    if (dst == nullptr || src == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: null %s", api, dst == nullptr ? "dst" : "src");
    }
    if (count > dst_max) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: count %zu exceeds destMax %zu", api, count,
                    dst_max);
    }
    if (int code = CheckCopy(dst, src, count, kind, api)) return code;
    std::memmove(dst, src, count);
    if (opgen_gm_filled != nullptr && opgen_gm_fetched != nullptr) {
        const bool toDevice = FindAllocation(dst).place == Place::kDevice;
        if (toDevice) opgen_gm_filled(dst, count);
        // What stays on the device may be padding that nobody will look at.
        if (!toDevice) opgen_gm_fetched(src, count);
    }
    return ACL_SUCCESS;
}

int Copy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
           aclrtMemcpyKind kind, const char* api) {
    if (width > dpitch || width > spitch) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: width %zu exceeds a pitch (%zu, %zu)", api, width,
                    dpitch, spitch);
    }
    for (size_t row = 0; row < height; ++row) {
        int code = Copy(static_cast<char*>(dst) + row * dpitch, width,
                        static_cast<const char*>(src) + row * spitch, width, kind, api);
        if (code != ACL_SUCCESS) return code;
    }
    return ACL_SUCCESS;
}

int Fill(void* pointer, size_t max_count, int32_t value, size_t count, const char* api) {
    if (count == 0) return ACL_SUCCESS;
    if (pointer == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", api);
    if (count > max_count) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: count %zu exceeds maxCount %zu", api, count,
                    max_count);
    }
    if (int code = CheckRange(pointer, count, Place::kUnknown, api, "destination")) return code;
    std::memset(pointer, value, count);
    if (opgen_gm_filled != nullptr) opgen_gm_filled(pointer, count);
    return ACL_SUCCESS;
}

// Runs `task` as the stream's next task.
template <typename Task>
int OnStream(aclrtStream stream, const char* api, Task task) {
    Stream* found = ResolveStream(stream, api);
    if (found == nullptr) {
        return stream == nullptr ? ACL_ERROR_RT_CONTEXT_NULL : ACL_ERROR_RT_INVALID_HANDLE;
    }
    std::lock_guard<std::recursive_mutex> run(found->run);
    if (found->capture != nullptr) {
        found->capture->tasks.push_back({api, task});
        return ACL_SUCCESS;
    }
    return task();
}

}  // namespace

Allocation FindAllocation(const void* pointer) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    std::shared_lock<std::shared_timed_mutex> lock(map_mutex);
    auto after = Map().upper_bound(address);
    if (after == Map().begin()) return {};
    const Allocation& candidate = std::prev(after)->second;
    return address - candidate.base < candidate.size ? candidate : Allocation{};
}

void RegisterRange(void* base, size_t size, Place place, int32_t device) {
    std::unique_lock<std::shared_timed_mutex> lock(map_mutex);
    auto address = reinterpret_cast<uintptr_t>(base);
    Map()[address] = Allocation{place, device, address, size};
}

void UnregisterRange(void* base) {
    std::unique_lock<std::shared_timed_mutex> lock(map_mutex);
    Map().erase(reinterpret_cast<uintptr_t>(base));
}

bool TakeBudget(int32_t device, size_t size, const char* api) {
    constexpr size_t kWorthAsking = 64 * 1024 * 1024;
    std::lock_guard<std::mutex> lock(budget_mutex);
    uint64_t& used = Used()[device];
    uint64_t total = DeviceMemoryBytes();
    if (size > total || used > total - size) {
        Fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
             "%s: out of device memory: %zu bytes wanted, %llu of %llu in use on device %d "
             "(OPGEN_NPU_MEMORY sets the size)",
             api, size, static_cast<unsigned long long>(used),
             static_cast<unsigned long long>(total), device);
        return false;
    }
    // The kernel would overcommit and kill the process later; refuse while an error still helps.
    if (size >= kWorthAsking) {
        uint64_t available = HostAvailable();
        if (available != 0 && size > available) {
            Fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                 "%s: %zu bytes wanted, but this host has only %llu bytes of free memory to "
                 "emulate the device with",
                 api, size, static_cast<unsigned long long>(available));
            return false;
        }
    }
    used += size;
    return true;
}

void GiveBudget(int32_t device, size_t size) {
    std::lock_guard<std::mutex> lock(budget_mutex);
    uint64_t& used = Used()[device];
    used -= size < used ? size : used;
}

}  // namespace opgen_runtime

using namespace opgen_runtime;  // NOLINT: the C entry points below are thin

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return Allocate(devPtr, size, Place::kDevice, "aclrtMalloc");
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return Allocate(devPtr, size, Place::kDevice, "aclrtMallocAlign32");
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return Allocate(devPtr, size, Place::kDevice, "aclrtMallocCached");
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy, aclrtMallocConfig*) {
    return Allocate(devPtr, size, Place::kDevice, "aclrtMallocWithCfg");
}

aclError aclrtFree(void* devPtr) { return Release(devPtr, Place::kDevice, "aclrtFree"); }

aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return Allocate(hostPtr, size, Place::kHost, "aclrtMallocHost");
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig*) {
    return Allocate(ptr, size, Place::kHost, "aclrtMallocHostWithCfg");
}

aclError aclrtFreeHost(void* hostPtr) { return Release(hostPtr, Place::kHost, "aclrtFreeHost"); }

// Host memory is coherent: there is nothing to flush or to invalidate.
aclError aclrtMemFlush(void* devPtr, size_t size) {
    return CheckRange(devPtr, size, Place::kDevice, "aclrtMemFlush", "range");
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
    return CheckRange(devPtr, size, Place::kDevice, "aclrtMemInvalidate", "range");
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
    return Copy(dst, destMax, src, count, kind, "aclrtMemcpy");
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
    return OnStream(stream, "aclrtMemcpyAsync",
                    [=] { return Copy(dst, destMax, src, count, kind, "aclrtMemcpyAsync"); });
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
    return aclrtMemcpyAsync(dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
    return Copy2d(dst, dpitch, src, spitch, width, height, kind, "aclrtMemcpy2d");
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
    return OnStream(stream, "aclrtMemcpy2dAsync", [=] {
        return Copy2d(dst, dpitch, src, spitch, width, height, kind, "aclrtMemcpy2dAsync");
    });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return Fill(devPtr, maxCount, value, count, "aclrtMemset");
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
    return OnStream(stream, "aclrtMemsetAsync",
                    [=] { return Fill(devPtr, maxCount, value, count, "aclrtMemsetAsync"); });
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
    if (free == nullptr || total == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: null argument");
    }
    Context* context = CurrentContext();
    if (context == nullptr) {
        return Fail(ACL_ERROR_RT_CONTEXT_NULL,
                    "aclrtGetMemInfo: this thread has no device; call aclrtSetDevice first");
    }
    std::lock_guard<std::mutex> lock(budget_mutex);
    *total = DeviceMemoryBytes();
    uint64_t used = Used()[context->device];
    *free = used < *total ? *total - used : 0;
    return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
    if (attributes == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtPointerGetAttributes: null attributes");
    }
    Allocation found = FindAllocation(ptr);
    std::memset(attributes, 0, sizeof *attributes);
    attributes->location.id = static_cast<uint32_t>(found.device);
    attributes->location.type = found.place == Place::kDevice ? ACL_MEM_LOCATION_TYPE_DEVICE
                                : found.place == Place::kHost ? ACL_MEM_LOCATION_TYPE_HOST
                                                              : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    attributes->pageSize = 4096;
    return ACL_SUCCESS;
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType, void** devPtr) {
    if (ptr == nullptr || devPtr == nullptr || size == 0) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtHostRegister: null pointer or size 0");
    }
    RegisterRange(ptr, size, Place::kHost, 0);
    *devPtr = ptr;
    return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void* ptr) {
    Allocation found = FindAllocation(ptr);
    if (found.place != Place::kHost || found.base != reinterpret_cast<uintptr_t>(ptr)) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtHostUnregister: %p is not registered", ptr);
    }
    UnregisterRange(ptr);
    return ACL_SUCCESS;
}

}  // extern "C"
