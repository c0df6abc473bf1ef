// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions of the cube of arch 2201 by the names the compiler has for them, on pointers: addresses
// that GetPhyAddr() gave, or numbers (bytes from the begin of the buffer that the instruction names).
// Included only where a source uses such a name. Each does what the API beside it does; the
// parameters, in the order of the instruction, have the units of that API's page.
#ifndef ASCENDC_EMU_CUBE_INSTRUCTIONS_H
#define ASCENDC_EMU_CUBE_INSTRUCTIONS_H

#include "kernel_operator.h"

#define OPGEN_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()

namespace ascendc_emu {

// A tensor of one of the cube's buffers; its length is not known, so it reaches to the buffer's end.
template <AscendC::TPosition position, Mem memory, typename T>
inline AscendC::LocalTensor<T> InBuffer(T* p, Loc loc)
{
    const Core& core = Current();
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(memory)]);
    const auto value = reinterpret_cast<uint64_t>(p);
    const bool number = value < core.capacity[static_cast<int>(memory)];
    return AscendC::LocalTensor<T>(position, static_cast<uint32_t>(number ? value : value - base), 0, loc);
}
template <typename T>
inline AscendC::GlobalTensor<T> InGlobal(T* p)
{
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(p);
    return tensor;
}

}  // namespace ascendc_emu

#define OPGEN_L1(p) \
    ascendc_emu::InBuffer<AscendC::TPosition::A1, ascendc_emu::Mem::kL1>(p, loc)
#define OPGEN_L0A(p) \
    ascendc_emu::InBuffer<AscendC::TPosition::A2, ascendc_emu::Mem::kL0a>(p, loc)
#define OPGEN_L0B(p) \
    ascendc_emu::InBuffer<AscendC::TPosition::B2, ascendc_emu::Mem::kL0b>(p, loc)
#define OPGEN_L0C(p) \
    ascendc_emu::InBuffer<AscendC::TPosition::CO1, ascendc_emu::Mem::kL0c>(p, loc)
#define OPGEN_BT(p) \
    ascendc_emu::InBuffer<AscendC::TPosition::C2, ascendc_emu::Mem::kBt>(p, loc)

// --- GM to L1: DataCopy; the number of the stream (sid) has no effect -----------------------------

// Bursts and gaps of 32 bytes; padding modes are not emulated.
template <typename T>
__aicore__ inline void copy_gm_to_cbuf(T* dst, T* src, uint8_t, uint16_t bursts, uint16_t length,
                                       uint16_t srcGap, uint16_t dstGap, pad_t padding, OPGEN_LOC)
{
    if (padding != pad_t::PAD_NONE) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "copy_gm_to_cbuf", "padding modes are not emulated");
    }
    // Bytes: every type is copied alike.
    AscendC::DataCopy(OPGEN_L1(reinterpret_cast<int8_t*>(dst)),
                      ascendc_emu::InGlobal(reinterpret_cast<int8_t*>(src)),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}

#define OPGEN_ND2NZ(SUFFIX, SIZE)                                                                    \
    template <typename T>                                                                            \
    __aicore__ inline void copy_gm_to_cbuf_multi_nd2nz_##SUFFIX(                                     \
        T* dst, T* src, uint8_t, uint16_t ndNum, uint16_t nValue, uint16_t dValue,                   \
        uint16_t srcNdMatrixStride, uint16_t srcDValue, uint16_t dstNzC0Stride,                      \
        uint16_t dstNzNStride, uint16_t dstNzMatrixStride, OPGEN_LOC)                                \
    {                                                                                                \
        static_assert(sizeof(T) == SIZE, "copy_gm_to_cbuf_multi_nd2nz_" #SUFFIX ": type of this size"); \
        AscendC::DataCopy(OPGEN_L1(dst), ascendc_emu::InGlobal(src),                                 \
                          AscendC::Nd2NzParams(ndNum, nValue, dValue, srcNdMatrixStride, srcDValue,  \
                                               dstNzC0Stride, dstNzNStride, dstNzMatrixStride),      \
                          loc);                                                                      \
    }
OPGEN_ND2NZ(b8, 1)
OPGEN_ND2NZ(b16, 2)
OPGEN_ND2NZ(b32s, 4)
#undef OPGEN_ND2NZ

// --- to L0A and L0B: LoadData, LoadDataWithTranspose ----------------------------------------------

#define OPGEN_LOAD(NAME, TARGET, SOURCE)                                                             \
    template <typename T>                                                                            \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t srcStride,  \
                                uint16_t dstGap, uint8_t sid, bool transpose, addr_cal_mode_t mode,  \
                                OPGEN_LOC)                                                           \
    {                                                                                                \
        AscendC::LoadData(TARGET(dst), SOURCE(src),                                                  \
                          AscendC::LoadData2DParams(start, repeat, srcStride, sid, dstGap, transpose, \
                                                    static_cast<uint8_t>(mode)),                     \
                          loc);                                                                      \
    }
OPGEN_LOAD(load_cbuf_to_ca, OPGEN_L0A, OPGEN_L1)
OPGEN_LOAD(load_cbuf_to_cb, OPGEN_L0B, OPGEN_L1)
#undef OPGEN_LOAD

// Without transposition.
#define OPGEN_LOAD(NAME, TARGET)                                                                    \
    template <typename T>                                                                           \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t srcStride, \
                                uint16_t dstGap, uint8_t sid, addr_cal_mode_t mode, OPGEN_LOC)      \
    {                                                                                               \
        AscendC::LoadData(TARGET(dst), ascendc_emu::InGlobal(src),                                  \
                          AscendC::LoadData2DParams(start, repeat, srcStride, sid, dstGap, false,   \
                                                    static_cast<uint8_t>(mode)),                    \
                          loc);                                                                     \
    }
