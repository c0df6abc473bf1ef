// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface of cube kernels on arch 2201, second half: the product, results out of L0C, and
// the registers of both. Source: asc-devkit docs, SIMD-API / C-API / cube_compute and
// cube_datamove.
#ifndef ASCENDC_EMU_C_API_PRODUCT_H
#define ASCENDC_EMU_C_API_PRODUCT_H

#include "ascendc_emu/c_api_cube.h"

#define OPGEN_C_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()

namespace ascendc_emu {

// With cmatrixSource C begins at the bias table, which is read from its begin.
template <typename C, typename A, typename B>
__aicore__ inline void MultiplyPointers(C* c, A* a, B* b, const AscendC::MmadParams& params,
                                        Loc loc) {
    if (params.cmatrixSource && !params.cmatrixInitVal) {
        AscendC::Mmad(InL0c(c, loc), InL0a(a, loc), InL0b(b, loc),
                      InBt(static_cast<C*>(nullptr), loc), params, loc);
    } else {
        AscendC::Mmad(InL0c(c, loc), InL0a(a, loc), InL0b(b, loc), params, loc);
    }
}

}  // namespace ascendc_emu

// --- the product
// -----------------------------------------------------------------------------------

// C (+)= A * B: left_height x n_dim by n_dim x right_width elements. The long form has offsets of
// weights, which are refused unless 0.
#define OPGEN_C_PRODUCT(NAME)                                                                    \
    template <typename C, typename A, typename B>                                                \
    __aicore__ inline void NAME(C* c_matrix, A* a_matrix, B* b_matrix, uint16_t left_height,     \
                                uint16_t n_dim, uint16_t right_width, uint8_t unit_flag,         \
                                bool k_direction_align, bool c_matrix_source,                    \
                                bool c_matrix_init_val, OPGEN_C_LOC) {                           \
        ascendc_emu::MultiplyPointers(                                                           \
            c_matrix, a_matrix, b_matrix,                                                        \
            ascendc_emu::Product(left_height, n_dim, right_width, unit_flag, k_direction_align,  \
                                 c_matrix_source, c_matrix_init_val),                            \
            loc);                                                                                \
    }                                                                                            \
    template <typename C, typename A, typename B>                                                \
    __aicore__ inline void NAME(C* c_matrix, A* a_matrix, B* b_matrix, uint16_t left_height,     \
                                uint16_t n_dim, uint16_t right_width, uint8_t feat_offset,       \
                                uint8_t smask_offset, uint8_t unit_flag, bool k_direction_align, \
                                bool is_weight_offset, bool c_matrix_source,                     \
                                bool c_matrix_init_val, OPGEN_C_LOC) {                           \
        (void)feat_offset; /* reserved */                                                        \
        if (is_weight_offset || smask_offset != 0) {                                             \
            ascendc_emu::Trap(ascendc_emu::Current(), loc, #NAME,                                \
                              "offsets of weights are not emulated");                            \
        }                                                                                        \
        NAME(c_matrix, a_matrix, b_matrix, left_height, n_dim, right_width, unit_flag,           \
             k_direction_align, c_matrix_source, c_matrix_init_val, loc);                        \
    }                                                                                            \
    template <typename C, typename A, typename B>                                                \
    __aicore__ inline void NAME##_sync(                                                          \
        C* c_matrix, A* a_matrix, B* b_matrix, uint16_t left_height, uint16_t n_dim,             \
        uint16_t right_width, uint8_t unit_flag, bool k_direction_align, bool c_matrix_source,   \
        bool c_matrix_init_val, OPGEN_C_LOC) {                                                   \
        NAME(c_matrix, a_matrix, b_matrix, left_height, n_dim, right_width, unit_flag,           \
             k_direction_align, c_matrix_source, c_matrix_init_val, loc);                        \
        asc_sync(loc);                                                                           \
    }                                                                                            \
    template <typename C, typename A, typename B>                                                \
    __aicore__ inline void NAME##_sync(                                                          \
        C* c_matrix, A* a_matrix, B* b_matrix, uint16_t left_height, uint16_t n_dim,             \
        uint16_t right_width, uint8_t feat_offset, uint8_t smask_offset, uint8_t unit_flag,      \
        bool k_direction_align, bool is_weight_offset, bool c_matrix_source,                     \
        bool c_matrix_init_val, OPGEN_C_LOC) {                                                   \
        NAME(c_matrix, a_matrix, b_matrix, left_height, n_dim, right_width, feat_offset,         \
             smask_offset, unit_flag, k_direction_align, is_weight_offset, c_matrix_source,      \
             c_matrix_init_val, loc);                                                            \
        asc_sync(loc);                                                                           \
    }
OPGEN_C_PRODUCT(asc_mmad)
OPGEN_C_PRODUCT(asc_mmad_s4)
#undef OPGEN_C_PRODUCT

// B was loaded by asc_copy_l12l0b_sparse: two of every four elements along k. int8 only.
__aicore__ inline void asc_mmad_sparse(int32_t* c, int8_t* a, int8_t* b, uint16_t m, uint16_t k,
                                       uint16_t n, uint8_t unit_flag, bool c_matrix_source,
                                       bool c_matrix_init_val, OPGEN_C_LOC) {
    AscendC::MmadWithSparse(
        ascendc_emu::InL0c(c, loc), ascendc_emu::InL0a(a, loc), ascendc_emu::InL0b(b, loc),
        ascendc_emu::Product(m, k, n, unit_flag, false, c_matrix_source, c_matrix_init_val), loc);
}
__aicore__ inline void asc_mmad_sparse_sync(int32_t* c, int8_t* a, int8_t* b, uint16_t m,
                                            uint16_t k, uint16_t n, uint8_t unit_flag,
                                            bool c_matrix_source, bool c_matrix_init_val,
                                            OPGEN_C_LOC) {
    asc_mmad_sparse(c, a, b, m, k, n, unit_flag, c_matrix_source, c_matrix_init_val, loc);
    asc_sync(loc);
}

