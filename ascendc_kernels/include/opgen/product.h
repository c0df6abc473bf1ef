// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The blocks of a matrix product that a core makes. The result of every batch is cut into blocks of
// equal size; cores take them in turn, so that those which work at the same time read the same rows
// and columns, from L2. Where K is cut into pieces, each piece has a result of its own
// (product_pieces.h adds them).
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
    // The first element of the matrix of a batch.
    __aicore__ inline int64_t At(const uint64_t (&index)[kBatchDims]) const {
        int64_t at = offset;
        for (uint32_t i = 0; i < kBatchDims; ++i) {
            at += static_cast<int64_t>(index[i]) * batch[i];
        }
        return at;
    }
};

// Sizes of the batches of a product.
struct ProductBatches {
    uint64_t dims[kBatchDims] = {};

    template <typename Array>
    __aicore__ inline void Init(const Array& packed) {
        for (uint32_t i = 0; i < kBatchDims; ++i) {
            dims[i] = static_cast<uint64_t>(packed[i]);
        }
    }
    __aicore__ inline uint64_t Count() const {
        uint64_t count = 1;
        for (uint32_t i = 0; i < kBatchDims; ++i) {
            count *= dims[i];
        }
        return count;
    }
    // The index of a batch in each dimension; returns how often all batches come before it.
    __aicore__ inline uint64_t Index(uint64_t batch, uint64_t (&index)[kBatchDims]) const {
        for (uint32_t i = kBatchDims; i > 0; --i) {
            index[i - 1] = batch % dims[i - 1];
            batch /= dims[i - 1];
        }
        return batch;
    }
};

// A block of a result: its size, how many products each of its elements sums up, and where it and
// the rows and columns it is made of begin.
struct ProductBlock {
    uint32_t rows = 0;
    uint32_t columns = 0;
    uint32_t depth = 0;
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
        batches_.Init(tiling.batchDims);
        rows_ = tiling.rows;
        columns_ = tiling.columns;
        depth_ = tiling.depth;
        pieceDepth_ = tiling.pieceDepth;
        total_ = tiling.total;
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
        uint64_t batch[kBatchDims];
        // Pieces of K come after one another, each with all batches.
        const uint64_t piece = batches_.Index(next_ / blocksAcross_ / blocksDown_, batch);
        const uint32_t row = down * blockRows_;
        const uint32_t column = across * blockColumns_;
        const uint32_t first = static_cast<uint32_t>(piece) * pieceDepth_;
        block.rows = rows_ - row < blockRows_ ? rows_ - row : blockRows_;
        block.columns = columns_ - column < blockColumns_ ? columns_ - column : blockColumns_;
        block.depth = depth_ - first < pieceDepth_ ? depth_ - first : pieceDepth_;
        block.left = left_.At(batch) + row * left_.down + first * left_.across;
        block.right = right_.At(batch) + column * right_.across + first * right_.down;
        block.result = result_.At(batch) + row * result_.down + column * result_.across +
                       static_cast<int64_t>(piece * total_);
        next_ += static_cast<uint64_t>(AscendC::GetBlockNum());
        return true;
    }

 private:
    ProductWalk left_, right_, result_;
    ProductBatches batches_;
    uint64_t total_ = 0;
    uint32_t rows_ = 0, columns_ = 0, depth_ = 0, pieceDepth_ = 0;
    uint32_t blockRows_ = 0, blockColumns_ = 0;
    uint32_t blocksDown_ = 0, blocksAcross_ = 0;
    uint64_t count_ = 0;
    uint64_t next_ = 0;
};

// Elements of a result that lie without gaps: all of them, or those of each row.
class ProductLines {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        walk_.Init(tiling.sumWalk);
        batches_.Init(tiling.batchDims);
        rows_ = tiling.rows;
        length_ = tiling.sumLength;
        count_ = tiling.total / length_;
    }
    __aicore__ inline uint64_t Count() const { return count_; }
    // Elements of a line.
    __aicore__ inline uint64_t Length() const { return length_; }
    // The first element of a line.
    __aicore__ inline int64_t At(uint64_t line) const {
        uint64_t batch[kBatchDims];
        batches_.Index(line / rows_, batch);
        return walk_.At(batch) + static_cast<int64_t>(line % rows_) * walk_.down;
    }

 private:
    ProductWalk walk_;
    ProductBatches batches_;
    uint64_t rows_ = 1, count_ = 0, length_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_PRODUCT_H
