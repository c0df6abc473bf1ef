// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands of the vector APIs that are too small, or hold what the instruction must not be given:
// every family and every way to say how much (count, mask and repeat, counter mode).
#include "skeleton.h"

namespace {

// Six buffers of one tile each; the last one is only a data block long.
struct Many {
    __aicore__ inline Many() {
        for (int i = 0; i < 6; ++i) pipe.InitBuffer(buf[i], i < 5 ? kTileBytes : 32);
        for (int i = 0; i < 6; ++i) t[i] = buf[i].template Get<float>();
    }
    // x in t[0], then z from `from`.
    __aicore__ inline void Load(Tensors& g) {
        DataCopy(t[0], g.x, kTile);
        Sync<HardEvent::MTE2_V>();
    }
    __aicore__ inline void Store(Tensors& g, uint32_t bytes, int from = 1) {
        Sync<HardEvent::V_MTE3>();
        DataCopyPad(g.z, t[from], {1, bytes, 0, 0, 0});
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf[6];
    LocalTensor<float> t[6];
};

}  // namespace

// case cast_widens_past_tensor: ErrorWrite2 found
KERNEL(cast_widens_past_tensor) {
    TENSORS;
    Many m;
    m.Load(g);
    auto halves = m.t[0].ReinterpretCast<half>();
    Cast(m.t[1], halves, RoundMode::CAST_NONE, 2 * kTile);  // <- ErrorWrite2
    m.Store(g, kTileBytes);
}

// case cast_narrows: ErrorWrite2 silent
KERNEL(cast_narrows) {
    TENSORS;
    Many m;
    m.Load(g);
    Cast(m.t[1].ReinterpretCast<half>(), m.t[0], RoundMode::CAST_RINT, kTile);
    m.Store(g, kTileBytes / 2);
}

// case counter_mode_past_tensor: ErrorWrite2 found
KERNEL(counter_mode_past_tensor) {
    TENSORS;
    Many m;
    m.Load(g);
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(0, kTile + 8);
    Adds<float, false>(m.t[1], m.t[0], 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});  // <- ErrorWrite2
    SetMaskNorm();
    ResetMask();
    m.Store(g, kTileBytes);
}

// case counter_mask_past_tensor: ErrorRead3 found
KERNEL(counter_mask_past_tensor) {
    TENSORS;
    Many m;
    m.Load(g);
    SetMaskCount();
    WholeReduceSum(m.t[1], m.t[0], kTile + 1, 1, 1, 1, 8);  // <- ErrorRead3
    SetMaskNorm();
    m.Store(g, 16);
}

