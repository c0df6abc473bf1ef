// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Internal state of the emulated libascendcl: devices, contexts, streams, events, allocations,
// libraries of kernels.
// One process has one instance of it; everything here is thread-safe unless said otherwise.
#ifndef OPGEN_RUNTIME_ASCENDCL_STATE_H
#define OPGEN_RUNTIME_ASCENDCL_STATE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ascendc_emu/runtime_kernel.h"

namespace opgen_runtime {

// One row of the platform table (generated from platform_facts.csv when the library is built).
// A size of 0 means the table does not know it.
struct SocRow {
    const char* name;  // as aclrtGetSocName returns it, e.g. "Ascend910B3"
    int ai_cores;      // AI cores (cube cores on split architectures)
    int cube_cores;
    int vector_cores;
    int ai_cpus;
    uint64_t ub_bytes;  // per vector core
    uint64_t l2_bytes;
    uint64_t memory_bytes;
    int npu_arch;  // e.g. 2201
};

// What was captured on streams (aclmdlRICaptureBegin): run in this order, which is that of the
// calls.
struct ModelRI {
    struct Task {
        const char* name;
        std::function<int()> run;
    };
    std::vector<Task> tasks;
    bool open = true;  // until aclmdlRICaptureEnd
};

struct Stream {
    int32_t id = 0;
    int32_t device = 0;
    uint32_t priority = 0;
    uint32_t flags = 0;
    uint32_t overflow_switch = 0;
    // Tasks run in the caller's thread; this keeps tasks of several callers apart.
    std::recursive_mutex run;
    uint64_t report_thread = 0;  // pthread id that processes this stream's callbacks
    bool has_report_thread = false;
    ModelRI* capture = nullptr;  // tasks go there instead of running
};

struct Event {
    uint32_t id = 0;
    uint32_t flags = 0;
    bool recorded = false;
    int64_t nanoseconds = 0;
    ModelRI* capture = nullptr;  // recorded while its stream was captured: a waiting stream joins
};

struct Context {
    int32_t device = 0;
    Stream* default_stream = nullptr;
};

// Stores printf-style text for aclGetRecentErrMsg and returns code.
int Fail(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// A string attribute of an aclop operator, "" when it has none of that name.
const char* StringAttr(const aclopAttr* attr, const char* name);

// The SoC this process emulates (OPGEN_SOC), resolved once. Null when the name is unknown; then
// the error is already stored.
const SocRow* CurrentSoc();
int DeviceCount();
uint64_t DeviceMemoryBytes();

// The calling thread's context, or null.
Context* CurrentContext();
// The stream a handle means (null: the context's default stream); null when it is not a live
// stream, with the error stored.
Stream* ResolveStream(aclrtStream handle, const char* api);
Stream* NewStream(int32_t device, uint32_t priority, uint32_t flags);
void DeleteStream(Stream* stream);
// Streams and events that belong to the capture no longer do.
void LeaveCapture(ModelRI* model);
Event* ResolveEvent(aclrtEvent handle, const char* api);

// Where a pointer lies.
enum class Place { kUnknown, kDevice, kHost };
struct Allocation {
    Place place = Place::kUnknown;
    int32_t device = 0;
    uintptr_t base = 0;
    size_t size = 0;
};
Allocation FindAllocation(const void* pointer);
// Adds or removes an address range that somebody else owns (mapped virtual memory).
void RegisterRange(void* base, size_t size, Place place, int32_t device);
void UnregisterRange(void* base);
// Device memory of several processes (shared_memory.cpp): allocations of such a size begin at a
// page and have their pages for themselves, so that they can be shared later.
bool IsShareable(size_t size);
size_t PageBytes();
// The allocation is freed: what other processes have of it stays as it is.
void EndSharing(void* base);
// It belongs to another process: aclrtIpcMemClose gives it back.
bool IsImported(const void* base);
// Takes bytes from a device's budget; false (nothing taken, error stored) when it does not fit.
bool TakeBudget(int32_t device, size_t size, const char* api);
void GiveBudget(int32_t device, size_t size);

// Libraries of kernels that were compiled at run time, and their functions.

// What an aclrtFuncHandle points to.
struct Function {
    std::string name;
    const OpgenRuntimeKernel* kernel;
    void* binary;
};

// The function of a handle; null, with the error stored, when it is not one of a loaded binary.
const Function* ResolveFunction(const void* handle, const char* api);

// The table of a library; null, with the error stored, when it is no such library. It stays loaded:
// launches that are still kept (a captured stream) may need it.
const OpgenRuntimeKernel* OpenKernels(const std::string& path, const char* api);

// The name of the kernel's function as the linker has it; its own name when it has C linkage.
std::string LinkName(const OpgenRuntimeKernel& kernel);

// Where a temporary file or folder goes, as mkstemp and mkdtemp take it.
std::string TemporaryPattern(const char* name);
// The bytes of a file; false: it cannot be read.
bool ReadFile(const std::string& path, std::string* content);

// Remembers where a library with this content lies, so that loading it needs no copy.
void RememberBinary(const std::string& content, const std::string& path);

}  // namespace opgen_runtime

#endif  // OPGEN_RUNTIME_ASCENDCL_STATE_H
