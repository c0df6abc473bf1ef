// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Vector and copy instructions by their compiler names, as far as public kernels use them. The mask
// is what set_vector_mask or SetVectorMask left.
#ifndef ASCENDC_EMU_INSTRUCTION_NAMES_H
#define ASCENDC_EMU_INSTRUCTION_NAMES_H

#include "ascendc_emu/copy_api.h"
#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/vector_api.h"

namespace ascendc_emu {

// A tensor of one of the core's memories, from an address that GetPhyAddr() gave or a number: bytes
// from the begin of the memory. Its length is not known, so it reaches to the memory's end.
template <AscendC::TPosition position, Mem memory, typename T>
inline AscendC::LocalTensor<T> InBuffer(T* p, Loc loc) {
    const Core& core = Current();
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(memory)]);
    const auto value = reinterpret_cast<uint64_t>(p);
    const bool number = value < core.capacity[static_cast<int>(memory)];
    return AscendC::LocalTensor<T>(position, static_cast<uint32_t>(number ? value : value - base),
                                   0, loc);
}
// Of UB.
template <typename T>
inline AscendC::LocalTensor<T> FromPointer(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::VECCALC, Mem::kUb>(p, loc);
}
template <typename T>
inline AscendC::GlobalTensor<T> GmPointer(T* p) {
    AscendC::GlobalTensor<T> t;
    t.SetGlobalBuffer(p);
    return t;
}

// Plain C++ has a pointer into UB that is made of a number: it may go anywhere there.
inline void NoteNumber(const Core& core) {
    if (__builtin_expect(core.sink != nullptr, 0)) {
        TellPointer(MakeRaw(AscendC::TPosition::VECCALC, 0,
                            core.capacity[static_cast<int>(Mem::kUb)], Loc()));
    }
}

// What reinterpret_cast<__cbuf__ T*>(value) is: a number is a byte address of that memory, a
// pointer stays one.
template <Mem mem, typename Pointer, typename Value>
inline Pointer MemoryPointer(Value value) {
    if constexpr (std::is_integral<Value>::value || std::is_enum<Value>::value) {
        const Core* core = g_current;  // none outside of kernels
        const auto place = static_cast<uint64_t>(value);
        if (core != nullptr && place < core->capacity[static_cast<int>(mem)]) {
            if (mem == Mem::kUb) NoteNumber(*core);
            return reinterpret_cast<Pointer>(core->memory[static_cast<int>(mem)] + place);
        }
        return reinterpret_cast<Pointer>(place);
    } else {
        return reinterpret_cast<Pointer>(value);
    }
}
template <typename Pointer, typename Value>
inline Pointer UbPointer(Value value) {
    return MemoryPointer<Mem::kUb, Pointer>(value);
}

// What get_imm(n) gives: a number, and as a pointer the byte of UB with that number.
struct UbNumber {
    uint64_t place;
    operator uint64_t() const { return place; }
    template <typename T>
    operator T*() const {
        return UbPointer<T*>(place);
    }
};

// Address registers of the transpose instruction: eight addresses each, per core.
constexpr int kAddressRegisters = 8;
constexpr int kAddressCores = 128;
inline uint64_t g_addressRegisters[kAddressCores][kAddressRegisters][8] = {};
inline uint64_t* AddressRegisters(int first) {
    return g_addressRegisters[Current().id % kAddressCores][first % kAddressRegisters];
}

}  // namespace ascendc_emu

enum ub_addr8_t { VA0 = 0, VA1, VA2, VA3, VA4, VA5, VA6, VA7 };

inline void set_va_reg_sb(ub_addr8_t reg, uint64_t* addresses) {
    for (int i = 0; i < 8; ++i) ascendc_emu::AddressRegisters(reg)[i] = addresses[i];
}
// Eight addresses from UB, of 16 bits each, that count blocks of 32 bytes: the first or the second
// half of the 32 bytes at src.
enum vpart_t { L128 = 0, H128 };
inline void vld_va_reg(ub_addr8_t reg, uint64_t* src, vpart_t part) {
    uint8_t* const ub = ascendc_emu::Current().memory[static_cast<int>(ascendc_emu::Mem::kUb)];
    const auto* const from =
        ascendc_emu::UbPointer<const uint8_t*>(reinterpret_cast<uint64_t>(src));
    uint16_t blocks[8];
    memcpy(blocks, from + (part == H128 ? sizeof(blocks) : 0), sizeof(blocks));
    for (int i = 0; i < 8; ++i) {
        ascendc_emu::AddressRegisters(reg)[i] = reinterpret_cast<uint64_t>(ub) + 32u * blocks[i];
    }
}

