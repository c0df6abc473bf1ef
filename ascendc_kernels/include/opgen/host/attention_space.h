// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of attention: how queries, keys, values, masks and result lie in their
// tensors, the block of rows that a group of cores takes, and the keys of a step. C++11, no CANN
// header needed.
#ifndef OPGEN_HOST_ATTENTION_SPACE_H
#define OPGEN_HOST_ATTENTION_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "product_space.h"
#include "sizes.h"
#include "view.h"

namespace opgen {

// Steps whose scores, probabilities and sums the workspace holds at a time.
constexpr int64_t kAttentionSlots = 2;
// Rows that vector cores work on at once: a block of UB has that many numbers of rows.
constexpr int64_t kRowUnit = 8;
// Scores of a row begin at a block of UB, whatever the type of a mask is.
constexpr int64_t kScoreUnit = 32;
// A shift of the diagonal that leaves every key visible.
constexpr int64_t kAllKeys = INT32_MAX;

// What UB and the cores hold.
struct AttentionLimits {
    int64_t bytes;     // of an element of an operand
    int64_t cores;     // of the cube
    int64_t ub;        // bytes of UB
    double perScore;   // bytes of UB that a score takes
    int64_t reserved;  // bytes of UB that do not grow with scores
};

struct AttentionSpace {
    std::vector<int64_t> batches;
    int64_t rows = 0, keys = 0, depth = 0, width = 0;  // width: of a value
    ProductMatrix query, key, value, result;           // keys stand in columns
    std::vector<ProductMatrix> masks;
    int64_t shift = kAllKeys;  // row r sees keys up to r + shift
    // Of a block: rows and columns of the result, keys of a step; rows that a vector core has in
    // UB.
    int64_t blockRows = kFractal, blockColumns = kFractal, stepKeys = kScoreUnit;
    int64_t scoreRows = kRowUnit, sumRows = kRowUnit;
    int64_t cores = 1;

