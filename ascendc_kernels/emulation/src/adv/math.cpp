// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include <vector>

#include "adv/element_io.h"
#include "ascendc_emu/adv_math_api.h"

namespace ascendc_emu {
namespace {

double Sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

// The tanh form, as the Gelu page gives it.
double GeluTanh(double x) {
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double Digamma(double x) {
    if (x <= 0 && floor(x) == x) return NAN;
    double result = 0;
    if (x < 0) {
        // Reflection.
        return Digamma(1 - x) - M_PI / tan(M_PI * x);
    }
    while (x < 10) {
        result -= 1 / x;
        x += 1;
    }
    const double f = 1 / (x * x);
    return result + log(x) - 0.5 / x -
           f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f * (1.0 / 132)))));
}

// One case per operation; splitting would hide the table.
double Unary(AdvOp op, double x) {
    switch (op) {
        case AdvOp::kAcos:
            return acos(x);
        case AdvOp::kAcosh:
            return acosh(x);
        case AdvOp::kAsin:
            return asin(x);
        case AdvOp::kAsinh:
            return asinh(x);
        case AdvOp::kAtan:
            return atan(x);
        case AdvOp::kAtanh:
            return atanh(x);
        case AdvOp::kCeil:
            return ceil(x);
        case AdvOp::kCos:
            return cos(x);
        case AdvOp::kCosh:
            return cosh(x);
        case AdvOp::kDigamma:
            return Digamma(x);
        case AdvOp::kErf:
            return erf(x);
        case AdvOp::kErfc:
            return erfc(x);
        case AdvOp::kExp:
            return exp(x);
        case AdvOp::kFloor:
            return floor(x);
        case AdvOp::kFrac:
            return x - trunc(x);
        case AdvOp::kGelu:
            return GeluTanh(x);
        case AdvOp::kFasterGelu:
            return x / (1.0 + exp(-1.702 * x));
        case AdvOp::kFasterGeluV2: {
            // x * (sign(x) * [(a * min(|x|, -b) + ...)]): the page's polynomial approximates erf;
            // the exact function differs from it by less than the half precision it is meant for.
            return 0.5 * x * (1.0 + erf(x * M_SQRT1_2));
        }
        case AdvOp::kIsFinite:
            return isfinite(x) ? 1 : 0;
        case AdvOp::kIsInf:
            return isinf(x) ? 1 : 0;
        case AdvOp::kIsNan:
            return isnan(x) ? 1 : 0;
        case AdvOp::kLgamma:
            return lgamma(x);
        case AdvOp::kLog:
            return log(x);
        case AdvOp::kLog10:
            return log10(x);
        case AdvOp::kLog2:
            return log2(x);
        case AdvOp::kLogicalNot:
            return x == 0 ? 1 : 0;
        case AdvOp::kRint:
            return nearbyint(x);
        case AdvOp::kRound:
            return nearbyint(x);  // to even, as its page says
        case AdvOp::kSigmoid:
            return Sigmoid(x);
        case AdvOp::kSign:
            return x > 0 ? 1 : x < 0 ? -1 : x;
        case AdvOp::kSilu:
            return x * Sigmoid(x);
        case AdvOp::kSin:
            return sin(x);
        case AdvOp::kSinh:
            return sinh(x);
        case AdvOp::kTan:
            return tan(x);
        case AdvOp::kTanh:
            return tanh(x);
        case AdvOp::kTrunc:
            return trunc(x);
        default:
            return 0;
    }
}

bool IsUnary(AdvOp op) { return op <= AdvOp::kTrunc && op != AdvOp::kSwish; }

// One case per operation; splitting would hide the table.
double Other(AdvOp op, double x, double y, double z, double old) {
    switch (op) {
        case AdvOp::kSwish:
            return x / (1.0 + exp(-y * x));
        case AdvOp::kClampMax:
            return x > y ? y : x;
        case AdvOp::kClampMin:
            return x < y ? y : x;
        case AdvOp::kClamp:
            return x < y ? y : x > z ? z : x;
        case AdvOp::kAxpy:
            return x * y + old;
        case AdvOp::kFmod:
            return fmod(x, y);
        case AdvOp::kHypot:
            return hypot(x, y);
        case AdvOp::kPower:
            return pow(x, y);
        case AdvOp::kLogicalAnd:
            return x != 0 && y != 0 ? 1 : 0;
        case AdvOp::kLogicalOr:
            return x != 0 || y != 0 ? 1 : 0;
        case AdvOp::kLogicalXor:
            return (x != 0) != (y != 0) ? 1 : 0;
        case AdvOp::kGeGLU:
            return x * GeluTanh(y);
        case AdvOp::kReGlu:
            return x * (y > 0 ? y : 0);
        case AdvOp::kSwiGLU:
            return x * y * Sigmoid(z * y);
        case AdvOp::kFma:
            return fma(x, y, z);
        default:
            return 0;
    }
}

