// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions of the cube of arch 2201 by the names the compiler has for them, on pointers:
// addresses that GetPhyAddr() gave, or numbers (bytes from the begin of the buffer that the
// instruction names). Included only where a source uses such a name. Each does what the API beside
// it does; the parameters, in the order of the instruction, have the units of that API's page.
#ifndef ASCENDC_EMU_CUBE_INSTRUCTIONS_H
#define ASCENDC_EMU_CUBE_INSTRUCTIONS_H

#include "ascendc_emu/cube_pointers.h"

#define OPGEN_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()

// --- GM to L1: DataCopy; the number of the stream (sid) has no effect
// -----------------------------

// Bursts and gaps of 32 bytes; padding modes are not emulated.
template <typename T>
__aicore__ inline void copy_gm_to_cbuf(T* dst, T* src, uint8_t, uint16_t bursts, uint16_t length,
                                       uint16_t srcGap, uint16_t dstGap, pad_t padding, OPGEN_LOC) {
    if (padding != pad_t::PAD_NONE) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "copy_gm_to_cbuf",
                          "padding modes are not emulated");
    }
    // Bytes: every type is copied alike.
    AscendC::DataCopy(ascendc_emu::InL1(ascendc_emu::AsBytes(dst), loc),
                      ascendc_emu::GmPointer(ascendc_emu::AsBytes(src)),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}

#define OPGEN_ND2NZ(SUFFIX, SIZE)                                                     \
    template <typename T>                                                             \
    __aicore__ inline void copy_gm_to_cbuf_multi_nd2nz_##SUFFIX(                      \
        T* dst, T* src, uint8_t, uint16_t ndNum, uint16_t nValue, uint16_t dValue,    \
        uint16_t srcNdMatrixStride, uint16_t srcDValue, uint16_t dstNzC0Stride,       \
        uint16_t dstNzNStride, uint16_t dstNzMatrixStride, OPGEN_LOC) {               \
        static_assert(sizeof(T) == SIZE,                                              \
                      "copy_gm_to_cbuf_multi_nd2nz_" #SUFFIX ": type of this size");  \
        AscendC::DataCopy(                                                            \
            ascendc_emu::InL1(dst, loc), ascendc_emu::GmPointer(src),                 \
            AscendC::Nd2NzParams(ndNum, nValue, dValue, srcNdMatrixStride, srcDValue, \
                                 dstNzC0Stride, dstNzNStride, dstNzMatrixStride),     \
            loc);                                                                     \
    }
OPGEN_ND2NZ(b8, 1)
OPGEN_ND2NZ(b16, 2)
OPGEN_ND2NZ(b32s, 4)
#undef OPGEN_ND2NZ

// --- L1 to the tables of Fixpipe and of biases: DataCopy, lengths and dstGap of 128 and 64 bytes
// ------

__aicore__ inline void copy_cbuf_to_fbuf(void* dst, void* src, uint16_t bursts, uint16_t length,
                                         uint16_t srcGap, uint16_t dstGap, OPGEN_LOC) {
    using namespace ascendc_emu;
    AscendC::DataCopy(InFb(AsBytes(dst), loc), InL1(AsBytes(src), loc),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}
// dst counts bytes of the bias table. `conversion`, from half to float, is not emulated.
template <typename S>
__aicore__ inline void copy_cbuf_to_bt(uint64_t dst, S* src, uint16_t conversion, uint16_t bursts,
                                       uint16_t length, uint16_t srcGap, uint16_t dstGap,
                                       OPGEN_LOC) {
    using namespace ascendc_emu;
    if (conversion != 0) {
        Trap(Current(), loc, "copy_cbuf_to_bt",
             "conversion is not emulated; call AscendC::DataCopy");
    }
    AscendC::DataCopy(InBt(reinterpret_cast<S*>(dst), loc), InL1(src, loc),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}

// --- to L0A and L0B: LoadData, LoadDataWithTranspose
// ----------------------------------------------

#define OPGEN_LOAD_L1(NAME, TARGET, SOURCE)                                                       \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t start, uint8_t repeat,                   \
                                uint16_t srcStride, uint16_t dstGap, uint8_t sid, bool transpose, \
                                addr_cal_mode_t mode, OPGEN_LOC) {                                \
        AscendC::LoadData(TARGET(dst, loc), SOURCE(src, loc),                                     \
                          AscendC::LoadData2DParams(start, repeat, srcStride, sid, dstGap,        \
                                                    transpose, static_cast<uint8_t>(mode)),       \
                          loc);                                                                   \
    }
OPGEN_LOAD_L1(load_cbuf_to_ca, ascendc_emu::InL0a, ascendc_emu::InL1)
OPGEN_LOAD_L1(load_cbuf_to_cb, ascendc_emu::InL0b, ascendc_emu::InL1)
#undef OPGEN_LOAD_L1

// Without transposition.
#define OPGEN_LOAD_GM(NAME, TARGET)                                                               \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t start, uint8_t repeat,                   \
                                uint16_t srcStride, uint16_t dstGap, uint8_t sid,                 \
                                addr_cal_mode_t mode, OPGEN_LOC) {                                \
        AscendC::LoadData(TARGET(dst, loc), ascendc_emu::GmPointer(src),                          \
                          AscendC::LoadData2DParams(start, repeat, srcStride, sid, dstGap, false, \
                                                    static_cast<uint8_t>(mode)),                  \
                          loc);                                                                   \
    }
OPGEN_LOAD_GM(load_gm_to_cbuf, ascendc_emu::InL1)
OPGEN_LOAD_GM(load_gm_to_ca, ascendc_emu::InL0a)
OPGEN_LOAD_GM(load_gm_to_cb, ascendc_emu::InL0b)
#undef OPGEN_LOAD_GM

#define OPGEN_LOAD_TRANSPOSE(NAME, TARGET)                                                       \
    template <typename T>                                                                        \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t start, uint8_t repeat,                  \
                                uint16_t srcStride, uint16_t dstGap, addr_cal_mode_t mode,       \
                                uint16_t dstFracGap, OPGEN_LOC) {                                \
        AscendC::LoadData2dTransposeParams params(start, repeat, srcStride, dstGap, dstFracGap); \
        params.addrMode = static_cast<uint8_t>(mode);                                            \
        AscendC::LoadDataWithTranspose(TARGET(dst, loc), ascendc_emu::InL1(src, loc), params,    \
                                       loc);                                                     \
    }
