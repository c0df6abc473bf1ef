// SPDX-License-Identifier: Apache-2.0
//
// SIMT exists on arch 3510 only; kernels of the archs checked here use nothing of it.
#ifndef OPGEN_SIMT_STUB_H
#define OPGEN_SIMT_STUB_H
#endif  // OPGEN_SIMT_STUB_H
