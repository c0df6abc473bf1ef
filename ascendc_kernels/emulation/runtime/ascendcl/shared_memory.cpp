// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Device memory that several processes use, as torch.multiprocessing and DataLoader workers share
// tensors. An allocation becomes shared where it lies: a file in memory takes its place. Another
// process of the same user opens the file through /proc.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "state.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x0001U
#endif

// Where the kernel emulation is part of the process, it bounds kernels by the live allocations.
extern "C" {
__attribute__((weak)) void opgen_register_gm(void* data, uint64_t bytes, const char* name);
__attribute__((weak)) void opgen_unregister_gm(void* data);
__attribute__((weak)) void opgen_gm_filled(void* data, uint64_t bytes);
}

namespace opgen_runtime {
namespace {

struct Export {
    int fd = -1;
    size_t bytes = 0;  // whole pages
    std::string key;
};
struct Import {
    void* base = nullptr;
    size_t bytes = 0;
};

std::mutex shared_mutex;
std::map<uintptr_t, Export>& Exports() {
    static auto* exports = new std::map<uintptr_t, Export>;  // never destroyed: used at exit
    return *exports;
}
std::map<std::string, Import>& Imports() {
    static auto* imports = new std::map<std::string, Import>;
    return *imports;
}

bool WriteAll(int fd, const char* data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = pwrite(fd, data + done, bytes - done, static_cast<off_t>(done));
        if (count <= 0) return false;
        done += static_cast<size_t>(count);
    }
    return true;
}

}  // namespace

bool IsShareable(size_t size) { return size >= (1u << 20); }

size_t PageBytes() {
    static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

bool IsImported(const void* base) {
    std::lock_guard<std::mutex> lock(shared_mutex);
    for (const auto& entry : Imports()) {
        if (entry.second.base == base) return true;
    }
    return false;
}

void EndSharing(void* base) {
    std::lock_guard<std::mutex> lock(shared_mutex);
    auto found = Exports().find(reinterpret_cast<uintptr_t>(base));
    if (found == Exports().end()) return;
    // The heap gets the addresses back: nobody else may see what it writes there.
    mmap(base, found->second.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
         -1, 0);
    close(found->second.fd);
    Exports().erase(found);
}

}  // namespace opgen_runtime

using namespace opgen_runtime;  // NOLINT: the C entry points below are thin

extern "C" {

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t) {
    const char* const api = "aclrtIpcMemGetExportKey";
    if (key == nullptr || size == 0)
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: null key or size 0", api);
    const Allocation found = FindAllocation(devPtr);
    const auto address = reinterpret_cast<uintptr_t>(devPtr);
    if (found.place != Place::kDevice || found.base != address || size > found.size) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: %p with %zu bytes is not a device allocation",
                    api, devPtr, size);
    }
    if (!IsShareable(found.size) || found.base % PageBytes() != 0) {
        return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "%s: allocations below 1 MiB and mapped ones cannot be shared in the emulation",
                    api);
    }
    std::lock_guard<std::mutex> lock(shared_mutex);
    Export& shared = Exports()[found.base];
    if (shared.fd < 0) {
        const size_t page = PageBytes();
        const size_t bytes = (found.size + page - 1) / page * page;
        const int fd = static_cast<int>(memfd_create("opgen-npu", MFD_CLOEXEC));
        const bool filled = fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
                            WriteAll(fd, static_cast<const char*>(devPtr), bytes);
        if (!filled || mmap(devPtr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
                           MAP_FAILED) {
            if (fd >= 0) close(fd);
            Exports().erase(found.base);
            return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                        "%s: the host has no memory for %zu shared bytes", api, bytes);
        }
        shared.fd = fd;
        shared.bytes = bytes;
        shared.key = "opgen:" + std::to_string(getpid()) + ":" + std::to_string(fd) + ":" +
                     std::to_string(found.size);
    }
    if (shared.key.size() + 1 > len) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: a key needs %zu bytes", api,
                    shared.key.size() + 1);
    }
    std::memset(key, 0, len);
    std::memcpy(key, shared.key.c_str(), shared.key.size());
    return ACL_SUCCESS;
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t) {
    const char* const api = "aclrtIpcMemImportByKey";
    if (devPtr == nullptr || key == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: null argument", api);
    Context* const context = CurrentContext();
    if (context == nullptr) {
        return Fail(ACL_ERROR_RT_CONTEXT_NULL,
                    "%s: this thread has no device; call aclrtSetDevice first", api);
    }
    int process = 0;
    int fd = 0;
    size_t size = 0;
    if (std::sscanf(key, "opgen:%d:%d:%zu", &process, &fd, &size) != 3 || size == 0) {
        return Fail(ACL_ERROR_INVALID_PARAM, "%s: '%s' is no key of the emulation", api, key);
    }
    std::lock_guard<std::mutex> lock(shared_mutex);
    Import& known = Imports()[key];
    if (known.base == nullptr) {
        const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(fd);
        const int own = open(path.c_str(), O_RDWR | O_CLOEXEC);
        void* const base =
            own < 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
        if (own >= 0) close(own);
        if (base == MAP_FAILED) {
            Imports().erase(key);
            return Fail(ACL_ERROR_INVALID_PARAM,
                        "%s: process %d, which shared the memory, has ended or has freed it", api,
                        process);
        }
        known = {base, size};
        RegisterRange(base, size, Place::kDevice, context->device);
        if (opgen_register_gm != nullptr) opgen_register_gm(base, size, "");
        if (opgen_gm_filled != nullptr) opgen_gm_filled(base, size);
    }
    *devPtr = known.base;
    return ACL_SUCCESS;
}

// Of the process that imported it. The one that exported it ends sharing by freeing the memory.
aclError aclrtIpcMemClose(const char* key) {
    if (key == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemClose: null key");
    std::lock_guard<std::mutex> lock(shared_mutex);
    auto found = Imports().find(key);
    if (found == Imports().end()) return ACL_SUCCESS;
    UnregisterRange(found->second.base);
    if (opgen_unregister_gm != nullptr) opgen_unregister_gm(found->second.base);
    munmap(found->second.base, found->second.bytes);
    Imports().erase(found);
    return ACL_SUCCESS;
}

// Any process of the user may import: there is no list to keep.
aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
    if (key == nullptr || (pid == nullptr && num > 0)) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemSetImportPid: null argument");
    }
    return ACL_SUCCESS;
}

}  // extern "C"
