// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface of cube kernels on arch 2201, first half: into and out of L1, L0A, L0B, and the
// registers of those loads. Each function is the instruction of the C++ interface on tensors made
// from its pointers; `_sync` waits for all pipes afterwards. Source: asc-devkit docs, SIMD-API /
// C-API / cube_datamove.
#ifndef ASCENDC_EMU_C_API_CUBE_H
#define ASCENDC_EMU_C_API_CUBE_H

#include "ascendc_emu/c_api.h"
#include "ascendc_emu/cube_pointers.h"

#define OPGEN_C_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()
#define OPGEN_C_LIST(...) __VA_ARGS__
// A function of a template and the same with `_sync`: template parameters, parameters, their names,
// body.
#define OPGEN_C_CUBE(NAME, TYPES, PARAMETERS, NAMES, ...)                      \
    template <OPGEN_C_LIST TYPES>                                              \
    __aicore__ inline void NAME(OPGEN_C_LIST PARAMETERS, OPGEN_C_LOC) {        \
        __VA_ARGS__;                                                           \
    }                                                                          \
    template <OPGEN_C_LIST TYPES>                                              \
    __aicore__ inline void NAME##_sync(OPGEN_C_LIST PARAMETERS, OPGEN_C_LOC) { \
        NAME(OPGEN_C_LIST NAMES, loc);                                         \
        asc_sync(loc);                                                         \
    }

namespace ascendc_emu {

// The types of fractals: the 2D loads take pointers to them, other pointers are copied as bytes.
template <typename T>
constexpr bool IsFractalType() {
    return std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value ||
           std::is_same<T, float>::value || std::is_same<T, int32_t>::value ||
           std::is_same<T, uint32_t>::value || std::is_same<T, int8_t>::value ||
           std::is_same<T, uint8_t>::value || std::is_same<T, AscendC::int4b_t>::value;
}

// `start`, `srcStride` and `dstGap` count fractals of 512 bytes.
inline AscendC::LoadData2DParams Fractals(uint16_t start, uint8_t repeat, uint16_t srcStride,
                                          uint16_t dstGap) {
    return AscendC::LoadData2DParams(start, repeat, srcStride, 0, dstGap, false, 0);
}

// Bursts and gaps in blocks of 32 bytes, whatever the buffers' own units are.
inline CopyCall Bursts(Api api, uint16_t bursts, uint16_t length, uint16_t srcGap, uint16_t dstGap,
                       Loc loc) {
    return Blocks<int8_t>(api, AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}

template <typename D, typename S>
inline void CopyToL0c(D* dst, S* src, const CopyCall& call) {
    if (!std::is_same<D, S>::value) {
        Trap(Current(), call.loc, call.api, "conversions on the way are not emulated");
    }
    RunCopyLocal(call, InL0c(dst, call.loc), InL1(src, call.loc));
}

// An address of the bias table: a pointer, a number of bytes, or, as the example of the page has
// it, a pointer divided by 16.
inline int8_t* BiasAddress(uint64_t value) {
    const Core& core = Current();
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(Mem::kBt)]);
    const uint64_t capacity = core.capacity[static_cast<int>(Mem::kBt)];
    const bool divided = value >= base / 16 && value < (base + capacity) / 16;
    return reinterpret_cast<int8_t*>(divided ? base + (value - base / 16) * 16 : value);
}

}  // namespace ascendc_emu

// --- from GM
// --------------------------------------------------------------------------------------

// Fractals of 512 bytes.
OPGEN_C_CUBE(asc_copy_gm2l0a, (typename T),
             (T * dst, T* src, uint16_t base_idx, uint8_t repeat, uint16_t src_stride,
              uint16_t dst_gap),
             (dst, src, base_idx, repeat, src_stride, dst_gap),
             AscendC::LoadData(ascendc_emu::InL0a(dst, loc), ascendc_emu::GmPointer(src),
                               ascendc_emu::Fractals(base_idx, repeat, src_stride, dst_gap), loc))
OPGEN_C_CUBE(asc_copy_gm2l0b, (typename T),
             (T * dst, T* src, uint16_t base_idx, uint8_t repeat, uint16_t src_stride,
              uint16_t dst_gap),
             (dst, src, base_idx, repeat, src_stride, dst_gap),
             AscendC::LoadData(ascendc_emu::InL0b(dst, loc), ascendc_emu::GmPointer(src),
                               ascendc_emu::Fractals(base_idx, repeat, src_stride, dst_gap), loc))
OPGEN_C_CUBE(asc_copy_gm2l1,
             (typename T, typename = std::enable_if_t<ascendc_emu::IsFractalType<T>()>),
             (T * dst, T* src, uint16_t base_idx, uint8_t repeat, uint16_t src_stride,
              uint16_t dst_gap),
             (dst, src, base_idx, repeat, src_stride, dst_gap),
             AscendC::LoadData(ascendc_emu::InL1(dst, loc), ascendc_emu::GmPointer(src),
                               ascendc_emu::Fractals(base_idx, repeat, src_stride, dst_gap), loc))

