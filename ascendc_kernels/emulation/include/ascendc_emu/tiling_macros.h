// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How a kernel gets its tiling data, tells its kind and reports: the documented macros.
#ifndef ASCENDC_EMU_TILING_MACROS_H
#define ASCENDC_EMU_TILING_MACROS_H

#include "ascendc_emu/launch.h"
#include "ascendc_emu/system_api.h"

namespace ascendc_emu {

// Copies a tiling struct (or a part of one) from the kernel's tiling argument. A struct longer than
// what the host wrote is a mismatch between host and kernel definitions and stops the launch.
void LoadTiling(void* dst, const void* src, uint64_t bytes, const char* type, Loc loc);

template <typename T>
struct TilingHolder {
    T value;
};

}  // namespace ascendc_emu

#ifndef TILING_KEY_IS
#define TILING_KEY_IS(key) (::ascendc_emu::g_current->tilingKey == static_cast<uint64_t>(key))
#endif
#ifndef TILING_KEY_LIST
#define TILING_KEY_LIST(key1, key2) (TILING_KEY_IS(key1) || TILING_KEY_IS(key2))
#endif
#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR (::ascendc_emu::g_current->tilingKey)
#endif

// Unit tests bring macros of these names in a header that every source sees first; theirs count.
//
// GET_TILING_DATA takes the struct registered by REGISTER_TILING_DEFAULT in scope. Sources in the
// BEGIN_TILING_DATA_DEF style get a global `OpgenDefaultTiling` from a generated header.
#ifndef REGISTER_TILING_DEFAULT
#define REGISTER_TILING_DEFAULT(type) using OpgenDefaultTiling [[maybe_unused]] = type
#endif
// REGISTER_TILING_FOR_TILINGKEY tells CANN's tools how long the data of a key is; the kernel itself
// names that struct in GET_TILING_DATA_WITH_STRUCT, and GET_TILING_DATA stays with the default one.
#ifndef REGISTER_TILING_FOR_TILINGKEY
#define REGISTER_TILING_FOR_TILINGKEY(condition, type) \
    static_assert(sizeof(type) >= 0, "tiling struct of " condition)
#endif
#ifndef REGISTER_NONE_TILING
#define REGISTER_NONE_TILING
#endif
#ifndef GET_TILING_DATA
#define GET_TILING_DATA(name, arg)                                     \
    OpgenDefaultTiling name;                                           \
    ::ascendc_emu::LoadTiling(&name, (const void*)(arg), sizeof(name), \
                              "the default tiling struct", ::ascendc_emu::Loc::Here())
#endif
#ifndef GET_TILING_DATA_WITH_STRUCT
#define GET_TILING_DATA_WITH_STRUCT(type, name, arg)                          \
    type name;                                                                \
    ::ascendc_emu::LoadTiling(&name, (const void*)(arg), sizeof(name), #type, \
                              ::ascendc_emu::Loc::Here())
