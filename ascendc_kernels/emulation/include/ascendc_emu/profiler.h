// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What profile mode counts. The sink itself registers at library load (see launch.h:
// SetSinkFactory); a launch in profile mode needs nothing else.
#ifndef ASCENDC_EMU_PROFILER_H
#define ASCENDC_EMU_PROFILER_H

#ifdef __cplusplus
extern "C" {
#endif

// Counts of the last launch in profile mode, a JSON array with an object for each core; "[]" before
// the first one. All are numbers, sizes in bytes:
//   gm_read, gm_written              global memory, the workspace with it; the tiling data, which
//                                    every kernel reads alike, without. Bytes that a core reads
//                                    twice count twice
//   workspace_read, workspace_written   the part of these that went to the op's workspace
//   vector_instructions              calls of the vector pipe; a call of a library function
//   (SoftMax,
//                                    Sum) is one, whatever it takes on the device
//   vector_repeats                   steps of 256 bytes that they take
//   vector_elements                  elements that they go over
//   ub, ub_capacity                  where the highest buffer in UB ends, and what UB holds
// The text stays valid until the next launch in profile mode.
const char* opgen_counts_json(void);

#ifdef __cplusplus
}
#endif
#endif  // ASCENDC_EMU_PROFILER_H
