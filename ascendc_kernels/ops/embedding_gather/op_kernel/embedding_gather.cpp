// SPDX-License-Identifier: Apache-2.0
//
// EmbeddingGather: y[i] = table[index[i]]; an index outside the table gives a row of zeros and is
// reported once per core.
//
// The indices are split evenly over the cores. A core loads a chunk of indices, gathers as many
// rows as fit a tile (each at a 32-byte boundary) and writes runs of them with one copy; rows
// longer than a tile are moved piece by piece. Loading and storing overlap by double buffering.
#include "kernel_operator.h"
#include "opgen/project.h"
#if OPGEN_PLAIN_TILING
#include "embedding_gather_tiling.h"
#endif

using namespace AscendC;

template <typename T, typename I>
class EmbeddingGather {
public:
    __aicore__ inline EmbeddingGather() {}

    // rows, width: the table's shape; count: number of indices.
    __aicore__ inline void Init(GM_ADDR table, GM_ADDR index, GM_ADDR y, int64_t rows,
                                int64_t width, int64_t count, TPipe* pipe) {
        tableRows = rows;
        rowLength = width;
        const int64_t blocks = GetBlockNum();
        const int64_t block = GetBlockIdx();
        const int64_t share = count / blocks;
        const int64_t extra = count % blocks;
        first = block * share + (block < extra ? block : extra);
        last = first + share + (block < extra ? 1 : 0);

        tableGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(table));
        // Copied as 32-bit words, which every architecture moves.
        indexGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(index));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));

        const int64_t slotBytes = (rowLength * sizeof(T) + kBlock - 1) / kBlock * kBlock;
        wholeRows = slotBytes <= kTileBytes;
        slotLength = (wholeRows ? slotBytes : kTileBytes) / sizeof(T);
        tileRows = wholeRows && slotBytes > 0 ? kTileBytes / slotBytes : 1;
        tileRows = tileRows < kChunk ? tileRows : kChunk;

        pipe->InitBuffer(rowQueue, kBuffers, kTileBytes);
        pipe->InitBuffer(indexBuffer, kChunk * sizeof(I));
        pipe->InitBuffer(zeroBuffer, slotLength * sizeof(T));
    }

    __aicore__ inline void Process() {
        if (first >= last || rowLength == 0) {
            return;
        }
        MakeZeros();
        for (int64_t start = first; start < last; start += kChunk) {
            const int64_t left = last - start;
            ProcessChunk(start, left < kChunk ? left : kChunk);
        }
    }

