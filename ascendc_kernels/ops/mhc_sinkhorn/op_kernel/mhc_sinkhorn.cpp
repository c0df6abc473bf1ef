// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// MhcSinkhorn: rows and columns of small matrices normalised in turn, after a softmax of the
// rows. Handwritten: every step needs the one before it, so that a generated kernel would take a
// pass over the workspace for each.
//
// A tile is brought to UB once. There element (r, c) of all of its matrices becomes a vector, so
// that sums over rows and columns are additions of vectors, and all steps stay in UB:
//
//   matrices [count, rows, cols] -> Gather -> [rows, cols, pitch] -> steps -> Gather -> matrices
//
// Tiling data (opgen's default for handwritten kernels): combShape, iter_step, eps.
#include "kernel_operator.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "mhc_sinkhorn_tiling.h"
#endif

namespace mhc_sinkhorn_kernel {
using namespace AscendC;

class Kernel {
 public:
    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR comb, GM_ADDR y, const Tiling& tiling, TPipe* pipe) {
        rows = static_cast<uint32_t>(tiling.combShape[1]);
        cols = static_cast<uint32_t>(tiling.combShape[2]);
        steps = tiling.iter_step;
        eps = tiling.eps;
        combGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(comb));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
        const uint64_t matrices = static_cast<uint64_t>(tiling.combShape[0]);
        const int64_t size = tiling.combShape[1] * tiling.combShape[2];
        if (size == 0 || matrices == 0) {
            return;  // the share stays empty
        }
        if (size > kMostElements) {
            AscendC::printf("mhc_sinkhorn: matrices have %lld elements, at most %lld fit UB\n",
                            size, static_cast<int64_t>(kMostElements));
            AscendC::Trap();
            return;
        }
        share.Init(matrices);
        elements = static_cast<uint32_t>(size);
        pitch = kTile / elements / kBlock * kBlock;
        pitch = pitch < kMostMatrices ? pitch : kMostMatrices;
        pipe->InitBuffer(inputQueue, 2, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(outputQueue, 1, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(valueBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(sumBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(fromBuf, opgen::Bytes<uint32_t>(kMostMatrices));
        pipe->InitBuffer(toBuf, opgen::Bytes<uint32_t>(kTile));
        values = valueBuf.Get<float>();
        sums = sumBuf.Get<float>();
        FillPlaces();
    }

    __aicore__ inline void Process() {
        for (uint64_t first = share.first; first < share.last; first += pitch) {
            const uint64_t left = share.last - first;
            const uint32_t count = static_cast<uint32_t>(left < pitch ? left : pitch);
            CopyIn(first, count);
            Compute(count);
            CopyOut(first, count);
        }
    }

 private:
    // Where elements lie, in bytes: element 0 of every matrix of a tile, and what becomes of the
    // elements of the tile in their order.
    __aicore__ inline void FillPlaces() {
        const LocalTensor<int32_t> from = fromBuf.Get<int32_t>();
        CreateVecIndex(from, static_cast<int32_t>(0), pitch);
        PipeBarrier<PIPE_V>();
        Muls(from, from, static_cast<int32_t>(opgen::Bytes<float>(elements)), pitch);
        const uint64_t mine = share.last - share.first;
        const uint32_t count = static_cast<uint32_t>(mine < pitch ? mine : pitch);
        const LocalTensor<uint32_t> to = toBuf.Get<uint32_t>();
        for (uint32_t i = 0; i < count; ++i) {
            for (uint32_t e = 0; e < elements; ++e) {
                to.SetValue(i * elements + e, opgen::Bytes<float>(e * pitch + i));
            }
        }
        opgen::Order<HardEvent::S_V>();
    }

    __aicore__ inline void CopyIn(uint64_t first, uint32_t count) {
        LocalTensor<float> tile = inputQueue.AllocTensor<float>();
        opgen::LoadRange(tile, combGm[first * elements], count * elements);
        inputQueue.EnQue(tile);
    }

    __aicore__ inline void Compute(uint32_t count) {
        LocalTensor<float> tile = inputQueue.DeQue<float>();
        PipeBarrier<PIPE_V>();
        if (count < pitch) {
            // What the instructions compute beside the matrices of the tile.
            Duplicate(values, 0.0f, elements * pitch);
            PipeBarrier<PIPE_V>();
        }
        const LocalTensor<uint32_t> from = fromBuf.Get<uint32_t>();
        for (uint32_t e = 0; e < elements; ++e) {
            Gather(values[e * pitch], tile, from, opgen::Bytes<float>(e), count);
        }
        PipeBarrier<PIPE_V>();
        inputQueue.FreeTensor(tile);
        SoftmaxRows();
        DivideColumns();
        for (int64_t step = 1; step < steps; ++step) {
            DivideRows();
            DivideColumns();
        }
        tile = outputQueue.AllocTensor<float>();
        Gather(tile, values, toBuf.Get<uint32_t>(), 0U, count * elements);
        outputQueue.EnQue(tile);
    }

    __aicore__ inline void CopyOut(uint64_t first, uint32_t count) {
        LocalTensor<float> tile = outputQueue.DeQue<float>();
        opgen::StoreRange(yGm[first * elements], tile, count * elements);
        outputQueue.FreeTensor(tile);
    }

    // An element of all matrices of the tile.
    __aicore__ inline LocalTensor<float> At(uint32_t row, uint32_t col) {
        return values[(row * cols + col) * pitch];
    }

    // values = softmax along rows + eps
    __aicore__ inline void SoftmaxRows() {
        for (uint32_t row = 0; row < rows; ++row) {
            Adds(sums, At(row, 0), 0.0f, pitch);
            PipeBarrier<PIPE_V>();
            for (uint32_t col = 1; col < cols; ++col) {
                Max(sums, sums, At(row, col), pitch);
                PipeBarrier<PIPE_V>();
            }
            for (uint32_t col = 0; col < cols; ++col) {
                Sub(At(row, col), At(row, col), sums, pitch);
            }
            PipeBarrier<PIPE_V>();
            Exp(At(row, 0), At(row, 0), cols * pitch);
            PipeBarrier<PIPE_V>();
            DivideRow(row, 0.0f);
            Adds(At(row, 0), At(row, 0), eps, cols * pitch);
            PipeBarrier<PIPE_V>();
        }
    }

    __aicore__ inline void DivideRows() {
        for (uint32_t row = 0; row < rows; ++row) {
            DivideRow(row, eps);
        }
    }

    // Divide a row of every matrix by its sum and `added`.
    __aicore__ inline void DivideRow(uint32_t row, float added) {
        Adds(sums, At(row, 0), added, pitch);
        PipeBarrier<PIPE_V>();
        for (uint32_t col = 1; col < cols; ++col) {
            Add(sums, sums, At(row, col), pitch);
            PipeBarrier<PIPE_V>();
        }
        for (uint32_t col = 0; col < cols; ++col) {
            Div(At(row, col), At(row, col), sums, pitch);
        }
        PipeBarrier<PIPE_V>();
    }

    // Divide the columns of every matrix by their sums and eps.
    __aicore__ inline void DivideColumns() {
        const uint32_t length = cols * pitch;
        Adds(sums, At(0, 0), eps, length);
        PipeBarrier<PIPE_V>();
        for (uint32_t row = 1; row < rows; ++row) {
            Add(sums, sums, At(row, 0), length);
            PipeBarrier<PIPE_V>();
        }
        for (uint32_t row = 0; row < rows; ++row) {
            Div(At(row, 0), At(row, 0), sums, length);
        }
        PipeBarrier<PIPE_V>();
    }

    static constexpr uint32_t kTile = 7168;                    // elements of a tile
    static constexpr uint32_t kMostMatrices = 1024;            // of a tile
    static constexpr uint32_t kBlock = 8;                      // elements of a block of UB
    static constexpr uint32_t kMostElements = kTile / kBlock;  // of a matrix: each fills a block

    TQue<TPosition::VECIN, 1> inputQueue;
    TQue<TPosition::VECOUT, 1> outputQueue;
    TBuf<TPosition::VECCALC> valueBuf;
    TBuf<TPosition::VECCALC> sumBuf;
    TBuf<TPosition::VECCALC> fromBuf;
    TBuf<TPosition::VECCALC> toBuf;
    LocalTensor<float> values;
    LocalTensor<float> sums;
    GlobalTensor<float> combGm;
    GlobalTensor<float> yGm;
    opgen::Share share;
    int64_t steps = 1;
    float eps = 0.0f;
    uint32_t rows = 0;
    uint32_t cols = 0;
    uint32_t elements = 0;
    uint32_t pitch = 0;
};
}  // namespace mhc_sinkhorn_kernel

extern "C" __global__ __aicore__ void mhc_sinkhorn(GM_ADDR comb, GM_ADDR y, GM_ADDR workspace,
                                                   GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(MhcSinkhornTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    mhc_sinkhorn_kernel::Kernel kernel;
    kernel.Init(comb, y, tilingData, &pipe);
    kernel.Process();
}
