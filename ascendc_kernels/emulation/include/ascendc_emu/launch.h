// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Running a kernel on all its blocks.
#ifndef ASCENDC_EMU_LAUNCH_H
#define ASCENDC_EMU_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How the blocks of a kernel map to cores. AUTO: KERNEL_TASK_TYPE* inside the kernel decides, else
// the instructions of the kernel (SuggestKind, or a constant opgen_kind_<entry> beside the entry),
// else AIV only on split architectures. AUTO_MIX: the same, but 1 AIC + 2 AIV in the end.
typedef enum OpgenKernelKind {
    OPGEN_KERNEL_AUTO = 0,
    OPGEN_KERNEL_AIV_ONLY = 1,
    OPGEN_KERNEL_AIC_ONLY = 2,
    OPGEN_KERNEL_MIX_AIV_1_0 = 3,
    OPGEN_KERNEL_MIX_AIC_1_0 = 4,
    OPGEN_KERNEL_MIX_AIC_1_1 = 5,
    OPGEN_KERNEL_MIX_AIC_1_2 = 6,
    OPGEN_KERNEL_AUTO_MIX = 7,
} OpgenKernelKind;

typedef enum OpgenMode {
    OPGEN_MODE_DEFAULT = 0,
    OPGEN_MODE_FAST = 1,
    OPGEN_MODE_CHECK = 2,
    OPGEN_MODE_PROFILE = 3
} OpgenMode;

typedef enum OpgenGmKind {
    OPGEN_GM_INPUT = 0,
    OPGEN_GM_OUTPUT = 1,
    OPGEN_GM_INOUT = 2,
    OPGEN_GM_WORKSPACE = 3,
    OPGEN_GM_TILING = 4,
    OPGEN_GM_OTHER = 5,
    // or'ed to one of the above: memory of the same storage follows
    OPGEN_GM_SLICE = 0x100,
    // or'ed to OUTPUT: a kernel need not write all of it (the kernel tells its
    // shape, or it is padded to blocks); it need not write any of it
    OPGEN_GM_PARTIAL = 0x200,
    OPGEN_GM_OPTIONAL = 0x400
} OpgenGmKind;

// A range of global memory the kernel may touch. With no ranges given GM is not bounded.
typedef struct OpgenGmRange {
    void* data;
    uint64_t bytes;
    const char* name;  // parameter name for reports
    int32_t kind;      // OpgenGmKind
    int32_t item;      // bytes of an element; 0: not known
} OpgenGmRange;

typedef struct OpgenLaunch {
    // Either entry (a kernel taking num_args pointer-sized arguments) ...
    void* entry;
    void* const* args;
    int32_t num_args;
    // ... or body(context), called once per core; used when entry is null.
    void (*body)(void* context);
    void* context;

    const char* name;  // kernel name for reports
    const char* soc;   // NULL: OPGEN_SOC or the default
    int32_t kind;      // OpgenKernelKind
    int32_t mode;      // OpgenMode; DEFAULT: opgen_set_mode / OPGEN_EMULATION / fast
    uint32_t block_dim;
    uint64_t tiling_key;
    const void* tiling_data;
    uint64_t tiling_size;
    void* workspace;  // what GetSysWorkSpacePtr() returns
    const OpgenGmRange* ranges;
    int32_t num_ranges;
    // Kernels compiled once per core kind (g_coreType constant): the AIC entry; NULL: a function
    // opgen_aic_<entry> beside the entry, else `entry`.
    void* entry_aic;
    int32_t threads;  // 0: OPGEN_THREADS or the number of CPUs
} OpgenLaunch;

// Run all blocks; returns 0, or 1 with opgen_launch_error() telling why (trap, deadlock, assertion,
// bad block dim). Thread-safe: launches are serialised.
int opgen_run_kernel(const OpgenLaunch* launch);
const char* opgen_launch_error(void);

// Wall time of the last launch in seconds and the kind that was really used.
double opgen_launch_seconds(void);
int opgen_launch_kind(void);
// How many cores of the last launch had work, and how many tiles the one with most had: tensors
// that its busiest queue gave out, or copies to GM where no queue is used.
void opgen_launch_work(uint32_t* cores, uint32_t* tiles);

// Free-standing GM allocations known to every later launch (aclrtMalloc): name may be NULL.
void opgen_register_gm(void* data, uint64_t bytes, const char* name);
void opgen_unregister_gm(void* data);
// What the host does with registered memory, for check mode: it has just been allocated and holds
// no data, the host has written to it, the host reads it.
void opgen_gm_fresh(void* data, uint64_t bytes);
void opgen_gm_filled(void* data, uint64_t bytes);
void opgen_gm_fetched(const void* data, uint64_t bytes);
// It is freed; something is freed that is no allocation; the program ends.
void opgen_gm_released(void* data);
void opgen_gm_bad_free(const char* api, const char* problem);
void opgen_gm_exit(void);

// Current mode (OpgenMode) when a launch says DEFAULT. Changed by opgen_set_mode() (op_runtime.h).
int opgen_default_mode(void);

#ifdef __cplusplus
}

namespace ascendc_emu {

class Sink;

// Where the kind of a running kernel comes from; a later one wins over an earlier one.
enum class KindSource : uint8_t {
    kNone,     // the architecture's usual kind
    kGuess,    // the kernel used a unit that only another kind has
    kDefault,  // KERNEL_TASK_TYPE_DEFAULT
    kKey,      // KERNEL_TASK_TYPE of the tiling key
    kLaunch,   // the host
};

// What a sink learns about a launch.
struct LaunchInfo {
    const OpgenLaunch* launch;
    int32_t kind;   // resolved OpgenKernelKind
    int32_t cores;  // number of Core objects that will run
    const char* name;
    const struct SocInfo* soc;
    const OpgenGmRange* ranges;  // launch ranges plus registered allocations
    int32_t numRanges;
};

// The kind that an AUTO launch of `body` (or an entry) starts as, until a KERNEL_TASK_TYPE in it
// says otherwise.
void SuggestKind(void* body, int kind);

// The sink of check (profile) mode: a factory registered by the sanitizer (profiler) at library
// load. It is called once per launch; the sink is destroyed after OnLaunchEnd.
using SinkFactory = Sink* (*)();
void SetSinkFactory(int mode, SinkFactory factory);

}  // namespace ascendc_emu
#endif
#endif  // ASCENDC_EMU_LAUNCH_H