// dst and src name the first of two neighbouring registers, 16 addresses; strides in 32-byte
// blocks.
inline void scatter_vnchwconv_b16(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat,
                                  uint16_t dstStride, uint16_t srcStride,
                                  ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    AscendC::TransDataTo5HD<uint16_t>(ascendc_emu::AddressRegisters(dst),
                                      ascendc_emu::AddressRegisters(src),
                                      {false, false, repeat, dstStride, srcStride}, loc);
}
inline void scatter_vnchwconv_b32(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat,
                                  uint16_t dstStride, uint16_t srcStride,
                                  ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    AscendC::TransDataTo5HD<uint32_t>(ascendc_emu::AddressRegisters(dst),
                                      ascendc_emu::AddressRegisters(src),
                                      {false, false, repeat, dstStride, srcStride}, loc);
}

// 16 x 16 elements of 16 bits.
inline void vtranspose(uint16_t* dst, uint16_t* src,
                       ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    AscendC::Transpose(ascendc_emu::FromPointer(dst, loc), ascendc_emu::FromPointer(src, loc), loc);
}

// The value converts to the tensor's type, as with the compiler's overloads.
template <typename T>
inline void vector_dup(T* dst, std::common_type_t<T> value, uint8_t repeat, uint16_t dstBlkStride,
                       uint16_t, uint8_t dstRepStride, uint8_t,
                       ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    AscendC::Duplicate<T, false>(ascendc_emu::FromPointer(dst, loc), value, uint64_t(0), repeat,
                                 dstBlkStride, dstRepStride, loc);
}

// nBurst bursts of lenBurst blocks of 32 bytes; gaps in blocks between them.
inline void copy_ubuf_to_ubuf(void* dst, void* src, uint8_t, uint16_t nBurst, uint16_t lenBurst,
                              uint16_t srcGap, uint16_t dstGap,
                              ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    AscendC::DataCopy(ascendc_emu::FromPointer(static_cast<int16_t*>(dst), loc),
                      ascendc_emu::FromPointer(static_cast<int16_t*>(src), loc),
                      AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap), loc);
}

#define OPGEN_INSTRUCTION(NAME, API)                                                               \
    template <typename T>                                                                          \
    inline void NAME(T* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlk, uint8_t src0Blk,    \
                     uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep,            \
                     ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {                            \
        using ascendc_emu::FromPointer;                                                            \
        AscendC::API<T, false>(                                                                    \
            FromPointer(dst, loc), FromPointer(src0, loc), FromPointer(src1, loc), uint64_t(0),    \
            repeat,                                                                                \
            AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep), loc); \
    }
OPGEN_INSTRUCTION(vor, Or)
OPGEN_INSTRUCTION(vand, And)
OPGEN_INSTRUCTION(vadd, Add)
OPGEN_INSTRUCTION(vsub, Sub)
OPGEN_INSTRUCTION(vmul, Mul)
OPGEN_INSTRUCTION(vdiv, Div)
OPGEN_INSTRUCTION(vmax, Max)
OPGEN_INSTRUCTION(vmin, Min)
#undef OPGEN_INSTRUCTION

namespace AscendC {

// Elements one repeat of Brcb spreads.
constexpr int32_t BRCB_BROADCAST_NUMBER = 8;

// Copies between memories by address; counts and gaps of params in blocks of 32 bytes.
template <typename T>
__aicore__ inline void DataCopyUB2GMImpl(T* dst, T* src, const DataCopyParams& params,
                                         Loc loc = Loc::Here()) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer(dst);
    DataCopy(gm, ascendc_emu::FromPointer(src, loc), params, loc);
}
template <typename T>
__aicore__ inline void DataCopyGM2UBImpl(T* dst, T* src, const DataCopyParams& params,
                                         Loc loc = Loc::Here()) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer(src);
    DataCopy(ascendc_emu::FromPointer(dst, loc), gm, params, loc);
}
template <typename T>
__aicore__ inline void DataCopyUB2UBImpl(T* dst, T* src, const DataCopyParams& params,
                                         Loc loc = Loc::Here()) {
    DataCopy(ascendc_emu::FromPointer(dst, loc), ascendc_emu::FromPointer(src, loc), params, loc);
}

}  // namespace AscendC

#endif  // ASCENDC_EMU_INSTRUCTION_NAMES_H
