// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The vector cores' part of attention: the softmax of rows whose scores come step by step. Each row
// keeps its largest score so far and the sum of exp(score - largest); when a step raises the
// largest one, that sum and the row of values added up so far shrink by exp(before - now). The
// division by the sum comes last.
//
// A class Scores brings the products of queries and keys to what the softmax takes: Load(box)
// copies what it reads of masks to UB, Apply(scores, scratch, box) works on the box; kSafe tells
// whether rows without any score above -inf give 0 instead of NaN.
#ifndef OPGEN_ATTENTION_H
#define OPGEN_ATTENTION_H

#include "kernel_operator.h"
#include "opgen/attention_blocks.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"
#include "opgen/row.h"
#include "opgen/row_operands.h"
#include "opgen/tile.h"

namespace opgen {

// T: of queries, keys, values and probabilities. Result: of the result, T or float.
template <typename T, typename Result = T>
class AttentionRows {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR result, GM_ADDR workspace, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        resultGm_.SetGlobalBuffer(reinterpret_cast<__gm__ Result*>(result));
        resultWalk_.Init(tiling.resultWalk);
        workspace_.Init(workspace, tiling);
        scoreWalk_.stride[kOuterDims] = workspace_.scorePitch;
        scoreWalk_.stride[kOuterDims + 1] = 1;
        sumWalk_.stride[kOuterDims] = workspace_.sumPitch;
        sumWalk_.stride[kOuterDims + 1] = 1;
        steps_.Init(tiling);
        noKeys_ = tiling.keys == 0;
        noDepth_ = tiling.depth == 0;
        halfRows_ = tiling.blockRows / 2;
        scoreRows_ = tiling.scoreRows;
        sumRows_ = tiling.sumRows;
        pipe->InitBuffer(inQueue_, 2, Bytes<float>(tiling.tileLength));
        pipe->InitBuffer(outQueue_, 2, Bytes<Widest>(tiling.tileLength));
        pipe->InitBuffer(scratchBuf_, Bytes<float>(tiling.tileLength));
        pipe->InitBuffer(sumBuf_, Bytes<float>(halfRows_ * workspace_.sumPitch));
        pipe->InitBuffer(statisticBuf_, Bytes<float>(kStatistics * halfRows_));
        pipe->InitBuffer(blockBuf_, halfRows_ * kBlockBytes);
    }

