// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// One vector instruction per launch, chosen by the tiling key: z = op(x, y) on `count` elements of
// T, in count, contiguous-mask, bit-mask or counter form.
#include "kernel_operator.h"

using namespace AscendC;

struct OpTiling {
    uint32_t count;  // elements of T
    uint32_t form;   // 0 count, 1 mask, 2 bits, 3 counter
    uint32_t mask;   // form 1: lanes; form 3: elements
    uint32_t repeat;
    uint64_t bits[2];
    uint32_t blk[3];  // dst, src0, src1 block strides
    uint32_t rep[3];
    float scalar;
    uint32_t unused;
};

constexpr uint32_t kBytes = 8192;

template <typename T>
class Frame {
 public:
    __aicore__ inline void Run(GM_ADDR x, GM_ADDR y, GM_ADDR z, const OpTiling& t, uint64_t op) {
        tiling = t;
        pipe.InitBuffer(bufX, kBytes);
        pipe.InitBuffer(bufY, kBytes);
        pipe.InitBuffer(bufZ, kBytes);
        LocalTensor<T> a = bufX.Get<T>(), b = bufY.Get<T>(), c = bufZ.Get<T>();
        Load(a, x);
        Load(b, y);
        Load(c, z);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        if (t.form == 3) {
            SetMaskCount();
            SetVectorMask<T, MaskMode::COUNTER>(0, t.mask);
        }
        Apply(c, a, b, op);
        if (t.form == 3) {
            SetMaskNorm();
            ResetMask();
        }
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        GlobalTensor<T> out;
        out.SetGlobalBuffer((__gm__ T*)z, t.count);
        DataCopyPad(out, c, DataCopyExtParams(1, t.count * sizeof(T), 0, 0, 0));
    }