__aicore__ inline void asc_enable_hf32(OPGEN_C_LOC) { AscendC::SetHF32Mode(true, loc); }
__aicore__ inline void asc_set_fp32_mode(OPGEN_C_LOC) { AscendC::SetHF32Mode(false, loc); }
// mode 0: to the nearest, ties to even; 1: towards zero.
__aicore__ inline void asc_enable_hf32_trans(uint32_t mode) {
    AscendC::SetHF32TransMode(mode != 0);
}
// The order in which results appear; numbers do not depend on it.
__aicore__ inline void asc_set_mmad_direction_m() { AscendC::SetMMRowMajor(); }
__aicore__ inline void asc_set_mmad_direction_n() { AscendC::SetMMColumnMajor(); }

// --- out of L0C
// --------------------------------------------------------------------------------------

// dst_stride counts elements; src_stride rows of 16 elements; quant_pre is a QuantMode_t.
#define OPGEN_C_OUT(NAME, TARGET)                                                                 \
    template <typename D, typename S>                                                             \
    __aicore__ inline void NAME(D* dst, S* src, uint16_t n_size, uint16_t m_size,                 \
                                uint32_t dst_stride, uint16_t src_stride, uint8_t unit_flag_mode, \
                                uint64_t quant_pre, uint8_t relu_pre, bool channel_split,         \
                                bool nz2nd_en, OPGEN_C_LOC) {                                     \
        /* void: packed int4 */                                                                   \
        using T = std::conditional_t<std::is_void<D>::value, AscendC::int4b_t, D>;                \
        AscendC::DataCopy(                                                                        \
            TARGET, ascendc_emu::InL0c(src, loc),                                                 \
            ascendc_emu::CopyOut(n_size, m_size, dst_stride, src_stride, unit_flag_mode,          \
                                 static_cast<QuantMode_t>(quant_pre), relu_pre, channel_split,    \
                                 nz2nd_en),                                                       \
            loc);                                                                                 \
    }                                                                                             \
    template <typename D, typename S>                                                             \
    __aicore__ inline void NAME##_sync(                                                           \
        D* dst, S* src, uint16_t n_size, uint16_t m_size, uint32_t dst_stride,                    \
        uint16_t src_stride, uint8_t unit_flag_mode, uint64_t quant_pre, uint8_t relu_pre,        \
        bool channel_split, bool nz2nd_en, OPGEN_C_LOC) {                                         \
        NAME(dst, src, n_size, m_size, dst_stride, src_stride, unit_flag_mode, quant_pre,         \
             relu_pre, channel_split, nz2nd_en, loc);                                             \
        asc_sync(loc);                                                                            \
    }
OPGEN_C_OUT(asc_copy_l0c2gm, ascendc_emu::GmPointer(static_cast<T*>(dst)))
OPGEN_C_OUT(asc_copy_l0c2l1, ascendc_emu::InL1(static_cast<T*>(dst), loc))
#undef OPGEN_C_OUT

// Of results that become ND matrices: their number, fractals of 1024 bytes between their sources,
// elements between their destinations.
__aicore__ inline void asc_set_l0c_copy_params(uint16_t nd_num, uint16_t src_nd_stride,
                                               uint16_t dst_nd_stride) {
    AscendC::SetFixpipeNz2ndFlag(nd_num, src_nd_stride, dst_nd_stride);
}
__aicore__ inline void asc_set_l0c2gm_nz2nd(uint64_t nd_num, uint64_t src_nd_stride,
                                            uint64_t dst_nd_stride) {
    AscendC::SetFixpipeNz2ndFlag(uint16_t(nd_num), uint16_t(src_nd_stride),
                                 uint32_t(dst_nd_stride));
}
// The factor of scalar quantisation.
__aicore__ inline void asc_set_l0c_copy_prequant(uint64_t config) {
    AscendC::SetFixpipePreQuantFlag(config);
}
// Where the factors of vector quantisation begin: 128 bytes of the fixpipe buffer each (the
// register's unit; the page names none), or a pointer. A ReLU factor per channel is refused.
__aicore__ inline void asc_set_l0c2gm_config(uint64_t relu_pre, uint64_t quant_pre,
                                             bool enable_unit_flag, OPGEN_C_LOC) {
    if (relu_pre != 0) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "asc_set_l0c2gm_config",
                          "a Relu factor per channel is not emulated");
    }
    const uint64_t capacity =
        ascendc_emu::Current().capacity[static_cast<int>(ascendc_emu::Mem::kFb)];
    const uint64_t place = quant_pre < capacity / 128 ? quant_pre * 128 : quant_pre;
    AscendC::SetFixPipeConfig(ascendc_emu::InFb(reinterpret_cast<uint64_t*>(place), loc), false,
                              loc);
    ascendc_emu::CubeSetFixpipeUnitFlag(enable_unit_flag);
}
// What asc_set_l0c2gm_config has set; 0 before.
__aicore__ inline uint64_t asc_get_l0c2gm_prequant() {
    const ascendc_emu::TensorRef* const table = ascendc_emu::CubeFixpipeTable();
    return table == nullptr ? 0 : table->addr / 128;
}
__aicore__ inline uint64_t asc_get_l0c2gm_relu() { return 0; }  // no other value can be set
__aicore__ inline uint64_t asc_get_l0c2gm_unitflag() { return ascendc_emu::CubeFixpipeUnitFlag(); }

#undef OPGEN_C_LOC

#endif  // ASCENDC_EMU_C_API_PRODUCT_H