    template <typename Scores>
    __aicore__ inline void Process(Scores& scores) {
        AscendC::Duplicate(statisticBuf_.Get<float>(), 0.0f, kStatistics * halfRows_);
        VectorBarrier();
        AttentionStep step, before;
        AttentionBlock blockBefore;
        bool pending = false;
        while (steps_.NextBlock()) {
            const AttentionBlock block = steps_.Block();
            if (block.keys == 0) {
                StoreNothing<Scores::kSafe>(block);
            }
            while (steps_.NextStep(step)) {
                AscendC::CrossCoreWaitFlag(kScoresReady);
                Softmax(scores, block, step);
                AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kProbabilitiesReady);
                if (pending) {
                    AddSums<Scores::kSafe>(blockBefore, before);
                }
                blockBefore = block;
                before = step;
                pending = true;
            }
        }
        if (pending) {
            AddSums<Scores::kSafe>(blockBefore, before);
        }
    }

 private:
    // Numbers of rows: of two blocks the largest score and the sum, of two steps the factor of what
    // came before, then scratch.
    enum Statistic : uint32_t { kLargestScores = 0, kSums = 2, kFactors = 4, kSpares = 6 };
    static constexpr uint32_t kStatistics = 7;
    using Widest = typename Choose<(sizeof(Result) > sizeof(T)), Result, T>::Type;
    static constexpr uint32_t kPitchUnit = 32;

    __aicore__ inline Tile32 Numbers(uint32_t which, uint32_t row) {
        return statisticBuf_.Get<float>()[which * halfRows_ + row];
    }
    // The rows of a block that this core takes begin here; `count` is how many.
    __aicore__ inline uint32_t OwnRows(const AttentionBlock& block, uint32_t& count) const {
        const uint32_t core = static_cast<uint32_t>(AscendC::GetBlockIdx()) %
                              static_cast<uint32_t>(AscendC::GetTaskRation());
        const uint32_t first = core * halfRows_;
        const uint32_t left = block.rows > first ? block.rows - first : 0;
        count = left < halfRows_ ? left : halfRows_;
        return first;
    }
    // Rows [row, row + rows) of what this core takes, from `first` on, and so many columns.
    __aicore__ inline static Tile Box(uint32_t first, uint32_t row, uint32_t rows, uint32_t columns,
                                      uint32_t pitch) {
        Tile box;
        box.row = first + row;
        box.rows = rows;
        box.cols = columns;
        box.pitch = pitch;
        box.count = rows * pitch;
        return box;
    }
    // The same box in the tensors of the call.
    __aicore__ inline static Tile InTensor(const Tile& box, const AttentionBlock& block,
                                           uint32_t column) {
        Tile placed = box;
        placed.row += block.row;
        placed.col = column;
        for (uint32_t i = 0; i < kOuterDims; ++i) {
            placed.outer[i] = block.outer[i];
        }
        return placed;
    }
    __aicore__ inline static uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

    // The probabilities of a step, not divided by their sum yet.
    template <typename Scores>
    __aicore__ inline void Softmax(Scores& scores, const AttentionBlock& block,
                                   const AttentionStep& step) {
        uint32_t count = 0;
        const uint32_t first = OwnRows(block, count);
        const uint32_t number = static_cast<uint32_t>(block.number % 2);
        if (step.first) {
            AscendC::Duplicate(Numbers(kLargestScores + number, 0), -kLargest, halfRows_);
            AscendC::Duplicate(Numbers(kSums + number, 0), 0.0f, halfRows_);
            VectorBarrier();
        }
        const uint32_t pitch = (step.keys + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
        for (uint32_t row = 0; row < count; row += scoreRows_) {
            const Tile box = Box(first, row, Least(scoreRows_, count - row), step.keys, pitch);
            const Tile placed = InTensor(box, block, step.key);
            if (row == 0) {
                LoadScores(scores, box, placed, step);
            }
            if (row + scoreRows_ < count) {  // come while this box is worked on
                const uint32_t next = row + scoreRows_;
                const Tile after =
                    Box(first, next, Least(scoreRows_, count - next), step.keys, pitch);
                LoadScores(scores, after, InTensor(after, block, step.key), step);
            }
            LocalTensor<float> tile = inQueue_.DeQue<float>();
            const Tile32 scratch = scratchBuf_.Get<float>();
            scores.Apply(tile, scratch, placed);
            Exponentials(tile, scratch, box, row, number, step);
            inQueue_.FreeTensor(tile);
        }
    }
    template <typename Scores>
    __aicore__ inline void LoadScores(Scores& scores, const Tile& box, const Tile& placed,
                                      const AttentionStep& step) {
        LocalTensor<float> tile = inQueue_.AllocTensor<float>();
        if (noDepth_) {
            AscendC::Duplicate(tile, 0.0f, box.count);
            VectorBarrier();
        } else {
            LoadBox(tile, workspace_.scores[step.slot * workspace_.scoreLength], scoreWalk_, box);
        }
        inQueue_.EnQue(tile);
        scores.Load(placed);
    }
    // tile = exp(scores - largest), which goes to the workspace; largest and sum of its rows.
    __aicore__ inline void Exponentials(const Tile32& tile, const Tile32& scratch, const Tile& box,
                                        uint32_t row, uint32_t number, const AttentionStep& step) {
        const Tile32 largest = Numbers(kLargestScores + number, row);
        const Tile32 sum = Numbers(kSums + number, row);
        const Tile32 factor = Numbers(kFactors + step.slot, row);
        const Tile32 spare = Numbers(kSpares, row);
        const Tile32 blocks = blockBuf_.Get<float>();
        Reduce<kMax>(spare, tile, scratch, box);
        AscendC::Max(spare, spare, largest, box.rows);
        VectorBarrier();
        // Infinities less infinities would be NaN where a later step sees a score.
        Finite(spare, spare, box.rows);
        AscendC::Sub(factor, largest, spare, box.rows);
        VectorBarrier();
        AscendC::Exp(factor, factor, box.rows);
        AscendC::Muls(largest, spare, 1.0f, box.rows);
        VectorBarrier();
        ApplyRow<kSub>(tile, tile, largest, blocks, box);
        AscendC::Exp(tile, tile, box.count);
        VectorBarrier();
        LocalTensor<T> narrow = outQueue_.AllocTensor<T>();
        NarrowCopy(narrow, tile, box.count);
        VectorBarrier();  // the sum overwrites the tile
        outQueue_.EnQue(narrow);
        ReduceInPlace<kSum>(spare, tile, box);
        AscendC::Mul(sum, sum, factor, box.rows);
        VectorBarrier();
        AscendC::Add(sum, sum, spare, box.rows);
        VectorBarrier();
        narrow = outQueue_.DeQue<T>();
        StoreBox(workspace_.probabilities[step.slot * workspace_.scoreLength], narrow, scoreWalk_,
                 box);
        outQueue_.FreeTensor(narrow);
    }

    // Add the probabilities times values of a step to the rows; the last step gives the result.
    template <bool kSafe>
    __aicore__ inline void AddSums(const AttentionBlock& block, const AttentionStep& step) {
        AscendC::CrossCoreWaitFlag(kSumsReady);
        uint32_t count = 0;
        const uint32_t first = OwnRows(block, count);
        const Tile32 blocks = blockBuf_.Get<float>();
        for (uint32_t row = 0; row < count; row += sumRows_) {
            const Tile box =
                Box(first, row, Least(sumRows_, count - row), block.columns, workspace_.sumPitch);
            LocalTensor<float> added = inQueue_.AllocTensor<float>();
            LoadBox(added, workspace_.sums[step.slot * workspace_.sumLength], sumWalk_, box);
            inQueue_.EnQue(added);
            const Tile32 sums = sumBuf_.Get<float>()[row * workspace_.sumPitch];
            added = inQueue_.DeQue<float>();
            if (step.first) {
                AscendC::Muls(sums, added, 1.0f, box.count);
            } else {
                ApplyRow<kMul>(sums, sums, Numbers(kFactors + step.slot, row), blocks, box);
                AscendC::Add(sums, sums, added, box.count);
            }
            VectorBarrier();
            inQueue_.FreeTensor(added);
            if (step.last) {
                Divide<kSafe>(sums, box, row, static_cast<uint32_t>(block.number % 2));
                LocalTensor<Result> narrow = outQueue_.AllocTensor<Result>();
                NarrowCopy(narrow, sums, box.count);
                VectorBarrier();  // the next block overwrites the sums
                Store(narrow, InTensor(box, block, block.column));
            }
        }
    }
    // sums /= sum of the probabilities; that of a row without any score is 0.
    template <bool kSafe>
    __aicore__ inline void Divide(const Tile32& sums, const Tile& box, uint32_t row,
                                  uint32_t number) {
        const Tile32 sum = Numbers(kSums + number, row);
        if constexpr (kSafe) {
            // The largest score of another row adds 1, so this changes the sums of 0 alone.
            AscendC::Maxs(sum, sum, kLeastSum, box.rows);
            VectorBarrier();
        }
        ApplyRow<kDiv>(sums, sums, sum, blockBuf_.Get<float>(), box);
    }
    // Rows that see no key.
    template <bool kSafe>
    __aicore__ inline void StoreNothing(const AttentionBlock& block) {
        uint32_t count = 0;
        const uint32_t first = OwnRows(block, count);
        const float nothing = kSafe || noKeys_ ? 0.0f : kNan;
        for (uint32_t row = 0; row < count; row += sumRows_) {
            const Tile box =
                Box(first, row, Least(sumRows_, count - row), block.columns, workspace_.sumPitch);
            LocalTensor<Result> narrow = outQueue_.AllocTensor<Result>();
            AscendC::Duplicate(narrow, static_cast<Result>(nothing), box.count);
            Store(narrow, InTensor(box, block, block.column));
        }
    }
    __aicore__ inline void Store(LocalTensor<Result>& narrow, const Tile& placed) {
        outQueue_.EnQue(narrow);
        narrow = outQueue_.DeQue<Result>();
        StoreBox(resultGm_, narrow, resultWalk_, placed);
        outQueue_.FreeTensor(narrow);
    }

    static constexpr float kLeastSum = 0x1p-126f;

    AttentionSteps steps_;
    AttentionWorkspace<T> workspace_;
    Walk resultWalk_, scoreWalk_, sumWalk_;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> inQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> outQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> scratchBuf_, sumBuf_, statisticBuf_, blockBuf_;
    GlobalTensor<Result> resultGm_;
    uint32_t halfRows_ = 0, scoreRows_ = 1, sumRows_ = 1;
    bool noKeys_ = false, noDepth_ = false;
};

}  // namespace opgen

#endif  // OPGEN_ATTENTION_H
