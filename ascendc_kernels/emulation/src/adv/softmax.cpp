// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include <algorithm>
#include <vector>

#include "adv/element_io.h"
#include "ascendc_emu/adv_softmax_api.h"

namespace ascendc_emu {
namespace {

uint32_t BlockOf(DType t) { return 32 * 8 / DTypeBits(t); }

class Rows {
 public:
    explicit Rows(const SoftmaxCall& c) : c_(c) {}

    uint64_t Index(uint32_t row, uint32_t column) const {
        if (!c_.nz) return static_cast<uint64_t>(row) * c_.k + column;
        constexpr uint32_t kColumns = 16;
        return (static_cast<uint64_t>(column / kColumns) * c_.m + row) * kColumns +
               column % kColumns;
    }
    void Load(const TensorRef& t, uint32_t row, std::vector<float>& out) const {
        for (uint32_t j = 0; j < c_.validK; ++j) {
            out[j] = static_cast<float>(LoadReal(t, c_.type, Index(row, j)));
        }
    }
    void Store(uint32_t row, const std::vector<float>& values) const {
        for (uint32_t j = 0; j < c_.validK; ++j)
            StoreReal(*c_.dst, c_.type, Index(row, j), values[j]);
    }
    // One 32-byte block per row, or one element.
    static void StoreRow(const TensorRef* t, DType type, uint32_t row, double value,
                         bool narrow = false) {
        if (t == nullptr) return;
        const uint32_t block = narrow ? 1 : BlockOf(type);
        for (uint32_t j = 0; j < block; ++j)
            StoreReal(*t, type, static_cast<uint64_t>(row) * block + j, value);
    }
    static double LoadRow(const TensorRef* t, DType type, uint32_t row, bool narrow = false) {
        return LoadReal(*t, type, static_cast<uint64_t>(row) * (narrow ? 1 : BlockOf(type)));
    }

