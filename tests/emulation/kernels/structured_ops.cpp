// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Casts, comparisons, selections, reductions, gathers, sorts: one instruction per launch. x and y
// are copied whole to UB, z is copied in (old content) and out.
#include "kernel_operator.h"

using namespace AscendC;

struct Params {
    uint32_t bytesX, bytesY, bytesZ;
    int32_t a[12];
    uint64_t bits[2];
    float scalar;
    uint32_t unused;
};

class Frame {
 public:
    __aicore__ inline void Begin(GM_ADDR x, GM_ADDR y, GM_ADDR z, const Params& p) {
        params = p;
        pipe.InitBuffer(bufX, 32768);
        pipe.InitBuffer(bufY, 32768);
        pipe.InitBuffer(bufZ, 32768);
        pipe.InitBuffer(bufW, 32768);
        Load(bufX, x, p.bytesX);
        Load(bufY, y, p.bytesY);
        Load(bufZ, z, p.bytesZ);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    }
    __aicore__ inline void End(GM_ADDR z) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        GlobalTensor<uint8_t> g;
        g.SetGlobalBuffer(z, params.bytesZ);
        DataCopyPad(g, bufZ.Get<uint8_t>(), DataCopyExtParams(1, params.bytesZ, 0, 0, 0));
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> X() {
        return bufX.Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Y() {
        return bufY.Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Z() {
        return bufZ.Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> W() {
        return bufW.Get<T>();
    }
    Params params;

 private:
    __aicore__ inline void Load(TBuf<>& buf, GM_ADDR from, uint32_t bytes) {
        if (bytes == 0) return;
        GlobalTensor<uint8_t> g;
        g.SetGlobalBuffer(from, bytes);
        DataCopyPad(buf.Get<uint8_t>(), g, DataCopyExtParams(1, bytes, 0, 0, 0),
                    DataCopyPadExtParams<uint8_t>(false, 0, 0, 0));
    }
    TPipe pipe;
    TBuf<> bufX, bufY, bufZ, bufW;
};

template <typename D, typename S>
__aicore__ inline void RunCast(Frame& f) {
    Cast(f.Z<D>(), f.X<S>(), static_cast<RoundMode>(f.params.a[1]), f.params.a[0]);
}

template <typename T>
__aicore__ inline void RunTyped(Frame& f, uint32_t op) {
    const int32_t* a = f.params.a;
    auto x = f.X<T>(), y = f.Y<T>(), z = f.Z<T>(), w = f.W<T>();
    switch (op) {
        case 1:
            Compare(f.Z<uint8_t>(), x, y, static_cast<CMPMODE>(a[1]), a[0]);
            break;
        case 2:
            CompareScalar(f.Z<uint8_t>(), x, (T)f.params.scalar, static_cast<CMPMODE>(a[1]), a[0]);
            break;
        case 3:
            Select(z, f.Y<uint8_t>(), x, x[a[2]], SELMODE::VSEL_TENSOR_TENSOR_MODE, a[0]);
            break;
        case 4:
            Select(z, f.Y<uint8_t>(), x, (T)f.params.scalar, SELMODE::VSEL_TENSOR_SCALAR_MODE,
                   a[0]);
            break;
        case 5:
            Select(z, f.Y<uint8_t>(), x, x[a[2]], SELMODE::VSEL_CMPMASK_SPR, a[0]);
            break;
        case 6:
            ReduceSum(z, x, w, a[0]);
            break;
        case 7:
            ReduceMax(z, x, w, a[0], true);
            break;
        case 8:
            ReduceMin(z, x, w, a[0], true);
            break;
        case 9:
            WholeReduceSum(z, x, a[0], a[1], 1, 1, 8);
            break;
        case 10:
            WholeReduceMax(z, x, a[0], a[1], 1, 1, 8, static_cast<ReduceOrder>(a[2]));
            break;
        case 11:
            BlockReduceSum(z, x, a[1], a[0], 1, 1, 8);
            break;
        case 12:
            BlockReduceMax(z, x, a[1], a[0], 1, 1, 8);
            break;
        case 13:
            PairReduceSum(z, x, a[1], a[0], 1, 1, 8);
            break;
        case 14:
            ReduceSum(z, x, w, a[0], a[1], 8);
            break;
        case 15:
            Brcb(z, x, a[1], BrcbRepeatParams(1, 8));
            break;
        case 16:
            // In place on z, by count and by repeats, or from x.
            if (a[2] == 1)
                Gather(z, z, f.Y<uint32_t>(), (uint32_t)a[1], (uint32_t)a[0]);
            else if (a[2] == 2)
                Gather(z, z, f.Y<uint32_t>(), 0, (uint64_t)a[0], (uint8_t)a[1], 8);
            else
                Gather(z, x, f.Y<uint32_t>(), (uint32_t)a[1], (uint32_t)a[0]);
            break;
        case 17: {
            uint64_t kept = 0;
            GatherMask(z, x, (uint8_t)a[1], true, (uint32_t)a[0], GatherMaskParams(1, 1, 8, 8),
                       kept);
            f.Z<int32_t>().SetValue(4095, (int32_t)kept);
            break;
        }
        case 18: {
            uint64_t kept = 0;
            if constexpr (sizeof(T) == 4) {
                GatherMask(z, x, f.Y<uint32_t>(), true, (uint32_t)a[0],
                           GatherMaskParams(1, 1, 8, 8), kept);
            } else {
                GatherMask(z, x, f.Y<uint16_t>(), true, (uint32_t)a[0],
                           GatherMaskParams(1, 1, 8, 8), kept);
            }
            f.Z<int32_t>().SetValue(4095, (int32_t)kept);
            break;
        }
        case 19:
            Sort32(z, x, f.Y<uint32_t>(), a[0]);
            break;
        case 20: {
            Sort<T, true>(z, x, f.Y<uint32_t>(), w, a[0]);
            break;
        }
        case 21: {
            Sort32(w, x, f.Y<uint32_t>(), 4);
            PipeBarrier<PIPE_V>();
            const uint16_t len[4] = {32, 32, 32, 32};
            MrgSort4Info info(len, false, 15, 1);
            MrgSort(z,
                    MrgSortSrcList<T>(w[0], w[GetSortOffset<T>(32)], w[GetSortOffset<T>(64)],
                                      w[GetSortOffset<T>(96)]),
                    info);
            break;
        }
        case 22: {
            LocalTensor<T> d[16], s[16];
            for (int i = 0; i < 16; ++i) {
                d[i] = z[i * (32 / sizeof(T))];
                s[i] = x[i * (32 / sizeof(T))];
            }
            TransDataTo5HD(d, s, TransDataTo5HDParams(false, false, 1, 0, 0));
            break;
        }
        case 23: {
            auto t = z;
            CreateVecIndex(t, (T)f.params.scalar, (uint32_t)a[0]);
            break;
        }
        case 24:
            ReduceRepeat<ReduceType::MAX>(z, x, a[0], a[1], 1, 1, 8,
                                          ReduceOrder::ORDER_INDEX_VALUE);
            break;
        case 25:
            z = x + y;
            break;
        case 26: {  // the result's size counts, not that of a source
            auto part = z;
            part.SetSize(a[0]);
            if (a[1] == 0) part = x + y;
            if (a[1] == 1) part = x - y;
            if (a[1] == 2) part = x * y;
            if (a[1] == 3) part = x / y;
            break;
        }
        case 27: {  // a comparison writes bits: here its first source's size counts
            auto from = x;
            from.SetSize(a[0]);
            auto flags = f.Z<uint8_t>();
            if (a[1] == 0) flags = from < y;
            if (a[1] == 1) flags = from > y;
            if (a[1] == 2) flags = from != y;
            if (a[1] == 3) flags = from == y;
            if (a[1] == 4) flags = from <= y;
            if (a[1] == 5) flags = from >= y;
            break;
        }
        default:
            Trap();
    }
}

// What SetDeqScale and the saturation flag act on. a[0]: elements, a[1]: form, a[2]: offset.
__aicore__ inline void RunScaled(Frame& f, uint32_t op) {
    const int32_t* a = f.params.a;
    const uint32_t n = a[0];
    switch (op) {
        case 25:
            SetDeqScale(f.params.scalar, int16_t(a[2]), true);
            if (a[1] == 0) {
                CastDequant<int8_t, int16_t, false, true>(f.Z<int8_t>(), f.X<int16_t>(), n);
            } else if (a[1] == 1) {
                CastDequant<int8_t, int16_t, true, false, false>(f.Z<int8_t>(), f.X<int16_t>(), 128,
                                                                 uint8_t(n / 128), {1, 1, 8, 8});
            } else {
                CastDeq<int8_t, int16_t, true, false, false>(
                    f.Z<int8_t>(), f.X<int16_t>(), f.params.bits, uint8_t(n / 128), {1, 1, 8, 8});
            }
            break;
        case 26: {
            VdeqInfo info;
            float scales[16];
            int16_t offsets[16];
            bool signs[16];
            for (int i = 0; i < 16; ++i) {
                scales[i] = f.params.scalar * (i + 1);
                offsets[i] = int16_t(a[2] - i);
                signs[i] = false;
            }
            for (int i = 0; i < 16; ++i) {
                info.vdeqScale[i] = scales[i];
                info.vdeqOffset[i] = offsets[i];
                info.vdeqSignMode[i] = signs[i];
            }
            LocalTensor<uint64_t> table = f.W<uint64_t>();
            SetDeqScale(table, info);
            SetFlag<HardEvent::S_V>(0);
            WaitFlag<HardEvent::S_V>(0);
            CastDequant<uint8_t, int16_t>(f.Z<uint8_t>(), f.X<int16_t>(), n);
            break;
        }
        case 27:
            SetDeqScale((half)f.params.scalar);
            if (a[1] == 0)
                AddDeqRelu(f.Z<half>(), f.X<int32_t>(), f.Y<int32_t>(), n);
            else if (a[1] == 1)
                AddDeqRelu(f.Z<half>(), f.X<int32_t>(), f.Y<int32_t>(), 64, n / 64,
                           {1, 1, 1, 4, 8, 8});
            else
                CastDequant<half, int32_t>(f.Z<half>(), f.X<int32_t>(), n);
            break;
        case 28:
            ASSERT(!GetSaturationFlag<SaturationMode::FLOAT>());
            if (a[1] != 0) SetSaturationFlag<SaturationMode::FLOAT>(true);
            Mul(f.Z<half>(), f.X<half>(), f.X<half>(), n);
            SetCtrlSpr<48, 48>(1);
            break;
        default:
            Trap();
    }
}

extern "C" __global__ __aicore__ void structured(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(Params, p, tiling);
    Frame f;
    f.Begin(x, y, z, p);
    const uint32_t op = TILING_KEY_VAR % 100, type = TILING_KEY_VAR / 100;
    if (type == 0) {
        switch (op) {
            case 0:
                RunCast<float, half>(f);
                break;
            case 1:
                RunCast<half, float>(f);
                break;
            case 2:
                RunCast<bfloat16_t, float>(f);
                break;
            case 3:
                RunCast<float, bfloat16_t>(f);
                break;
            case 4:
                RunCast<int32_t, float>(f);
                break;
            case 5:
                RunCast<int16_t, float>(f);
                break;
            case 6:
                RunCast<int64_t, float>(f);
                break;
            case 7:
                RunCast<float, float>(f);
                break;
            case 8:
                RunCast<int8_t, half>(f);
                break;
            case 9:
                RunCast<uint8_t, half>(f);
                break;
            case 10:
                RunCast<int16_t, half>(f);
                break;
            case 11:
                RunCast<int32_t, half>(f);
                break;
            case 12:
                RunCast<half, int8_t>(f);
                break;
            case 13:
                RunCast<half, uint8_t>(f);
                break;
            case 14:
                RunCast<half, int16_t>(f);
                break;
            case 15:
                RunCast<float, int16_t>(f);
                break;
            case 16:
                RunCast<float, int32_t>(f);
                break;
            case 17:
                RunCast<int16_t, int32_t>(f);
                break;
            case 18:
                RunCast<int64_t, int32_t>(f);
                break;
            case 19:
                RunCast<int32_t, int64_t>(f);
                break;
            case 20:
                RunCast<float, int64_t>(f);
                break;
            case 21:
                RunCast<int32_t, bfloat16_t>(f);
                break;
            case 22:
                SetDeqScale((half)f.params.scalar);
                RunCast<half, int32_t>(f);
                break;
            case 23:
                RunCast<int4b_t, half>(f);
                break;
            case 24:
                RunCast<half, int4b_t>(f);
                break;
            default:
                RunScaled(f, op);
                break;
        }
    } else if (type == 1) {
        RunTyped<float>(f, op);
    } else {
        RunTyped<half>(f, op);
    }
    f.End(z);
}
