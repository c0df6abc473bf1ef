// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How cores share attention. A group of a cube core and its vector cores takes blocks of rows of
// the queries; a block goes through the keys that it sees step by step. The scores of a step, their
// probabilities and the sums of values stay in the workspace of the group, small enough for L2, in
// two slots that the steps take in turn:
//
//   cube     scores(0)  scores(1)        sums(0)  scores(2)        sums(1) ...
//   vector              softmax(0)       softmax(1)  add(0)        softmax(2)  add(1) ...
#ifndef OPGEN_ATTENTION_BLOCKS_H
#define OPGEN_ATTENTION_BLOCKS_H

#include "kernel_operator.h"
#include "opgen/product.h"
#include "opgen/tile.h"

namespace opgen {

constexpr uint32_t kAttentionSlots = 2;
// Flags between the cube core and the vector cores of a group. What a flag says of a step also says
// that the slots of the step two before it are free: scores are set when those probabilities were
// multiplied, probabilities when those sums were added.
constexpr uint16_t kScoresReady = 4;
constexpr uint16_t kProbabilitiesReady = 5;
constexpr uint16_t kSumsReady = 6;

// Rows and columns of the result of one batch, and how many keys at least one of the rows sees.
struct AttentionBlock {
    uint64_t number = 0;  // among those of the group with keys
    uint64_t outer[kBatchDims] = {};
    uint32_t row = 0;
    uint32_t rows = 0;
    uint32_t column = 0;
    uint32_t columns = 0;
    uint32_t keys = 0;
};

// Keys of a block that are worked on together.
struct AttentionStep {
    uint32_t key = 0;
    uint32_t keys = 0;
    uint32_t slot = 0;
    bool first = false;
    bool last = false;
};

// The blocks of a group of cores and their steps, one after another.
class AttentionSteps {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        batchDims_.Init(tiling.batchDims);
        batches_ = batchDims_.Count();
        rows_ = tiling.rows;
        keys_ = tiling.keys;
        width_ = tiling.width;
        blockRows_ = tiling.blockRows;
        blockColumns_ = tiling.blockColumns;
        stepKeys_ = tiling.stepKeys;
        shift_ = tiling.shift;
        triangle_ = tiling.triangle != 0;
        down_ = (rows_ + blockRows_ - 1) / blockRows_;
        across_ = (width_ + blockColumns_ - 1) / blockColumns_;
        total_ = tiling.blocks;
    }
    // The group of cores that this one belongs to.
    __aicore__ inline static uint64_t Group() {
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        if ASCEND_IS_AIV {
            return core / static_cast<uint64_t>(AscendC::GetTaskRation());
        }
        return core;
    }
    // The next block; false: there is none.
    __aicore__ inline bool NextBlock() {
        const uint64_t groups = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t round = next_ * groups;
        if (round >= total_) {
            return false;
        }
        // Every other round runs backwards: blocks that see more keys come first, and no group
        // has the longest one of every round.
        const bool backwards = triangle_ && next_ % 2 == 1;
        const uint64_t index = round + (backwards ? groups - 1 - Group() : Group());
        if (index >= total_) {
            return false;  // of the last round
        }
        ++next_;
        Place(index);
        return true;
    }
    // The next step of the block; false: there is none.
    __aicore__ inline bool NextStep(AttentionStep& step) {
        if (key_ >= block_.keys) {
            return false;
        }
        step.key = key_;
        step.keys = Least(block_.keys - key_, stepKeys_);
        step.first = key_ == 0;
        step.slot = static_cast<uint32_t>(count_ % kAttentionSlots);
        key_ += step.keys;
        step.last = key_ >= block_.keys;
        ++count_;
        return true;
    }
    __aicore__ inline const AttentionBlock& Block() const { return block_; }

 private:
    __aicore__ inline static uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }
    __aicore__ inline void Place(uint64_t index) {
        // Neighbours share keys, in L2; where rows see different numbers of keys the last rows of
        // all batches come first.
        block_.column = static_cast<uint32_t>(index % across_) * blockColumns_;
        index /= across_;
        uint64_t down = index % down_;
        uint64_t batch = index / down_;
        if (triangle_) {
            down = down_ - 1 - index / batches_;
            batch = index % batches_;
        }
        block_.row = static_cast<uint32_t>(down) * blockRows_;
        block_.rows = Least(rows_ - block_.row, blockRows_);
        block_.columns = Least(width_ - block_.column, blockColumns_);
        batchDims_.Index(batch, block_.outer);
        const int64_t seen = static_cast<int64_t>(block_.row) + block_.rows + shift_;
        block_.keys = seen <= 0 ? 0 : seen < keys_ ? static_cast<uint32_t>(seen) : keys_;
        block_.number = numbered_;
        numbered_ += block_.keys > 0 ? 1 : 0;
        key_ = 0;
    }

    AttentionBlock block_;
    ProductBatches batchDims_;
    uint64_t batches_ = 1;
    uint64_t down_ = 1, across_ = 1, total_ = 0;
    uint64_t next_ = 0, numbered_ = 0, count_ = 0;
    int64_t shift_ = 0;
    uint32_t rows_ = 0, keys_ = 0, width_ = 0, key_ = 0;
    uint32_t blockRows_ = 1, blockColumns_ = 1, stepKeys_ = 1;
    bool triangle_ = false;
};

// What a group of cores has in the workspace: per slot the scores, the probabilities, the sums.
template <typename T>
struct AttentionWorkspace {
    GlobalTensor<float> scores, sums;
    GlobalTensor<T> probabilities;
    uint64_t scoreLength = 0, sumLength = 0;  // elements of a slot
    uint32_t scorePitch = 0, sumPitch = 0;    // elements of a row

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR workspace, const Tiling& tiling) {
        scorePitch = tiling.stepKeys;
        sumPitch = tiling.sumPitch;
        scoreLength = static_cast<uint64_t>(tiling.blockRows) * scorePitch;
        sumLength = static_cast<uint64_t>(tiling.blockRows) * sumPitch;
        const uint64_t slots = kAttentionSlots;
        const uint64_t bytes =
            slots * (scoreLength * (sizeof(float) + sizeof(T)) + sumLength * sizeof(float));
        __gm__ uint8_t* start =
            reinterpret_cast<__gm__ uint8_t*>(workspace) + AttentionSteps::Group() * bytes;
        scores.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(start));
        start += slots * scoreLength * sizeof(float);
        sums.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(start));
        start += slots * sumLength * sizeof(float);
        probabilities.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(start));
    }
};

}  // namespace opgen

#endif  // OPGEN_ATTENTION_BLOCKS_H
