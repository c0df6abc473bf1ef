// SPDX-License-Identifier: Apache-2.0
//
// Lets the AscendC headers of an asc-devkit 9 source checkout be parsed by a host compiler with the
// CPU-debug headers of an older CANN: stands in for names those do not have yet. For compile checks
// only; nothing here computes.
#ifndef OPGEN_DEBUG_SHIM_H
#define OPGEN_DEBUG_SHIM_H

#include <stdint.h>

struct fp4x2_e1m2_t {
    uint8_t bits;
};
struct fp4x2_e2m1_t {
    uint8_t bits;
};
struct fp8_e4m3fn_t {
    uint8_t bits;
};
struct fp8_e5m2_t {
    uint8_t bits;
};
struct fp8_e8m0_t {
    uint8_t bits;
};

#define ASCENDC_HOST_AICORE
#define __host__
#define __ssbuf__
#define __simd_callee__
#define __simd_vf__
#define __simt_callee__
#define __simt_vf__
#define __no_simd_vf_fusion__
#define __disable_kernel_type_autoinfer__

#endif  // OPGEN_DEBUG_SHIM_H