 private:
    const SoftmaxCall& c_;
};

void Grad(const SoftmaxCall& c, const Rows& rows) {
    std::vector<float> src(c.validK), grad(c.validK);
    for (uint32_t i = 0; i < c.m; ++i) {
        rows.Load(*c.src, i, src);
        rows.Load(*c.inMax, i, grad);
        double total = 0;
        for (uint32_t j = 0; j < c.validK; ++j) total += static_cast<double>(src[j]) * grad[j];
        const float sum = static_cast<float>(total);
        if (c.kind == SoftmaxKind::kGradFront) {
            Rows::StoreRow(c.dst, c.type, i, sum);
            continue;
        }
        for (uint32_t j = 0; j < c.validK; ++j) src[j] *= grad[j] - sum;
        rows.Store(i, src);
    }
}

void Forward(const SoftmaxCall& c, const Rows& rows) {
    std::vector<float> x(c.validK);
    for (uint32_t i = 0; i < c.m; ++i) {
        rows.Load(*c.src, i, x);
        if (c.kind == SoftmaxKind::kSimple) {
            const double max = Rows::LoadRow(c.inMax, c.rowType, i);
            const double total = Rows::LoadRow(c.inSum, c.rowType, i);
            for (float& v : x) v = static_cast<float>(exp(v - max) / total);
            rows.Store(i, x);
            continue;
        }
        double max = -INFINITY;
        for (float v : x) max = std::max(max, static_cast<double>(v));
        Rows::StoreRow(c.reduceMax, c.rowType, i, max, c.narrow);
        const double before = c.update ? Rows::LoadRow(c.inMax, c.rowType, i, c.narrow) : 0;
        if (c.update) max = std::max(max, before);
        double sum = 0;
        for (float& v : x) {
            v = static_cast<float>(exp(v - max));
            sum += v;
        }
        if (c.update) {
            double scale = exp(before - max);
            const double old = Rows::LoadRow(c.inSum, c.rowType, i, c.narrow);
            sum += scale * old;
            if (c.kind == SoftmaxKind::kFlash) scale = scale * old / sum;
            Rows::StoreRow(c.expMax, c.expType, i, scale, c.narrow);
        }
        if (c.kind == SoftmaxKind::kSoftmax || c.kind == SoftmaxKind::kFlash) {
            for (float& v : x) v = static_cast<float>(v / sum);
        } else if (c.kind == SoftmaxKind::kLog) {
            for (float& v : x) v = static_cast<float>(log10(v / sum));
        }
        rows.Store(i, x);
        Rows::StoreRow(c.sum, c.rowType, i, sum, c.narrow);
        Rows::StoreRow(c.max, c.rowType, i, max, c.narrow);
    }
}

}  // namespace

void RunSoftmax(const SoftmaxCall& c) {
    const uint64_t all = static_cast<uint64_t>(c.m) * c.k;
    const uint64_t row = static_cast<uint64_t>(c.m) * (c.narrow ? 1 : BlockOf(c.rowType));
    const bool front = c.kind == SoftmaxKind::kGradFront;
    const bool grad = front || c.kind == SoftmaxKind::kGrad;
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, front ? c.m * static_cast<uint64_t>(BlockOf(c.type)) : all,
         Access::kWrite},
        {"src", c.src, c.type, all, Access::kRead},
        {"sum", c.sum, c.rowType, row, Access::kWrite},
        {"max", c.max, c.rowType, row, Access::kWrite},
        {"expMax", c.expMax, c.expType,
         c.expMax ? c.m * static_cast<uint64_t>(c.narrow ? 1 : BlockOf(c.expType)) : 0,
         Access::kWrite},
        {"outReduceMax", c.reduceMax, c.rowType, row, Access::kWrite},
        {"inSum", c.inSum, c.rowType, row, Access::kRead},
        {grad ? "grad" : "inMax", c.inMax, c.rowType, grad ? all : row, Access::kRead},
        {kTmpRole, c.tmp, DType::kU8, c.tmp ? c.tmp->size : 0, Access::kWrite},
    };
    if (c.m == 0 || c.k == 0) {
        Core& core = Current();
        TrapCheck(core, c.loc, "ErrorParam", c.api, "pass SoftMaxShapeInfo or a filled tiling",
                  "the shape is [%u, %u]: neither the shape argument, the source tensor nor the "
                  "tiling tells it",
                  c.m, c.k);
    }
    if (!AdvBegin(c.api, c.loc, operands, sizeof(operands) / sizeof(operands[0]))) return;
    if (Current().kind == CoreKind::kAic) return;
    const Rows rows(c);
    if (grad) {
        Grad(c, rows);
    } else {
        Forward(c, rows);
    }
}

