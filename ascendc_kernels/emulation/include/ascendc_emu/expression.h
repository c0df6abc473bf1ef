// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tensor operators: dst = a + b and the like, over as many elements as dst has (Compare: its first
// source, as dst holds bits). Page: operator overloads of Add, Compare and the like.
#ifndef ASCENDC_EMU_EXPRESSION_H
#define ASCENDC_EMU_EXPRESSION_H

#include "ascendc_emu/select_api.h"

namespace AscendC {

template <typename D, typename T, TensorOp op>
void EvaluateExpression(const LocalTensor<D>& dst, const TensorExpression<T, op>& e) {
    constexpr bool kCompares = op >= TensorOp::kLt;
    const int32_t n = static_cast<int32_t>(kCompares ? e.a.GetSize() : dst.GetSize());
    if constexpr (op == TensorOp::kAdd) Add(dst, e.a, e.b, n, e.loc);
    if constexpr (op == TensorOp::kSub) Sub(dst, e.a, e.b, n, e.loc);
    if constexpr (op == TensorOp::kMul) Mul(dst, e.a, e.b, n, e.loc);
    if constexpr (op == TensorOp::kDiv) Div(dst, e.a, e.b, n, e.loc);
    if constexpr (op == TensorOp::kAnd) And(dst, e.a, e.b, n, e.loc);
    if constexpr (op == TensorOp::kOr) Or(dst, e.a, e.b, n, e.loc);
    if constexpr (op == TensorOp::kLt) Compare(dst, e.a, e.b, CMPMODE::LT, n, e.loc);
    if constexpr (op == TensorOp::kGt) Compare(dst, e.a, e.b, CMPMODE::GT, n, e.loc);
    if constexpr (op == TensorOp::kNe) Compare(dst, e.a, e.b, CMPMODE::NE, n, e.loc);
    if constexpr (op == TensorOp::kEq) Compare(dst, e.a, e.b, CMPMODE::EQ, n, e.loc);
    if constexpr (op == TensorOp::kLe) Compare(dst, e.a, e.b, CMPMODE::LE, n, e.loc);
    if constexpr (op == TensorOp::kGe) Compare(dst, e.a, e.b, CMPMODE::GE, n, e.loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_EXPRESSION_H