// Bytes: `size`, a multiple of 32, or bursts and gaps of 32 bytes.
__aicore__ inline void asc_copy_gm2l1(void* dst, void* src, uint32_t size, OPGEN_C_LOC) {
    AscendC::DataCopy(ascendc_emu::InL1(ascendc_emu::AsBytes(dst), loc),
                      ascendc_emu::GmPointer(ascendc_emu::AsBytes(src)), size, loc);
}
__aicore__ inline void asc_copy_gm2l1_sync(void* dst, void* src, uint32_t size, OPGEN_C_LOC) {
    asc_copy_gm2l1(dst, src, size, loc);
    asc_sync(loc);
}
__aicore__ inline void asc_copy_gm2l1(void* dst, void* src, uint16_t n_burst, uint16_t len_burst,
                                      uint16_t src_gap, uint16_t dst_gap, OPGEN_C_LOC) {
    AscendC::DataCopy(ascendc_emu::InL1(ascendc_emu::AsBytes(dst), loc),
                      ascendc_emu::GmPointer(ascendc_emu::AsBytes(src)),
                      AscendC::DataCopyParams(n_burst, len_burst, src_gap, dst_gap), loc);
}
// The forms that pad or cut every 32 bytes on the way are refused.
#define OPGEN_C_PAD(NAME)                                                                        \
    __aicore__ inline void NAME(void*, void*, uint32_t, OPGEN_C_LOC) {                           \
        ascendc_emu::Trap(ascendc_emu::Current(), loc, #NAME, "padding modes are not emulated"); \
    }                                                                                            \
    __aicore__ inline void NAME(void*, void*, uint16_t, uint16_t, uint16_t, uint16_t,            \
                                OPGEN_C_LOC) {                                                   \
        NAME(nullptr, nullptr, 0u, loc);                                                         \
    }                                                                                            \
    __aicore__ inline void NAME##_sync(void*, void*, uint32_t, OPGEN_C_LOC) {                    \
        NAME(nullptr, nullptr, 0u, loc);                                                         \
    }
OPGEN_C_PAD(asc_copy_gm2l1_pad1)
OPGEN_C_PAD(asc_copy_gm2l1_pad2)
OPGEN_C_PAD(asc_copy_gm2l1_pad3)
OPGEN_C_PAD(asc_copy_gm2l1_pad4)
OPGEN_C_PAD(asc_copy_gm2l1_pad5)
OPGEN_C_PAD(asc_copy_gm2l1_pad6)
OPGEN_C_PAD(asc_copy_gm2l1_pad7)
OPGEN_C_PAD(asc_copy_gm2l1_pad8)
#undef OPGEN_C_PAD

OPGEN_C_CUBE(asc_copy_gm2l1_nd2nz, (typename T),
             (T * dst, T* src, uint16_t nd_num, uint16_t n_value, uint16_t d_value,
              uint16_t src_nd_matrix_stride, uint16_t src_d_value, uint16_t dst_nz_c0_stride,
              uint16_t dst_nz_n_stride, uint16_t dst_nz_matrix_stride),
             (dst, src, nd_num, n_value, d_value, src_nd_matrix_stride, src_d_value,
              dst_nz_c0_stride, dst_nz_n_stride, dst_nz_matrix_stride),
             AscendC::DataCopy(ascendc_emu::InL1(dst, loc), ascendc_emu::GmPointer(src),
                               AscendC::Nd2NzParams(nd_num, n_value, d_value, src_nd_matrix_stride,
                                                    src_d_value, dst_nz_c0_stride, dst_nz_n_stride,
                                                    dst_nz_matrix_stride),
                               loc))

// --- out of L1
// ------------------------------------------------------------------------------------