OPGEN_LOAD_TRANSPOSE(load_cbuf_to_ca_transpose, ascendc_emu::InL0a)
OPGEN_LOAD_TRANSPOSE(load_cbuf_to_cb_transpose, ascendc_emu::InL0b)
#undef OPGEN_LOAD_TRANSPOSE

// Image to column; the feature map, padding and repeat registers are set beforehand.
#define OPGEN_COLUMNS(NAME, TARGET)                                                                \
    template <typename T>                                                                          \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t stepK, uint16_t stepM, uint16_t posK,     \
                                uint16_t posM, uint8_t strideW, uint8_t strideH, uint8_t filterW,  \
                                uint8_t filterH, uint8_t dilationW, uint8_t dilationH, bool bigW,  \
                                bool bigH, bool transpose, bool rightMatrix, uint16_t channels,    \
                                OPGEN_LOC) {                                                       \
        AscendC::LoadData(TARGET(dst, loc), ascendc_emu::InL1(src, loc),                           \
                          ascendc_emu::Columns(stepK, stepM, posK, posM, strideW, strideH,         \
                                               filterW, filterH, dilationW, dilationH, bigW, bigH, \
                                               transpose, rightMatrix, channels),                  \
                          loc);                                                                    \
    }
OPGEN_COLUMNS(img2colv2_cbuf_to_ca, ascendc_emu::InL0a)
OPGEN_COLUMNS(img2colv2_cbuf_to_cb, ascendc_emu::InL0b)
#undef OPGEN_COLUMNS

__aicore__ inline void set_fmatrix(uint64_t config) { ascendc_emu::SetFeatureMap(config, false); }
__aicore__ inline void set_fmatrix_b(uint64_t config) { ascendc_emu::SetFeatureMap(config, true); }
__aicore__ inline void set_l3d_rpt(uint64_t config) { ascendc_emu::SetLoadRepeat(config); }

