// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions of the tensors of a list, of which cores have any part each: every core leaves what
// its part of a tensor gives as a record in the workspace, and one core per tensor joins its
// records.
#ifndef OPGEN_LIST_RECORDS_H
#define OPGEN_LIST_RECORDS_H

#include "kernel_operator.h"
#include "opgen/core_wait.h"
#include "opgen/row.h"
#include "opgen/tile.h"

namespace opgen {

// A record is a block of numbers, of which the first one counts. The tensors lie end to end, so a
// core that goes on to the next tensor, or a tensor that goes on to the next core, both lead to the
// next record: core + tensor numbers them without gaps, and those of a tensor lie side by side.
class ListRecords {
 public:
    static constexpr uint32_t kMaxCores = 64;

    // tensors: of the list; units: of kUnit elements, of all tensors.
    __aicore__ inline void Init(GM_ADDR workspace, uint32_t tensors, uint64_t units,
                                AscendC::TPipe* pipe) {
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        records_ = tensors + static_cast<uint32_t>(cores);
        each_ = units / cores;
        extra_ = units % cores;
        pipe->InitBuffer(buffer_, kMaxCores * kBlockBytes);
    }
    // Leave what this core has gathered of a tensor in `acc`, its accumulator number `slot`.
    template <typename C>
    __aicore__ inline void Publish(const LocalTensor<C>& acc, uint32_t slot, uint32_t tensor) {
        Order<AscendC::HardEvent::V_MTE3>();
        const uint32_t core = static_cast<uint32_t>(AscendC::GetBlockIdx());
        AscendC::DataCopy(gm_[At(slot, tensor + core)], acc.template ReinterpretCast<float>(),
                          kFloatBlock);
        Order<AscendC::HardEvent::MTE3_V>();
    }
    // Wait until all cores have left their records.
    __aicore__ inline void Wait() { WaitForCores(); }
    // acc = what all cores have left of a tensor that has `units` units after `before` others.
    template <int32_t kKind, typename C>
    __aicore__ inline void Join(const LocalTensor<C>& acc, uint32_t slot, uint32_t tensor,
                                uint64_t before, uint64_t units) {
        const uint32_t first = CoreOf(before);
        Tile box;
        box.rows = CoreOf(before + units - 1) - first + 1;
        box.cols = box.pitch = kFloatBlock;
        const Tile32 numbers = buffer_.template Get<float>();
        Order<AscendC::HardEvent::V_MTE2>();
        AscendC::DataCopy(numbers, gm_[At(slot, tensor + first)], box.rows * kFloatBlock);
        Order<AscendC::HardEvent::MTE2_V>();
        const LocalTensor<C> own = numbers.template ReinterpretCast<C>();
        ReduceColumns<kKind>(acc, own, own, box);
    }

 private:
    // Which core has a unit; see Share.
    __aicore__ inline uint32_t CoreOf(uint64_t unit) const {
        const uint64_t larger = extra_ * (each_ + 1);
        const uint64_t core = unit < larger ? unit / (each_ + 1) : extra_ + (unit - larger) / each_;
        return static_cast<uint32_t>(core);
    }
    __aicore__ inline uint32_t At(uint32_t slot, uint32_t record) const {
        return (slot * records_ + record) * kFloatBlock;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    GlobalTensor<float> gm_;
    uint32_t records_ = 0;
    uint64_t each_ = 0;
    uint64_t extra_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_LIST_RECORDS_H
