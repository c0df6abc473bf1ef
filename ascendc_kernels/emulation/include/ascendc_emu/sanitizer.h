// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The sanitizer of check mode: what it found, and its options. The sink itself registers at library
// load (see launch.h: SetSinkFactory); a launch in check mode needs nothing else.
#ifndef ASCENDC_EMU_SANITIZER_H
#define ASCENDC_EMU_SANITIZER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// JSON array of the findings of all launches since the last clear, "[]" when clean. Each entry:
//   check     npuchk's name of the broken rule ("ErrorSync2"), or ours where npuchk has none
//   severity  "error" or "warning" (suspicious, but results may be right)
//   what, why, fix   sentences
//   file, line, op   the kernel line; kernel: the launch's name
//   operand {role, memory, begin, end, name, dtype}   begin/end: bytes inside `name`
//   core {id, kind, block, sub_block}, pipe
//   other {op, file, line, pipe, core, access}   the conflicting access, if there is one
//   count     how often the same finding occurred
// The text stays valid until the next call on this thread.
const char* opgen_sanitizer_json(void);
// Findings of severity error / warning since the last clear.
uint64_t opgen_sanitizer_errors(void);
uint64_t opgen_sanitizer_warnings(void);
void opgen_sanitizer_clear(void);

// Options, "name=value"; also OPGEN_CHECK="auto-sync=off,uninit=on". Returns 0, 1 for an unknown
// name or value.
//   auto-sync=on|off   on (default): what the compiler inserts on its own (--cce-auto-sync, default
//                      in msopgen projects and <<<>>> builds) counts as synchronised: V after V,
//                      S with V, MTE2, MTE3 of one AIV. off: everything has to be in the source.
//                      project: off, but what the compiler would have added is missed as a warning;
//                      public kernels built so leave out some.
//   uninit=on|off      uninitialised reads (default on)
//   unwritten=on|off   bytes of an output that nobody has written (default on)
//   suspicious=on|off  warnings such as ErrorWrite3 (default on)
//   leak-check=off|on          programs: device memory that is still allocated at the end
//   unused-memory=off|on       programs: device memory that nobody has ever written
//   tail-write=warning|error   a GM write past the end of a tensor, inside the 32-byte block of its
//                      last byte (default warning: allocations are rounded up to that)
int opgen_sanitizer_option(const char* text);

#ifdef __cplusplus
}
#endif
#endif  // ASCENDC_EMU_SANITIZER_H
