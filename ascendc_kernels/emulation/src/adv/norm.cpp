// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "adv/element_io.h"
#include "ascendc_emu/adv_norm_api.h"

namespace ascendc_emu {
namespace {

void CheckShape(Api api, uint32_t rows, uint32_t columns, uint32_t stride, Loc loc) {
    if (rows != 0 && columns != 0 && stride >= columns) return;
    TrapCheck(Current(), loc, "ErrorParam", api, "fill the tiling on the host",
              "the shape is %u rows of %u (stored %u)", rows, columns, stride);
}

struct Moments {
    double mean = 0;
    double variance = 0;
};
Moments MomentsOf(const std::vector<double>& x) {
    Moments m;
    for (double v : x) m.mean += v;
    m.mean /= static_cast<double>(x.size());
    for (double v : x) m.variance += (v - m.mean) * (v - m.mean);
    m.variance /= static_cast<double>(x.size());
    return m;
}

double GainAt(const TensorRef* t, DType type, uint64_t i, double absent) {
    return t != nullptr ? LoadReal(*t, type, i) : absent;
}

}  // namespace

void RunNorm(const NormCall& c) {
    CheckShape(c.api, c.rows, c.columns, c.stride, c.loc);
    const uint64_t all = static_cast<uint64_t>(c.rows) * c.stride;
    const Access stat = c.given ? Access::kRead : Access::kWrite;
    const AdvOperand operands[] = {{"dst", c.dst, c.type, all, Access::kWrite},
                                   {"src", c.src, c.type, all, Access::kRead},
                                   {"gx", c.residual, c.type, all, Access::kRead},
                                   {"gamma", c.gamma, c.gainType, c.columns, Access::kRead},
                                   {"beta", c.beta, c.gainType, c.columns, Access::kRead},
                                   {"mean", c.mean, c.statType, c.rows, stat},
                                   {"variance", c.deviation, c.statType, c.rows, stat},
                                   {"rstd", c.rstd, c.statType, c.rows, Access::kWrite},
                                   Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, sizeof(operands) / sizeof(operands[0]))) return;
    if (Current().kind == CoreKind::kAic) return;
    std::vector<double> x(c.columns);
    for (uint32_t i = 0; i < c.rows; ++i) {
        const uint64_t row = static_cast<uint64_t>(i) * c.stride;
        double squares = 0;
        for (uint32_t j = 0; j < c.columns; ++j) {
            x[j] = c.alpha * LoadReal(*c.src, c.type, row + j);
            if (c.residual != nullptr) x[j] += LoadReal(*c.residual, c.type, row + j);
            squares += x[j] * x[j];
        }
        Moments m;
        if (c.rootMeanSquare) {
            m.variance = squares / c.columns;
        } else if (c.given) {
            m.mean = LoadReal(*c.mean, c.statType, i);
            m.variance = LoadReal(*c.deviation, c.statType, i);
        } else {
            m = MomentsOf(x);
        }
        const double rstd = 1 / sqrt(m.variance + c.epsilon);
        for (uint32_t j = 0; j < c.columns; ++j) {
            const double v = (x[j] - m.mean) * rstd * GainAt(c.gamma, c.gainType, j, 1) +
                             GainAt(c.beta, c.gainType, j, 0);
            StoreReal(*c.dst, c.type, row + j, v);
        }
        if (c.rstd != nullptr) StoreReal(*c.rstd, c.statType, i, rstd);
        if (c.given) continue;
        if (c.mean != nullptr) StoreReal(*c.mean, c.statType, i, m.mean);
        if (c.deviation != nullptr) {
            StoreReal(*c.deviation, c.statType, i, c.reciprocal ? rstd : m.variance);
        }
    }
}

void RunBatchNorm(const NormCall& c) {
    CheckShape(c.api, c.rows, c.columns, c.stride, c.loc);
    const uint64_t all = static_cast<uint64_t>(c.rows) * c.stride;
    const AdvOperand operands[] = {
        {"output", c.dst, c.type, all, Access::kWrite},
        {"outputMean", c.mean, c.type, c.columns, Access::kWrite},
        {"outputVariance", c.deviation, c.type, c.columns, Access::kWrite},
        {"inputX", c.src, c.type, all, Access::kRead},
        {"gamma", c.gamma, c.type, c.rows, Access::kRead},
        {"beta", c.beta, c.type, c.rows, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, 7)) return;
    if (Current().kind == CoreKind::kAic) return;
    std::vector<double> x(c.rows);
    for (uint32_t j = 0; j < c.columns; ++j) {
        for (uint32_t i = 0; i < c.rows; ++i) {
            x[i] = LoadReal(*c.src, c.type, static_cast<uint64_t>(i) * c.stride + j);
        }
        const Moments m = MomentsOf(x);
        const double rstd = 1 / sqrt(m.variance + c.epsilon);
        for (uint32_t i = 0; i < c.rows; ++i) {
            StoreReal(*c.dst, c.type, static_cast<uint64_t>(i) * c.stride + j,
                      (x[i] - m.mean) * rstd * LoadReal(*c.gamma, c.type, i) +
                          LoadReal(*c.beta, c.type, i));
        }
        StoreReal(*c.mean, c.type, j, m.mean);
        StoreReal(*c.deviation, c.type, j, m.variance);
    }
}