    // The sizes of softmax(queries x keys) x values. Every matrix of keys or values serves so many
    // batches that follow one another. Returns why they do not fit together, "" when they do.
    std::string Read(const View& q, const View& k, const View& v, int64_t repeatKeys,
                     int64_t repeatValues) {
        for (const View* view : {&q, &k, &v}) {
            if (view->dim.size() < 2) {
                return "attention needs matrices, not " + ShapeText(view->dim);
            }
        }
        views_ = {q, k, v};
        repeats_ = {1, repeatKeys, repeatValues};
        rows = q.dim[q.dim.size() - 2];
        depth = q.dim.back();
        keys = k.dim.back();
        width = v.dim.back();
        bool fit = depth == k.dim[k.dim.size() - 2] && keys == v.dim[v.dim.size() - 2];
        for (size_t i = 0; i < views_.size(); ++i) {
            std::vector<int64_t> own(views_[i].dim.begin(), views_[i].dim.end() - 2);
            if (repeats_[i] < 1 || (own.empty() && repeats_[i] > 1)) {
                return "heads are repeated " + std::to_string(repeats_[i]) + " times";
            }
            if (repeats_[i] > 1) {
                own.back() = Times(own.back(), repeats_[i]);
                repeat_ = std::max(repeat_, repeats_[i]);
            }
            fit = fit && BroadcastDims(batches, own);
        }
        for (size_t i = 0; i < views_.size(); ++i) {
            fit = fit && (repeats_[i] == 1 ||
                          (repeats_[i] == repeat_ && Times(views_[i].dim[views_[i].dim.size() - 3],
                                                           repeat_) == batches.back()));
        }
        if (!fit || (repeat_ > 1 && batches.back() % repeat_ != 0)) {
            return "queries of shape " + ShapeText(q.dim) + ", transposed keys of shape " +
                   ShapeText(k.dim) + " and values of shape " + ShapeText(v.dim) +
                   " do not fit together";
        }
        return "";
    }
    // The shape of the result, with the axes joined that its tensor joins.
    std::vector<int64_t> Dims(Joined joined) const {
        std::vector<int64_t> dims = batches;
        if (joined == Joined::kBatches) {
            dims.assign(1, Batches());
        } else if (joined == Joined::kRows) {
            dims.clear();
        }
        dims.push_back(joined == Joined::kRows ? Times(Batches(), rows) : rows);
        dims.push_back(width);
        return dims;
    }
    int64_t Batches() const {
        int64_t total = 1;
        for (size_t i = 0; i < batches.size(); ++i) {
            total = Times(total, batches[i]);
        }
        return total;
    }
    // Where the result goes.
    std::string Fill(const View& view, Joined joined) {
        if (!SameDims(view.dim, Dims(joined))) {
            return "the result has shape " + ShapeText(view.dim) + ", attention gives " +
                   ShapeText(Dims(joined));
        }
        result_ = TakenApart(view, batches, {rows, width}, joined);
        return "";
    }
    // A tensor that the scores are added to, or masked by.
    std::string AddMask(const View& view) {
        View whole = view;
        while (whole.dim.size() < 2) {
            whole.Unsqueeze(0);
        }
        std::vector<int64_t> scores = batches;
        scores.push_back(rows);
        scores.push_back(keys);
        if (!BroadcastsTo(whole.dim, scores)) {
            return "a mask of shape " + ShapeText(view.dim) + " does not broadcast to scores of " +
                   "shape " + ShapeText(scores);
        }
        masks_.push_back(whole);
        return "";
    }
    // Bring the batches to as few as possible and every matrix to rows or columns without gaps;
    // returns why that cannot be, "" when it can.
    std::string Simplify() {
        query.Take(views_[0], batches);
        key.Take(views_[1], OwnBatches(1));
        value.Take(views_[2], OwnBatches(2));
        result.Take(result_, batches);
        for (size_t i = 0; i < masks_.size(); ++i) {
            masks.push_back(TakenMask(masks_[i]));
        }
        SplitHeads();
        JoinBatches();
        if (Empty()) {
            return "";
        }
        const bool dense = query.Orient(rows, depth) && key.Orient(depth, keys) &&
                           value.Orient(keys, width) && result.Orient(rows, width);
        if (!dense || result.transposed) {
            return "rows of a matrix do not lie without gaps: strides of " +
                   ShapeText(views_[0].stride) + ", " + ShapeText(views_[1].stride) + ", " +
                   ShapeText(views_[2].stride) + ", " + ShapeText(result_.stride);
        }
        for (size_t i = 0; i < masks.size(); ++i) {
            if (masks[i].across > 1 || masks[i].across < 0 || masks[i].down < 0) {
                return "rows of a mask do not lie without gaps: strides of " +
                       ShapeText(masks_[i].stride);
            }
        }
        const int64_t most = std::max(
            {rows, keys, depth, width, query.Pitch(), key.Pitch(), value.Pitch(), result.Pitch()});
        if (!FitsInt32(Times(most, 2)) || static_cast<int64_t>(batches.size()) > kMaxBatchDims) {
            return "a size or a distance of rows is " + std::to_string(most) +
                   ", which does not fit 32 bits, or batches have more than " +
                   std::to_string(kMaxBatchDims) + " axes";
        }
        return "";
    }
    bool Empty() const { return rows == 0 || width == 0 || Batches() == 0; }
    int64_t Blocks() const {
        const int64_t ofBatch = Times(CeilDiv(rows, blockRows), CeilDiv(width, blockColumns));
        return Empty() ? 0 : Times(Batches(), ofBatch);
    }
    // Elements between rows of sums in the workspace and in UB.
    int64_t SumPitch() const { return AlignUp(blockColumns, kFractal); }
    // Elements of the scores or sums that a vector core has in UB.
    int64_t TileLength() const {
        return std::max(Times(scoreRows, stepKeys), Times(sumRows, SumPitch()));
    }
    // Bytes of workspace that a cube core and its vector cores take.
    int64_t WorkspaceBytes(int64_t bytes) const {
        const int64_t scores = Times(Times(blockRows, stepKeys), 4 + bytes);
        return Times(kAttentionSlots, scores + Times(Times(blockRows, SumPitch()), 4));
    }
    // Sizes of the batches, ones before them.
    void BatchDims(int64_t (&dims)[kMaxBatchDims]) const {
        std::fill(dims, dims + kMaxBatchDims, 1);
        std::copy_backward(batches.begin(), batches.end(), dims + kMaxBatchDims);
    }
    // Choose the blocks; returns why none fits, "" when one does.
    std::string Share(const AttentionLimits& limits) {
        if (Empty()) {
            return "";
        }
        // A block takes as long as its rows and these: keys and values come anew for every block.
        constexpr int64_t kStartRows = 32;
        constexpr int64_t kMostRows = 128;
        // Wider values are cut, and their scores made again for every part.
        constexpr int64_t kMostColumns = 512;
        const int64_t parts = CeilDiv(width, kMostColumns);
        blockColumns = std::min(width, AlignUp(CeilDiv(width, parts), kFractal));
        int64_t best = 0;
        for (int64_t count = kMostRows; count >= kFractal; count /= 2) {
            if (count > kFractal && count / 2 >= rows) {
                continue;
            }
            AttentionSpace tried = *this;
            tried.blockRows = count;
            if (!tried.Step(limits)) {
                continue;
            }
            const int64_t time = CeilDiv(tried.Blocks(), limits.cores) * (count + kStartRows);
            if (best == 0 || time < best) {
                best = time;
                blockRows = count;
            }
        }
        if (best == 0) {
            return "UB has " + std::to_string(limits.ub) + " bytes: sums of " +
                   std::to_string(blockColumns) + " columns leave no room for scores";
        }
        Step(limits);
        cores = std::max<int64_t>(1, std::min(limits.cores, Blocks()));
        return "";
    }

