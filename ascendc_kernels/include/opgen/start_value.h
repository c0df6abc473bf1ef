// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a state of a loop is before the first step, where that is one number.
#ifndef OPGEN_START_VALUE_H
#define OPGEN_START_VALUE_H

#include "kernel_operator.h"
#include "opgen/tile.h"

namespace opgen {

// Fills a tensor in global memory with a number; all vector cores share it. T has 1, 2 or 4 bytes,
// or the number is 0. A store takes kBytes.
template <typename T, uint32_t kBytes = 8192>
class StartValue {
 public:
    __aicore__ inline StartValue() {}

    // total: elements of the tensor.
    __aicore__ inline void Init(GM_ADDR tensor, uint64_t total, float value, AscendC::TPipe* pipe) {
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(tensor));
        total_ = total;
        word_ = Word(value);
        pipe->InitBuffer(values_, kBytes);
    }
    __aicore__ inline void Process() {
        constexpr uint32_t kElements = kBytes / sizeof(T);
        LocalTensor<T> tile = values_.template Get<T>();
        AscendC::Duplicate(tile.template ReinterpretCast<int32_t>(), word_,
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
    // The number in each place of a word.
    __aicore__ static inline int32_t Word(float value) {
        if constexpr (std::is_same<T, float>::value) {
            return Bits<int32_t>(value);
        } else if constexpr (std::is_same<T, half>::value) {
            return Twice(Bits<uint16_t>(static_cast<half>(value)));
        } else if constexpr (std::is_same<T, bfloat16_t>::value) {
            return Twice(Bits<uint16_t>(AscendC::ToBfloat16(value)));
        } else if constexpr (sizeof(T) == sizeof(int32_t)) {
            return static_cast<int32_t>(value);
        } else if constexpr (sizeof(T) == sizeof(int16_t)) {
            return Twice(static_cast<uint16_t>(static_cast<int32_t>(value)));
        } else if constexpr (sizeof(T) == sizeof(int8_t)) {
            const uint32_t byte = static_cast<uint8_t>(static_cast<int32_t>(value));
            return static_cast<int32_t>(byte * 0x01010101u);
        }
        return 0;
    }
    template <typename Word, typename Value>
    __aicore__ static inline Word Bits(Value value) {
        return *reinterpret_cast<Word*>(&value);
    }
    __aicore__ static inline int32_t Twice(uint16_t bits) {
        return static_cast<int32_t>(static_cast<uint32_t>(bits) * 0x00010001u);
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> values_;
    GlobalTensor<T> gm_;
    uint64_t total_ = 0;
    int32_t word_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_START_VALUE_H
