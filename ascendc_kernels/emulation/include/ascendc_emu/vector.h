// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How the vector API headers talk to the library: one plain struct per instruction. Lane-wise
// instructions all go through RunVector(); the others have an entry point each.
#ifndef ASCENDC_EMU_VECTOR_H
#define ASCENDC_EMU_VECTOR_H

#include "ascendc_emu/tensor.h"

namespace ascendc_emu {

// What is computed per lane; an arithmetic of the table.
enum class VecOp : uint8_t {
    kNone,
#include "ascendc_emu/lane_operations.inc"
    kCount
};

// Which lanes an instruction works on and how its operands walk through memory.
struct Form {
    enum Kind : uint8_t { kCount, kMask, kBits };
    Kind kind = kCount;
    bool setMask = true;    // false: use the mask register instead of `mask`
    bool dstFirst = false;  // Copy: dst's element size decides the repeat
    int32_t repeats = 1;
    uint64_t mask[2] = {0, 0};  // kCount: elements; kMask: lanes (or elements in counter mode)
    int32_t dstBlk = 1, src0Blk = 1, src1Blk = 1;  // all strides in units of 32 bytes
    int32_t dstRep = 8, src0Rep = 8, src1Rep = 8;
};

struct VecCall {
    Api api;
    DType dt;           // dst element type
    DType st;           // source element type (both sources)
    uint8_t param = 0;  // Cast: RoundMode; ShiftRight: 1 rounds
    const TensorRef* dst;
    const TensorRef* src0 = nullptr;
    const TensorRef* src1 = nullptr;
    uint64_t scalar = 0;  // raw bits of a value of type st (dt for Duplicate)
    Form form;
    Loc loc;
};

// Executes a lane-wise instruction on the V pipe of the running core. No effect on an AIC.
void RunVector(const VecCall& call);
// Copy: in counter mode a repeat is a row of that many elements, and the repeat strides lie between
// rows. The pages do not say so; kernels of CANN's own repositories repeat rows with it, and are
// right.
void RunCopy(const VecCall& call);
// Lane i of the instruction gets first + i.
void RunVectorIndex(DType type, const TensorRef& dst, uint64_t first, const Form& form, Loc loc);

template <typename T>
inline uint64_t RawBits(const T& value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

inline Form CountForm(int64_t n) {
    Form f;
    f.mask[0] = n > 0 ? static_cast<uint64_t>(n) : 0;
    return f;
}

// Strides of the two documented parameter structs.
inline void Strides(Form& f, const AscendC::BinaryRepeatParams& p) {
    f.dstBlk = p.dstBlkStride;
    f.src0Blk = p.src0BlkStride;
    f.src1Blk = p.src1BlkStride;
    f.dstRep = p.dstRepStride;
    f.src0Rep = p.src0RepStride;
    f.src1Rep = p.src1RepStride;
}
inline void Strides(Form& f, const AscendC::UnaryRepeatParams& p) {
    f.dstBlk = p.dstBlkStride;
    f.src0Blk = p.srcBlkStride;
    f.dstRep = p.dstRepStride;
    f.src0Rep = p.srcRepStride;
}
template <typename Params>
inline Form MaskForm(uint64_t mask, int32_t repeats, const Params& p, bool setMask) {
    Form f;
    f.kind = Form::kMask;
    f.mask[0] = mask;
    f.repeats = repeats;
    f.setMask = setMask;
    Strides(f, p);
    return f;
}
template <typename Params>
inline Form BitsForm(const uint64_t* mask, int32_t repeats, const Params& p, bool setMask,
                     uint32_t bytes) {
    Form f;
    f.kind = Form::kBits;
    f.mask[0] = mask[0];
    // The device reads mask[1] only where a repeat has more than 64 lanes.
    f.mask[1] = bytes <= 2 ? mask[1] : 0;
    f.repeats = repeats;
    f.setMask = setMask;
    Strides(f, p);
    return f;
}

// Element type sets for the compile-time checks.
constexpr uint32_t Set() { return 0; }
template <typename... Rest>
constexpr uint32_t Set(DType first, Rest... rest) {
    return (1u << static_cast<int>(first)) | Set(rest...);
}
template <typename T, typename... Known>
constexpr bool IsOneOf = (std::is_same<T, Known>::value || ...);

// Compare: bits of dst in lane order. cmp: CMPMODE. scalar != null: Compares. dst null: result goes
// to the CMPMASK register.
struct CompareCall {
    Api api;
    DType st;
    uint8_t mode;
    const TensorRef* dst;
    const TensorRef* src0;
    const TensorRef* src1;  // null: scalar
    uint64_t scalar;
    Form form;
    Loc loc;
};
void RunCompare(const CompareCall& call);

struct SelectCall {
    Api api;
    DType dt;
    uint8_t mode;  // SELMODE
    const TensorRef* dst;
    const TensorRef* mask;  // null: CMPMASK register
    const TensorRef* src0;
    const TensorRef* src1;  // null: scalar
    uint64_t scalar;
    Form form;
    Loc loc;
};
void RunSelect(const SelectCall& call);

enum class ReduceOp : uint8_t { kSum, kMax, kMin };
enum class ReduceSpan : uint8_t { kWhole, kBlock, kPair };
struct ReduceCall {
    Api api;
    DType dt;
    ReduceOp op;
    ReduceSpan span;
    uint8_t order = 2;  // ReduceOrder, for kWhole max/min; 2: value only
    const TensorRef* dst;
    const TensorRef* src;
    Form form;  // dstRep in elements (kWhole), 16 or 32 bytes... see RunReduce
    Loc loc;
};
// Reductions inside a repeat. form.dstRep is in the API's own unit: elements of one repeat's result
// (kWhole), 16 / 32-byte... the documented one.
void RunReduce(const ReduceCall& call);

struct FullReduceCall {
    Api api;
    DType dt;
    ReduceOp op;
    bool index;   // max/min: also the index
    bool level2;  // count form
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* work;  // may be null
    Form form;
    Loc loc;
};
// ReduceSum / ReduceMax / ReduceMin over a whole tensor.
void RunFullReduce(const FullReduceCall& call);
// Sum of all repeats into the accumulator register, no dst.
void RunAccumulate(DType type, const TensorRef& src, const Form& form, Loc loc);

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_VECTOR_H
