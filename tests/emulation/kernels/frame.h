// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// What kernels of one API each share: x, y and z go to UB, the kernel computes there, z comes back.
#ifndef FRAME_H
#define FRAME_H
#include "kernel_operator.h"

using namespace AscendC;

class Frame {
 public:
    __aicore__ inline Frame(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR sizes) {
        const __gm__ uint32_t* bytes = (const __gm__ uint32_t*)sizes;
        out = bytes[2];
        GM_ADDR from[] = {x, y, z};
        for (int i = 0; i < 3; ++i) {
            pipe.InitBuffer(buf[i], 32768);
            GlobalTensor<uint8_t> g;
            g.SetGlobalBuffer(from[i], bytes[i]);
            DataCopyPad(buf[i].Get<uint8_t>(), g, DataCopyExtParams(1, bytes[i], 0, 0, 0),
                        DataCopyPadExtParams<uint8_t>(false, 0, 0, 0));
        }
        pipe.InitBuffer(buf[3], 65536);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    }
    __aicore__ inline void End(GM_ADDR z) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        GlobalTensor<uint8_t> g;
        g.SetGlobalBuffer(z, out);
        DataCopyPad(g, buf[2].Get<uint8_t>(), DataCopyExtParams(1, out, 0, 0, 0));
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> X() {
        return buf[0].Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Y() {
        return buf[1].Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Z() {
        return buf[2].Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> W() {
        return buf[3].Get<T>();
    }
    TPipe pipe;

 private:
    TBuf<> buf[4];
    uint32_t out;
};

// Arguments of a test kernel; tiling holds the bytes of x, y and z.
#define KERNEL(NAME)                                                                               \
    extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, \
                                               GM_ADDR tiling)

#endif  // FRAME_H