#endif
#ifndef GET_TILING_DATA_MEMBER
#define GET_TILING_DATA_MEMBER(type, member, name, arg)                                 \
    decltype(((type*)nullptr)->member) name##OpgenRef;                                  \
    ::ascendc_emu::LoadTiling(                                                          \
        &name##OpgenRef, (const void*)((const uint8_t*)(arg) + offsetof(type, member)), \
        sizeof(name##OpgenRef), #type "::" #member, ::ascendc_emu::Loc::Here());        \
    auto& name = name##OpgenRef
#endif
#ifndef GET_TILING_DATA_PTR_WITH_STRUCT
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, name, arg) type* name = (type*)(arg)
#endif
#ifndef COPY_TILING_WITH_STRUCT
#define COPY_TILING_WITH_STRUCT(type, src, dst)      \
    const type dst##OpgenCopy = *(const type*)(src); \
    const type* dst = &dst##OpgenCopy
#endif
#ifndef COPY_TILING_WITH_ARRAY
#define COPY_TILING_WITH_ARRAY(type, length, src, dst)                         \
    ::ascendc_emu::TilingHolder<type[length]> dst##OpgenCopy;                  \
    memcpy(dst##OpgenCopy.value, (const void*)(src), sizeof(type) * (length)); \
    const type* dst = dst##OpgenCopy.value
#endif

// Kinds; values of OpgenKernelKind.
enum OpgenTaskType {
    KERNEL_TYPE_AIV_ONLY = OPGEN_KERNEL_AIV_ONLY,
    KERNEL_TYPE_AIC_ONLY = OPGEN_KERNEL_AIC_ONLY,
    KERNEL_TYPE_MIX_AIV_1_0 = OPGEN_KERNEL_MIX_AIV_1_0,
    KERNEL_TYPE_MIX_AIC_1_0 = OPGEN_KERNEL_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1 = OPGEN_KERNEL_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2 = OPGEN_KERNEL_MIX_AIC_1_2,
    KERNEL_TYPE_AICORE = OPGEN_KERNEL_AIV_ONLY,
    KERNEL_TYPE_VECTORCORE = OPGEN_KERNEL_AIV_ONLY,
    KERNEL_TYPE_MIX_AICORE = OPGEN_KERNEL_AIV_ONLY,
    KERNEL_TYPE_MIX_VECTOR_CORE = OPGEN_KERNEL_AIV_ONLY,
    KERNEL_TYPE_MAX = 7
};
#define OPGEN_DECLARE_KIND(kind, source) \
    ::ascendc_emu::DeclareKind(kind, ::ascendc_emu::KindSource::source, ::ascendc_emu::Loc::Here())
#define KERNEL_TASK_TYPE_DEFAULT(kind) OPGEN_DECLARE_KIND(kind, kDefault)
#define KERNEL_TASK_TYPE(key, kind)                             \
    do {                                                        \
        if (TILING_KEY_IS(key)) OPGEN_DECLARE_KIND(kind, kKey); \
    } while (0)
#define ENABLE_FEATURE_FOR_COMPILE(...)
#define ENABLE_PRINTF()
#define ENABLE_PRINTF_DUMP_SIZE()

enum OpgenLogLevel { KERNEL_DEBUG = 0, KERNEL_INFO, KERNEL_WARN, KERNEL_ERROR };
#define KERNEL_LOG(level, ...)                                       \
    do {                                                             \
        if ((level) >= KERNEL_ERROR) ::AscendC::PRINTF(__VA_ARGS__); \
    } while (0)

// ASSERT(condition) and ASSERT(condition, format, args...): a false condition stops the launch.
// A plain block: public kernels also write ASSERT(x) without a semicolon.
#define OPGEN_ASSERT_TEXT(condition, ...)                                             \
    {                                                                                 \
        if (!(condition))                                                             \
            ::ascendc_emu::AssertFailed(#condition, __FILE__, __LINE__, __VA_ARGS__); \
    }
#define OPGEN_ASSERT_1(condition) OPGEN_ASSERT_TEXT(condition, "%s", "")
#define OPGEN_ASSERT_N(condition, ...) OPGEN_ASSERT_TEXT(condition, __VA_ARGS__)
#define OPGEN_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, NAME, ...) NAME
#define OPGEN_ASSERT(...)                                                                      \
    OPGEN_PICK(__VA_ARGS__, OPGEN_ASSERT_N, OPGEN_ASSERT_N, OPGEN_ASSERT_N, OPGEN_ASSERT_N,    \
               OPGEN_ASSERT_N, OPGEN_ASSERT_N, OPGEN_ASSERT_N, OPGEN_ASSERT_N, OPGEN_ASSERT_N, \
               OPGEN_ASSERT_1)(__VA_ARGS__)
// OPGEN_OPEN_ASSERT: some source of the kernel lacks the semicolon before an ASSERT, which the
// device compiler's release builds never see; then the macro brings its own.
#ifndef ASSERT
#ifdef OPGEN_OPEN_ASSERT
#define ASSERT(...) \
    ;               \
    OPGEN_ASSERT(__VA_ARGS__)
#else
#define ASSERT(...) OPGEN_ASSERT(__VA_ARGS__)
#endif
#endif
#ifndef assert
#define assert(...) OPGEN_ASSERT(__VA_ARGS__)
#endif
#define ascendc_assert(...) OPGEN_ASSERT(__VA_ARGS__)
#ifndef ASSERT_MSG
#define ASSERT_MSG(...) OPGEN_ASSERT(__VA_ARGS__)
#endif
// Second argument: a block run when the condition fails, normally a KERNEL_LOG.
#define ASCENDC_ASSERT(condition, ...)                                             \
    {                                                                              \
        if (!(condition)) {                                                        \
            __VA_ARGS__;                                                           \
            ::ascendc_emu::AssertFailed(#condition, __FILE__, __LINE__, "%s", ""); \
        }                                                                          \
    }
#define TRACE_START(id)
#define TRACE_STOP(id)

#endif  // ASCENDC_EMU_TILING_MACROS_H
