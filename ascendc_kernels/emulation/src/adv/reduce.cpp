// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "adv/element_io.h"
#include "ascendc_emu/adv_reduce_api.h"

namespace ascendc_emu {
namespace {

// Pairwise, as the device adds: a half sum keeps its accuracy.
double PairwiseSum(const std::vector<double>& values, size_t first, size_t count,
                   DType accumulate) {
    if (count == 1) return values[first];
    const size_t half = count / 2;
    const double sum = PairwiseSum(values, first, half, accumulate) +
                       PairwiseSum(values, first + half, count - half, accumulate);
    if (accumulate != DType::kF16) return sum;
    uint16_t rounded;
    StoreReal(reinterpret_cast<uint8_t*>(&rounded), DType::kF16, 0, sum);
    return LoadReal(reinterpret_cast<const uint8_t*>(&rounded), DType::kF16, 0);
}

double Reduced(AdvReduce op, const std::vector<double>& values, DType accumulate) {
    switch (op) {
        case AdvReduce::kSum:
            return PairwiseSum(values, 0, values.size(), accumulate);
        case AdvReduce::kMean:
            return PairwiseSum(values, 0, values.size(), accumulate) /
                   static_cast<double>(values.size());
        case AdvReduce::kProd: {
            double product = 1;
            for (double v : values) product *= v;
            return product;
        }
        case AdvReduce::kAny:
            return std::any_of(values.begin(), values.end(), [](double v) { return v != 0; });
        case AdvReduce::kAll:
            return std::all_of(values.begin(), values.end(), [](double v) { return v != 0; });
        default:
            break;
    }
    double best = values[0];
    for (double v : values) {
        if (isnan(v) || (op == AdvReduce::kMax ? v > best : v < best)) best = v;
        if (isnan(best)) break;
    }
    return best;
}

}  // namespace

void RunAdvReduce(const AdvReduceCall& c) {
    if (c.rows == 0 || c.columns == 0 || c.stride < c.columns) {
        TrapCheck(Current(), c.loc, "ErrorParam", c.api, "sizes are positive and inner >= n",
                  "the source is [%u, %u] with rows of %u", c.rows, c.columns, c.stride);
    }
    const uint32_t results = c.alongRows ? c.columns : c.rows;
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, results, Access::kWrite},
        {"src", c.src, c.type, static_cast<uint64_t>(c.rows - 1) * c.stride + c.columns,
         Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(c.api, c.loc, operands, 3)) return;
    if (Current().kind == CoreKind::kAic) return;
    std::vector<double> out(results);
    std::vector<double> values(c.alongRows ? c.rows : c.columns);
    for (uint32_t i = 0; i < results; ++i) {
        for (uint32_t j = 0; j < values.size(); ++j) {
            const uint64_t at = c.alongRows ? static_cast<uint64_t>(j) * c.stride + i
                                            : static_cast<uint64_t>(i) * c.stride + j;
            values[j] = LoadReal(*c.src, c.type, at);
        }
        out[i] = Reduced(c.op, values, c.accumulate);
    }
    for (uint32_t i = 0; i < results; ++i) StoreReal(*c.dst, c.type, i, out[i]);
}

void RunReduceXorSum(DType type, const TensorRef& dst, const TensorRef& src0, const TensorRef& src1,
                     const TensorRef* tmp, uint32_t count, Loc loc) {
    const AdvOperand operands[] = {{"dst", &dst, type, 1, Access::kWrite},
                                   {"src0", &src0, type, count, Access::kRead},
                                   {"src1", &src1, type, count, Access::kRead},
                                   Tmp(tmp)};
    if (!AdvBegin(Api::kReduceXorSum, loc, operands, 4)) return;
    if (Current().kind == CoreKind::kAic) return;
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += LoadInt(src0, type, i) ^ LoadInt(src1, type, i);
    StoreInt(dst, type, 0, sum);
}

namespace {

void CheckTopK(const TopKCall& c) {
    if (c.rows <= 0 || c.inner <= 0 || c.inner % 32 != 0 || c.n <= 0 || c.n > c.inner || c.k <= 0 ||
        c.k > c.n || (c.small && c.inner != 32) || (!c.small && c.inner > 4096)) {
        TrapCheck(Current(), c.loc, "ErrorParam", "TopK",
                  "1 <= k <= n <= inner, inner a multiple of 32 up to 4096 (32 in small mode)",
                  "k %d, outter %d, inner %d, n %d", c.k, c.rows, c.inner, c.n);
    }
}

// The positions of the keys in their order, NaN first; of equal ones the earlier first.
void SortKeys(const std::vector<double>& keys, bool largest, std::vector<uint32_t>* order) {
    std::iota(order->begin(), order->end(), 0u);
    std::stable_sort(order->begin(), order->end(), [&](uint32_t a, uint32_t b) {
        if (isnan(keys[a]) || isnan(keys[b])) return isnan(keys[a]) && !isnan(keys[b]);
        return largest ? keys[a] > keys[b] : keys[a] < keys[b];
    });
}

}  // namespace

void RunTopK(const TopKCall& c) {
    CheckTopK(c);
    const uint32_t perBlock = 32 * 8 / DTypeBits(c.type);
    const uint64_t k = static_cast<uint64_t>(c.k);
    const uint64_t valueRow = c.small ? k : (k + perBlock - 1) / perBlock * perBlock;
    const uint64_t indexRow = c.small ? k : (k + 7) / 8 * 8;
    const uint64_t rows = static_cast<uint64_t>(c.rows), inner = static_cast<uint64_t>(c.inner);
    const AdvOperand operands[] = {
        {"dstValue", c.value, c.type, valueRow * rows, Access::kWrite},
        {"dstIndex", c.index, DType::kI32, indexRow * rows, Access::kWrite},
        {"src", c.src, c.type, inner * rows, Access::kRead},
        {"srcIndex", c.srcIndex, DType::kI32, c.small ? inner * rows : inner, Access::kRead},
        {"finish", c.finish, DType::kU8, rows, Access::kRead},
        Tmp(c.tmp)};
    if (!AdvBegin(Api::kTopK, c.loc, operands, 6)) return;
    if (Current().kind == CoreKind::kAic) return;
    std::vector<double> keys(inner);
    std::vector<uint32_t> order(inner);
    for (uint64_t i = 0; i < rows; ++i) {
        for (uint64_t j = 0; j < inner; ++j) keys[j] = LoadReal(*c.src, c.type, i * inner + j);
        SortKeys(keys, c.largest, &order);
        const bool finished = c.finish != nullptr && c.finish->ptr[i] != 0;
        for (uint64_t j = 0; j < k; ++j) {
            StoreReal(*c.value, c.type, i * valueRow + j, keys[order[j]]);
            int64_t index = order[j];
            if (c.srcIndex != nullptr) {
                index = LoadInt(*c.srcIndex, DType::kI32, (c.small ? i * inner : 0) + order[j]);
            }
            StoreInt(*c.index, DType::kI32, i * indexRow + j, finished ? c.n : index);
        }
    }
}

}  // namespace ascendc_emu
