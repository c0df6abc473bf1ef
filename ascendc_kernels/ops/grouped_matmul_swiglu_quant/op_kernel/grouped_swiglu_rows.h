// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The vector cores' part of GroupedMatmulSwigluQuant: rows of products become int8 rows and scales.
//
//   gated = swish(left) * right, each half = product * x_scale[row] * weight_scale[group, column]
//   y_scale[row] = max(largest |gated| of the row, least float) / 127
//   y = gated / y_scale, rounded to nearest even
//
// A row is worked on in tiles of its columns, one after another, as the scale needs all of them.
// The gated values of rows of up to kKept columns stay in UB, and so do the scales of a group's
// columns until the group ends. Longer rows are read again when they are quantised.
#ifndef GROUPED_SWIGLU_ROWS_H
#define GROUPED_SWIGLU_ROWS_H

#include "grouped_matmul_swiglu_quant_data.h"
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/row.h"
#include "opgen/tile.h"

namespace grouped_matmul_swiglu_quant_kernel {
using namespace AscendC;

// A cube core has made its blocks of a piece.
constexpr uint16_t kPieceReady = 4;

class Rows {
 public:
    __aicore__ inline Rows() {}

    __aicore__ inline void Init(GM_ADDR weightScale, GM_ADDR xScale, GM_ADDR y, GM_ADDR yScale,
                                GM_ADDR sums, const GroupedMatmulSwigluQuantTilingData* data,
                                TPipe* pipe) {
        tiling = data;
        width = tiling->columns / 2;
        tiles = (width + kTile - 1) / kTile;
        kept = width <= kKept;
        rightAt = kept ? opgen::AlignElements<float>(width) : kTile;
        weightScaleGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(weightScale));
        xScaleGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(xScale));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(y));
        yScaleGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(yScale));
        sumGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(sums));
        pipe->InitBuffer(sumQueue, 2, 2 * opgen::Bytes<int32_t>(kTile));
        pipe->InitBuffer(columnQueue, 1, 2 * opgen::Bytes<float>(kKept));
        pipe->InitBuffer(yQueue, 2, kTile);
        pipe->InitBuffer(gatedBuf, opgen::Bytes<float>(kKept));
        pipe->InitBuffer(spareBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(divisorBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(bytesBuf, opgen::Bytes<half>(kTile));
        pipe->InitBuffer(largestBuf, 2 * opgen::kBlockBytes);
        pipe->InitBuffer(xScaleBuf, opgen::Bytes<float>(kRows));
        pipe->InitBuffer(yScaleBuf, opgen::Bytes<float>(kRows));
    }

    __aicore__ inline void Process() {
        const uint64_t end = static_cast<uint64_t>(tiling->ends[tiling->groups - 1]);
        ClearRows(end, tiling->rows);
        uint64_t first = 0;
        for (uint32_t piece = 0; piece < tiling->pieces; ++piece) {
            // The blocks of the own cube core are there, then those of all.
            CrossCoreWaitFlag(kPieceReady);
            SyncAll();
            opgen::Share share;
            share.Init(tiling->pieceRows[piece] - first);
            for (uint64_t row = share.first; row < share.last; row += kRows) {
                const uint64_t left = share.last - row;
                MakeRows(first + row, static_cast<uint32_t>(left < kRows ? left : kRows));
            }
            first = tiling->pieceRows[piece];
        }
        if (haveColumns) {
            columnQueue.FreeTensor(columnScales);
        }
    }

 private:
    // Rows [first, last) of the result are zeros: no group has them.
    __aicore__ inline void ClearRows(uint64_t first, uint64_t last) {
        opgen::Share share;
        share.Init(last - first);
        if (share.first == share.last) {
            return;
        }
        const LocalTensor<float> scales = yScaleBuf.Get<float>();
        LocalTensor<int8_t> zeros = yQueue.AllocTensor<int8_t>();
        Duplicate(scales, kLeast / kSteps, kRows);
        Duplicate(zeros.ReinterpretCast<int16_t>(), static_cast<int16_t>(0), kTile / 2);
        yQueue.EnQue(zeros);
        zeros = yQueue.DeQue<int8_t>();
        for (uint64_t row = first + share.first; row < first + share.last; row += kRows) {
            const uint64_t left = first + share.last - row;
            opgen::StoreRange(yScaleGm[row], scales,
                              static_cast<uint32_t>(left < kRows ? left : kRows));
        }
        const uint64_t behind = (first + share.last) * width;
        for (uint64_t at = (first + share.first) * width; at < behind; at += kTile) {
            const uint64_t left = behind - at;
            opgen::StoreRange(yGm[at], zeros, static_cast<uint32_t>(left < kTile ? left : kTile));
        }
        yQueue.FreeTensor(zeros);
        // The scales of other rows are written there next.
        opgen::Order<HardEvent::MTE3_S>();
    }

    // Rows [first, first + count); at most kRows.
    __aicore__ inline void MakeRows(uint64_t first, uint32_t count) {
        const LocalTensor<float> given = xScaleBuf.Get<float>();
        const LocalTensor<float> made = yScaleBuf.Get<float>();
        opgen::LoadRange(given, xScaleGm[first], count);
        opgen::Order<HardEvent::MTE2_S>();
        ahead = first;
        tileAhead = 0;
        stepsPerRow = kept ? tiles : 2 * tiles;
        LoadAhead(first + count);
        for (uint32_t i = 0; i < count; ++i) {
            TakeGroup(first + i);
            const float scale = RowScale(given.GetValue(i), first + count);
            made.SetValue(i, scale);
            Quantise(first + i, scale, given.GetValue(i), first + count);
        }
        // The scalar unit wrote the scales, and has read those of x.
        opgen::Order<HardEvent::S_MTE3>();
        opgen::StoreRange(yScaleGm[first], made, count);
        opgen::Order<HardEvent::MTE3_S>();
        opgen::Order<HardEvent::S_MTE2>();
    }

    // The scale of the quantised row, whose gated values stay in UB if it is short enough.
    __aicore__ inline float RowScale(float given, uint64_t last) {
        const LocalTensor<float> largest = largestBuf.Get<float>();
        const LocalTensor<float> partial = largest[opgen::kFloatBlock];
        const LocalTensor<float> spare = spareBuf.Get<float>();
        // No magnitude is below the least float that y_scale is made of.
        Duplicate(largest, kLeast, opgen::kFloatBlock);
        for (uint32_t tile = 0; tile < tiles; ++tile) {
            const LocalTensor<float> gated = gatedBuf.Get<float>()[kept ? tile * kTile : 0];
            const uint32_t count = Count(tile);
            Gate(gated, tile, given, last);
            Abs(spare, gated, count);
            opgen::VectorBarrier();
            opgen::Tile box;
            box.cols = count;
            box.pitch = opgen::AlignElements<float>(count);
            box.count = box.pitch;
            opgen::AccumulateInPlace<opgen::kMax>(largest, partial, spare, box);
        }
        return opgen::FirstElement(largest) / kSteps;
    }

    __aicore__ inline void Quantise(uint64_t row, float scale, float given, uint64_t last) {
        const LocalTensor<float> divisor = divisorBuf.Get<float>();
        // A division by the scale, as in the formula: its inverse would move ties.
        Duplicate(divisor, scale, Count(0));
        opgen::VectorBarrier();
        for (uint32_t tile = 0; tile < tiles; ++tile) {
            const LocalTensor<float> gated = gatedBuf.Get<float>()[kept ? tile * kTile : 0];
            const uint32_t count = Count(tile);
            if (!kept) {
                Gate(gated, tile, given, last);
            }
            Div(gated, gated, divisor, count);
            opgen::VectorBarrier();
            // Magnitudes are 127 at most, whatever the division rounds: no clamp is needed.
            const LocalTensor<int32_t> whole = gated.ReinterpretCast<int32_t>();
            Cast(whole, gated, RoundMode::CAST_RINT, count);
            opgen::VectorBarrier();
            LocalTensor<int8_t> bytes = yQueue.AllocTensor<int8_t>();
            opgen::Narrow(bytes, whole, bytesBuf.Get<half>(), count);
            yQueue.EnQue(bytes);
            bytes = yQueue.DeQue<int8_t>();
            opgen::StoreRange(yGm[row * width + tile * kTile], bytes, count);
            yQueue.FreeTensor(bytes);
        }
    }

    // gated = swish(left) * right of the tile that was loaded ahead; the one behind it is on its
    // way then. given: the scale of the row.
    __aicore__ inline void Gate(const LocalTensor<float>& gated, uint32_t tile, float given,
                                uint64_t last) {
        LoadAhead(last);
        const uint32_t count = Count(tile);
        if (!kept) {
            LoadColumns(tile * kTile, count);
        }
        const LocalTensor<float> scales = columnScales[kept ? tile * kTile : 0];
        LocalTensor<int32_t> sums = sumQueue.DeQue<int32_t>();
        const LocalTensor<float> left = sums.ReinterpretCast<float>();
        const LocalTensor<float> right = left[kTile];
        const LocalTensor<float> spare = spareBuf.Get<float>();
        Cast(left, sums, RoundMode::CAST_RINT, count);
        Cast(right, sums[kTile], RoundMode::CAST_RINT, count);
        opgen::VectorBarrier();
        Muls(left, left, given, count);
        Muls(right, right, given, count);
        opgen::VectorBarrier();
        Mul(left, left, scales, count);
        Mul(right, right, scales[rightAt], count);
        opgen::VectorBarrier();
        Muls(spare, left, -1.0f, count);
        opgen::VectorBarrier();
        Exp(spare, spare, count);
        opgen::VectorBarrier();
        // e^-x overflows to inf, which gives the right 0
        Adds(spare, spare, 1.0f, count);
        opgen::VectorBarrier();
        Div(left, left, spare, count);
        opgen::VectorBarrier();
        Mul(gated, left, right, count);
        opgen::VectorBarrier();
        sumQueue.FreeTensor(sums);
    }

    // Bring the tile of both halves that is worked on after the next one to UB: of this row or,
    // while the scalar unit still waits for this row's scale, of the next. None from `last` on.
    __aicore__ inline void LoadAhead(uint64_t last) {
        if (ahead >= last) {
            return;
        }
        const uint32_t tile = tileAhead % tiles;
        const uint32_t count = Count(tile);
        const uint64_t at = ahead * tiling->columns + tile * kTile;
        LocalTensor<int32_t> sums = sumQueue.AllocTensor<int32_t>();
        opgen::LoadRange(sums, sumGm[at], count);
        opgen::LoadRange(sums[kTile], sumGm[at + width], count);
        sumQueue.EnQue(sums);
        if (++tileAhead == stepsPerRow) {
            tileAhead = 0;
            ++ahead;
        }
    }

    // Find the group of a row, which follows those that were asked for before.
    __aicore__ inline void TakeGroup(uint64_t row) {
        const uint32_t before = group;
        while (row >= static_cast<uint64_t>(tiling->ends[group])) {
            ++group;
        }
        if (kept && (group != before || !haveColumns)) {
            LoadColumns(0, width);
        }
    }

    // Bring scales of columns [at, at + count) of both halves to UB, in place of others.
    __aicore__ inline void LoadColumns(uint32_t at, uint32_t count) {
        if (haveColumns) {
            columnQueue.FreeTensor(columnScales);
        }
        const uint64_t from = static_cast<uint64_t>(group) * tiling->columns + at;
        columnScales = columnQueue.AllocTensor<float>();
        opgen::LoadRange(columnScales, weightScaleGm[from], count);
        opgen::LoadRange(columnScales[rightAt], weightScaleGm[from + width], count);
        columnQueue.EnQue(columnScales);
        columnScales = columnQueue.DeQue<float>();
        haveColumns = true;
    }

    // Columns of a tile.
    __aicore__ inline uint32_t Count(uint32_t tile) const {
        const uint32_t left = width - tile * kTile;
        return left < kTile ? left : kTile;
    }

    static constexpr uint32_t kTile = 2048;  // columns of a half that are worked on together
    static constexpr uint32_t kKept = 8192;  // columns of a half that stay in UB
    static constexpr uint32_t kRows = 256;   // rows whose scales are in UB
    static constexpr float kLeast = 0x1p-126f;
    static constexpr float kSteps = 127.0f;

    TQue<TPosition::VECIN, 2> sumQueue;
    TQue<TPosition::VECIN, 1> columnQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> gatedBuf;
    TBuf<TPosition::VECCALC> spareBuf;
    TBuf<TPosition::VECCALC> divisorBuf;
    TBuf<TPosition::VECCALC> bytesBuf;
    TBuf<TPosition::VECCALC> largestBuf;
    TBuf<TPosition::VECCALC> xScaleBuf;
    TBuf<TPosition::VECCALC> yScaleBuf;
    LocalTensor<float> columnScales;
    GlobalTensor<float> weightScaleGm;
    GlobalTensor<float> xScaleGm;
    GlobalTensor<int8_t> yGm;
    GlobalTensor<float> yScaleGm;
    GlobalTensor<int32_t> sumGm;
    const GroupedMatmulSwigluQuantTilingData* tiling = nullptr;
    uint32_t width = 0;        // columns of a half
    uint32_t tiles = 1;        // of a half
    uint32_t rightAt = 0;      // where scales of the right half lie behind those of the left one
    uint32_t stepsPerRow = 1;  // tiles that are loaded for a row
    uint32_t tileAhead = 0;
    uint64_t ahead = 0;  // the row whose tile is loaded next
    uint32_t group = 0;
    bool kept = true;  // rows stay in UB
    bool haveColumns = false;
};
}  // namespace grouped_matmul_swiglu_quant_kernel

#endif  // GROUPED_SWIGLU_ROWS_H