#define OPGEN_C_L0(NAME, TRANSPOSED, TARGET)                                                      \
    OPGEN_C_CUBE(                                                                                 \
        NAME, (typename T),                                                                       \
        (T * dst, T * src, uint16_t start_index, uint8_t repeat, uint16_t src_stride,             \
         uint16_t dst_gap),                                                                       \
        (dst, src, start_index, repeat, src_stride, dst_gap),                                     \
        AscendC::LoadData(TARGET(dst, loc), ascendc_emu::InL1(src, loc),                          \
                          ascendc_emu::Fractals(start_index, repeat, src_stride, dst_gap), loc))  \
    /* Image to column, with the registers that asc_set_l13d_* left. */                           \
    OPGEN_C_CUBE(NAME, (typename T),                                                              \
                 (T * dst, T * src, uint16_t k_extension, uint16_t m_extension,                   \
                  uint16_t k_start_pt, uint16_t m_start_pt, uint8_t stride_w, uint8_t stride_h,   \
                  uint8_t filter_w, uint8_t filter_h, uint8_t dilation_filter_w,                  \
                  uint8_t dilation_filter_h, bool filter_size_w, bool filter_size_h,              \
                  bool transpose, bool f_matrix_ctrl, uint16_t channel_size),                     \
                 (dst, src, k_extension, m_extension, k_start_pt, m_start_pt, stride_w, stride_h, \
                  filter_w, filter_h, dilation_filter_w, dilation_filter_h, filter_size_w,        \
                  filter_size_h, transpose, f_matrix_ctrl, channel_size),                         \
                 AscendC::LoadData(                                                               \
                     TARGET(dst, loc), ascendc_emu::InL1(src, loc),                               \
                     ascendc_emu::Columns(k_extension, m_extension, k_start_pt, m_start_pt,       \
                                          stride_w, stride_h, filter_w, filter_h,                 \
                                          dilation_filter_w, dilation_filter_h, filter_size_w,    \
                                          filter_size_h, transpose, f_matrix_ctrl, channel_size), \
                     loc))                                                                        \
    OPGEN_C_CUBE(                                                                                 \
        TRANSPOSED, (typename T),                                                                 \
        (T * dst, T * src, uint16_t index_id, uint8_t repeat, uint16_t src_stride,                \
         uint16_t dst_gap, bool enable_addr_decrement, uint16_t dst_frac_gap),                    \
        (dst, src, index_id, repeat, src_stride, dst_gap, enable_addr_decrement, dst_frac_gap),   \
        AscendC::LoadData2dTransposeParams params(index_id, repeat, src_stride, dst_gap,          \
                                                  dst_frac_gap);                                  \
        params.addrMode = enable_addr_decrement; AscendC::LoadDataWithTranspose(                  \
            TARGET(dst, loc), ascendc_emu::InL1(src, loc), params, loc))
OPGEN_C_L0(asc_copy_l12l0a, asc_copy_l12l0a_trans, ascendc_emu::InL0a)
OPGEN_C_L0(asc_copy_l12l0b, asc_copy_l12l0b_trans, ascendc_emu::InL0b)
#undef OPGEN_C_L0

// Dense weights of a sparse product and, at `index`, where their elements stand (asc_mmad_sparse).
OPGEN_C_CUBE(asc_copy_l12l0b_sparse, (typename T),
             (T * dst, T* src, T* index, uint16_t start_index, uint8_t repeat),
             (dst, src, index, start_index, repeat),
             AscendC::LoadDataWithSparse(ascendc_emu::InL0b(dst, loc), ascendc_emu::InL1(src, loc),
                                         ascendc_emu::InL1(reinterpret_cast<uint8_t*>(index), loc),
                                         ascendc_emu::Fractals(start_index, repeat, 0, 0), loc))

OPGEN_C_CUBE(asc_copy_l12gm, (typename D, typename S),
             (D * dst, S* src, uint16_t n_burst, uint16_t len_burst, uint16_t src_gap,
              uint16_t dst_gap),
             (dst, src, n_burst, len_burst, src_gap, dst_gap),
             AscendC::DataCopy(ascendc_emu::GmPointer(ascendc_emu::AsBytes(dst)),
                               ascendc_emu::InL1(ascendc_emu::AsBytes(src), loc),
                               AscendC::DataCopyParams(n_burst, len_burst, src_gap, dst_gap), loc))
// To L0C in the type it has; the conversions of float on the way are refused.
OPGEN_C_CUBE(asc_copy_l12l0c, (typename D, typename S),
             (D * dst, S* src, uint16_t n_burst, uint16_t len_burst, uint16_t src_gap,
              uint16_t dst_gap),
             (dst, src, n_burst, len_burst, src_gap, dst_gap),
             ascendc_emu::CopyToL0c(dst, src,
                                    ascendc_emu::Bursts(ascendc_emu::Api::kasc_copy_l12l0c, n_burst,
                                                        len_burst, src_gap, dst_gap, loc)))

// To the bias table; with `conv_control` half becomes float. Lengths and gaps count 32 bytes here,
// while DataCopy to C2 counts 64: the pages disagree about one instruction.
__aicore__ inline void asc_copy_l12bt(uint64_t dst, void* src, uint16_t conv_control,
                                      uint16_t n_burst, uint16_t len_burst, uint16_t source_gap,
                                      uint16_t dst_gap, OPGEN_C_LOC) {
    auto call = ascendc_emu::Bursts(ascendc_emu::Api::kasc_copy_l12bt, n_burst, len_burst,
                                    source_gap, dst_gap, loc);
    call.widens = conv_control != 0;
    if (call.widens) call.type = ascendc_emu::kDTypeOf<half>;
    ascendc_emu::RunCopyLocal(call, ascendc_emu::InBt(ascendc_emu::BiasAddress(dst), loc),
                              ascendc_emu::InL1(ascendc_emu::AsBytes(src), loc));
}
__aicore__ inline void asc_copy_l12bt(uint64_t dst, void* src, uint32_t size, OPGEN_C_LOC) {
    asc_copy_l12bt(dst, src, 0, 1, static_cast<uint16_t>(size / 32), 0, 0, loc);
}
__aicore__ inline void asc_copy_l12bt_sync(uint64_t dst, void* src, uint32_t size, OPGEN_C_LOC) {
    asc_copy_l12bt(dst, src, size, loc);
    asc_sync(loc);
}

