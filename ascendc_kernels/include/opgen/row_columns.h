// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Sums of columns beside what a row kernel makes of each row, as the gradient of a bias is one.
// Each core adds the tiles that it has in UB to an accumulator of their length. At the end every
// core writes one row of sums to the workspace, and the cores share the columns: each reads what
// all of them have written, joined in the same order in every call of as many cores.
#ifndef OPGEN_ROW_COLUMNS_H
#define OPGEN_ROW_COLUMNS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/core_wait.h"
#include "opgen/float_tile.h"
#include "opgen/operand.h"
#include "opgen/tile.h"

namespace opgen {

// The first row of a tile = all its rows joined, as a tree.
__aicore__ inline void FoldTile(const Tile32& tile, uint32_t rows, uint32_t pitch) {
    while (rows > 1) {
        const uint32_t half = rows / 2;
        AscendC::Add(tile, tile, tile[half * pitch], half * pitch);
        VectorBarrier();
        if (rows % 2 == 1) {
            AscendC::Add(tile, tile, tile[(rows - 1) * pitch], pitch);
            VectorBarrier();
        }
        rows = half;
    }
}

class ColumnSums {
 public:
    // workspace: floats for `sums` rows of each core; tiling: boxRows, boxCols, pitchUnit and
    // tileLength. A box has whole rows.
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR workspace, uint32_t sums, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        pipe_ = pipe;
        sums_ = sums;
        rows_ = tiling.boxRows;
        cols_ = tiling.boxCols;
        pitch_ = (cols_ + tiling.pitchUnit - 1) / tiling.pitchUnit * tiling.pitchUnit;
        width_ = AlignElements<float>(cols_);
        length_ = tiling.tileLength;
        cores_ = VectorCores();
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
        pipe->InitBuffer(sumBuf_, sums * Bytes<float>(length_));
        AscendC::Duplicate(sumBuf_.template Get<float>(), 0.0f, sums * length_);
        VectorBarrier();
    }
    // Add a box.
    __aicore__ inline void Add(uint32_t sum, const Tile32& values, uint32_t count) {
        const Tile32 to = Slot<float>(sumBuf_, sum, length_);
        AscendC::Add(to, to, values, count);
    }
    // Write the sums of this core and wait for those of all others. UB is free for Store then.
    __aicore__ inline void Publish() {
        VectorBarrier();
        for (uint32_t sum = 0; sum < sums_; ++sum) {
            FoldTile(Slot<float>(sumBuf_, sum, length_), rows_, pitch_);
        }
        Order<AscendC::HardEvent::V_MTE3>();
        const uint32_t core = static_cast<uint32_t>(AscendC::GetBlockIdx());
        for (uint32_t sum = 0; sum < sums_; ++sum) {
            AscendC::DataCopy(gm_[At(sum, core)], Slot<float>(sumBuf_, sum, length_), width_);
        }
        WaitForCores();
        pipe_->Reset();
        const uint32_t most = kJoinLength / kColumnUnit / cores_;
        step_ = most > 0 ? most : 1;
        pipe_->InitBuffer(sumBuf_, Bytes<float>(cores_ * step_ * kColumnUnit));
        pipe_->InitBuffer(outBuf_, Bytes<float>(step_ * kColumnUnit));
    }
    // Join a sum of all cores, for the columns of this one, and store it.
    template <typename T>
    __aicore__ inline void Store(const GlobalTensor<T>& out, uint32_t sum) {
        const Tile32 parts = sumBuf_.template Get<float>();
        Share share;
        share.Init((cols_ + kColumnUnit - 1) / kColumnUnit);
        for (uint64_t unit = share.first; unit < share.last; unit += step_) {
            const uint32_t first = static_cast<uint32_t>(unit) * kColumnUnit;
            const uint64_t units = share.last - unit < step_ ? share.last - unit : step_;
            const uint32_t most = static_cast<uint32_t>(units) * kColumnUnit;
            const uint32_t count = cols_ - first < most ? cols_ - first : most;
            const uint32_t length = AlignElements<float>(count);
            Order<AscendC::HardEvent::V_MTE2>();
            Order<AscendC::HardEvent::MTE3_MTE2>();
            const AscendC::DataCopyExtParams rows{static_cast<uint16_t>(cores_),
                                                  Bytes<float>(length),
                                                  Bytes<float>(width_ - length), 0, 0};
            AscendC::DataCopyPad(parts, gm_[At(sum, 0) + first], rows, {false, 0, 0, 0.0f});
            Order<AscendC::HardEvent::MTE2_V>();
            FoldTile(parts, cores_, length);
            if constexpr (Same<T, float>::value) {
                Order<AscendC::HardEvent::V_MTE3>();
                StoreRange(out[first], parts, count);
            } else {
                const LocalTensor<T> narrow = outBuf_.template Get<T>();
                Narrow(narrow, parts, length);
                Order<AscendC::HardEvent::V_MTE3>();
                StoreRange(out[first], narrow, count);
            }
        }
    }

 protected:
    static constexpr uint32_t kColumnUnit = 64;  // columns that no two cores share

    AscendC::TPipe* pipe_ = nullptr;
    AscendC::TBuf<AscendC::TPosition::VECCALC> sumBuf_, outBuf_;
    GlobalTensor<float> gm_;
    uint32_t sums_ = 0;
    uint32_t rows_ = 1;
    uint32_t cols_ = 0;
    uint32_t pitch_ = 0;
    uint32_t width_ = 0;
    uint32_t length_ = 0;
    uint32_t cores_ = 1;

 private:
    static constexpr uint32_t kJoinLength = 16384;  // floats of the cores that are joined at once

    __aicore__ inline uint64_t At(uint32_t sum, uint32_t core) const {
        return (static_cast<uint64_t>(sum) * cores_ + core) * width_;
    }

    uint32_t step_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_ROW_COLUMNS_H
