// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// NMS: the boxes that no kept box of a higher score overlaps. Handwritten: which boxes are compared
// with is only known step by step.
//
// All cores compare boxes, each a share of them with all: a row of bits says which boxes may stay
// beside one. Meanwhile the first core sorts the scores. Once all rows are in the workspace, it
// walks the boxes in this order: a box whose bit is still set is kept, and its row takes bits away.
//
// Workspace: rows of bits, then the order. Tiling data (opgen's default for handwritten kernels):
// the shape of the boxes and iou_threshold.
#include "kernel_operator.h"
#include "opgen/order.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "nms_tiling.h"
#endif

namespace nms_kernel {
using namespace AscendC;

constexpr uint32_t kMostBoxes = 7680;  // of which UB holds the records of a sort
constexpr uint32_t kRun = 256;         // boxes whose bits fill a block
constexpr uint32_t kNumbers = 4;       // of a box

// Where bits and order lie in the workspace.
struct Space {
    __aicore__ inline void Init(GM_ADDR workspace, uint32_t count) {
        boxes = count;
        padded = (count + kRun - 1) / kRun * kRun;
        bits.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(workspace));
        const uint64_t used = static_cast<uint64_t>(boxes) * Pitch();
        order.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace + used));
    }
    __aicore__ inline uint32_t Pitch() const { return padded / 8; }  // bytes of a row of bits

    GlobalTensor<uint8_t> bits;
    GlobalTensor<int32_t> order;
    uint32_t boxes = 0;
    uint32_t padded = 0;  // to whole runs
};

// Writes the order of the scores, the highest first.
class Sort {
 public:
    __aicore__ inline void Run(GM_ADDR scores, const Space& space, TPipe* pipe) {
        const uint32_t pitch =
            (space.boxes + opgen::kSortedAtOnce - 1) / opgen::kSortedAtOnce * opgen::kSortedAtOnce;
        const Row row{1, 1, 1, space.boxes, space.boxes, pitch, pitch, space.padded, 0};
        GlobalTensor<float> scoresGm;
        scoresGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(scores));
        opgen::OrderTiles tiles;
        tiles.Init(row);
        tiles.Seek(0);
        sorted.Init(row, pipe);
        pipe->InitBuffer(scoreBuf, opgen::Bytes<float>(space.padded));
        const LocalTensor<float> tile = scoreBuf.Get<float>();
        Duplicate(tile, 0.0f, space.padded);
        opgen::Order<HardEvent::V_MTE2>();
        opgen::LoadRange(tile, scoresGm, space.boxes);
        opgen::Order<HardEvent::MTE2_V>();
        sorted.Sort(tiles, tile);
        // The scores have become records.
        const LocalTensor<int32_t> order = scoreBuf.Get<int32_t>();
        sorted.Positions(order, tiles);
        opgen::Order<HardEvent::V_MTE3>();
        opgen::StoreRange(space.order, order, space.boxes);
        PipeBarrier<PIPE_ALL>();
    }

 private:
    // One row, as the blocks of a sort read it from a tiling.
    struct Row {
        uint64_t outer, inner;
        uint32_t tileRows, length, count, pitch, resultPitch, tileLength, first;
    };

    opgen::RowOrder<float, true, opgen::OrderPick::kFirst> sorted;
    TBuf<TPosition::VECCALC> scoreBuf;
};

