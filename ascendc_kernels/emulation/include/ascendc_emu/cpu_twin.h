// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// CPU twin debugging (documentation group "CPU twin debugging" of the debug APIs): the memory and
// the launches of programs that call kernels directly. Public through tikicpulib.h.
#ifndef ASCENDC_EMU_CPU_TWIN_H
#define ASCENDC_EMU_CPU_TWIN_H

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ascendc_emu/core.h"
#include "ascendc_emu/launch.h"

// Which cores of a block run the kernel, page SetKernelMode; MIX_AIC_1_1 is in the header only.
enum class KernelMode { MIX_MODE = 0, AIC_MODE, AIV_MODE, MIX_AIC_1_1 };

namespace AscendC {
using ::KernelMode;

// Global memory of `size` bytes, zeroed, known to the sanitizer and shared with forked processes.
// Start address: a multiple of 4096. Null when the system has no memory left.
void* GmAlloc(size_t size);

// Frees what GmAlloc returned; null does nothing, any other address is reported and left alone.
void GmFree(void* ptr);

// Bytes of the allocation that starts at `addr`, 0 when GmAlloc did not return it.
uint64_t GmGetUserSize(uint64_t addr);

// The mode of all launches to come. MIX_MODE runs one AIC and two AIVs per block unless the
// kernel's KERNEL_TASK_TYPE says otherwise; before the first call the kernel alone decides (the
// documented default, MIX_MODE, would run a plain vector kernel on twice its cores). On unified
// cores: no effect.
void SetKernelMode(KernelMode mode);
}  // namespace AscendC

namespace ascendc_emu {

// Kind of the kernels of this program that say nothing themselves; `opgen run` sets it for programs
// whose kernels use the cube.
#ifndef OPGEN_TWIN_KIND
#define OPGEN_TWIN_KIND OPGEN_KERNEL_AUTO
#endif

// Tiling key of the launches to come. A function: a variable would be copied into the program.
uint64_t& TwinTilingKey();

// Runs body(context) on all cores of `blocks` blocks; a failure is printed and counted.
void RunTwinBody(const char* name, OpgenKernelKind undeclared, uint64_t blocks, void (*body)(void*),
                 void* context);

// Gives the index-th of the comma-separated texts in `names` to the GmAlloc'ed memory at `address`.
void NameTwinArgument(const char* names, int index, const void* address);

template <typename T>
void NameTwinArgument(const char* names, int index, const T& value) {
    if constexpr (std::is_pointer<T>::value && !std::is_function<std::remove_pointer_t<T>>::value) {
        NameTwinArgument(names, index, static_cast<const void*>(value));
    }
}

template <typename Call, typename... Args>
void RunTwin(const char* name, OpgenKernelKind undeclared, uint64_t blocks, const char* names,
             const Call& call, const Args&... args) {
    [[maybe_unused]] int index = 0;
    (NameTwinArgument(names, index++, args), ...);
    RunTwinBody(
        name, undeclared, blocks,
        [](void* context) {
            Current().systemWorkspace = 0;  // GetUserWorkspace(): the argument as it is
            (*static_cast<const Call*>(context))();
        },
        const_cast<Call*>(&call));
}

}  // namespace ascendc_emu

// Page ICPU_SET_TILING_KEY: `tilingKey` is what TILING_KEY_IS compares with in later launches,
// until the next call.
#define ICPU_SET_TILING_KEY(tilingKey)                                     \
    do {                                                                   \
        ::ascendc_emu::TwinTilingKey() = static_cast<uint64_t>(tilingKey); \
    } while (0)
#define g_tilingKey (::ascendc_emu::TwinTilingKey())

// Page ICPU_RUN_KF: func(args...) on `numBlocks` blocks. The arguments are evaluated once per core.
#define ICPU_RUN_KF(func, numBlocks, ...)                                       \
    ::ascendc_emu::RunTwin(                                                     \
        #func, OPGEN_TWIN_KIND, static_cast<uint64_t>(numBlocks), #__VA_ARGS__, \
        [&] { func(__VA_ARGS__); }, ##__VA_ARGS__)

#endif  // ASCENDC_EMU_CPU_TWIN_H