// One value: times (15 bits), blocks of a time (15 bits from bit 16), gap (15 bits from bit 32).
#define OPGEN_FILL(NAME, TARGET)                                                               \
    template <typename T, typename V>                                                          \
    __aicore__ inline void NAME(T* dst, int64_t config, V value, OPGEN_LOC) {                  \
        AscendC::Fill(TARGET(dst, loc),                                                        \
                      AscendC::InitConstValueParams<V>(config & 0x7fff, config >> 16 & 0x7fff, \
                                                       config >> 32 & 0x7fff, value),          \
                      loc);                                                                    \
    }
OPGEN_FILL(create_ca_matrix, ascendc_emu::InL0a)
OPGEN_FILL(create_cb_matrix, ascendc_emu::InL0b)
OPGEN_FILL(create_cbuf_matrix, ascendc_emu::InL1)
#undef OPGEN_FILL

// --- the product: Mmad; bias and result by cmatrixSource and cmatrixInitVal
// -------------------------

template <typename C, typename A, typename B>
__aicore__ inline void mad(C* c, A* a, B* b, uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag,
                           bool kDirectionAlign, bool cmatrixSource, bool cmatrixInitVal,
                           OPGEN_LOC) {
    AscendC::Mmad(
        ascendc_emu::InL0c(c, loc), ascendc_emu::InL0a(a, loc), ascendc_emu::InL0b(b, loc),
        ascendc_emu::Product(m, k, n, unitFlag, kDirectionAlign, cmatrixSource, cmatrixInitVal),
        loc);
}
// The bias lies in the bias table.
template <typename C, typename A, typename B, typename D>
__aicore__ inline void mad(C* c, A* a, B* b, D* bias, uint16_t m, uint16_t k, uint16_t n,
                           uint8_t unitFlag, bool kDirectionAlign, bool cmatrixSource,
                           bool cmatrixInitVal, OPGEN_LOC) {
    AscendC::Mmad(
        ascendc_emu::InL0c(c, loc), ascendc_emu::InL0a(a, loc), ascendc_emu::InL0b(b, loc),
        ascendc_emu::InBt(bias, loc),
        ascendc_emu::Product(m, k, n, unitFlag, kDirectionAlign, cmatrixSource, cmatrixInitVal),
        loc);
}

// --- out of L0C: DataCopy with DataCopyCO12DstParams; registers set_nd_para, set_quant_pre
// --------

template <typename D, typename S>
__aicore__ inline void copy_matrix_cc_to_gm(D* dst, S* src, uint8_t, uint16_t n, uint16_t m,
                                            uint32_t dstStride, uint16_t srcStride,
                                            uint8_t unitFlag, QuantMode_t quant, uint8_t relu,
                                            bool channelSplit, bool toNd, OPGEN_LOC) {
    AscendC::DataCopy(
        ascendc_emu::GmPointer(dst), ascendc_emu::InL0c(src, loc),
        ascendc_emu::CopyOut(n, m, dstStride, srcStride, unitFlag, quant, relu, channelSplit, toNd),
        loc);
}
template <typename D, typename S>
__aicore__ inline void copy_matrix_cc_to_cbuf(D* dst, S* src, uint8_t, uint16_t n, uint16_t m,
                                              uint32_t dstStride, uint16_t srcStride,
                                              uint8_t unitFlag, QuantMode_t quant, uint8_t relu,
                                              bool channelSplit, bool toNd, OPGEN_LOC) {
    AscendC::DataCopy(
        ascendc_emu::InL1(dst, loc), ascendc_emu::InL0c(src, loc),
        ascendc_emu::CopyOut(n, m, dstStride, srcStride, unitFlag, quant, relu, channelSplit, toNd),
        loc);
}

__aicore__ inline void set_nd_para(uint64_t config) { AscendC::SetNdParaImpl(config); }
__aicore__ inline void set_quant_pre(uint64_t config) { AscendC::SetFixpipePreQuantFlag(config); }

#undef OPGEN_LOC

#endif  // ASCENDC_EMU_CUBE_INSTRUCTIONS_H