// Writes the rows of bits of a core's share of the boxes.
class Comparison {
 public:
    __aicore__ inline void Run(GM_ADDR boxes, const Space& to, float most, TPipe* pipe) {
        space = to;
        limit = most;
        boxesGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(boxes));
        pipe->InitBuffer(columnQueue, 1, opgen::Bytes<float>(kNumbers * kColumns));
        pipe->InitBuffer(rowQueue, 2, opgen::Bytes<float>(kNumbers * kRows));
        pipe->InitBuffer(bitQueue, 2, kRows * kColumns / 8);
        for (uint32_t i = 0; i < kNumbers; ++i) {
            pipe->InitBuffer(sideBuf[i], opgen::Bytes<float>(kColumns));
        }
        pipe->InitBuffer(areaBuf, opgen::Bytes<float>(kColumns));
        pipe->InitBuffer(wideBuf, opgen::Bytes<float>(kColumns));
        pipe->InitBuffer(highBuf, opgen::Bytes<float>(kColumns));
        pipe->InitBuffer(otherBuf, opgen::Bytes<float>(kColumns));
        opgen::Share share;
        share.Init(space.boxes);
        if (share.first == share.last) {
            return;
        }
        for (uint32_t column = 0; column < space.boxes; column += kColumns) {
            const uint32_t left = space.padded - column;
            columns = left < kColumns ? left : kColumns;
            LoadColumns(column);
            for (uint64_t row = share.first; row < share.last; row += kRows) {
                const uint64_t rest = share.last - row;
                CompareRows(static_cast<uint32_t>(row),
                            static_cast<uint32_t>(rest < kRows ? rest : kRows), column);
            }
        }
        PipeBarrier<PIPE_ALL>();
    }

 private:
    // Bring the sides of boxes apart, and find their areas; boxes behind the last one are zeros.
    __aicore__ inline void LoadColumns(uint32_t column) {
        const uint32_t left = space.boxes - column;
        const uint32_t there = left < columns ? left : columns;
        LocalTensor<float> tile = columnQueue.AllocTensor<float>();
        if (there < columns) {
            Duplicate(tile, 0.0f, kNumbers * columns);
            opgen::Order<HardEvent::V_MTE2>();
        }
        opgen::LoadRange(tile, boxesGm[static_cast<uint64_t>(column) * kNumbers], kNumbers * there);
        columnQueue.EnQue(tile);
        tile = columnQueue.DeQue<float>();
        const uint32_t repeats = kNumbers * columns / kRepeat;
        const GatherMaskParams params{1, static_cast<uint16_t>(repeats), 8, 0};
        uint64_t taken = 0;
        for (uint32_t i = 0; i < kNumbers; ++i) {
            const uint8_t everyFourth = static_cast<uint8_t>(3 + i);
            GatherMask(sideBuf[i].Get<float>(), tile, everyFourth, false, 0, params, taken);
        }
        PipeBarrier<PIPE_V>();
        columnQueue.FreeTensor(tile);
        const LocalTensor<float> area = areaBuf.Get<float>();
        const LocalTensor<float> high = highBuf.Get<float>();
        Sub(area, sideBuf[2].Get<float>(), sideBuf[0].Get<float>(), columns);
        Sub(high, sideBuf[3].Get<float>(), sideBuf[1].Get<float>(), columns);
        PipeBarrier<PIPE_V>();
        Mul(area, area, high, columns);
        PipeBarrier<PIPE_V>();
    }

    __aicore__ inline void CompareRows(uint32_t row, uint32_t count, uint32_t column) {
        LocalTensor<float> boxes = rowQueue.AllocTensor<float>();
        opgen::LoadRange(boxes, boxesGm[static_cast<uint64_t>(row) * kNumbers], kNumbers * count);
        rowQueue.EnQue(boxes);
        boxes = rowQueue.DeQue<float>();
        opgen::Order<HardEvent::MTE2_S>();
        LocalTensor<uint8_t> bits = bitQueue.AllocTensor<uint8_t>();
        const uint32_t bytes = columns / 8;
        for (uint32_t i = 0; i < count; ++i) {
            const float side[kNumbers] = {
                boxes.GetValue(kNumbers * i), boxes.GetValue(kNumbers * i + 1),
                boxes.GetValue(kNumbers * i + 2), boxes.GetValue(kNumbers * i + 3)};
            CompareRow(bits[i * bytes], side);
        }
        opgen::Order<HardEvent::S_MTE2>();
        rowQueue.FreeTensor(boxes);
        bitQueue.EnQue(bits);
        bits = bitQueue.DeQue<uint8_t>();
        const DataCopyExtParams rows{static_cast<uint16_t>(count), bytes, 0, space.Pitch() - bytes,
                                     0};
        DataCopyPad(space.bits[static_cast<uint64_t>(row) * space.Pitch() + column / 8], bits,
                    rows);
        bitQueue.FreeTensor(bits);
    }

    // Set the bits of boxes that a box may stay beside. NaN clears them.
    __aicore__ inline void CompareRow(const LocalTensor<uint8_t>& bits,
                                      const float (&side)[kNumbers]) {
        const LocalTensor<float> wide = wideBuf.Get<float>();
        const LocalTensor<float> high = highBuf.Get<float>();
        Common(wide, side[0], side[2], 0);
        Common(high, side[1], side[3], 1);
        Mul(wide, wide, high, columns);
        PipeBarrier<PIPE_V>();
        Adds(high, areaBuf.Get<float>(), (side[2] - side[0]) * (side[3] - side[1]), columns);
        PipeBarrier<PIPE_V>();
        Sub(high, high, wide, columns);
        PipeBarrier<PIPE_V>();
        Adds(high, high, kLeastArea, columns);
        PipeBarrier<PIPE_V>();
        Div(wide, wide, high, columns);
        PipeBarrier<PIPE_V>();
        CompareScalar(bits, wide, limit, CMPMODE::LE, columns);
        PipeBarrier<PIPE_V>();
    }

    // length = what a box and the others have in common along an axis
    __aicore__ inline void Common(const LocalTensor<float>& length, float low, float high,
                                  uint32_t axis) {
        const LocalTensor<float> other = otherBuf.Get<float>();
        Maxs(other, sideBuf[axis].Get<float>(), low, columns);
        Mins(length, sideBuf[axis + 2].Get<float>(), high, columns);
        PipeBarrier<PIPE_V>();
        Sub(length, length, other, columns);
        PipeBarrier<PIPE_V>();
        Maxs(length, length, 0.0f, columns);
        PipeBarrier<PIPE_V>();
    }

    static constexpr uint32_t kColumns = 2048;
    static constexpr uint32_t kRows = 32;
    static constexpr uint32_t kRepeat = 64;  // floats that an instruction repeats
    static constexpr float kLeastArea = 1e-6f;

    TQue<TPosition::VECIN, 1> columnQueue;
    TQue<TPosition::VECIN, 1> rowQueue;
    TQue<TPosition::VECOUT, 1> bitQueue;
    TBuf<TPosition::VECCALC> sideBuf[kNumbers];
    TBuf<TPosition::VECCALC> areaBuf;
    TBuf<TPosition::VECCALC> wideBuf;
    TBuf<TPosition::VECCALC> highBuf;
    TBuf<TPosition::VECCALC> otherBuf;
    GlobalTensor<float> boxesGm;
    Space space;
    float limit = 0.0f;
    uint32_t columns = 0;
};

