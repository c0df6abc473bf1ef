// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Prefix sums and the like along the rows or the columns of a box. A vector instruction works on
// whole blocks of a row, so a scan is made of rows: each joins the one before it. Where the scan
// runs along the columns, the tile is transposed first. Every row of it is cut into segments, and
// each segment becomes a column: the rows of the transposed tile are then as long as a tile has
// segments. What the segments before it add to a segment is a scan of their last elements.
#ifndef OPGEN_SCAN_H
#define OPGEN_SCAN_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/scan_kinds.h"
#include "opgen/tile.h"
#include "opgen/transposed_matrix.h"

namespace opgen {

// Rows that TransDataTo5HD takes at once, and so the segments of a row.
constexpr uint32_t kScanSegments = 16;
// Rows of a box are cut into segments where they are a multiple of this, which leaves 16 elements
// to a segment. Shorter ones are one segment; the host leaves room for whole groups of them.
constexpr uint32_t kSegmentedPitch = kScanSegments * kScanSegments;

// Fill the elements between the columns of a box and its pitch.
template <typename C>
__aicore__ inline void FillGaps(const LocalTensor<C>& tile, C number, const Tile& box) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(C);
    constexpr uint32_t kBlock = kBlockBytes / sizeof(C);
    constexpr uint32_t kMaxStride = 255;  // blocks from one repeat to the next, and repeats
    const uint32_t stride = box.pitch / kBlock;
    const uint32_t together = stride <= kMaxStride ? kMaxStride : 1;
    for (uint32_t col = box.cols / kLanes * kLanes; col < box.pitch; col += kLanes) {
        const uint32_t end = box.pitch - col < kLanes ? box.pitch - col : kLanes;
        const uint32_t begin = box.cols > col ? box.cols - col : 0;
        if (begin >= end) {
            continue;
        }
        const uint64_t below = (uint64_t(1) << begin) - 1;
        uint64_t mask[2] = {(~uint64_t(0) >> (kLanes - end)) & ~below, 0};
        for (uint32_t row = 0; row < box.rows; row += together) {
            const uint32_t left = box.rows - row;
            const uint8_t repeat = static_cast<uint8_t>(left < together ? left : together);
            AscendC::Duplicate(tile[row * box.pitch + col], number, mask, repeat, 1,
                               static_cast<uint8_t>(repeat > 1 ? stride : 0));
        }
    }
}

