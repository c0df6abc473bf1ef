// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The blocks of a matrix product that a core makes. The result of every batch is cut into blocks of
// equal size; cores take them in turn, so that those which work at the same time read the same rows
// and columns, from L2.
#ifndef OPGEN_PRODUCT_H
#define OPGEN_PRODUCT_H

#include "kernel_operator.h"

namespace opgen {

constexpr uint32_t kBatchDims = 6;

// Where the matrices of a tensor lie, in elements.
struct ProductWalk {
    int64_t batch[kBatchDims] = {};
    int64_t down = 0;    // from row to row
    int64_t across = 0;  // from column to column
    int64_t offset = 0;

    template <typename Array>
    __aicore__ inline void Init(const Array& packed) {
        for (uint32_t i = 0; i < kBatchDims; ++i) {
            batch[i] = packed[i];
        }
        down = packed[kBatchDims];
        across = packed[kBatchDims + 1];
        offset = packed[kBatchDims + 2];
    }
};

// A block of the result: its size, and where it and the rows and columns it is made of begin.
struct ProductBlock {
    uint32_t rows = 0;
    uint32_t columns = 0;
    int64_t left = 0;
    int64_t right = 0;
    int64_t result = 0;
};

class ProductBlocks {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        left_.Init(tiling.leftWalk);
        right_.Init(tiling.rightWalk);
        result_.Init(tiling.resultWalk);
        for (uint32_t i = 0; i < kBatchDims; ++i) {
            batchDims_[i] = static_cast<uint64_t>(tiling.batchDims[i]);
        }
        rows_ = tiling.rows;
        columns_ = tiling.columns;
        blockRows_ = tiling.blockRows;
        blockColumns_ = tiling.blockColumns;
        blocksDown_ = (rows_ + blockRows_ - 1) / blockRows_;
        blocksAcross_ = (columns_ + blockColumns_ - 1) / blockColumns_;
        count_ = tiling.blocks;
        next_ = static_cast<uint64_t>(AscendC::GetBlockIdx());
    }
    // The next block of this core; false: there is none.
    __aicore__ inline bool Next(ProductBlock& block) {
        if (next_ >= count_) {
            return false;
        }
        const uint32_t across = static_cast<uint32_t>(next_ % blocksAcross_);
        const uint32_t down = static_cast<uint32_t>(next_ / blocksAcross_ % blocksDown_);
        uint64_t batch = next_ / blocksAcross_ / blocksDown_;
        const uint32_t row = down * blockRows_;
        const uint32_t column = across * blockColumns_;
        block.rows = rows_ - row < blockRows_ ? rows_ - row : blockRows_;
        block.columns = columns_ - column < blockColumns_ ? columns_ - column : blockColumns_;
        block.left = left_.offset + row * left_.down;
        block.right = right_.offset + column * right_.across;
        block.result = result_.offset + row * result_.down + column * result_.across;
        for (uint32_t i = kBatchDims; i > 0; --i) {
            const int64_t index = static_cast<int64_t>(batch % batchDims_[i - 1]);
            batch /= batchDims_[i - 1];
            block.left += index * left_.batch[i - 1];
            block.right += index * right_.batch[i - 1];
            block.result += index * result_.batch[i - 1];
        }
        next_ += static_cast<uint64_t>(AscendC::GetBlockNum());
        return true;
    }

 private:
    ProductWalk left_, right_, result_;
    uint64_t batchDims_[kBatchDims] = {};
    uint32_t rows_ = 0, columns_ = 0;
    uint32_t blockRows_ = 0, blockColumns_ = 0;
    uint32_t blocksDown_ = 0, blocksAcross_ = 0;
    uint64_t count_ = 0;
    uint64_t next_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_PRODUCT_H
