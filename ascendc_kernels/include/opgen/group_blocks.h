// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Blocks of products of groups of rows, each group times a matrix of its own: which blocks a core
// makes, one group after the other.
#ifndef OPGEN_GROUP_BLOCKS_H
#define OPGEN_GROUP_BLOCKS_H

#include "kernel_operator.h"

namespace opgen {

// A block: its group, rows of all groups, and columns.
struct GroupBlock {
    uint32_t group = 0;
    uint64_t row = 0;
    uint32_t rows = 0;
    uint32_t column = 0;
    uint32_t columns = 0;
};

// The blocks that a core makes, every blockNum-th of all. Tiling: ends (behind which row each group
// ends), columns, blockRows, blockColumns.
template <typename Tiling>
class GroupBlocks {
 public:
    __aicore__ inline void Init(const Tiling* tiling) {
        tiling_ = tiling;
        across_ = (tiling->columns + tiling->blockColumns - 1) / tiling->blockColumns;
        next_ = static_cast<uint32_t>(AscendC::GetBlockIdx());
    }
    // The next block of this core among the first `last` ones; false: there is none.
    __aicore__ inline bool Next(uint32_t last, GroupBlock& block) {
        if (next_ >= last) {
            return false;
        }
        while (next_ >= behind_ + Count()) {
            behind_ += Count();
            ++group_;
        }
        const uint32_t place = next_ - behind_;
        const uint64_t inside = static_cast<uint64_t>(place / across_) * tiling_->blockRows;
        const uint64_t left = Rows() - inside;
        block.group = group_;
        block.row = Start() + inside;
        block.rows = static_cast<uint32_t>(left < tiling_->blockRows ? left : tiling_->blockRows);
        block.column = place % across_ * tiling_->blockColumns;
        const uint32_t rest = tiling_->columns - block.column;
        block.columns = rest < tiling_->blockColumns ? rest : tiling_->blockColumns;
        next_ += static_cast<uint32_t>(AscendC::GetBlockNum());
        return true;
    }

 private:
    __aicore__ inline uint64_t Start() const {
        return group_ > 0 ? static_cast<uint64_t>(tiling_->ends[group_ - 1]) : 0;
    }
    __aicore__ inline uint64_t Rows() const {
        return static_cast<uint64_t>(tiling_->ends[group_]) - Start();
    }
    // Blocks of the group.
    __aicore__ inline uint32_t Count() const {
        const uint64_t down = (Rows() + tiling_->blockRows - 1) / tiling_->blockRows;
        return static_cast<uint32_t>(down) * across_;
    }

    const Tiling* tiling_ = nullptr;
    uint32_t across_ = 1;
    uint32_t next_ = 0;
    uint32_t group_ = 0;
    uint32_t behind_ = 0;  // blocks of the groups before
};

}  // namespace opgen

#endif  // OPGEN_GROUP_BLOCKS_H