// A scan through the boxes of an item, one after another. Kind says what is joined
// (opgen/scan_kinds.h); backwards, the boxes come from the last to the first.
template <typename Kind, typename C, bool kBackwards>
class Scan {
 public:
    // rowLength: numbers of a row of a box, or rows of it where it is scanned along the columns;
    // blockRows: rows of a box that is scanned along the columns.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t rowLength, uint32_t blockRows) {
        rowLength_ = rowLength;
        const uint32_t rows = Grouped(blockRows);
        stepsLength_ = (2 * kScanSegments + 1) * rows;
        const uint32_t lanes = kScanSegments * rows;
        scratchLength_ = lanes > rowLength ? lanes : rowLength;
        pipe->InitBuffer(carryBuf_, Kind::kStates * Bytes<C>(rowLength_));
        pipe->InitBuffer(stepsBuf_, Kind::kStates * Bytes<C>(stepsLength_));
        if constexpr (Kind::kScratch > 0) {
            pipe->InitBuffer(scratchBuf_, Kind::kScratch * Bytes<C>(scratchLength_));
        }
    }
    // Begin with a new item of so many boxes.
    __aicore__ inline void Start(uint64_t boxes) {
        boxes_ = boxes;
        const State carry = InBuffer(carryBuf_, rowLength_);
        VectorBarrier();
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            AscendC::Duplicate(carry.of[i], Kind::template Identity<C>(i), rowLength_);
        }
        VectorBarrier();
    }
    // dst = the scan of src, the next box of the item. columns: scratch of a tile.
    __aicore__ inline void Next(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                const LocalTensor<C>& columns, const Tile& box) {
        const State to{{dst}};
        const State from{{src}};
        Join(to, from, State{{columns}}, box);
    }
    // The same where an element is joined as two numbers, which `first` and `second` hold.
    template <typename D>
    __aicore__ inline void Next(const LocalTensor<D>& dst, const LocalTensor<C>& src,
                                const LocalTensor<C>& first, const LocalTensor<C>& second,
                                const LocalTensor<C>& firstColumns,
                                const LocalTensor<C>& secondColumns, const Tile& box) {
        const State state{{first, second}};
        Kind::Begin(first, second, src, box);
        Join(state, state, State{{firstColumns, secondColumns}}, box);
        Kind::Finish(dst, first, second, box.count);
        VectorBarrier();
    }

 private:
    using State = ScanState<C, Kind::kStates>;

    // Rows of a transposed box are short up to here: an instruction counts the blocks from a row to
    // the one 16 behind it in 8 bits.
    static constexpr uint32_t kShortRow = 112;
    static constexpr uint32_t kBlockSteps = 16;
    static constexpr uint32_t kLeastBlocks = 8;

    // Rows or lanes in whole groups.
    __aicore__ inline static uint32_t Grouped(uint32_t count) {
        return (count + Kind::kGroup - 1) / Kind::kGroup * Kind::kGroup;
    }
    __aicore__ inline State InBuffer(AscendC::TBuf<AscendC::TPosition::VECCALC>& buffer,
                                     uint32_t length) {
        State state;
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            state.of[i] = buffer.template GetWithOffset<C>(length, i * Bytes<C>(length));
        }
        return state;
    }
    __aicore__ inline LocalTensor<C> Scratch() {
        if constexpr (Kind::kScratch > 0) {
            return scratchBuf_.template Get<C>();
        } else {
            return LocalTensor<C>();
        }
    }
    __aicore__ inline static void Copy(const State& to, const State& from, uint32_t count) {
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            AscendC::DataCopy(to.of[i], from.of[i], count);
        }
    }
    __aicore__ inline static void Transpose(const State& to, const State& from, uint32_t rows,
                                            uint32_t cols, uint32_t pitch) {
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            TransposeMatrix(to.of[i], from.of[i], rows, cols, pitch);
        }
    }
    __aicore__ inline void Join(const State& to, const State& from, const State& columns,
                                const Tile& box) {
        if (box.lanes) {
            AlongColumns(to, from, columns, box);
        } else {
            AlongRows(to, from, box.rows, box.pitch);
        }
    }
    // Scan rows of `pitch` elements, beginning with the carry.
    __aicore__ inline void AlongRows(const State& to, const State& from, uint32_t rows,
                                     uint32_t pitch) {
        const State carry = InBuffer(carryBuf_, rowLength_);
        State before = carry;
        for (uint32_t i = 0; i < rows; ++i) {
            const uint32_t at = (kBackwards ? rows - 1 - i : i) * pitch;
            Kind::Join(to.At(at), before, from.At(at), Scratch(), scratchLength_, pitch);
            VectorBarrier();
            before = to.At(at);
        }
        if (--boxes_ > 0) {
            Copy(carry, before, pitch);
            VectorBarrier();
        }
    }
    __aicore__ inline void AlongColumns(const State& to, const State& from, const State& columns,
                                        const Tile& box) {
        const uint32_t segments = box.pitch % kSegmentedPitch == 0 ? kScanSegments : 1;
        const uint32_t steps = box.pitch / segments;
        const uint32_t lanes = Grouped(box.rows * segments);
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            FillGaps(from.of[i], Kind::template Identity<C>(i), box);
        }
        VectorBarrier();
        Transpose(columns, from, box.rows * segments, steps, lanes);
        VectorBarrier();
        if (IsBlocked(steps, lanes)) {
            JoinBlocks(columns, steps, lanes);
        } else {
            JoinSteps(columns, steps, lanes);
        }
        if (segments > 1) {
            const uint32_t last = kBackwards ? 0 : (steps - 1) * lanes;
            const State before = BeforeSegments(columns.At(last), box.rows);
            JoinToAll(columns, before, steps, lanes);
        }
        Transpose(to, columns, steps, lanes, steps);
        VectorBarrier();
    }
    // Scan the rows of `lanes` elements, one after another.
    __aicore__ inline void JoinSteps(const State& columns, uint32_t steps, uint32_t lanes) {
        for (uint32_t step = 1; step < steps; ++step) {
            const uint32_t at = (kBackwards ? steps - 1 - step : step) * lanes;
            const State before = columns.At(kBackwards ? at + lanes : at - lanes);
            Kind::Join(columns.At(at), before, columns.At(at), Scratch(), scratchLength_, lanes);
            VectorBarrier();
        }
    }
    // Whether rows are so short, and so many, that an instruction had better join one of each block
    // of 16 than a single one: blocks take three instructions per row of one, and one for each.
    __aicore__ inline static bool IsBlocked(uint32_t steps, uint32_t lanes) {
        return Kind::kRepeats && lanes <= kShortRow && steps % kBlockSteps == 0 &&
               steps >= kLeastBlocks * kBlockSteps;
    }
    // The same in blocks of 16 rows: each block, then the last rows of all blocks, then what those
    // add to the other rows of the blocks behind them.
    __aicore__ inline void JoinBlocks(const State& columns, uint32_t steps, uint32_t lanes) {
        const uint32_t blocks = steps / kBlockSteps;
        const uint32_t next = kBlockSteps * lanes;
        const uint32_t end = kBackwards ? steps - 1 : 0;  // the row that the scan begins with
        const auto row = [&](uint32_t step) { return (kBackwards ? end - step : step) * lanes; };
        // instructions go through the rows in memory
        const auto first = [&](uint32_t step, uint32_t count) {
            return kBackwards ? row(step + (count - 1) * kBlockSteps) : row(step);
        };
        for (uint32_t step = 1; step < kBlockSteps; ++step) {
            const LocalTensor<C> at = columns.of[0][first(step, blocks)];
            JoinRepeats(at, columns.of[0][first(step - 1, blocks)], at, lanes, blocks, next, next);
            VectorBarrier();
        }
        for (uint32_t block = 1; block < blocks; ++block) {
            const uint32_t last = (block + 1) * kBlockSteps - 1;
            const State at = columns.At(row(last));
            Kind::Join(at, columns.At(row(last - kBlockSteps)), at, Scratch(), 0, lanes);
            VectorBarrier();
        }
        for (uint32_t step = 0; step + 1 < kBlockSteps; ++step) {
            const uint32_t others = blocks - 1;
            const LocalTensor<C> at = columns.of[0][first(kBlockSteps + step, others)];
            JoinRepeats(at, columns.of[0][first(kBlockSteps - 1, others)], at, lanes, others, next,
                        next);
        }
        VectorBarrier();
    }
    // Join what is before a segment to all of its elements.
    __aicore__ inline void JoinToAll(const State& columns, const State& before, uint32_t steps,
                                     uint32_t lanes) {
        if (Kind::kRepeats && lanes <= kShortRow) {
            JoinRepeats(columns.of[0], before.of[0], columns.of[0], lanes, steps, lanes, 0);
            VectorBarrier();
            return;
        }
        for (uint32_t step = 0; step < steps; ++step) {
            const State at = columns.At(step * lanes);
            Kind::Join(at, before, at, Scratch(), scratchLength_, lanes);
            if constexpr (Kind::kScratch > 0) {
                VectorBarrier();
            }
        }
        VectorBarrier();
    }
    // Join `count` rows of `lanes` elements to others; rows are `next` apart, those before them
    // `nextBefore`.
    __aicore__ inline static void JoinRepeats(const LocalTensor<C>& dst,
                                              const LocalTensor<C>& before,
                                              const LocalTensor<C>& element, uint32_t lanes,
                                              uint32_t count, uint32_t next, uint32_t nextBefore) {
        if constexpr (Kind::kRepeats) {
            constexpr uint32_t kLanes = kRepeatBytes / sizeof(C);
            constexpr uint32_t kBlock = kBlockBytes / sizeof(C);
            constexpr uint32_t kMaxRepeat = 255;
            const uint8_t apart = static_cast<uint8_t>(next / kBlock);
            const uint8_t apartBefore = static_cast<uint8_t>(nextBefore / kBlock);
            for (uint32_t lane = 0; lane < lanes; lane += kLanes) {
                const uint64_t mask = lanes - lane < kLanes ? lanes - lane : kLanes;
                for (uint32_t done = 0; done < count; done += kMaxRepeat) {
                    const uint32_t left = count - done;
                    const uint8_t repeat =
                        static_cast<uint8_t>(left < kMaxRepeat ? left : kMaxRepeat);
                    const uint32_t at = done * next + lane;
                    Kind::JoinRepeats(dst[at], before[done * nextBefore + lane], element[at], mask,
                                      repeat, {1, 1, 1, apart, apartBefore, apart});
                }
            }
        }
    }
    // What the carry and the segments before it join to, for every segment of every row, from what
    // each of them joins to. The carry goes to the next box.
    __aicore__ inline State BeforeSegments(const State& joined, uint32_t rows) {
        const uint32_t lanes = Grouped(rows);
        const State carry = InBuffer(carryBuf_, rowLength_);
        const State steps = InBuffer(stepsBuf_, stepsLength_);
        const State before = steps.At((kScanSegments + 1) * lanes);
        Copy(steps.At(kBackwards ? kScanSegments * lanes : 0), carry, lanes);
        Transpose(steps.At(kBackwards ? 0 : lanes), joined, rows, kScanSegments, lanes);
        VectorBarrier();
        for (uint32_t i = 1; i <= kScanSegments; ++i) {
            const uint32_t at = (kBackwards ? kScanSegments - i : i) * lanes;
            const State last = steps.At(kBackwards ? at + lanes : at - lanes);
            Kind::Join(steps.At(at), last, steps.At(at), Scratch(), scratchLength_, lanes);
            VectorBarrier();
        }
        if (--boxes_ > 0) {
            Copy(carry, steps.At(kBackwards ? 0 : kScanSegments * lanes), lanes);
        }
        Transpose(before, steps.At(kBackwards ? lanes : 0), kScanSegments, lanes, kScanSegments);
        VectorBarrier();
        return before;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> carryBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> stepsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> scratchBuf_;
    uint64_t boxes_ = 0;  // that are to come
    uint32_t rowLength_ = 0;
    uint32_t stepsLength_ = 0;
    uint32_t scratchLength_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_SCAN_H
