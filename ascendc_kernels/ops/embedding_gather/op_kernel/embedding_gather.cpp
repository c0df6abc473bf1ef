// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// EmbeddingGather: y[i, :] = table[index[i], :]. An index outside the table gives a row of zeros
// and is reported once per core. Handwritten: which rows are read is only known on the device.
//
// Each core takes a balanced share of the indices. Indices come to UB in batches and are read by
// the scalar unit; rows go through UB in one or more pieces, GM -> UB -> GM, over a double-buffered
// TQueBind, so that the next row is loaded while the last one is stored.
//
// Tiling data (opgen's default for handwritten kernels): tableShape, indexRank, indexShape.
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "embedding_gather_tiling.h"
#endif

namespace embedding_gather_kernel {
using namespace AscendC;

template <typename T, typename I>
class Kernel {
 public:
    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR table, GM_ADDR index, GM_ADDR y, const Tiling& tiling,
                                TPipe* pipe) {
        tableRows = tiling.tableShape[0];
        rowLength = static_cast<uint64_t>(tiling.tableShape[1]);
        uint64_t indices = 1;
        for (int64_t i = 0; i < tiling.indexRank; ++i) {
            indices *= static_cast<uint64_t>(tiling.indexShape[i]);
        }
        share.Init(indices);
        tableGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(table));
        indexGm.SetGlobalBuffer(reinterpret_cast<__gm__ I*>(index));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        pipe->InitBuffer(rowQueue, 2, kPiece * static_cast<uint32_t>(sizeof(T)));
        pipe->InitBuffer(indexBuf, kBatch * static_cast<uint32_t>(sizeof(I)));
        pipe->InitBuffer(zeroBuf, kPiece * static_cast<uint32_t>(sizeof(T)));
        LocalTensor<int16_t> zero = zeroBuf.Get<int16_t>();
        Duplicate(zero, static_cast<int16_t>(0),
                  static_cast<uint32_t>(kPiece * sizeof(T) / sizeof(int16_t)));
        Order<HardEvent::V_MTE3>();
    }

    __aicore__ inline void Process() {
        LocalTensor<I> batch = indexBuf.Get<I>();
        for (uint64_t first = share.first; first < share.last; first += kBatch) {
            const uint64_t left = share.last - first;
            const uint32_t count = static_cast<uint32_t>(left < kBatch ? left : kBatch);
            opgen::LoadRange(batch, indexGm[first], count);
            Order<HardEvent::MTE2_S>();
            for (uint32_t i = 0; i < count; ++i) {
                const int64_t row = static_cast<int64_t>(batch.GetValue(i));
                if (row >= 0 && row < tableRows) {
                    CopyRow(static_cast<uint64_t>(row), first + i);
                } else {
                    Report(row, first + i);
                    ClearRow(first + i);
                }
            }
            // the next batch may only be loaded once all of this one has been read
            Order<HardEvent::S_MTE2>();
        }
    }

 private:
    __aicore__ inline uint32_t Piece(uint64_t at) const {
        return static_cast<uint32_t>(rowLength - at < kPiece ? rowLength - at : kPiece);
    }

    __aicore__ inline void CopyRow(uint64_t row, uint64_t to) {
        for (uint64_t at = 0; at < rowLength; at += kPiece) {
            LocalTensor<T> tile = rowQueue.template AllocTensor<T>();
            opgen::LoadRange(tile, tableGm[row * rowLength + at], Piece(at));
            rowQueue.EnQue(tile);
            tile = rowQueue.template DeQue<T>();
            opgen::StoreRange(yGm[to * rowLength + at], tile, Piece(at));
            rowQueue.FreeTensor(tile);
        }
    }

    __aicore__ inline void ClearRow(uint64_t to) {
        LocalTensor<T> zero = zeroBuf.Get<T>();
        for (uint64_t at = 0; at < rowLength; at += kPiece) {
            opgen::StoreRange(yGm[to * rowLength + at], zero, Piece(at));
        }
    }

    __aicore__ inline void Report(int64_t row, uint64_t at) {
        if (!reported) {
            AscendC::printf(
                "embedding_gather: index[%lld] = %lld is outside a table of %lld rows\n",
                static_cast<int64_t>(at), row, tableRows);
            reported = true;
        }
    }

    template <HardEvent kEvent>
    __aicore__ inline void Order() {
        const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(kEvent));
        SetFlag<kEvent>(id);
        WaitFlag<kEvent>(id);
    }

    static constexpr uint32_t kBatch = 1024;  // indices per load
    static constexpr uint32_t kPiece = 8192;  // elements of a row per copy

    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> rowQueue;
    TBuf<TPosition::VECCALC> indexBuf;
    TBuf<TPosition::VECCALC> zeroBuf;
    GlobalTensor<T> tableGm;
    GlobalTensor<I> indexGm;
    GlobalTensor<T> yGm;
    opgen::Share share;
    uint64_t rowLength = 0;
    int64_t tableRows = 0;
    bool reported = false;
};
}  // namespace embedding_gather_kernel

extern "C" __global__ __aicore__ void embedding_gather(GM_ADDR table, GM_ADDR index, GM_ADDR y,
                                                       GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(EmbeddingGatherTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    embedding_gather_kernel::Kernel<DTYPE_TABLE, DTYPE_INDEX> kernel;
    kernel.Init(table, index, y, tilingData, &pipe);
    kernel.Process();
}
