// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What changes the scores of an attention before the softmax: tensors that are added to them or
// mask them, read where they lie and broadcast in UB, and the diagonal of a causal mask.
#ifndef OPGEN_ATTENTION_MASKS_H
#define OPGEN_ATTENTION_MASKS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"
#include "opgen/operand.h"
#include "opgen/tile.h"

namespace opgen {

// A tensor of the shape of the scores, or one that is broadcast to it.
template <typename T>
class ScoreOperand {
 public:
    // length: scores of a tile.
    template <typename Array>
    __aicore__ inline void Init(GM_ADDR tensor, const Array& walk, AscendC::TPipe* pipe,
                                uint32_t length) {
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(tensor));
        walk_.Init(walk);
        pipe->InitBuffer(queue_, 2, Bytes<T>(length));
    }
    __aicore__ inline void Load(const Tile& box) {
        LocalTensor<T> tile = queue_.template AllocTensor<T>();
        LoadBox(tile, gm_, walk_, box);
        queue_.EnQue(tile);
    }
    // scores += tensor * factor. wide and scratch: floats of a tile.
    __aicore__ inline void Add(const Tile32& scores, float factor, const Tile32& wide,
                               const Tile32& scratch, const Tile& box) {
        LocalTensor<T> tile = queue_.template DeQue<T>();
        bool own = false;
        if constexpr (Same<T, float>::value) {
            own = walk_.ByRow() && walk_.ByCol();
        }
        if (own) {
            AscendC::Muls(wide, tile.template ReinterpretCast<float>(), factor, box.count);
        } else {
            ExpandBox(wide, tile, scratch, LocalTensor<half>(), walk_, box);
            VectorBarrier();
            if (factor != 1.0f) {
                AscendC::Muls(wide, wide, factor, box.count);
            }
        }
        VectorBarrier();
        queue_.FreeTensor(tile);
        AscendC::Add(scores, scores, wide, box.count);
        VectorBarrier();
    }
    // Give the scores a value where the tensor, of bool, is true, or where it is not.
    template <bool kWhereTrue>
    __aicore__ inline void Fill(const Tile32& scores, float value, const MaskTile& mask,
                                const Tile32& wide, const Tile& box) {
        TakeMask<!kWhereTrue>(mask, wide, box);
        AscendC::Select(scores, mask, scores, value, SELMODE::VSEL_TENSOR_SCALAR_MODE, box.count);
        VectorBarrier();
    }
    // Add a value to the scores in the same places; NaN stays.
    template <bool kWhereTrue>
    __aicore__ inline void AddWhere(const Tile32& scores, float value, const MaskTile& mask,
                                    const Tile32& wide, const Tile& box) {
        TakeMask<!kWhereTrue>(mask, wide, box);
        AscendC::Duplicate(wide, 0.0f, box.count);
        VectorBarrier();
        AscendC::Select(wide, mask, wide, value, SELMODE::VSEL_TENSOR_SCALAR_MODE, box.count);
        VectorBarrier();
        AscendC::Add(scores, scores, wide, box.count);
        VectorBarrier();
    }

 private:
    // Bits of the scores that keep their value; kWhereTrue: where the tensor is true.
    template <bool kWhereTrue>
    __aicore__ inline void TakeMask(const MaskTile& mask, const Tile32& wide, const Tile& box) {
        LocalTensor<T> tile = queue_.template DeQue<T>();
        const LocalTensor<half> bytes = wide.template ReinterpretCast<half>();
        const LocalTensor<half> stage = bytes[AlignLanes(box.count)];
        ExpandMaskBox(mask, tile, stage, bytes, walk_, box);
        VectorBarrier();
        queue_.FreeTensor(tile);
        if constexpr (!kWhereTrue) {
            const LocalTensor<uint16_t> words = mask.template ReinterpretCast<uint16_t>();
            AscendC::Not(words, words, static_cast<int32_t>(AlignLanes(box.count) / 16));
            VectorBarrier();
        }
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 2> queue_;
    GlobalTensor<T> gm_;
    Walk walk_;
};

// Give elements [first, count) of a row a value.
__aicore__ inline void FillBehind(const Tile32& row, uint32_t first, uint32_t count, float value) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(float);
    const uint32_t start = first / kLanes * kLanes;
    uint32_t done = start;
    if (first > start) {
        const uint32_t end = count - start < kLanes ? count - start : kLanes;
        uint64_t mask[2] = {~static_cast<uint64_t>(0) << (first - start), 0};
        if (end < kLanes) {
            mask[0] &= (static_cast<uint64_t>(1) << end) - 1;
        }
        AscendC::Duplicate(row[start], value, mask, 1, 1, 8);
        done = start + kLanes;
    }
    if (done < count) {
        AscendC::Duplicate(row[done], value, count - done);
    }
}

// Give the scores a value whose key lies behind the diagonal: row r keeps keys up to r + shift.
__aicore__ inline void FillAbove(const Tile32& scores, int32_t shift, float value,
                                 const Tile& box) {
    for (uint32_t i = 0; i < box.rows; ++i) {
        const int64_t last = static_cast<int64_t>(box.row) + i + shift;
        const int64_t kept = last + 1 - static_cast<int64_t>(box.col);
        if (kept < static_cast<int64_t>(box.cols)) {
            FillBehind(scores[i * box.pitch], kept > 0 ? static_cast<uint32_t>(kept) : 0, box.cols,
                       value);
        }
    }
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ATTENTION_MASKS_H
