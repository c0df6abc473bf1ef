// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of matrix products: which sizes the product has, how its matrices lie in
// their tensors, and the blocks of the result that cores share. C++11, no CANN header needed.
#ifndef OPGEN_HOST_PRODUCT_SPACE_H
#define OPGEN_HOST_PRODUCT_SPACE_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sizes.h"
#include "view.h"

namespace opgen {

constexpr int64_t kMaxBatchDims = kMaxDims - 2;
constexpr int64_t kFractal = 16;  // rows and columns of a fractal

// Axes of a product that are one axis of its tensor.
enum class Joined {
    kNothing,
    kBatches,
    kRows,  // and the batches
};

// Strides of a matrix as the kernel's ProductWalk reads them: per batch dimension, from row to row,
// from column to column, then the first element.
struct ProductWalkData {
    int64_t steps[kMaxBatchDims + 3];
};

// Where a matrix of each batch lies, in elements.
struct ProductMatrix {
    std::vector<int64_t> batch;  // from batch to batch; 0: the same matrix in all of them
    int64_t down = 0;            // from row to row
    int64_t across = 0;          // from column to column
    int64_t offset = 0;          // of the first element
    bool transposed = false;     // its columns lie without gaps instead of its rows

    // Elements from a row to the next, of a transposed matrix from a column to the next.
    int64_t Pitch() const { return transposed ? across : down; }

    // A view of one matrix per batch.
    void Take(const View& view, const std::vector<int64_t>& batches) {
        const size_t rank = view.dim.size();
        batch.assign(batches.size(), 0);
        for (size_t i = 0; i + 2 < rank; ++i) {
            const size_t at = i + batches.size() + 2 - rank;
            batch[at] = view.dim[i] == 1 ? 0 : view.stride[i];
        }
        down = view.stride[rank - 2];
        across = view.stride[rank - 1];
        offset = view.offset;
    }
    // Choose the direction without gaps; false: there is none. One row or column has no neighbour.
    bool Orient(int64_t rows, int64_t columns) {
        if (across == 1 || columns <= 1) {
            across = 1;
            down = rows <= 1 ? std::max<int64_t>(columns, 1) : down;
            return down >= columns;
        }
        transposed = true;
        across = std::max(across, rows);
        const bool dense = down == 1 || rows <= 1;
        down = 1;
        return dense;
    }
    ProductWalkData Walk() const {
        ProductWalkData walk = {};
        const size_t first = static_cast<size_t>(kMaxBatchDims) - batch.size();
        for (size_t i = 0; i < batch.size(); ++i) {
            walk.steps[first + i] = batch[i];
        }
        walk.steps[kMaxBatchDims] = down;
        walk.steps[kMaxBatchDims + 1] = across;
        walk.steps[kMaxBatchDims + 2] = offset;
        return walk;
    }
};

// The view of a tensor that joins axes of a product, with all of them: batches, and the rows and
// columns of a matrix.
inline View TakenApart(const View& view, const std::vector<int64_t>& batches,
                       const std::vector<int64_t>& matrix, Joined joined) {
    if (joined == Joined::kNothing) {
        return view;
    }
    const size_t rank = view.dim.size();
    std::vector<int64_t> dims = batches;
    dims.insert(dims.end(), matrix.begin(), matrix.end());
    View apart = View::Dense(dims);
    const size_t last = apart.dim.size() - 1;
    apart.offset = view.offset;
    apart.stride[last] = view.stride[rank - 1];
    int64_t step = view.stride[rank - 2];
    apart.stride[last - 1] = step;
    step = joined == Joined::kRows ? Times(step, matrix[0]) : view.stride[rank - 3];
    for (size_t i = last - 1; i > 0; --i) {
        apart.stride[i - 1] = step;
        step = Times(step, apart.dim[i - 1]);
    }
    return apart;
}

// What blocks cost on a core of the cube.
struct ProductRates {
    int64_t baseRows;  // of a base block, as large as L0C holds
    int64_t baseColumns;
    int64_t bytes;         // of an element of an operand
    double sums;           // products of a cycle
    double bytesPerCycle;  // of operands that reach L1 in a cycle
};

struct ProductSpace {
    std::vector<int64_t> batches;
    int64_t m = 0, n = 0, k = 0;
    ProductMatrix left, right, result;
    // Of a block of the result that one core makes.
    int64_t blockRows = kFractal, blockColumns = kFractal;
    // K is cut into pieces, each of so many products; vector cores add their results.
    int64_t pieces = 1, pieceDepth = 0;
    int64_t cores = 1;