// Walks the boxes in order and writes which are kept.
class Choice {
 public:
    __aicore__ inline void Run(GM_ADDR kept, GM_ADDR count, const Space& from, TPipe* pipe) {
        space = from;
        GlobalTensor<int32_t> keptGm;
        GlobalTensor<int32_t> countGm;
        keptGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(kept));
        countGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(count));
        pipe->InitBuffer(countBuf, opgen::kBlockBytes);
        const LocalTensor<int32_t> found = countBuf.Get<int32_t>();
        if (space.boxes > 0) {
            pipe->InitBuffer(orderBuf, opgen::Bytes<int32_t>(space.padded));
            pipe->InitBuffer(bitBuf, space.Pitch());
            pipe->InitBuffer(keptBuf, opgen::Bytes<int64_t>(space.padded));
            pipe->InitBuffer(rowQueue, 2, kRows * space.Pitch());
            opgen::LoadRange(orderBuf.Get<int32_t>(), space.order, space.boxes);
            Duplicate(bitBuf.Get<int16_t>(), static_cast<int16_t>(-1), space.Pitch() / 2);
            Duplicate(keptBuf.Get<int32_t>(), static_cast<int32_t>(0), 2 * space.padded);
            opgen::Order<HardEvent::MTE2_S>();
            opgen::Order<HardEvent::V_S>();
            Walk();
        }
        found.SetValue(0, static_cast<int32_t>(taken));
        opgen::Order<HardEvent::S_MTE3>();
        if (space.boxes > 0) {
            opgen::StoreRange(keptGm, keptBuf.Get<int32_t>(), 2 * space.boxes);
        }
        opgen::StoreRange(countGm, found, 1);
    }

 private:
    __aicore__ inline void Walk() {
        // The rows of the next boxes come while those of the last ones are used; some of these
        // boxes will be dropped, and their rows not be read.
        Load(0);
        for (uint32_t first = 0; first < space.boxes; first += kRows) {
            if (first + kRows < space.boxes) {
                Load(first + kRows);
            }
            const LocalTensor<uint16_t> rows = rowQueue.DeQue<uint16_t>();
            const uint32_t count = Rows(first);
            for (uint32_t i = 0; i < count; ++i) {
                Try(orderBuf.Get<int32_t>().GetValue(first + i), rows[i * space.Pitch() / 2]);
            }
            LocalTensor<uint16_t> used = rows;
            rowQueue.FreeTensor(used);
        }
    }
    __aicore__ inline uint32_t Rows(uint32_t first) const {
        return space.boxes - first < kRows ? space.boxes - first : kRows;
    }
    __aicore__ inline void Load(uint32_t first) {
        LocalTensor<uint16_t> rows = rowQueue.AllocTensor<uint16_t>();
        const LocalTensor<uint8_t> bytes = rows.ReinterpretCast<uint8_t>();
        for (uint32_t i = 0; i < Rows(first); ++i) {
            const int32_t box = orderBuf.Get<int32_t>().GetValue(first + i);
            if (Stays(box)) {
                const uint64_t at = static_cast<uint64_t>(box) * space.Pitch();
                opgen::LoadRange(bytes[i * space.Pitch()], space.bits[at], space.Pitch());
            }
        }
        rowQueue.EnQue(rows);
    }
    // Whether the bit of a box is set. Once it is clear, it stays so, and no row is needed.
    __aicore__ inline bool Stays(int32_t box) {
        constexpr int32_t kBits = 32;
        const uint32_t word = bitBuf.Get<uint32_t>().GetValue(static_cast<uint32_t>(box / kBits));
        return (word >> (box % kBits) & 1) != 0;
    }
    // Keep a box whose bit is set, and clear the bits of those that it overlaps.
    __aicore__ inline void Try(int32_t box, const LocalTensor<uint16_t>& row) {
        if (!Stays(box)) {
            return;
        }
        // The upper words of the 64-bit results stay 0.
        keptBuf.Get<int32_t>().SetValue(2 * taken, box);
        ++taken;
        const LocalTensor<uint16_t> bits = bitBuf.Get<uint16_t>();
        opgen::Order<HardEvent::S_V>();
        And(bits, bits, row, static_cast<int32_t>(space.Pitch() / 2));
        opgen::Order<HardEvent::V_S>();
    }

    static constexpr uint32_t kRows = 32;

    TQue<TPosition::VECIN, 2> rowQueue;
    TBuf<TPosition::VECCALC> orderBuf;
    TBuf<TPosition::VECCALC> bitBuf;
    TBuf<TPosition::VECCALC> keptBuf;
    TBuf<TPosition::VECCALC> countBuf;
    Space space;
    uint32_t taken = 0;
};
}  // namespace nms_kernel

