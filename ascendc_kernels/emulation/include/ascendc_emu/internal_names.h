// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Internal functions of the device library that public kernels call all the same.
#ifndef ASCENDC_EMU_INTERNAL_NAMES_H
#define ASCENDC_EMU_INTERNAL_NAMES_H

#include "ascendc_emu/gather_api.h"

namespace AscendC {

template <typename T>
__aicore__ inline void TransDataTo5HDImpl(uint64_t dst[NCHW_CONV_ADDR_LIST_SIZE],
                                          uint64_t src[NCHW_CONV_ADDR_LIST_SIZE],
                                          const TransDataTo5HDParams& params, Loc loc = Loc::Here())
{
    TransDataTo5HD<T>(dst, src, params, loc);
}
template <typename T>
__aicore__ inline void TransDataTo5HDImpl(T* dst[NCHW_CONV_ADDR_LIST_SIZE], T* src[NCHW_CONV_ADDR_LIST_SIZE],
                                          const TransDataTo5HDParams& params, Loc loc = Loc::Here())
{
    uint64_t d[16], s[16];
    for (int i = 0; i < 16; ++i) {
        d[i] = reinterpret_cast<uint64_t>(dst[i]);
        s[i] = reinterpret_cast<uint64_t>(src[i]);
    }
    TransDataTo5HD<T>(d, s, params, loc);
}
template <typename T>
__aicore__ inline void DuplicateImpl(T* dst, const T& value, const int32_t& count, Loc loc = Loc::Here())
{
    const ascendc_emu::Core& core = ascendc_emu::Current();
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(ascendc_emu::Mem::kUb)]);
    LocalTensor<T> t(TPosition::VECCALC, static_cast<uint32_t>(reinterpret_cast<uint64_t>(dst) - base),
                     static_cast<uint32_t>(count), loc);
    Duplicate(t, value, count, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_INTERNAL_NAMES_H
