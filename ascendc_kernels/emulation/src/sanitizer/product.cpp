// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which operands of a product spoil all of it. Rows of L0A that hold no data spoil rows of the
// result only, columns of L0B columns, and those are often computed and never stored. But where
// every row of L0A, or every column of L0B, has some place without data, no element of the result
// is right: the product goes further along K than what was loaded.
#include <algorithm>
#include <cstring>

#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

constexpr uint64_t kLineBytes = 32;  // of a fractal: K elements of one row (L0A) or column (L0B)
constexpr uint64_t kLines = 16;      // of a fractal

}  // namespace

bool SpoilsProduct(const Record& r, const LaneRuns& source) {
    const bool left = std::strcmp(source.operand->role, "fm") == 0;
    if (r.k == 0 || (!left && std::strcmp(source.operand->role, "filter") != 0)) return false;
    const uint64_t lines = left ? r.m : r.n;
    const uint64_t usedBytes = (uint64_t{r.k} * DTypeBits(source.operand->dtype) + 7) / 8;
    const uint64_t groups = (lines + kLines - 1) / kLines;
    const uint64_t perGroup = std::max<uint64_t>(1, source.total / (groups * kLines * kLineBytes));
    std::vector<bool> spoilt(lines);
    uint64_t good = lines;
    for (const ByteRun& run : source.runs) {
        for (uint64_t at = run.begin / kLineBytes; at * kLineBytes < run.end; ++at) {
            uint64_t line = 0, depth = at;  // a single row is no fractal
            if (!left || r.m > 1) {
                const uint64_t fractal = at / kLines;
                line = (left ? fractal / perGroup : fractal % groups) * kLines + at % kLines;
                depth = left ? fractal % perGroup : fractal / groups;
            }
            if (line >= lines || spoilt[line]) continue;
            const uint64_t begin = std::max(run.begin, at * kLineBytes) - at * kLineBytes;
            if (depth * kLineBytes + begin >= usedBytes) continue;
            spoilt[line] = true;
            if (--good == 0) return true;
        }
    }
    return false;
}

}  // namespace sanitizer
}  // namespace ascendc_emu