extern "C" __global__ __aicore__ void nms(GM_ADDR boxes, GM_ADDR scores, GM_ADDR keep_indices,
                                          GM_ADDR count, GM_ADDR workspace, GM_ADDR tiling) {
    // Vector cores only, with the hardware synchronisation that SyncAll needs.
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(NMSTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    if (tilingData.boxesShape[1] != nms_kernel::kNumbers ||
        tilingData.boxesShape[0] > nms_kernel::kMostBoxes) {
        AscendC::printf("nms: %lld boxes of %lld numbers, at most %d of 4 fit UB\n",
                        tilingData.boxesShape[0], tilingData.boxesShape[1],
                        static_cast<int32_t>(nms_kernel::kMostBoxes));
        AscendC::Trap();
        return;
    }
    nms_kernel::Space space;
    space.Init(AscendC::GetUserWorkspace(workspace),
               static_cast<uint32_t>(tilingData.boxesShape[0]));
    const bool chooses = AscendC::GetBlockIdx() == 0;
    AscendC::TPipe pipe;
    if (space.boxes > 0) {
        if (chooses) {
            nms_kernel::Sort sort;
            sort.Run(scores, space, &pipe);
            pipe.Reset();
        }
        nms_kernel::Comparison comparison;
        comparison.Run(boxes, space, tilingData.iou_threshold, &pipe);
        pipe.Reset();
        AscendC::SyncAll();
    }
    if (chooses) {
        nms_kernel::Choice choice;
        choice.Run(keep_indices, count, space, &pipe);
    }
}