    // The sizes of left x right; returns why there is no product, "" when there is one. A left
    // vector is a row and a right one a column, whose axis of 1 the product lacks.
    std::string Multiply(View leftView, View rightView) {
        leftIsVector_ = leftView.dim.size() == 1;
        rightIsVector_ = rightView.dim.size() == 1;
        if (leftIsVector_) {
            leftView.Unsqueeze(0);
        }
        if (rightIsVector_) {
            rightView.Unsqueeze(1);
        }
        const size_t leftRank = leftView.dim.size();
        const size_t rightRank = rightView.dim.size();
        if (leftRank < 2 || rightRank < 2) {
            return "a product needs matrices, not " + ShapeText(leftView.dim) + " and " +
                   ShapeText(rightView.dim);
        }
        m = leftView.dim[leftRank - 2];
        k = leftView.dim[leftRank - 1];
        n = rightView.dim[rightRank - 1];
        batches.assign(leftView.dim.begin(), leftView.dim.end() - 2);
        const std::vector<int64_t> others(rightView.dim.begin(), rightView.dim.end() - 2);
        if (k != rightView.dim[rightRank - 2] || !BroadcastDims(batches, others)) {
            return "matrices of shape " + ShapeText(leftView.dim) + " and " +
                   ShapeText(rightView.dim) + " have no product";
        }
        left_ = leftView;
        right_ = rightView;
        return "";
    }
    // The shape of the product, with the axes joined that its tensor joins.
    std::vector<int64_t> Dims(Joined joined) const {
        std::vector<int64_t> dims = batches;
        if (joined == Joined::kBatches) {
            dims.assign(1, Batches());
        } else if (joined == Joined::kRows) {
            dims.clear();
        }
        const bool whole = joined == Joined::kNothing;
        if (!whole || !leftIsVector_) {
            dims.push_back(joined == Joined::kRows ? Times(Batches(), m) : m);
        }
        if (!whole || !rightIsVector_) {
            dims.push_back(n);
        }
        return dims;
    }
    int64_t Batches() const {
        int64_t total = 1;
        for (size_t i = 0; i < batches.size(); ++i) {
            total = Times(total, batches[i]);
        }
        return total;
    }
    // Where the product goes. Batches that only the result has repeat the operands.
    std::string Fill(View view, Joined joined) {
        const size_t missing = (leftIsVector_ ? 1 : 0) + (rightIsVector_ ? 1 : 0);
        if (joined == Joined::kNothing && view.dim.size() + missing >= 2) {
            const std::vector<int64_t> wanted(view.dim.begin(), view.dim.end() - (2 - missing));
            BroadcastDims(batches, wanted);
        }
        if (!SameDims(view.dim, Dims(joined))) {
            return "the result has shape " + ShapeText(view.dim) + ", the product " +
                   ShapeText(Dims(joined));
        }
        if (joined == Joined::kNothing && rightIsVector_) {
            view.Unsqueeze(static_cast<int64_t>(view.dim.size()));
        }
        if (joined == Joined::kNothing && leftIsVector_) {
            view.Unsqueeze(static_cast<int64_t>(view.dim.size()) - 1);
        }
        result_ = TakenApart(view, batches, {m, n}, joined);
        return "";
    }
    // Bring the product to as few batches as possible and every matrix to rows or columns without
    // gaps; returns why that cannot be, "" when it can.
    std::string Simplify() {
        left.Take(left_, batches);
        right.Take(right_, batches);
        result.Take(result_, batches);
        DropOnes();
        while (JoinRows()) {
        }
        JoinBatches();
        if (Empty()) {
            return "";
        }
        const bool dense = left.Orient(m, k) && right.Orient(k, n) && result.Orient(m, n);
        if (!dense || result.transposed) {
            return "rows of a matrix do not lie without gaps: strides of " +
                   ShapeText(left_.stride) + ", " + ShapeText(right_.stride) + ", " +
                   ShapeText(result_.stride);
        }
        const int64_t most = std::max({m, n, k, left.Pitch(), right.Pitch(), result.Pitch()});
        if (!FitsInt32(most) || static_cast<int64_t>(batches.size()) > kMaxBatchDims) {
            return "a size or a distance of rows is " + std::to_string(most) +
                   ", which does not fit 32 bits";
        }
        return "";
    }
    // Whether there is nothing to compute.
    bool Empty() const { return m == 0 || n == 0 || Batches() == 0; }
    // Blocks of the results of all pieces.
    int64_t Blocks() const {
        return Empty() ? 0
                       : Times(Times(Batches(), pieces),
                               CeilDiv(m, blockRows) * CeilDiv(n, blockColumns));
    }
    int64_t Total() const { return Times(Batches(), Times(m, n)); }
    // Bytes of the results of all pieces in the workspace, of float32 or int32.
    int64_t PiecesBytes() const { return pieces > 1 ? Times(pieces, Times(Total(), 4)) : 0; }
    // Elements of a result that a vector core adds at once: they share a result, or the lines of
    // it.
    int64_t SumTile() const {
        constexpr int64_t kLongest = 2048, kUnit = 64;
        return AlignUp(std::min({kLongest, CeilDiv(Total(), 2 * cores), LineLength()}), kUnit);
    }
    // Choose the blocks of the result, and the pieces of K, that take the least time together. K is
    // cut only where the largest base blocks, of L0C, would leave cores without work.
    void Share(const ProductRates& rates, int64_t coresOfChip) {
        // What a core saves by a shorter piece is soon less than the sum of two results costs.
        constexpr int64_t kLeastDepth = 1024;
        double best = ShareBlocks(rates, coresOfChip, 1, 0);
        const int64_t fewest =
            Times(Batches(), CeilDiv(m, rates.baseRows) * CeilDiv(n, rates.baseColumns));
        const int64_t most =
            fewest < coresOfChip ? std::min(coresOfChip, CeilDiv(k, kLeastDepth)) : 1;
        for (int64_t count = 2; count <= most; ++count) {
            best = ShareBlocks(rates, coresOfChip, count, best);
        }
        cores = std::max<int64_t>(1, std::min(coresOfChip, Blocks()));
    }
    // The strides at which blocks are written: those of the result, or of the result of a piece.
    ProductWalkData ResultWalk() const { return pieces > 1 ? Piece().Walk() : result.Walk(); }
    int64_t ResultPitch() const { return pieces > 1 ? n : result.Pitch(); }
    // Elements of the result that lie without gaps.
    int64_t LineLength() const {
        const ProductMatrix dense = Piece();
        bool whole = result.down == dense.down || m == 1;
        for (size_t i = 0; i < batches.size(); ++i) {
            whole = whole && result.batch[i] == dense.batch[i];
        }
        return whole ? Total() : n;
    }
    // Sizes of the batches, ones before them.
    void BatchDims(int64_t (&dims)[kMaxBatchDims]) const {
        std::fill(dims, dims + kMaxBatchDims, 1);
        std::copy_backward(batches.begin(), batches.end(), dims + kMaxBatchDims);
    }