 private:
    __aicore__ inline void Load(LocalTensor<T>& to, GM_ADDR from) {
        GlobalTensor<T> g;
        g.SetGlobalBuffer((__gm__ T*)from, tiling.count);
        DataCopyPad(to, g, DataCopyExtParams(1, tiling.count * sizeof(T), 0, 0, 0),
                    DataCopyPadExtParams<T>(false, 0, 0, 0));
    }

#define BINARY(NAME)                                                                     \
    {                                                                                    \
        BinaryRepeatParams p(tiling.blk[0], tiling.blk[1], tiling.blk[2], tiling.rep[0], \
                             tiling.rep[1], tiling.rep[2]);                              \
        if (tiling.form == 0) NAME(c, a, b, (int32_t)tiling.count);                      \
        if (tiling.form == 1) NAME(c, a, b, (uint64_t)tiling.mask, tiling.repeat, p);    \
        if (tiling.form == 2) NAME(c, a, b, tiling.bits, tiling.repeat, p);              \
        if (tiling.form == 3) NAME<T, false>(c, a, b, MASK_PLACEHOLDER, 1, p);           \
        return;                                                                          \
    }
#define UNARY(NAME)                                                                      \
    {                                                                                    \
        UnaryRepeatParams p(tiling.blk[0], tiling.blk[1], tiling.rep[0], tiling.rep[1]); \
        if (tiling.form == 0) NAME(c, a, (int32_t)tiling.count);                         \
        if (tiling.form == 1) NAME(c, a, (uint64_t)tiling.mask, tiling.repeat, p);       \
        if (tiling.form == 2) NAME(c, a, tiling.bits, tiling.repeat, p);                 \
        if (tiling.form == 3) NAME<T, false>(c, a, MASK_PLACEHOLDER, 1, p);              \
        return;                                                                          \
    }
#define SCALAR(NAME)                                                                     \
    {                                                                                    \
        UnaryRepeatParams p(tiling.blk[0], tiling.blk[1], tiling.rep[0], tiling.rep[1]); \
        const T s = static_cast<T>(tiling.scalar);                                       \
        if (tiling.form == 0) NAME(c, a, s, (int32_t)tiling.count);                      \
        if (tiling.form == 1) NAME(c, a, s, (uint64_t)tiling.mask, tiling.repeat, p);    \
        if (tiling.form == 2) NAME(c, a, s, tiling.bits, tiling.repeat, p);              \
        if (tiling.form == 3) NAME<T, false>(c, a, s, MASK_PLACEHOLDER, 1, p);           \
        return;                                                                          \
    }
    __aicore__ inline void Apply(LocalTensor<T>& c, LocalTensor<T>& a, LocalTensor<T>& b,
                                 uint64_t op) {
        constexpr bool isFloat = IsSameType<T, half>::value || IsSameType<T, float>::value;
        constexpr bool isBits = IsSameType<T, int16_t>::value || IsSameType<T, uint16_t>::value;
        constexpr bool isUnsigned =
            IsSameType<T, uint16_t>::value || IsSameType<T, uint32_t>::value;
        if constexpr (!isUnsigned) {
            if (op == 1) BINARY(Add)
            if (op == 2) BINARY(Sub)
            if (op == 3) BINARY(Mul)
            if (op == 4) BINARY(Max)
            if (op == 5) BINARY(Min)
            if (op == 6) SCALAR(Adds)
            if (op == 7) SCALAR(Muls)
            if (op == 8) SCALAR(Maxs)
            if (op == 9) SCALAR(Mins)
        }
        if constexpr (isFloat) {
            if (op == 20) BINARY(Div)
            if (op == 21) UNARY(Exp)
            if (op == 22) UNARY(Ln)
            if (op == 23) UNARY(Abs)
            if (op == 24) UNARY(Sqrt)
            if (op == 25) UNARY(Rsqrt)
            if (op == 26) UNARY(Reciprocal)
            if (op == 27) UNARY(Relu)
            if (op == 28) SCALAR(LeakyRelu)
            if (op == 29) BINARY(AddRelu)
            if (op == 30) BINARY(SubRelu)
            if (op == 31) {
                BinaryRepeatParams p(tiling.blk[0], tiling.blk[1], tiling.blk[2], tiling.rep[0],
                                     tiling.rep[1], tiling.rep[2]);
                const uint64_t mask = tiling.mask;
                if (tiling.form == 0) MulAddDst(c, a, b, (int32_t)tiling.count);
                if (tiling.form == 1) MulAddDst(c, a, b, mask, tiling.repeat, p);
                if (tiling.form == 2) MulAddDst(c, a, b, tiling.bits, tiling.repeat, p);
                if (tiling.form == 3) MulAddDst<T, T, false>(c, a, b, MASK_PLACEHOLDER, 1, p);
                return;
            }
            if (op == 32) BINARY(FusedMulAdd)
            if (op == 33) BINARY(FusedMulAddRelu)
        }
        if constexpr (isBits) {
            if (op == 40) BINARY(And)
            if (op == 41) BINARY(Or)
            if (op == 42) UNARY(Not)
        }
        if constexpr (!isFloat) {
            if (op == 43) SCALAR(ShiftLeft)
            if (op == 44) SCALAR(ShiftRight)
        }
        if (op == 50) {
            const T s = static_cast<T>(tiling.scalar);
            if (tiling.form == 0) Duplicate(c, s, (int32_t)tiling.count);
            if (tiling.form == 1)
                Duplicate(c, s, (uint64_t)tiling.mask, tiling.repeat, tiling.blk[0], tiling.rep[0]);
            if (tiling.form == 2)
                Duplicate(c, s, tiling.bits, tiling.repeat, tiling.blk[0], tiling.rep[0]);
            return;
        }
        if (op == 51) {
            CopyRepeatParams p(tiling.blk[0], tiling.blk[1], tiling.rep[0], tiling.rep[1]);
            if (tiling.form == 1) Copy(c, a, (uint64_t)tiling.mask, tiling.repeat, p);
            if (tiling.form == 2) Copy(c, a, tiling.bits, tiling.repeat, p);
            return;
        }
        Trap();
    }

    OpTiling tiling;
    TPipe pipe;
    TBuf<> bufX, bufY, bufZ;
};

extern "C" __global__ __aicore__ void vector_ops(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(OpTiling, t, tiling);
    const uint64_t type = TILING_KEY_VAR / 100, op = TILING_KEY_VAR % 100;
    if (type == 1) Frame<float>().Run(x, y, z, t, op);
    if (type == 2) Frame<half>().Run(x, y, z, t, op);
    if (type == 3) Frame<int32_t>().Run(x, y, z, t, op);
    if (type == 4) Frame<int16_t>().Run(x, y, z, t, op);
    if (type == 5) Frame<uint16_t>().Run(x, y, z, t, op);
    if (type == 6) Frame<uint32_t>().Run(x, y, z, t, op);
}