// To the fixpipe buffer; lengths and gaps count 32 bytes here, those of DataCopy to C2PIPE2GM 128.
__aicore__ inline void asc_copy_l12fb(void* dst, void* src, uint16_t n_burst, uint16_t len_burst,
                                      uint16_t src_gap_size, uint16_t dst_gap_size, OPGEN_C_LOC) {
    ascendc_emu::RunCopyLocal(ascendc_emu::Bursts(ascendc_emu::Api::kasc_copy_l12fb, n_burst,
                                                  len_burst, src_gap_size, dst_gap_size, loc),
                              ascendc_emu::InFb(ascendc_emu::AsBytes(dst), loc),
                              ascendc_emu::InL1(ascendc_emu::AsBytes(src), loc));
}
__aicore__ inline void asc_copy_l12fb(void* dst, void* src, uint32_t size, OPGEN_C_LOC) {
    asc_copy_l12fb(dst, src, 1, static_cast<uint16_t>(size / 32), 0, 0, loc);
}
__aicore__ inline void asc_copy_l12fb_sync(void* dst, void* src, uint32_t size, OPGEN_C_LOC) {
    asc_copy_l12fb(dst, src, size, loc);
    asc_sync(loc);
}

// --- one value everywhere
// -------------------------------------------------------------------------

union asc_fill_value_config {
    uint64_t config = 0;
    struct {
        uint64_t repeat : 15;
        uint64_t reserved1 : 1;
        uint64_t blk_num : 15;  // of 32 bytes in L1, 512 in L0A and L0B
        uint64_t reserved2 : 1;
        uint64_t dst_gap : 15;  // likewise
        uint64_t reserved3 : 17;
    };
};
#define OPGEN_C_FILL(NAME, TARGET)                                                              \
    OPGEN_C_CUBE(NAME, (typename T, typename V),                                                \
                 (T * dst, V value, const asc_fill_value_config& config), (dst, value, config), \
                 AscendC::Fill(TARGET(dst, loc),                                                \
                               AscendC::InitConstValueParams<V>(config.repeat, config.blk_num,  \
                                                                config.dst_gap, value),         \
                               loc))
OPGEN_C_FILL(asc_fill_l0a, ascendc_emu::InL0a)
OPGEN_C_FILL(asc_fill_l0b, ascendc_emu::InL0b)
OPGEN_C_FILL(asc_fill_l1, ascendc_emu::InL1)
#undef OPGEN_C_FILL

// --- registers of image-to-column loads
// --------------------------------------------------------------

union asc_l13d_fmatrix_config {
    uint64_t config = 0;
    struct {
        uint16_t l1_height;
        uint16_t l1_width;
        uint8_t padding_left_size;
        uint8_t padding_right_size;
        uint8_t padding_top_size;
        uint8_t padding_bottom_size;
    };
};
union asc_load3d_v2_config {
    uint64_t config = 0x10000;
    struct {
        uint64_t rpt_stride : 16;
        uint64_t rpt_time : 8;
        uint64_t rpt_mode : 1;  // 0: along the height, 1: along the width
        uint64_t reserved2 : 39;
    };
};
__aicore__ inline void asc_set_l13d_fmatrix(const asc_l13d_fmatrix_config& config) {
    ascendc_emu::SetFeatureMap(config.config, false);
}
__aicore__ inline void asc_set_l13d_fmatrix_b(const asc_l13d_fmatrix_config& config) {
    ascendc_emu::SetFeatureMap(config.config, true);
}
__aicore__ inline void asc_set_l13d_rpt(const asc_load3d_v2_config& config) {
    ascendc_emu::SetLoadRepeat(config.config);
}
template <typename T>
__aicore__ inline void asc_set_l13d_padding(T config) {
    AscendC::SetLoadDataPaddingValue(config);
}
__aicore__ inline void asc_set_l13d_size(uint64_t value, OPGEN_C_LOC) {
    AscendC::SetLoadDataBoundary(static_cast<uint32_t>(value), loc);
}
#undef OPGEN_C_CUBE
#undef OPGEN_C_LIST
#undef OPGEN_C_LOC

#endif  // ASCENDC_EMU_C_API_CUBE_H
