// SPDX-License-Identifier: Apache-2.0
//
// RunningMax: y[i, j] = max(x[i, 0..j]). Rows are shared between cores; a row passes through UB in
// pieces of kPiece elements, and the largest element so far goes on to the next piece. In a piece
// the maximum is built by doubling: after step s each element is the largest of the 2^s elements
// that end there.
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "running_max_tiling.h"
#endif

namespace running_max_kernel {
using namespace AscendC;

class Kernel {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const Tiling& tiling, TPipe* pipe) {
        length = static_cast<uint64_t>(tiling.xShape[1]);
        share.Init(static_cast<uint64_t>(tiling.xShape[0]));
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
        pipe->InitBuffer(inQueue, 2, kPiece * sizeof(float));
        pipe->InitBuffer(outQueue, 2, kPiece * sizeof(float));
        pipe->InitBuffer(shiftedBuf, kPiece * sizeof(float));
    }

    __aicore__ inline void Process() {
        for (uint64_t row = share.first; row < share.last; ++row) {
            float largest = 0;
            for (uint64_t at = 0; at < length; at += kPiece) {
                const uint64_t left = length - at;
                const uint32_t count = static_cast<uint32_t>(left < kPiece ? left : kPiece);
                largest = Piece(row * length + at, count, at == 0, largest);
            }
        }
    }

 private:
    // Returns the largest element up to the end of the piece.
    __aicore__ inline float Piece(uint64_t at, uint32_t count, bool first, float before) {
        LocalTensor<float> x = inQueue.AllocTensor<float>();
        opgen::LoadRange(x, xGm[at], count);
        inQueue.EnQue(x);
        x = inQueue.DeQue<float>();
        LocalTensor<float> y = outQueue.AllocTensor<float>();
        if (first) {
            Adds(y, x, 0.0f, static_cast<int32_t>(count));
        } else {
            Maxs(y, x, before, static_cast<int32_t>(count));
        }
        inQueue.FreeTensor(x);
        for (uint32_t step = 1; step < count; step *= 2) Double(y, step, count);
        Order<HardEvent::V_S>();
        const float last = y.GetValue(count - 1);
        outQueue.EnQue(y);
        y = outQueue.DeQue<float>();
        opgen::StoreRange(yGm[at], y, count);
        outQueue.FreeTensor(y);
        return last;
    }

    // y[j] = max(y[j], y[j - step]) for j >= step, from a copy: the places overlap. An operand
    // starts at a block of 32 bytes, so steps below 8 elements shift by the scalar unit.
    __aicore__ inline void Double(LocalTensor<float>& y, uint32_t step, uint32_t count) {
        LocalTensor<float> shifted = shiftedBuf.Get<float>();
        if (step >= kBlock) {
            Adds(shifted, y, 0.0f, static_cast<int32_t>(count - step));
            PipeBarrier<PIPE_V>();
            Max(y[step], y[step], shifted, static_cast<int32_t>(count - step));
            PipeBarrier<PIPE_V>();
            return;
        }
        Order<HardEvent::V_S>();
        for (uint32_t j = 0; j < step; ++j) shifted.SetValue(j, y.GetValue(j));
        for (uint32_t j = step; j < count; ++j) shifted.SetValue(j, y.GetValue(j - step));
        Order<HardEvent::S_V>();
        Max(y, y, shifted, static_cast<int32_t>(count));
        PipeBarrier<PIPE_V>();
    }

    template <HardEvent kEvent>
    __aicore__ inline void Order() {
        const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(kEvent));
        SetFlag<kEvent>(id);
        WaitFlag<kEvent>(id);
    }

    static constexpr uint32_t kPiece = 4096;  // elements of a row at a time
    static constexpr uint32_t kBlock = 8;     // elements of 32 bytes

    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> shiftedBuf;
    GlobalTensor<float> xGm;
    GlobalTensor<float> yGm;
    opgen::Share share;
    uint64_t length = 0;
};
}  // namespace running_max_kernel

extern "C" __global__ __aicore__ void running_max(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(RunningMaxTilingData);
#endif
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    running_max_kernel::Kernel kernel;
    kernel.Init(x, y, data, &pipe);
    kernel.Process();
}