 private:
    // Choose the keys of a step and the rows that a vector core has in UB; false: none fit.
    bool Step(const AttentionLimits& limits) {
        constexpr int64_t kMostKeys = 512;
        const int64_t half = blockRows / 2;  // of a vector core
        const int64_t sums = Times(Times(half, SumPitch()), 4);
        const double room = static_cast<double>(limits.ub - limits.reserved - sums);
        const int64_t scores = room <= 0 ? 0 : static_cast<int64_t>(room / limits.perScore);
        stepKeys = std::min(kMostKeys, AlignUp(std::max<int64_t>(1, keys), kScoreUnit));
        while (stepKeys > kScoreUnit && Times(stepKeys, kRowUnit) > scores) {
            stepKeys = AlignUp(stepKeys / 2, kScoreUnit);
        }
        scoreRows = std::min(half, scores / stepKeys / kRowUnit * kRowUnit);
        sumRows = std::min(half, scores / SumPitch() / kRowUnit * kRowUnit);
        return scoreRows > 0 && sumRows > 0;
    }
    // The batches of a view whose matrices are repeated.
    std::vector<int64_t> OwnBatches(size_t i) const {
        std::vector<int64_t> own = batches;
        if (repeats_[i] > 1) {
            own.back() /= repeat_;
        }
        return own;
    }
    ProductMatrix TakenMask(const View& view) const {
        ProductMatrix mask;
        mask.Take(view, batches);
        const size_t rank = view.dim.size();
        mask.down = view.dim[rank - 2] == 1 ? 0 : mask.down;
        mask.across = view.dim[rank - 1] == 1 ? 0 : mask.across;
        return mask;
    }
    std::vector<ProductMatrix*> Matrices() {
        std::vector<ProductMatrix*> all = {&query, &key, &value, &result};
        for (size_t i = 0; i < masks.size(); ++i) {
            all.push_back(&masks[i]);
        }
        return all;
    }
    // Let the heads that share keys be an axis of their own.
    void SplitHeads() {
        if (repeat_ == 1) {
            return;
        }
        batches.back() /= repeat_;
        batches.push_back(repeat_);
        for (ProductMatrix* matrix : Matrices()) {
            const bool repeated =
                (matrix == &key && repeats_[1] > 1) || (matrix == &value && repeats_[2] > 1);
            const int64_t step = matrix->batch.back();
            matrix->batch.back() = repeated ? step : Times(step, repeat_);
            matrix->batch.push_back(repeated ? 0 : step);
        }
    }
    void Erase(size_t i) {
        batches.erase(batches.begin() + static_cast<int64_t>(i));
        for (ProductMatrix* matrix : Matrices()) {
            matrix->batch.erase(matrix->batch.begin() + static_cast<int64_t>(i));
        }
    }
    // Drop batches of one, and make neighbours one that follow each other in all matrices.
    void JoinBatches() {
        for (size_t i = batches.size(); i > 0; --i) {
            if (batches[i - 1] == 1) {
                Erase(i - 1);
            }
        }
        for (size_t i = batches.size(); i > 1; --i) {
            bool follow = true;
            for (const ProductMatrix* matrix : Matrices()) {
                follow =
                    follow && matrix->batch[i - 2] == Times(matrix->batch[i - 1], batches[i - 1]);
            }
            if (follow) {
                batches[i - 1] = Times(batches[i - 1], batches[i - 2]);
                Erase(i - 2);
            }
        }
    }

    std::vector<View> views_;
    std::vector<int64_t> repeats_;
    int64_t repeat_ = 1;
    View result_;
    std::vector<View> masks_;
};

}  // namespace opgen

#endif  // OPGEN_HOST_ATTENTION_SPACE_H
