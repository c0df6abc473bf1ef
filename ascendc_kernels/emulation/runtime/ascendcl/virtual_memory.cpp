// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reserved addresses and the physical memory that is mapped to them.
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "state.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x0001U
#endif

namespace opgen_runtime {
namespace {

constexpr size_t kGranularity = 2 * 1024 * 1024;

struct Physical {
    int fd = -1;
    size_t size = 0;
    int32_t device = 0;
};

std::mutex virtual_mutex;
std::map<void*, size_t>& Reserved() {
    static auto* reserved = new std::map<void*, size_t>;
    return *reserved;
}
std::map<void*, size_t>& Mapped() {
    static auto* mapped = new std::map<void*, size_t>;
    return *mapped;
}

}  // namespace
}  // namespace opgen_runtime

using namespace opgen_runtime;  // NOLINT: the C entry points below are thin

extern "C" {

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp*, aclrtMemGranularityOptions,
                                          size_t* granularity) {
    if (granularity == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMemGetAllocationGranularity: null output");
    }
    *granularity = kGranularity;
    return ACL_SUCCESS;
}

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t, void*, uint64_t) {
    if (virPtr == nullptr || size == 0) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtReserveMemAddress: null pointer or size 0");
    }
    // mmap aligns to a page only; reserve one granule more and give back what sticks out.
    size_t padded = size + kGranularity;
    void* raw =
        mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                    "aclrtReserveMemAddress: no %zu bytes of address space", size);
    }
    auto begin = reinterpret_cast<uintptr_t>(raw);
    uintptr_t aligned = (begin + kGranularity - 1) / kGranularity * kGranularity;
    if (aligned != begin) munmap(raw, aligned - begin);
    uintptr_t end = aligned + size;
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    end = (end + page - 1) / page * page;
    if (begin + padded > end) munmap(reinterpret_cast<void*>(end), begin + padded - end);
    *virPtr = reinterpret_cast<void*>(aligned);
    std::lock_guard<std::mutex> lock(virtual_mutex);
    Reserved()[*virPtr] = end - aligned;
    return ACL_SUCCESS;
}

aclError aclrtReleaseMemAddress(void* virPtr) {
    std::lock_guard<std::mutex> lock(virtual_mutex);
    auto found = Reserved().find(virPtr);
    if (found == Reserved().end()) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtReleaseMemAddress: %p was not reserved", virPtr);
    }
    munmap(virPtr, found->second);
    Reserved().erase(found);
    return ACL_SUCCESS;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* prop, uint64_t) {
    if (handle == nullptr || prop == nullptr || size == 0) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocPhysical: null pointer or size 0");
    }
    auto device = static_cast<int32_t>(prop->location.id);
    if (!TakeBudget(device, size, "aclrtMallocPhysical")) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    int fd = memfd_create("opgen-npu", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) {
        if (fd >= 0) close(fd);
        GiveBudget(device, size);
        return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                    "aclrtMallocPhysical: the host has no %zu bytes left", size);
    }
    auto* physical = new Physical;
    physical->fd = fd;
    physical->size = size;
    physical->device = device;
    *handle = physical;
    return ACL_SUCCESS;
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
    if (handle == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtFreePhysical: null handle");
    auto* physical = static_cast<Physical*>(handle);
    close(physical->fd);
    GiveBudget(physical->device, physical->size);
    delete physical;
    return ACL_SUCCESS;
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t) {
    if (virPtr == nullptr || handle == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMapMem: null argument");
    }
    auto* physical = static_cast<Physical*>(handle);
    if (offset + size > physical->size) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMapMem: %zu bytes at %zu exceed the %zu given",
                    size, offset, physical->size);
    }
    void* mapped = mmap(virPtr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->fd,
                        static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) {
        return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMapMem: mapping %zu bytes failed", size);
    }
    RegisterRange(virPtr, size, Place::kDevice, physical->device);
    std::lock_guard<std::mutex> lock(virtual_mutex);
    Mapped()[virPtr] = size;
    return ACL_SUCCESS;
}

aclError aclrtUnmapMem(void* virPtr) {
    std::lock_guard<std::mutex> lock(virtual_mutex);
    auto found = Mapped().find(virPtr);
    if (found == Mapped().end()) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtUnmapMem: %p is not mapped", virPtr);
    }
    UnregisterRange(virPtr);
    // Keep the addresses reserved, as the API promises, but give the pages back.
    mmap(virPtr, found->second, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    Mapped().erase(found);
    return ACL_SUCCESS;
}

}  // extern "C"
