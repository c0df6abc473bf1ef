// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Sums of columns that the cores add to one row in GM by atomics: in which order they come differs
// from call to call, and so do the last bits. A sum in float32 is added to the output itself, and
// no core waits for what the others add; others pass through a row of the workspace in float32.
#ifndef OPGEN_ROW_ATOMIC_COLUMNS_H
#define OPGEN_ROW_ATOMIC_COLUMNS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/core_wait.h"
#include "opgen/float_tile.h"
#include "opgen/row_columns.h"
#include "opgen/tile.h"

namespace opgen {

class AtomicColumnSums : public ColumnSums {
 public:
    // Set this core's share of a sum to zero, where all cores will add to it. Before any Add.
    template <typename T>
    __aicore__ inline void Clear(const GlobalTensor<T>& out, uint32_t sum) {
        Share share;
        share.Init((cols_ + kColumnUnit - 1) / kColumnUnit);
        const uint32_t first = static_cast<uint32_t>(share.first) * kColumnUnit;
        const uint32_t last = static_cast<uint32_t>(share.last) * kColumnUnit;
        const uint32_t end = last < cols_ ? last : cols_;
        if (first >= end) {
            return;
        }
        Order<AscendC::HardEvent::V_MTE3>();
        StoreRange(Target(out, sum)[first], Slot<float>(sumBuf_, sum, length_), end - first);
    }
    // All cores: what was stored before is there for all that comes after.
    __aicore__ inline void WaitForAll() { WaitForCores(); }
    // Join the rows that this core has added.
    __aicore__ inline void Publish() {
        VectorBarrier();
        for (uint32_t sum = 0; sum < sums_; ++sum) {
            FoldTile(Slot<float>(sumBuf_, sum, length_), rows_, pitch_);
        }
        Order<AscendC::HardEvent::V_MTE3>();
    }
    // Add what this core has of a sum.
    template <typename T>
    __aicore__ inline void Deposit(const GlobalTensor<T>& out, uint32_t sum) {
        AscendC::SetAtomicAdd<float>();
        StoreRange(Target(out, sum), Slot<float>(sumBuf_, sum, length_), cols_);
        AscendC::SetAtomicNone();
    }
    // Store this core's share of a sum, which is done already in float32. After all Deposits.
    template <typename T>
    __aicore__ inline void Store(const GlobalTensor<T>& out, uint32_t sum) {
        if constexpr (!Same<T, float>::value) {
            if (!complete_) {
                WaitForAll();
                pipe_->Reset();
                pipe_->InitBuffer(sumBuf_, Bytes<float>(kStoreLength));
                pipe_->InitBuffer(outBuf_, Bytes<float>(kStoreLength));
                complete_ = true;
            }
            const Tile32 wide = sumBuf_.template Get<float>();
            const LocalTensor<T> narrow = outBuf_.template Get<T>();
            Share share;
            share.Init((cols_ + kColumnUnit - 1) / kColumnUnit);
            for (uint64_t unit = share.first; unit < share.last; unit += kStoreUnits) {
                const uint32_t first = static_cast<uint32_t>(unit) * kColumnUnit;
                const uint64_t units =
                    share.last - unit < kStoreUnits ? share.last - unit : kStoreUnits;
                const uint32_t most = static_cast<uint32_t>(units) * kColumnUnit;
                const uint32_t count = cols_ - first < most ? cols_ - first : most;
                const uint32_t length = AlignElements<float>(count);
                Order<AscendC::HardEvent::V_MTE2>();
                LoadRange(wide, Target(out, sum)[first], count);
                Order<AscendC::HardEvent::MTE2_V>();
                Order<AscendC::HardEvent::MTE3_V>();
                Narrow(narrow, wide, length);
                Order<AscendC::HardEvent::V_MTE3>();
                StoreRange(out[first], narrow, count);
            }
        }
    }

 private:
    static constexpr uint32_t kStoreUnits = 64;  // of columns that are converted at once
    static constexpr uint32_t kStoreLength = kStoreUnits * kColumnUnit;

    // Where all cores add to a sum.
    template <typename T>
    __aicore__ inline GlobalTensor<float> Target(const GlobalTensor<T>& out, uint32_t sum) {
        if constexpr (Same<T, float>::value) {
            return out;
        } else {
            return gm_[static_cast<uint64_t>(sum) * width_];
        }
    }

    bool complete_ = false;
};

}  // namespace opgen

#endif  // OPGEN_ROW_ATOMIC_COLUMNS_H