OPGEN_LOAD(load_gm_to_cbuf, OPGEN_L1)
OPGEN_LOAD(load_gm_to_ca, OPGEN_L0A)
OPGEN_LOAD(load_gm_to_cb, OPGEN_L0B)
#undef OPGEN_LOAD

#define OPGEN_LOAD(NAME, TARGET)                                                                     \
    template <typename T>                                                                            \
    __aicore__ inline void NAME(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t srcStride,  \
                                uint16_t dstGap, addr_cal_mode_t mode, uint16_t dstFracGap, OPGEN_LOC) \
    {                                                                                                \
        AscendC::LoadData2dTransposeParams params(start, repeat, srcStride, dstGap, dstFracGap);     \
        params.addrMode = static_cast<uint8_t>(mode);                                                \
        AscendC::LoadDataWithTranspose(TARGET(dst), OPGEN_L1(src), params, loc);                     \
    }
OPGEN_LOAD(load_cbuf_to_ca_transpose, OPGEN_L0A)
OPGEN_LOAD(load_cbuf_to_cb_transpose, OPGEN_L0B)
#undef OPGEN_LOAD

// --- the product: Mmad; bias and result by cmatrixSource and cmatrixInitVal -------------------------

namespace ascendc_emu {
inline AscendC::MmadParams Product(uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag, bool kDirectionAlign,
                                   bool cmatrixSource, bool cmatrixInitVal)
{
    AscendC::MmadParams params(m, n, k, unitFlag, cmatrixSource, cmatrixInitVal);
    params.kDirectionAlign = kDirectionAlign;
    return params;
}
}  // namespace ascendc_emu

template <typename C, typename A, typename B>
__aicore__ inline void mad(C* c, A* a, B* b, uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag,
                           bool kDirectionAlign, bool cmatrixSource, bool cmatrixInitVal, OPGEN_LOC)
{
    AscendC::Mmad(OPGEN_L0C(c), OPGEN_L0A(a), OPGEN_L0B(b),
                  ascendc_emu::Product(m, k, n, unitFlag, kDirectionAlign, cmatrixSource, cmatrixInitVal), loc);
}
// The bias lies in the bias table.
template <typename C, typename A, typename B, typename D>
__aicore__ inline void mad(C* c, A* a, B* b, D* bias, uint16_t m, uint16_t k, uint16_t n,
                           uint8_t unitFlag, bool kDirectionAlign, bool cmatrixSource,
                           bool cmatrixInitVal, OPGEN_LOC)
{
    AscendC::Mmad(OPGEN_L0C(c), OPGEN_L0A(a), OPGEN_L0B(b), OPGEN_BT(bias),
                  ascendc_emu::Product(m, k, n, unitFlag, kDirectionAlign, cmatrixSource, cmatrixInitVal), loc);
}

// --- out of L0C: DataCopy with DataCopyCO12DstParams; registers set_nd_para, set_quant_pre --------

namespace ascendc_emu {
inline AscendC::DataCopyCO12DstParams CopyOut(uint16_t n, uint16_t m, uint32_t dstStride,
                                              uint16_t srcStride, uint8_t unitFlag, QuantMode_t quant,
                                              uint8_t relu, bool channelSplit, bool toNd)
{
    AscendC::DataCopyCO12DstParams params;
    params.nSize = n;
    params.mSize = m;
    params.dstStride = dstStride;
    params.srcStride = srcStride;
    params.unitFlag = unitFlag;
    params.quantPre = quant;
    params.reluPre = relu;
    params.channelSplit = channelSplit;
    params.nz2ndEn = toNd;
    return params;
}
}  // namespace ascendc_emu

template <typename D, typename S>
__aicore__ inline void copy_matrix_cc_to_gm(D* dst, S* src, uint8_t, uint16_t n, uint16_t m,
                                            uint32_t dstStride, uint16_t srcStride, uint8_t unitFlag,
                                            QuantMode_t quant, uint8_t relu, bool channelSplit,
                                            bool toNd, OPGEN_LOC)
{
    AscendC::DataCopy(ascendc_emu::InGlobal(dst), OPGEN_L0C(src),
                      ascendc_emu::CopyOut(n, m, dstStride, srcStride, unitFlag, quant, relu, channelSplit,
                                           toNd),
                      loc);
}
template <typename D, typename S>
__aicore__ inline void copy_matrix_cc_to_cbuf(D* dst, S* src, uint8_t, uint16_t n, uint16_t m,
                                              uint32_t dstStride, uint16_t srcStride, uint8_t unitFlag,
                                              QuantMode_t quant, uint8_t relu, bool channelSplit,
                                              bool toNd, OPGEN_LOC)
{
    AscendC::DataCopy(OPGEN_L1(dst), OPGEN_L0C(src),
                      ascendc_emu::CopyOut(n, m, dstStride, srcStride, unitFlag, quant, relu, channelSplit,
                                           toNd),
                      loc);
}

__aicore__ inline void set_nd_para(uint64_t config) { AscendC::SetNdParaImpl(config); }
__aicore__ inline void set_quant_pre(uint64_t config) { AscendC::SetFixpipePreQuantFlag(config); }

#undef OPGEN_BT
#undef OPGEN_L0C
#undef OPGEN_L0B
#undef OPGEN_L0A
#undef OPGEN_L1
#undef OPGEN_LOC

#endif  // ASCENDC_EMU_CUBE_INSTRUCTIONS_H
