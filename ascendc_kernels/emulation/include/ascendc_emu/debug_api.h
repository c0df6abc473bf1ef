// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Dumps by address, time stamps and profiling marks of the C style debugging interfaces. Source:
// asc-devkit docs, Utils-API / debugging interfaces.
#ifndef ASCENDC_EMU_DEBUG_API_H
#define ASCENDC_EMU_DEBUG_API_H

#include "ascendc_emu/system_api.h"

namespace ascendc_emu {
template <typename T>
inline void DumpPointer(const T* data, uint32_t desc, uint32_t count, const char* where) {
    DumpElements(data, kDTypeOf<T>, desc, count, nullptr, 0, where);
}
}  // namespace ascendc_emu

template <typename T>
inline void asc_dump_gm(T* input, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpPointer(input, desc, count, "GM");
}
template <typename T>
inline void asc_dump_ubuf(T* input, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpPointer(input, desc, count, "UB");
}
template <typename T>
inline void asc_dump_l1buf(T* input, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpPointer(input, desc, count, "L1");
}
template <typename T>
inline void asc_dump_cbuf(T* input, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpPointer(input, desc, count, "L0C");
}
template <typename T>
inline void asc_dump(T* input, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpPointer(input, desc, count, "memory");
}
// Marks for the device's profiler; no effect here.
inline void asc_time_stamp(uint32_t) {}
inline void asc_mark_stamp(uint32_t) {}
inline void asc_prof_start() {}
inline void asc_prof_stop() {}

#endif  // ASCENDC_EMU_DEBUG_API_H
