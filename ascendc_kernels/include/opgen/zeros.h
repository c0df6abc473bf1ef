// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// A tensor of zeros: what sums of no elements are.
#ifndef OPGEN_ZEROS_H
#define OPGEN_ZEROS_H

#include "kernel_operator.h"
#include "opgen/start_value.h"

namespace opgen {

// Fills a whole tensor; all vector cores share it.
template <typename T>
class Zeros {
 public:
    __aicore__ inline Zeros() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR tensor, const Tiling& tiling, AscendC::TPipe* pipe) {
        zeros_.Init(tensor, tiling.total, 0.0f, pipe);
    }
    // Beside a class that has a workspace.
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR tensor, GM_ADDR, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        Init(tensor, tiling, pipe);
    }
    __aicore__ inline void Process() { zeros_.Process(); }

 private:
    static constexpr uint32_t kBytes = 32768;

    StartValue<T, kBytes> zeros_;
};

}  // namespace opgen

#endif  // OPGEN_ZEROS_H