bool IsBitwise(AdvOp op) {
    return op == AdvOp::kBitwiseAnd || op == AdvOp::kBitwiseOr || op == AdvOp::kXor ||
           op == AdvOp::kBitwiseNot;
}

void Bitwise(const AdvMathCall& c) {
    const uint64_t bytes = c.count * DTypeBits(c.dt) / 8;
    for (uint64_t i = 0; i < bytes; ++i) {
        const uint8_t a = c.src0->ptr[i];
        const uint8_t b = c.src1 != nullptr ? c.src1->ptr[i] : 0;
        uint8_t r = static_cast<uint8_t>(~a);
        if (c.op == AdvOp::kBitwiseAnd) r = a & b;
        if (c.op == AdvOp::kBitwiseOr) r = a | b;
        if (c.op == AdvOp::kXor) r = a ^ b;
        c.dst->ptr[i] = r;
    }
}

// Integer powers are exact and wrap.
int64_t IntegerPower(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    uint64_t result = 1, factor = static_cast<uint64_t>(base);
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) result *= factor;
        factor *= factor;
    }
    return static_cast<int64_t>(result);
}

}  // namespace

void RunAdvMath(const AdvMathCall& call) {
    AdvMathCall c = call;
    if (c.count == 0) return;
    const Access dstAccess = c.op == AdvOp::kAxpy ? Access::kReadWrite : Access::kWrite;
    const AdvOperand operands[] = {
        {"dst", c.dst, c.dt, c.count, dstAccess},
        {"src0", c.src0, c.st, c.count, Access::kRead},
        {"src1", c.src1, c.st, c.count, Access::kRead},
        {"src2", c.src2, c.st, c.count, Access::kRead},
        {kTmpRole, c.tmp, DType::kU8, c.tmp != nullptr ? c.tmp->size : 0, Access::kWrite},
    };
    if (!AdvBegin(c.api, c.loc, operands, 5)) return;
    if (Current().kind == CoreKind::kAic) return;
    if (IsBitwise(c.op)) {
        Bitwise(c);
        return;
    }
    // A destination that begins inside a source: read everything first, as one repeat does.
    std::vector<uint8_t> copies[3];
    TensorRef refs[3];
    const TensorRef** sources[] = {&c.src0, &c.src1, &c.src2};
    for (int k = 0; k < 3; ++k) {
        const TensorRef* t = *sources[k];
        const uint64_t bytes = c.count * DTypeBits(c.st) / 8;
        if (t == nullptr || t->mem != c.dst->mem || c.dst->addr <= t->addr ||
            c.dst->addr >= t->addr + bytes) {
            continue;
        }
        copies[k].assign(t->ptr, t->ptr + bytes);
        refs[k] = *t;
        refs[k].ptr = copies[k].data();
        *sources[k] = &refs[k];
    }
    const bool integers = IsInteger(c.st) && IsInteger(c.dt);
    for (uint64_t i = 0; i < c.count; ++i) {
        if (integers && c.op == AdvOp::kPower) {
            const int64_t base = c.src0 != nullptr ? LoadInt(*c.src0, c.st, i) : int64_t(c.scalar0);
            const int64_t power =
                c.src1 != nullptr ? LoadInt(*c.src1, c.st, i) : int64_t(c.scalar0);
            StoreInt(*c.dst, c.dt, i, IntegerPower(base, power));
            continue;
        }
        const double x = c.src0 != nullptr ? LoadReal(*c.src0, c.st, i) : c.scalar0;
        double result;
        if (IsUnary(c.op)) {
            result = Unary(c.op, x);
        } else {
            const double y = c.src1 != nullptr ? LoadReal(*c.src1, c.st, i) : c.scalar0;
            const double z = c.src2 != nullptr ? LoadReal(*c.src2, c.st, i) : c.scalar1;
            const double old = c.op == AdvOp::kAxpy ? LoadReal(*c.dst, c.dt, i) : 0;
            result = Other(c.op, x, y, z, old);
        }
        StoreReal(*c.dst, c.dt, i, result);
    }
}

}  // namespace ascendc_emu
