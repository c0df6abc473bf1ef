// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "cube/matrix_span.h"

#include <string.h>

#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

struct Span {
    uint64_t begin, end;  // bytes from the matrix's data
};

// Both layouts put the last row's last column last.
Span SpanOf(const MatrixRef& m, const MatrixBlock& b) {
    const uint64_t bits = DTypeBits(m.type);
    const uint64_t last = IndexOf(m, b.row + b.rows - 1, b.column + b.columns - 1);
    return {IndexOf(m, b.row, b.column) * bits / 8, ((last + 1) * bits + 7) / 8};
}

}  // namespace

bool IsInside(Core& core, const MatrixRef& m, const MatrixBlock& block, const char* op, Loc loc) {
    if (m.hidden || m.format == MatrixFormat::kScalar || block.rows == 0 || block.columns == 0)
        return true;
    const Span span = SpanOf(m, block);
    if (!m.onChip) return GmHolds(core, m.data + span.begin, span.end - span.begin);
    if (m.local.ptr != nullptr) {
        CheckRange(core, m.local, static_cast<uint64_t>(m.data - m.local.ptr) + span.end,
                   block.role, op, loc);
    }
    return true;
}

ReadableMatrix::ReadableMatrix(Core& core, const MatrixRef& m, const MatrixBlock& block,
                               const char* op, Loc loc)
    : matrix_(m) {
    if (IsInside(core, m, block, op, loc)) return;
    const Span span = SpanOf(m, block);
    copy_.resize(span.end - span.begin);
    const uint8_t* const from = m.data + span.begin;
    memcpy(copy_.data(), from, GmBytes(core, from, copy_.size(), false, op, loc));
    matrix_.data = copy_.data() - span.begin;
}

}  // namespace ascendc_emu