void RunSoftmaxV3(const SoftmaxV3Call& c) {
    if (c.m == 0 || c.k < 512 || c.k % 64 != 0 || c.parts != 8 || c.alpha >= 1 ||
        (c.update && c.loops == 0)) {
        TrapCheck(
            Current(), c.loc, "ErrorParam", "SoftmaxFlashV3",
            "srcK a multiple of 64 from 512 on, splitMeanCnt 8, alpha below 1, loopCnt from 1 on",
            "srcM %u, srcK %u, splitMeanCnt %u, alpha %g, loopCnt %u", c.m, c.k, c.parts,
            static_cast<double>(c.alpha), c.loops);
    }
    const uint64_t all = static_cast<uint64_t>(c.m) * c.k;
    const uint64_t row = static_cast<uint64_t>(c.m) * BlockOf(c.rowType);
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, all, Access::kWrite},
        {"src", c.src, c.type, all, Access::kRead},
        {"mean", c.mean, c.rowType, row, Access::kWrite},
        {"expSum", c.sum, c.rowType, row, Access::kWrite},
        {"max", c.max, c.rowType, row, Access::kWrite},
        {"expMax", c.expMax, c.type, static_cast<uint64_t>(c.m) * BlockOf(c.type), Access::kWrite},
        {"inMean", c.inMean, c.rowType, row, Access::kRead},
        {"inExpSum", c.inSum, c.rowType, row, Access::kRead},
        {"inMax", c.inMax, c.rowType, row, Access::kRead},
        {kTmpRole, c.tmp, DType::kU8, c.tmp ? c.tmp->size : 0, Access::kWrite},
    };
    if (!AdvBegin(Api::kSoftmaxFlashV3, c.loc, operands, sizeof(operands) / sizeof(operands[0])))
        return;
    if (Current().kind == CoreKind::kAic) return;
    const double scale = static_cast<double>(c.alpha) / (1 - static_cast<double>(c.alpha));
    std::vector<double> x(c.k);
    for (uint32_t i = 0; i < c.m; ++i) {
        const uint64_t first = static_cast<uint64_t>(i) * c.k;
        // The documented folding: 64 columns of the first 512 make a part, later repeats of 64 add
        // 8 columns to each. What is subtracted goes by eighths of the row.
        const uint32_t part = c.k / c.parts;
        std::vector<double> partMean(c.parts, 0);
        double mean = 0;
        for (uint32_t j = 0; j < c.k; ++j) {
            x[j] = LoadReal(*c.src, c.type, first + j);
            partMean[j < 512 ? j / 64 : j % 64 / 8] += x[j] / part;
            mean += x[j] / c.k;
        }
        double rowMax = -INFINITY;
        for (uint32_t j = 0; j < c.k; ++j) {
            x[j] -= (mean - partMean[j / part]) * scale;
            rowMax = std::max(rowMax, x[j]);
        }
        double outMean = mean, before = 0, inMax = 0;
        if (c.update) {
            const double inMean = Rows::LoadRow(c.inMean, c.rowType, i);
            inMax = Rows::LoadRow(c.inMax, c.rowType, i);
            outMean = (mean + inMean * (c.loops - 1)) / c.loops;
            before = (inMean - outMean) * scale;
        }
        const double shift = (mean - outMean) * scale;
        double outMax = shift + rowMax;
        if (c.update) outMax = std::max(outMax, before + inMax);
        double sum = 0;
        for (uint32_t j = 0; j < c.k; ++j) {
            const double e = exp(x[j] - (outMax - shift));
            sum += e;
            StoreReal(*c.dst, c.type, first + j, e);
        }
        if (c.update) {
            const double factor = exp(inMax - outMax + before);
            sum += factor * Rows::LoadRow(c.inSum, c.rowType, i);
            Rows::StoreRow(c.expMax, c.type, i, factor);
        }
        Rows::StoreRow(c.mean, c.rowType, i, outMean);
        Rows::StoreRow(c.sum, c.rowType, i, sum);
        Rows::StoreRow(c.max, c.rowType, i, outMax);
    }
}

bool RunAdjustSoftmax(const TensorRef& res, DType resType, const TensorRef& max, DType maxType,
                      uint32_t from, double to, uint32_t m, uint32_t k, bool nz, uint8_t stepMode,
                      Loc loc) {
    const uint32_t block = stepMode != 0 ? 1 : BlockOf(maxType);
    const AdvOperand operands[] = {
        {"softMaxRes", &res, resType, static_cast<uint64_t>(m) * k, Access::kReadWrite},
        {"maxTensor", &max, maxType, static_cast<uint64_t>(m) * block, Access::kRead},
    };
    // What it returns follows from the data.
    if (!AdvBegin(Api::kAdjustSoftMaxRes, loc, operands, 2)) {
        StopWithoutValues(Current(), loc, Api(Api::kAdjustSoftMaxRes));
    }
    bool found = false;
    for (uint32_t i = 0; i < m; ++i) {
        const uint64_t at = static_cast<uint64_t>(i) * block;
        const uint32_t bits = maxType == DType::kF16
                                  ? reinterpret_cast<const uint16_t*>(max.ptr)[at]
                                  : reinterpret_cast<const uint32_t*>(max.ptr)[at];
        if (bits != from) continue;
        found = true;
        for (uint32_t j = 0; j < k; ++j) {
            const uint64_t index = nz ? (static_cast<uint64_t>(j / 16) * m + i) * 16 + j % 16
                                      : static_cast<uint64_t>(i) * k + j;
            StoreReal(res, resType, index, to);
        }
    }
    return found;
}

}  // namespace ascendc_emu
