// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// A tensor of zeros: what sums of no elements are.
#ifndef OPGEN_ZEROS_H
#define OPGEN_ZEROS_H

#include "kernel_operator.h"
#include "opgen/tile.h"

namespace opgen {

// Fills a whole tensor; all vector cores share it.
template <typename T>
class Zeros {
 public:
    __aicore__ inline Zeros() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR tensor, const Tiling& tiling, AscendC::TPipe* pipe) {
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(tensor));
        total_ = tiling.total;
        pipe->InitBuffer(zeros_, kBytes);
    }
    // Beside a class that has a workspace.
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR tensor, GM_ADDR, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        Init(tensor, tiling, pipe);
    }
    __aicore__ inline void Process() {
        constexpr uint32_t kElements = kBytes / sizeof(T);
        LocalTensor<T> tile = zeros_.template Get<T>();
        AscendC::Duplicate(tile.template ReinterpretCast<int32_t>(), 0,
                           static_cast<int32_t>(kBytes / sizeof(int32_t)));
        Order<AscendC::HardEvent::V_MTE3>();
        Share share;
        share.Init((total_ + kElements - 1) / kElements);
        for (uint64_t i = share.first; i < share.last; ++i) {
            const uint64_t left = total_ - i * kElements;
            StoreRange(gm_[i * kElements], tile,
                       left < kElements ? static_cast<uint32_t>(left) : kElements);
        }
    }

 private:
    static constexpr uint32_t kBytes = 32768;

    AscendC::TBuf<AscendC::TPosition::VECCALC> zeros_;
    GlobalTensor<T> gm_;
    uint64_t total_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_ZEROS_H
