// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef SRC_CUBE_GEMM_H
#define SRC_CUBE_GEMM_H

#include <stdint.h>

namespace ascendc_emu {

// c[m][ldc] += a[m][lda] * b[k][ldb]; every element adds its products in K order. exact: a product
// has at most 24 significant bits (half, bfloat16 and HF32 operands), so that a fused multiply-add
// gives the same bits as a product and a sum, in half the time; integers always are.
void Gemm(float* c, uint64_t ldc, const float* a, uint64_t lda, const float* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool exact);
void Gemm(int64_t* c, uint64_t ldc, const int64_t* a, uint64_t lda, const int64_t* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool exact);

}  // namespace ascendc_emu
#endif  // SRC_CUBE_GEMM_H