 private:
    // Choose blocks for pieces of K, if all of it takes less than `best` cycles, unless that is 0;
    // returns what is the best then.
    double ShareBlocks(const ProductRates& rates, int64_t coresOfChip, int64_t count, double best) {
        constexpr int64_t kLineBytes = 512;  // of L2: a piece begins at one where rows do
        const int64_t depth = count == 1 ? k : AlignUp(CeilDiv(k, count), kLineBytes / rates.bytes);
        if (depth == 0 || CeilDiv(k, depth) != count) {
            return best;
        }
        const int64_t results = Times(Batches(), count);
        const double joining = count == 1 ? 0 : JoinCycles(count, rates, coresOfChip);
        const int64_t most = CeilDiv(coresOfChip, count);
        for (int64_t down = 1; down <= std::min(most, CeilDiv(m, kFractal)); ++down) {
            const int64_t rows = AlignUp(CeilDiv(m, down), kFractal);
            for (int64_t parts = 1; parts <= std::min(most, CeilDiv(n, kFractal)); ++parts) {
                const int64_t columns = AlignUp(CeilDiv(n, parts), kFractal);
                const int64_t blocks = Times(results, CeilDiv(m, rows) * CeilDiv(n, columns));
                const double cycles = joining + static_cast<double>(CeilDiv(blocks, coresOfChip)) *
                                                    BlockCycles(rows, columns, depth, rates);
                if (best == 0 || cycles < best) {
                    best = cycles;
                    blockRows = rows;
                    blockColumns = columns;
                    pieces = count;
                    pieceDepth = depth;
                }
            }
        }
        return best;
    }
    // What it takes to add the results of pieces: all cores wait for each other, and float32 sums
    // go to L2 and back.
    double JoinCycles(int64_t count, const ProductRates& rates, int64_t coresOfChip) const {
        constexpr double kWaitCycles = 10000;
        const double bytes = 2.0 * sizeof(float) * static_cast<double>(Times(count, Total()));
        return kWaitCycles + bytes / static_cast<double>(coresOfChip) / rates.bytesPerCycle;
    }
    // Where the result of a piece lies in the workspace, without gaps.
    ProductMatrix Piece() const {
        std::vector<int64_t> dims = batches;
        dims.push_back(m);
        dims.push_back(n);
        ProductMatrix piece;
        piece.Take(View::Dense(dims), batches);
        return piece;
    }
    // What a block takes: the cube, or the way of its operands to L1; the longer one hides the
    // other. A block has to fill the pipes once.
    double BlockCycles(int64_t rows, int64_t columns, int64_t depth,
                       const ProductRates& rates) const {
        constexpr double kFillCycles = 2000;
        const double products = static_cast<double>(depth);
        const double cube =
            static_cast<double>(rows) * static_cast<double>(columns) * products / rates.sums;
        // rows of K elements are long; the others are as long as the block
        const double read = products * (ReadBytes(rows, left.transposed, rates) +
                                        ReadBytes(columns, !right.transposed, rates));
        return kFillCycles + std::max(cube, read / rates.bytesPerCycle);
    }
    // Bytes of an operand for each element of K of a block; short runs take as long as longer ones.
    static double ReadBytes(int64_t count, bool runs, const ProductRates& rates) {
        constexpr int64_t kShortRun = 256;  // bytes, to which its start takes as long
        const int64_t bytes = count * rates.bytes;
        return static_cast<double>(runs ? std::max(bytes, kShortRun) : bytes);
    }
    void Erase(size_t i) {
        batches.erase(batches.begin() + static_cast<int64_t>(i));
        for (ProductMatrix* matrix : {&left, &right, &result}) {
            matrix->batch.erase(matrix->batch.begin() + static_cast<int64_t>(i));
        }
    }
    void DropOnes() {
        for (size_t i = batches.size(); i > 0; --i) {
            if (batches[i - 1] == 1) {
                Erase(i - 1);
            }
        }
    }
    // Make the last batch dimension rows, where the right matrix is the same along it.
    bool JoinRows() {
        if (batches.empty() || right.batch.back() != 0) {
            return false;
        }
        const int64_t toLeft = left.batch.back();
        const int64_t toResult = result.batch.back();
        if (m != 1 && (toLeft != Times(m, left.down) || toResult != Times(m, result.down))) {
            return false;
        }
        if (m == 1) {
            left.down = toLeft;
            result.down = toResult;
        }
        if (left.down == 0) {
            return false;  // all rows are the same one
        }
        m = Times(m, batches.back());
        Erase(batches.size() - 1);
        return true;
    }
    // Make neighbouring batch dimensions one, where they follow each other in all matrices.
    void JoinBatches() {
        for (size_t i = batches.size(); i > 1; --i) {
            bool follow = true;
            for (const ProductMatrix* matrix : {&left, &right, &result}) {
                follow =
                    follow && matrix->batch[i - 2] == Times(matrix->batch[i - 1], batches[i - 1]);
            }
            if (follow) {
                batches[i - 1] = Times(batches[i - 1], batches[i - 2]);
                Erase(i - 2);
            }
        }
    }

    View left_, right_, result_;
    bool leftIsVector_ = false, rightIsVector_ = false;
};

}  // namespace opgen

#endif  // OPGEN_HOST_PRODUCT_SPACE_H