// case counter_mode_inside_tensor: ErrorWrite2 silent
KERNEL(counter_mode_inside_tensor) {
    TENSORS;
    Many m;
    m.Load(g);
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(0, kTile - 56);
    Adds<float, false>(m.t[1], m.t[0], 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    SetMaskNorm();
    ResetMask();
    m.Store(g, kTileBytes - 56 * sizeof(float));
}

// case counter_count_of_33_bits: ErrorParam found
KERNEL(counter_count_of_33_bits) {
    TENSORS;
    Many m;
    m.Load(g);
    SetMaskCount();
    uint64_t mask[2] = {(1ull << 32) + 64, 0};
    Adds(m.t[1], m.t[0], 1.0f, mask, 1, {1, 1, 8, 8});  // <- ErrorParam
    SetMaskNorm();
    m.Store(g, 256);
}

// case repeats_write_one_block: ErrorParam found
KERNEL(repeats_write_one_block) {
    TENSORS;
    Many m;
    m.Load(g);
    Duplicate(m.t[1], 0.0f, kTile);
    Add(m.t[1], m.t[0], m.t[0], 64, 4, {0, 1, 1, 8, 8, 8});  // <- ErrorParam
    m.Store(g, kTileBytes);
}

// case one_block_needs_no_stride: ErrorParam silent
KERNEL(one_block_needs_no_stride) {
    TENSORS;
    Many m;
    m.Load(g);
    Add(m.t[1], m.t[0], m.t[0], 8, 4, {0, 1, 1, 1, 1, 1});
    m.Store(g, 128);
}

// case repeat_stride_twice_too_large: ErrorWrite2 found
KERNEL(repeat_stride_twice_too_large) {
    TENSORS;
    Many m;
    m.Load(g);
    Exp(m.t[1], m.t[0], 64, 4, {1, 1, 16, 8});  // <- ErrorWrite2
    m.Store(g, 256);
}

// case reduce_max_index_work_too_small: ErrorWrite2 found
KERNEL(reduce_max_index_work_too_small) {
    TENSORS;
    Many m;
    TBuf<TPosition::VECCALC> big;
    m.pipe.InitBuffer(big, kBytes);
    auto all = big.Get<float>();
    Load(all, g.x, kCount);
    ReduceMax(m.t[1], all, m.t[5], kCount, true);  // <- ErrorWrite2
    m.Store(g, 8);
}

// case reduce_sum_repeats_work_too_small: ErrorWrite2 found
KERNEL(reduce_sum_repeats_work_too_small) {
    TENSORS;
    Many m;
    TBuf<TPosition::VECCALC> big;
    m.pipe.InitBuffer(big, kBytes);
    auto all = big.Get<float>();
    Load(all, g.x, kCount);
    ReduceSum(m.t[1], all, m.t[5], 64, 16, 8);  // <- ErrorWrite2
    m.Store(g, 4);
}

// case reduce_sum_count_needs_no_work: ErrorWrite2 silent
KERNEL(reduce_sum_count_needs_no_work) {
    TENSORS;
    Many m;
    m.Load(g);
    ReduceSum(m.t[1], m.t[0], m.t[5], kTile);
    m.Store(g, 4);
}

// case reduce_sum_work_large_enough: ErrorWrite2 silent
KERNEL(reduce_sum_work_large_enough) {
    TENSORS;
    Many m;
    m.Load(g);
    ReduceSum(m.t[1], m.t[0], m.t[5], 64, 4, 8);
    m.Store(g, 4);
}

// case whole_reduce_dst_too_small: ErrorWrite2 found
KERNEL(whole_reduce_dst_too_small) {
    TENSORS;
    Many m;
    m.Load(g);
    WholeReduceMax(m.t[5], m.t[0], 32, 8, 1, 1, 4);  // <- ErrorWrite2
    m.Store(g, 32, 5);
}

// case reduce_over_padding_nobody_wrote: ErrorRead2 found
KERNEL(reduce_over_padding_nobody_wrote) {
    TENSORS;
    Many m;
    DataCopyPad(m.t[0], g.x, {1, 400, 0, 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_V>();
    ReduceSum(m.t[1], m.t[0], m.t[2], 128);
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z, m.t[1], {1, 4, 0, 0, 0});  // <- ErrorRead2
}

// case sum_starts_from_nothing: ErrorRead2 found
KERNEL(sum_starts_from_nothing) {
    TENSORS;
    Many m;
    m.Load(g);
    for (int i = 0; i < 2; ++i) Add(m.t[1], m.t[1], m.t[0], kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, m.t[1], kTile);  // <- ErrorRead2
}

// case sum_starts_from_zero: ErrorRead2 silent
KERNEL(sum_starts_from_zero) {
    TENSORS;
    Many m;
    m.Load(g);
    Duplicate(m.t[1], 0.0f, kTile);
    for (int i = 0; i < 2; ++i) Add(m.t[1], m.t[1], m.t[0], kTile);
    m.Store(g, kTileBytes);
}

// case gather_past_source: ErrorRead3 found
KERNEL(gather_past_source) {
    TENSORS;
    Many m;
    m.Load(g);
    CreateVecIndex(m.t[2].ReinterpretCast<int32_t>(), 0, kTile);
    Muls(m.t[2].ReinterpretCast<int32_t>(), m.t[2].ReinterpretCast<int32_t>(), 8, kTile);
    Gather(m.t[1], m.t[0], m.t[2].ReinterpretCast<uint32_t>(), 0, kTile);  // <- ErrorRead3
    m.Store(g, kTileBytes);
}

// case gather_by_element_number: ErrorParam found
KERNEL(gather_by_element_number) {
    TENSORS;
    Many m;
    m.Load(g);
    CreateVecIndex(m.t[2].ReinterpretCast<int32_t>(), 0, kTile);
    Gather(m.t[1], m.t[0], m.t[2].ReinterpretCast<uint32_t>(), 0, kTile);  // <- ErrorParam
    m.Store(g, kTileBytes);
}

// case gather_by_byte_offset: ErrorRead3 silent
KERNEL(gather_by_byte_offset) {
    TENSORS;
    Many m;
    m.Load(g);
    CreateVecIndex(m.t[2].ReinterpretCast<int32_t>(), 0, kTile);
    Muls(m.t[2].ReinterpretCast<int32_t>(), m.t[2].ReinterpretCast<int32_t>(), 4, kTile);
    Gather(m.t[1], m.t[0], m.t[2].ReinterpretCast<uint32_t>(), 0, kTile);
    m.Store(g, kTileBytes);
}

// case gather_of_active_lanes: ErrorRead2 silent
KERNEL(gather_of_active_lanes) {
    TENSORS;
    Many m;
    m.Load(g);
    auto offsets = m.t[2].ReinterpretCast<int32_t>();
    CreateVecIndex(offsets, 0, 8);
    Muls(offsets, offsets, 4, 8);
    // Eight lanes of 64: nobody has written the offsets of the others.
    Gather(m.t[1], m.t[0], offsets.ReinterpretCast<uint32_t>(), 0, uint64_t(8), 1, 8);
    m.Store(g, 32);
}

// case gather_of_more_lanes_than_offsets: ErrorRead2 found
KERNEL(gather_of_more_lanes_than_offsets) {
    TENSORS;
    Many m;
    m.Load(g);
    auto offsets = m.t[2].ReinterpretCast<int32_t>();
    CreateVecIndex(offsets, 0, 8);
    Muls(offsets, offsets, 4, 8);
    auto places = offsets.ReinterpretCast<uint32_t>();
    Gather(m.t[1], m.t[0], places, 0, uint64_t(16), 1, 8);  // <- ErrorRead2
    m.Store(g, 64);
}

// case select_mask_too_small: ErrorRead3 found
KERNEL(select_mask_too_small) {
    TENSORS;
    Many m;
    TBuf<TPosition::VECCALC> big;
    m.pipe.InitBuffer(big, 2 * kBytes);
    auto all = big.Get<float>();
    Duplicate(all, 1.0f, 2 * kCount);
    Duplicate(m.t[5], 0.0f, 8);
    auto mask = m.t[5].ReinterpretCast<uint8_t>();
    Select(all, mask, all, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kCount);  // <- ErrorRead3
    StoreResult(g.z, all, kCount);
}

// case compare_tail_not_rounded: ErrorParam found
KERNEL(compare_tail_not_rounded) {
    TENSORS;
    Many m;
    m.Load(g);
    Duplicate(m.t[1], 0.5f, kTile);
    Compare(m.t[2].ReinterpretCast<uint8_t>(), m.t[0], m.t[1], CMPMODE::LT, 40);  // <- ErrorParam
    m.Store(g, 5, 2);
}

// case compare_rounded_then_select: ErrorRead3 silent
KERNEL(compare_rounded_then_select) {
    TENSORS;
    Many m;
    m.Load(g);
    Duplicate(m.t[1], 0.5f, kTile);
    Compare(m.t[2].ReinterpretCast<uint8_t>(), m.t[0], m.t[1], CMPMODE::LT, 64);
    Select(m.t[1], m.t[2].ReinterpretCast<uint8_t>(), m.t[0], 0.0f,
           SELMODE::VSEL_TENSOR_SCALAR_MODE, 40);
    m.Store(g, 160);
}

// case brcb_past_destination: ErrorWrite2 found
KERNEL(brcb_past_destination) {
    TENSORS;
    Many m;
    m.Load(g);
    Brcb(m.t[1], m.t[0], 5, {1, 8});  // <- ErrorWrite2
    m.Store(g, kTileBytes);
}

// case brcb_fills_destination: ErrorWrite2 silent
KERNEL(brcb_fills_destination) {
    TENSORS;
    Many m;
    m.Load(g);
    Brcb(m.t[1], m.t[0], 4, {1, 8});
    m.Store(g, kTileBytes);
}

// case sort32_past_destination: ErrorWrite2 found
KERNEL(sort32_past_destination) {
    TENSORS;
    Many m;
    m.Load(g);
    CreateVecIndex(m.t[2].ReinterpretCast<int32_t>(), 0, kTile);
    Sort32(m.t[1], m.t[0], m.t[2].ReinterpretCast<uint32_t>(), 8);  // <- ErrorWrite2
    m.Store(g, kTileBytes);
}

// case mrgsort_past_destination: ErrorWrite2 found
KERNEL(mrgsort_past_destination) {
    TENSORS;
    Many m;
    m.Load(g);
    MrgSort4Info info;
    for (int i = 0; i < 4; ++i) info.elementLengths[i] = 32;
    info.ifExhaustedSuspension = false;
    info.validBit = 15;
    info.repeatTimes = 1;
    MrgSortSrcList<float> lists(m.t[0], m.t[0][64], m.t[0][128], m.t[0][192]);
    MrgSort(m.t[5], lists, info);  // <- ErrorWrite2
    m.Store(g, 32, 5);
}

// case sort32_then_mrgsort: ErrorWrite2 silent
KERNEL(sort32_then_mrgsort) {
    TENSORS;
    Many m;
    m.Load(g);
    CreateVecIndex(m.t[2].ReinterpretCast<int32_t>(), 0, kTile);
    Sort32(m.t[1], m.t[0], m.t[2].ReinterpretCast<uint32_t>(), 4);
    MrgSort4Info info;
    for (int i = 0; i < 4; ++i) info.elementLengths[i] = 32;
    info.ifExhaustedSuspension = false;
    info.validBit = 15;
    info.repeatTimes = 1;
    MrgSort(m.t[3], MrgSortSrcList<float>(m.t[1], m.t[1][64], m.t[1][128], m.t[1][192]), info);
    m.Store(g, kTileBytes, 3);
}

// case transdata_repeats_past_destination: ErrorWrite2 found
KERNEL(transdata_repeats_past_destination) {
    TENSORS;
    Many m;
    m.Load(g);
    auto from = m.t[0].ReinterpretCast<half>();
    auto to = m.t[1].ReinterpretCast<half>();
    LocalTensor<half> src[16], dst[16];
    for (int i = 0; i < 16; ++i) {
        src[i] = from[i * 32];
        dst[i] = to[i * 32];
    }
    TransDataTo5HDParams params(false, false, 2, 32, 1);
    TransDataTo5HD<half>(dst, src, params);  // <- ErrorWrite2
    m.Store(g, kTileBytes);
}

// case transdata_two_repeats: ErrorWrite2 silent
KERNEL(transdata_two_repeats) {
    TENSORS;
    Many m;
    m.Load(g);
    auto from = m.t[0].ReinterpretCast<half>();
    auto to = m.t[1].ReinterpretCast<half>();
    LocalTensor<half> src[16], dst[16];
    for (int i = 0; i < 16; ++i) {
        src[i] = from[i * 32];
        dst[i] = to[i * 16];
    }
    TransDataTo5HDParams params(false, false, 2, 16, 1);
    TransDataTo5HD<half>(dst, src, params);
    m.Store(g, kTileBytes);
}

// case set_value_past_tensor: ErrorWrite2 found
KERNEL(set_value_past_tensor) {
    TENSORS;
    Many m;
    m.Load(g);
    for (uint32_t i = 0; i <= 8; ++i) m.t[5].SetValue(i, 1.0f);  // <- ErrorWrite2
    m.Store(g, 32, 5);
}

// case get_value_past_gm: ErrorRead3 found
KERNEL(get_value_past_gm) {
    TENSORS;
    Many m;
    float sum = 0;
    for (uint32_t i = 0; i <= kCount; ++i) sum += g.x.GetValue(i);  // <- ErrorRead3
    Duplicate(m.t[1], sum, 8);
    m.Store(g, 4);
}

// case sort32_of_one_group: ErrorWrite2 silent
KERNEL(sort32_of_one_group) {
    TENSORS;
    Many m;
    m.Load(g);
    CreateVecIndex(m.t[2].ReinterpretCast<int32_t>(), 0, 32);
    Sort32(m.t[1], m.t[0], m.t[2].ReinterpretCast<uint32_t>(), 1);
    m.Store(g, 256);
}

// case mrgsort_of_one_list: ErrorParam found
KERNEL(mrgsort_of_one_list) {
    TENSORS;
    Many m;
    m.Load(g);
    MrgSort4Info info;
    for (int i = 0; i < 4; ++i) info.elementLengths[i] = 32;
    info.ifExhaustedSuspension = false;
    info.validBit = 1;
    info.repeatTimes = 1;
    MrgSortSrcList<float> lists(m.t[0], m.t[0][64], m.t[0][128], m.t[0][192]);
    MrgSort(m.t[1], lists, info);  // <- ErrorParam
}

// case transdata_of_global_memory: TensorScope found
KERNEL(transdata_of_global_memory) {
    Many m;
    uint64_t src[16], dst[16];
    for (int i = 0; i < 16; ++i) {
        src[i] = reinterpret_cast<uint64_t>(x) + i * 32;  // global memory
        dst[i] = reinterpret_cast<uint64_t>(m.t[1].GetPhyAddr()) + i * 32;
    }
    TransDataTo5HDParams params(false, false, 1, 0, 0);
    TransDataTo5HD<half>(dst, src, params);  // <- TensorScope
}

// case transpose_of_one_block: ErrorWrite2 silent
KERNEL(transpose_of_one_block) {
    TENSORS;
    Many m;
    m.Load(g);
    Transpose(m.t[1].ReinterpretCast<half>(), m.t[0].ReinterpretCast<half>());
    m.Store(g, 512);
}
