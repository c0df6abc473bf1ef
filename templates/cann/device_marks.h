// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Marks device functions in the symbol table, for `opgen verify` only: a function that a kernel
// file declares with __aicore__ or __global__ has the ELF visibility "protected" in the object.
// What has another one and is called from these is code of the host.
#ifndef OPGEN_DEVICE_MARKS_H
#define OPGEN_DEVICE_MARKS_H

#include "ascendc_emu/macros.h"

#undef __global__
#undef __aicore__
#undef __host_aicore__
#undef __simd_vf__
#undef __simt_vf__
#define __global__ __attribute__((visibility("protected"), used))
#define __aicore__ __attribute__((visibility("protected")))
#define __host_aicore__ __attribute__((visibility("protected")))
#define __simd_vf__ __attribute__((visibility("protected")))
#define __simt_vf__ __attribute__((visibility("protected")))

#endif  // OPGEN_DEVICE_MARKS_H