void RunGroupNorm(const NormCall& c, uint32_t n, uint32_t groups, uint32_t depth) {
    CheckShape(c.api, c.rows * depth, c.columns, c.stride, c.loc);
    const uint32_t channels = groups * depth;
    const uint64_t all = static_cast<uint64_t>(n) * channels * c.stride;
    const AdvOperand operands[] = {{"output", c.dst, c.type, all, Access::kWrite},
                                   {"outputMean", c.mean, c.type, c.rows, Access::kWrite},
                                   {"outputVariance", c.deviation, c.type, c.rows, Access::kWrite},
                                   {"inputX", c.src, c.type, all, Access::kRead},
                                   {"gamma", c.gamma, c.type, channels, Access::kRead},
                                   {"beta", c.beta, c.type, channels, Access::kRead},
                                   Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, 7)) return;
    if (Current().kind == CoreKind::kAic) return;
    std::vector<double> x(static_cast<size_t>(depth) * c.columns);
    for (uint32_t i = 0; i < c.rows; ++i) {
        const auto at = [&](uint32_t d, uint32_t j) {
            return (static_cast<uint64_t>(i) * depth + d) * c.stride + j;
        };
        for (uint32_t d = 0; d < depth; ++d) {
            for (uint32_t j = 0; j < c.columns; ++j) {
                x[static_cast<size_t>(d) * c.columns + j] = LoadReal(*c.src, c.type, at(d, j));
            }
        }
        const Moments m = MomentsOf(x);
        const double rstd = 1 / sqrt(m.variance + c.epsilon);
        for (uint32_t d = 0; d < depth; ++d) {
            const uint32_t channel = i % groups * depth + d;
            const double gain = LoadReal(*c.gamma, c.type, channel);
            const double shift = LoadReal(*c.beta, c.type, channel);
            for (uint32_t j = 0; j < c.columns; ++j) {
                StoreReal(
                    *c.dst, c.type, at(d, j),
                    (x[static_cast<size_t>(d) * c.columns + j] - m.mean) * rstd * gain + shift);
            }
        }
        StoreReal(*c.mean, c.type, i, m.mean);
        StoreReal(*c.deviation, c.type, i, m.variance);
    }
}

void RunLayerNormGrad(const NormGradCall& c) {
    CheckShape(Api::kLayerNormGrad, c.rows, c.columns, c.stride, c.loc);
    const uint64_t all = static_cast<uint64_t>(c.rows) * c.stride;
    const AdvOperand operands[] = {{"outputPdX", c.dx, c.type, all, Access::kWrite},
                                   {"resForGamma", c.forGamma, c.type, all, Access::kWrite},
                                   {"inputDy", c.dy, c.type, all, Access::kRead},
                                   {"inputX", c.x, c.type, all, Access::kRead},
                                   {"inputVariance", c.variance, c.type, c.rows, Access::kRead},
                                   {"inputMean", c.mean, c.type, c.rows, Access::kRead},
                                   {"inputGamma", c.gamma, c.type, c.columns, Access::kRead},
                                   Tmp(c.tmp)};
    if (!AdvBegin(Api::kLayerNormGrad, c.loc, operands, 8)) return;
    if (Current().kind == CoreKind::kAic) return;
    std::vector<double> scaled(c.columns), centred(c.columns);
    const double h = c.columns;
    for (uint32_t i = 0; i < c.rows; ++i) {
        const uint64_t row = static_cast<uint64_t>(i) * c.stride;
        const double mean = LoadReal(*c.mean, c.type, i);
        const double rstd = 1 / sqrt(LoadReal(*c.variance, c.type, i) + c.epsilon);
        double dVariance = 0, dMean = 0, sum = 0;
        for (uint32_t j = 0; j < c.columns; ++j) {
            scaled[j] = LoadReal(*c.dy, c.type, row + j) * LoadReal(*c.gamma, c.type, j);
            centred[j] = LoadReal(*c.x, c.type, row + j) - mean;
            dVariance += -0.5 * scaled[j] * centred[j] * rstd * rstd * rstd;
            dMean -= scaled[j] * rstd;
            sum += centred[j];
        }
        dMean += dVariance / h * -2 * sum;
        for (uint32_t j = 0; j < c.columns; ++j) {
            StoreReal(*c.dx, c.type, row + j,
                      scaled[j] * rstd + dVariance * 2 / h * centred[j] + dMean / h);
            StoreReal(*c.forGamma, c.type, row + j, centred[j] * rstd);
        }
    }
}

