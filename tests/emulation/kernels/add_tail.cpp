// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// z = x + y over `length` elements, split over the blocks in 32-byte units, tail by DataCopyPad.
#include "kernel_operator.h"

using namespace AscendC;

struct AddTiling {
    uint32_t length;
    uint32_t tile;
};

template <typename T>
class KernelAdd {
 public:
    __aicore__ inline KernelAdd() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddTiling& tiling) {
        constexpr uint32_t unit = 32 / sizeof(T);
        const uint32_t units = (tiling.length + unit - 1) / unit;
        const uint32_t perBlock = (units + GetBlockNum() - 1) / GetBlockNum() * unit;
        const uint32_t begin = GetBlockIdx() * perBlock;
        count = begin >= tiling.length ? 0 : tiling.length - begin;
        count = count > perBlock ? perBlock : count;
        tile = tiling.tile;
        xGm.SetGlobalBuffer((__gm__ T*)x + begin, count);
        yGm.SetGlobalBuffer((__gm__ T*)y + begin, count);
        zGm.SetGlobalBuffer((__gm__ T*)z + begin, count);
        pipe.InitBuffer(inX, 2, tile * sizeof(T));
        pipe.InitBuffer(inY, 2, tile * sizeof(T));
        pipe.InitBuffer(outZ, 2, tile * sizeof(T));
    }
    __aicore__ inline void Process() {
        for (uint32_t at = 0; at < count; at += tile) {
            const uint32_t n = count - at < tile ? count - at : tile;
            CopyIn(at, n);
            Compute(n);
            CopyOut(at, n);
        }
    }

 private:
    __aicore__ inline void CopyIn(uint32_t at, uint32_t n) {
        LocalTensor<T> x = inX.AllocTensor<T>();
        LocalTensor<T> y = inY.AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pad{false, 0, 0, 0};
        DataCopyPad(x, xGm[at], params, pad);
        DataCopyPad(y, yGm[at], params, pad);
        inX.EnQue(x);
        inY.EnQue(y);
    }
    __aicore__ inline void Compute(uint32_t n) {
        LocalTensor<T> x = inX.DeQue<T>();
        LocalTensor<T> y = inY.DeQue<T>();
        LocalTensor<T> z = outZ.AllocTensor<T>();
        Add(z, x, y, n);
        outZ.EnQue(z);
        inX.FreeTensor(x);
        inY.FreeTensor(y);
    }
    __aicore__ inline void CopyOut(uint32_t at, uint32_t n) {
        LocalTensor<T> z = outZ.DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
        DataCopyPad(zGm[at], z, params);
        outZ.FreeTensor(z);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inX, inY;
    TQue<QuePosition::VECOUT, 1> outZ;
    GlobalTensor<T> xGm, yGm, zGm;
    uint32_t count = 0, tile = 0;
};

extern "C" __global__ __aicore__ void add_tail(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                               GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA_WITH_STRUCT(AddTiling, tilingData, tiling);
    if (TILING_KEY_IS(1)) {
        KernelAdd<float> op;
        op.Init(x, y, z, tilingData);
        op.Process();
    } else if (TILING_KEY_IS(2)) {
        KernelAdd<half> op;
        op.Init(x, y, z, tilingData);
        op.Process();
    }
}
