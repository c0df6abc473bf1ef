// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// In front of the C library's header: a failing assert() of a kernel fails its launch, as on the
// device, and the process goes on. Outside kernels it still aborts. Like the original it may be
// included again and again.
#include_next <assert.h>

#if defined(__cplusplus) && !defined(NDEBUG)
#ifndef OPGEN_ASSERT_H
#define OPGEN_ASSERT_H
namespace ascendc_emu {
void AssertFailed(const char* condition, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
template <typename Condition>
constexpr void CheckAssert(const char* text, const char* file, int line,
                           const Condition& condition) {
    if (condition) return;
    AssertFailed(text, file, line, "%s", "");
}
// With a message and values, which the device prints.
template <typename Condition, typename... Args>
constexpr void CheckAssert(const char* text, const char* file, int line, const Condition& condition,
                           const char* format, const Args&... args) {
    if (condition) return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    AssertFailed(text, file, line, format, args...);
#pragma GCC diagnostic pop
}
}  // namespace ascendc_emu
#endif  // OPGEN_ASSERT_H
#undef assert
#define assert(...) ::ascendc_emu::CheckAssert(#__VA_ARGS__, __FILE__, __LINE__, __VA_ARGS__)
#endif