void RunLayerNormGradBeta(DType type, const TensorRef& dGamma, const TensorRef& dBeta,
                          const TensorRef& forGamma, const TensorRef& dy, const TensorRef* tmp,
                          uint32_t rows, uint32_t columns, uint32_t stride, Loc loc) {
    CheckShape(Api::kLayerNormGradBeta, rows, columns, stride, loc);
    const uint64_t all = static_cast<uint64_t>(rows) * stride;
    const AdvOperand operands[] = {{"outputPdGamma", &dGamma, type, columns, Access::kWrite},
                                   {"outputPdBeta", &dBeta, type, columns, Access::kWrite},
                                   {"resForGamma", &forGamma, type, all, Access::kRead},
                                   {"inputDy", &dy, type, all, Access::kRead},
                                   Tmp(tmp)};
    if (!AdvBegin(Api::kLayerNormGradBeta, loc, operands, 5)) return;
    if (Current().kind == CoreKind::kAic) return;
    for (uint32_t j = 0; j < columns; ++j) {
        double gamma = 0, beta = 0;
        for (uint32_t i = 0; i < rows; ++i) {
            const uint64_t at = static_cast<uint64_t>(i) * stride + j;
            const double grad = LoadReal(dy, type, at);
            gamma += grad * LoadReal(forGamma, type, at);
            beta += grad;
        }
        StoreReal(dGamma, type, j, gamma);
        StoreReal(dBeta, type, j, beta);
    }
}

void RunWelfordUpdate(const WelfordCall& c) {
    CheckShape(c.api, c.rows, c.used, c.length, c.loc);
    const uint64_t all = static_cast<uint64_t>(c.rows) * c.length;
    const AdvOperand operands[] = {
        {"outputMean", c.outMean, DType::kF32, all, Access::kWrite},
        {"outputVariance", c.outVariance, DType::kF32, all, Access::kWrite},
        {"inputMean", c.inMean, DType::kF32, all, Access::kRead},
        {"inputVariance", c.inVariance, DType::kF32, all, Access::kRead},
        {"inputX", c.x, c.type, all, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, 6)) return;
    if (Current().kind == CoreKind::kAic) return;
    // In float32 step by step, as the device: official goldens allow no more error than that.
    const float factor = static_cast<float>(c.factor);
    for (uint64_t i = 0; i < all; ++i) {
        const float mean = static_cast<float>(LoadReal(*c.inMean, DType::kF32, i));
        const float variance = static_cast<float>(LoadReal(*c.inVariance, DType::kF32, i));
        if (i % c.length >= c.used) {
            if (!c.inPlace) continue;
            StoreReal(*c.outMean, DType::kF32, i, mean);
            StoreReal(*c.outVariance, DType::kF32, i, variance);
            continue;
        }
        const float x = static_cast<float>(LoadReal(*c.x, c.type, i));
        const float delta = x - mean;
        const float step = delta * factor;
        const float next = mean + step;
        const float spread = delta * (x - next);
        StoreReal(*c.outMean, DType::kF32, i, next);
        StoreReal(*c.outVariance, DType::kF32, i, variance + spread);
    }
}

void RunWelfordFinalize(const WelfordCall& c) {
    CheckShape(c.api, 1, c.length, c.length, c.loc);
    const AdvOperand operands[] = {
        {"outputMean", c.outMean, DType::kF32, 1, Access::kWrite},
        {"outputVariance", c.outVariance, DType::kF32, 1, Access::kWrite},
        {"inputMean", c.inMean, DType::kF32, c.length, Access::kRead},
        {"inputVariance", c.inVariance, DType::kF32, c.length, Access::kRead},
        {"counts", c.counts, DType::kI32, c.length, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, 6)) return;
    if (Current().kind == CoreKind::kAic) return;
    const bool split = c.counts == nullptr && c.tailLength != 0;
    const bool counted = c.counts != nullptr || split;
    const auto count = [&](uint32_t i) -> double {
        if (c.counts != nullptr) return static_cast<double>(LoadInt(*c.counts, DType::kI32, i));
        if (!split) return c.repeat;
        if (i < c.headLength) return c.head;
        return i < c.headLength + c.tailLength ? c.tail : 0;
    };
    double mean = 0, variance = 0;
    for (uint32_t i = 0; i < c.length; ++i) {
        const double v = LoadReal(*c.inMean, DType::kF32, i);
        mean += counted ? v * count(i) * c.factor : v * c.meanFactor;
    }
    for (uint32_t i = 0; i < c.length; ++i) {
        const double v = LoadReal(*c.inMean, DType::kF32, i) - mean;
        variance += LoadReal(*c.inVariance, DType::kF32, i) + count(i) * v * v;
    }
    StoreReal(*c.outMean, DType::kF32, 0, mean);
    StoreReal(*c.outVariance, DType::kF32, 0, variance * c.varianceFactor);
}

}  // namespace ascendc_emu