private:
    __aicore__ inline void MakeZeros() {
        LocalTensor<T> zeros = zeroBuffer.template Get<T>();
        Duplicate(zeros, static_cast<T>(0), static_cast<int32_t>(slotLength));
        const event_t event = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE3));
        SetFlag<HardEvent::V_MTE3>(event);
        WaitFlag<HardEvent::V_MTE3>(event);
    }

    // Gather the rows of `count` (at most kChunk) indices from position `start` on.
    __aicore__ inline void ProcessChunk(int64_t start, int64_t count) {
        LoadIndices(start, count);
        LocalTensor<I> indices = indexBuffer.template Get<I>();
        for (int64_t done = 0; done < count; done += tileRows) {
            const int64_t rows = count - done < tileRows ? count - done : tileRows;
            if (wholeRows) {
                MoveRows(indices, done, rows, start + done);
            } else {
                MoveLongRow(indices.GetValue(done), start + done);
            }
        }
        // The next chunk overwrites the indices that the scalar unit reads here.
        const event_t event = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_MTE2));
        SetFlag<HardEvent::S_MTE2>(event);
        WaitFlag<HardEvent::S_MTE2>(event);
    }

    __aicore__ inline void LoadIndices(int64_t start, int64_t count) {
        constexpr uint32_t kWords = sizeof(I) / sizeof(int32_t);
        LocalTensor<int32_t> words = indexBuffer.template Get<int32_t>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(I)), 0, 0, 0};
        const DataCopyPadExtParams<int32_t> pad{false, 0, 0, 0};
        DataCopyPad(words, indexGm[start * kWords], copy, pad);
        const event_t event = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_S));
        SetFlag<HardEvent::MTE2_S>(event);
        WaitFlag<HardEvent::MTE2_S>(event);
    }

    // Whole rows: load the valid ones into their slots, write runs of them in one copy each.
    __aicore__ inline void MoveRows(LocalTensor<I>& indices, int64_t begin, int64_t rows,
                                    int64_t position) {
        LocalTensor<T> tile = rowQueue.template AllocTensor<T>();
        const DataCopyExtParams one{1, static_cast<uint32_t>(rowLength * sizeof(T)), 0, 0, 0};
        const DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t row = static_cast<int64_t>(indices.GetValue(begin + i));
            if (IsValid(row, position + i)) {
                DataCopyPad(tile[i * slotLength], tableGm[row * rowLength], one, pad);
            }
        }
        rowQueue.EnQue(tile);
        tile = rowQueue.template DeQue<T>();
        int64_t i = 0;
        while (i < rows) {
            int64_t end = i;
            while (end < rows && InTable(static_cast<int64_t>(indices.GetValue(begin + end)))) {
                ++end;
            }
            if (end > i) {
                DataCopyExtParams run = one;
                run.blockCount = static_cast<uint16_t>(end - i);
                DataCopyPad(yGm[(position + i) * rowLength], tile[i * slotLength], run);
                i = end;
            } else {
                DataCopyPad(yGm[(position + i) * rowLength], zeroBuffer.template Get<T>(), one);
                ++i;
            }
        }
        rowQueue.FreeTensor(tile);
    }

    // A row longer than a tile, piece by piece.
    __aicore__ inline void MoveLongRow(I index, int64_t position) {
        const int64_t row = static_cast<int64_t>(index);
        const bool valid = IsValid(row, position);
        const DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        for (int64_t column = 0; column < rowLength; column += slotLength) {
            const int64_t left = rowLength - column;
            const int64_t length = left < slotLength ? left : slotLength;
            const DataCopyExtParams piece{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
            const int64_t target = position * rowLength + column;
            if (!valid) {
                DataCopyPad(yGm[target], zeroBuffer.template Get<T>(), piece);
                continue;
            }
            LocalTensor<T> tile = rowQueue.template AllocTensor<T>();
            DataCopyPad(tile, tableGm[row * rowLength + column], piece, pad);
            rowQueue.EnQue(tile);
            tile = rowQueue.template DeQue<T>();
            DataCopyPad(yGm[target], tile, piece);
            rowQueue.FreeTensor(tile);
        }
    }

    __aicore__ inline bool InTable(int64_t row) const { return row >= 0 && row < tableRows; }

    // As InTable, and reports the first bad index of this core.
    __aicore__ inline bool IsValid(int64_t row, int64_t position) {
        if (InTable(row)) {
            return true;
        }
        if (!reported) {
            reported = true;
            PRINTF("EmbeddingGather: index[%ld] is %ld, the table has %ld rows; its row is zero\n",
                   static_cast<long>(position), static_cast<long>(row),
                   static_cast<long>(tableRows));
        }
        return false;
    }

    static constexpr int64_t kBlock = 32;              // bytes, alignment of UB
    static constexpr int64_t kTileBytes = 48 * 1024;   // one of the row buffers
    static constexpr int64_t kChunk = 1024;            // indices loaded at once
    static constexpr int32_t kBuffers = 2;

    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> rowQueue;
    TBuf<TPosition::VECCALC> indexBuffer;
    TBuf<TPosition::VECCALC> zeroBuffer;
    GlobalTensor<T> tableGm;
    GlobalTensor<int32_t> indexGm;
    GlobalTensor<T> yGm;
    int64_t tableRows = 0;
    int64_t rowLength = 0;
    int64_t slotLength = 0;  // elements from one row of a tile to the next
    int64_t tileRows = 1;
    int64_t first = 0;  // this core's indices are [first, last)
    int64_t last = 0;
    bool wholeRows = true;
    bool reported = false;
};

extern "C" __global__ __aicore__ void embedding_gather(GM_ADDR table, GM_ADDR index, GM_ADDR y,
                                                       GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(EmbeddingGatherTilingData);
#endif
    GET_TILING_DATA(data, tiling);
    int64_t count = 1;
    for (int64_t axis = 0; axis < data.indexRank; ++axis) {
        count *= data.indexShape[axis];
    }
    TPipe pipe;
    EmbeddingGather<DTYPE_TABLE, DTYPE_INDEX> op;
    op.Init(table, index, y, data.tableShape[0], data.tableShape[1], count, &pipe);
    op.Process();
}
