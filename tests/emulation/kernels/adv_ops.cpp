// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// High-level APIs, one call per launch. x and y are copied whole to UB; results are in z, second
// and third results from byte 8192 and 12288 on. The key is the API, a[0] the type (0 float, 1
// half).
#include "kernel_operator.h"

using namespace AscendC;

struct Params {
    uint32_t bytesX, bytesY, bytesZ;
    uint32_t a[8];
    float scalar[2];
};

constexpr uint32_t kSecond = 8192;
constexpr uint32_t kThird = 12288;

class Frame {
 public:
    __aicore__ inline void Begin(GM_ADDR x, GM_ADDR y, const Params& p) {
        params = p;
        pipe.InitBuffer(bufX, 32768);
        pipe.InitBuffer(bufY, 32768);
        pipe.InitBuffer(bufZ, 32768);
        pipe.InitBuffer(bufTmp, 32768);
        Load(bufX, x, p.bytesX);
        Load(bufY, y, p.bytesY);
        Duplicate(bufZ.Get<int32_t>(), 0x5a5a5a5a, 32768 / 4);
        PipeBarrier<PIPE_V>();
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
    __aicore__ inline LocalTensor<T> Z(uint32_t at = 0) {
        return bufZ.Get<T>()[at / sizeof(T)];
    }
    __aicore__ inline LocalTensor<uint8_t> Tmp() { return bufTmp.Get<uint8_t>(); }
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
    TBuf<> bufX, bufY, bufZ, bufTmp;
};

#define UNARY(KEY, NAME)                         \
    case KEY:                                    \
        NAME<T>(f.Z<T>(), f.X<T>(), f.Tmp(), n); \
        return true;
#define BINARY(KEY, NAME)                                  \
    case KEY:                                              \
        NAME<T>(f.Z<T>(), f.X<T>(), f.Y<T>(), f.Tmp(), n); \
        return true;
// Kernels that run an API given as a function pointer name its documented type.
template <typename T>
using UnaryOp = void(const LocalTensor<T>&, const LocalTensor<T>&, const uint32_t);
template <typename T, UnaryOp<T>* op>
__aicore__ inline void Apply(Frame& f) {
    op(f.Z<T>(), f.X<T>(), f.params.a[1]);
}

template <typename T>
__aicore__ inline bool Elementwise(Frame& f) {
    const uint32_t n = f.params.a[1];
    switch (TILING_KEY_VAR) {
        UNARY(1, Acos)
        UNARY(2, Acosh)
        UNARY(3, Asin)
        UNARY(4, Asinh)
        UNARY(5, Atan)
        UNARY(6, Atanh)
        UNARY(7, Ceil)
        UNARY(8, Cos)
        UNARY(9, Cosh)
        UNARY(10, Digamma)
        UNARY(11, Erf)
        UNARY(12, Erfc)
        UNARY(13, Floor)
        UNARY(14, Frac)
        UNARY(15, Lgamma)
        UNARY(16, Log)
        UNARY(17, Log10)
        UNARY(18, Log2)
        UNARY(19, Round)
        UNARY(20, Sigmoid)
        UNARY(21, Sign)
        UNARY(22, Silu)
        UNARY(23, Sin)
        UNARY(24, Sinh)
        UNARY(25, Tan)
        UNARY(26, Tanh)
        UNARY(27, Trunc)
        UNARY(28, Gelu)
        UNARY(29, FasterGelu)
        UNARY(30, FasterGeluV2)
        BINARY(40, Fmod)
        BINARY(41, Hypot)
        BINARY(42, Power)
        BINARY(43, GeGLU)
        BINARY(44, ReGlu)
        case 45:
            SwiGLU<T>(f.Z<T>(), f.X<T>(), f.Y<T>(), f.params.scalar[0], f.Tmp(), n);
            return true;
        case 46:
            Apply<T, Sigmoid<T, false>>(f);
            return true;
        case 47:  // the destination begins inside the source
            Adds(f.Z<T>(), f.X<T>(), T(0), n);
            PipeBarrier<PIPE_V>();
            Sigmoid(f.Z<T>(n / 2 * sizeof(T)), f.Z<T>(), n);
            return true;
        default:
            return false;
    }
}

// At namespace scope: gcc 12 crashes on a reference to a static of a function template.
constexpr TransDataConfig kToNdc = {DataFormat::NCDHW, DataFormat::NDC1HWC0};
constexpr TransDataConfig kFromNdc = {DataFormat::NDC1HWC0, DataFormat::NCDHW};
constexpr TransDataConfig kToZ = {DataFormat::NCDHW, DataFormat::FRACTAL_Z_3D};
constexpr TransDataConfig kFromZ = {DataFormat::FRACTAL_Z_3D, DataFormat::NCDHW};

template <typename T>
__aicore__ inline bool Tensors(Frame& f) {
    const uint32_t* a = f.params.a;
    const float s0 = f.params.scalar[0], s1 = f.params.scalar[1];
    const LocalTensor<T> x = f.X<T>(), y = f.Y<T>(), z = f.Z<T>();
    const LocalTensor<uint8_t> tmp = f.Tmp();
    switch (TILING_KEY_VAR) {
        case 100: {
            const uint32_t to[2] = {a[3], a[4]}, from[2] = {a[1], a[2]};
            if (a[1] == a[3]) {
                BroadCast<T, 2, 1>(z, x, to, from, tmp);
            } else {
                Broadcast<T, 2, 0>(z, x, to, from);
            }
            return true;
        }
        case 150:
        case 151:
        case 152:
        case 153: {
            const uint32_t c1 = (a[2] + 15) / 16, n1 = (a[1] + 15) / 16;
            Layout plain = MakeLayout(MakeShape(a[1], a[2], a[3], a[4], a[5]), MakeStride());
            Layout ndc = MakeLayout(MakeShape(a[1], a[3], c1, a[4], a[5], 16), MakeStride());
            Layout fractal = MakeLayout(MakeShape(a[3], c1, a[4], a[5], n1, 16, 16), MakeStride());
            const LocalTensor<half> from = f.X<half>(), to = f.Z<half>();
            using P = decltype(plain);
            using N = decltype(ndc);
            using Z = decltype(fractal);
            switch (TILING_KEY_VAR - 150) {
                case 0:
                    TransData<kToNdc>(to, from, TransDataParams<P, N>{plain, ndc});
                    break;
                case 1:
                    TransData<kFromNdc>(to, from, tmp, TransDataParams<N, P>{ndc, plain});
                    break;
                case 2:
                    TransData<kToZ>(to, from, TransDataParams<P, Z>{plain, fractal});
                    break;
                default:
                    TransData<kFromZ>(to, from, TransDataParams<Z, P>{fractal, plain});
                    break;
            }
            return true;
        }
        case 101:
            ArithProgression<T>(z, T(s0), T(s1), a[1]);
            return true;
        case 102:
        case 103: {
            PadTiling tiling;
            tiling.srcHeight = a[1];
            tiling.srcWidth = a[2];
            tiling.srcOriWidth = a[3];
            PadParams params{static_cast<uint16_t>(a[4]), static_cast<uint16_t>(a[5]), 7};
            UnPadTiling narrow;
            narrow.srcHeight = a[1];
            narrow.srcWidth = a[2];
            UnPadParams cut{0, static_cast<uint16_t>(a[5])};
            if (TILING_KEY_IS(102)) {
                Pad(z, x, params, tmp, tiling);
            } else {
                UnPad(z, x, cut, tmp, narrow);
            }
            return true;
        }
        case 104: {
            ConfusionTransposeTiling tiling;
            tiling.param0 = a[2];
            tiling.param1 = a[3];
            tiling.param2 = a[4];
            tiling.param3 = a[5];
            ConfusionTranspose(z, x, tmp, static_cast<TransposeType>(a[1]), tiling);
            return true;
        }
        case 105: {
            SelectWithBytesMaskShapeInfo info;
            info.firstAxis = a[1];
            info.srcLastAxis = a[2];
            info.maskLastAxis = a[3];
            if (a[4] == 0) {
                SelectWithBytesMask(z, x, T(s0), f.Y<uint8_t>(), tmp, info);
            } else {
                Select(z, T(s0), x, f.Y<uint8_t>(), tmp, info);
            }
            return true;
        }
        case 106: {
            DropOutShapeInfo info;
            info.firstAxis = a[1];
            info.srcLastAxis = a[2];
            info.maskLastAxis = a[3];
            DropOut(z, x, f.Y<uint8_t>(), tmp, s0, info);
            return true;
        }
        case 107: {
            static constexpr CumSumConfig kRows = {false, false, true};
            CumSumInfo info{a[1], a[2]};
            if (a[3] == 0) {
                CumSum<T, kRows>(z, f.Z<T>(kSecond), x, tmp, info);
            } else {
                CumSum<T>(z, f.Z<T>(kSecond), x, info);
            }
            return true;
        }
        case 110:
            Sum(z, x, tmp, SumParams{a[1], a[2], a[3]});
            return true;
        case 111:
            Mean<T, float>(z, x, tmp, MeanParams{a[1], a[2], a[3]});
            return true;
        case 120:
        case 121: {
            TopkTiling tiling;
            TopKInfo info;
            info.outter = a[1];
            info.inner = a[2];
            info.n = a[3];
            const LocalTensor<int32_t> index = f.Z<int32_t>(kSecond), from = f.Y<int32_t>();
            const LocalTensor<bool> finish = f.Y<bool>();
            if (TILING_KEY_IS(120)) {
                TopK<T>(z, index, x, from, finish, tmp, a[4], tiling, info, a[5] != 0);
            } else {
                TopK<T, true, false, false, TopKMode::TOPK_NSMALL>(z, index, x, from, finish, tmp,
                                                                   a[4], tiling, info, a[5] != 0);
            }
            return true;
        }
        case 130:
            AscendQuant<T>(f.Z<int8_t>(), x, tmp, s0, s1, a[1]);
            return true;
        case 131:
            AscendQuant<T>(f.Z<int8_t>(), x, tmp, y, T(s1), a[2], a[1]);
            return true;
        case 132: {
            const uint32_t shape[2] = {a[2], a[3]};
            LocalTensor<half> scale = f.Y<half>(), offset = f.Y<half>()[2048];
            scale.SetShapeInfo(ShapeInfo(2, shape, DataFormat::ND));
            LocalTensor<int8_t> q = f.X<int8_t>();
            q.SetSize(f.params.bytesX);
            if (a[4] == 0) {
                AscendAntiQuant<int8_t, half, false>(f.Z<half>(), q, offset, scale, tmp, a[1]);
            } else {
                AscendAntiQuant<int8_t, half, true>(f.Z<half>(), q, offset, scale, tmp, a[1]);
            }
            return true;
        }
        case 133:
            AscendDequant(z, f.X<int32_t>(), f.Y<float>(), tmp, DequantParams{a[1], a[2], a[3]});
            return true;
        default:
            return false;
    }
}

template <typename T>
__aicore__ inline bool Norms(Frame& f) {
    const uint32_t* a = f.params.a;  // [b, s, h, original h]
    const LocalTensor<T> x = f.X<T>(), gamma = f.Y<T>(), beta = f.Y<T>()[1024];
    const LocalTensor<T> z = f.Z<T>(), second = f.Z<T>(kSecond), third = f.Z<T>(kThird);
    const T eps = T(f.params.scalar[0]);
    switch (TILING_KEY_VAR) {
        case 200: {
            LayerNormTiling t;
            t.bLength = a[1], t.sLength = a[2], t.hLength = a[3], t.originalHLength = a[4];
            LayerNorm(z, second, third, x, gamma, beta, f.Tmp(), eps, t);
            return true;
        }
        case 201: {
            RmsNormTiling t;
            t.bLength = a[1], t.sLength = a[2], t.hLength = a[3], t.originalHLength = a[4];
            RmsNorm(z, x, gamma, f.Tmp(), eps, t);
            return true;
        }
        case 202: {
            DeepNormTiling t;
            t.bLength = a[1], t.sLength = a[2], t.hLength = a[3], t.originalHLength = a[4];
            DeepNorm(z, second, third, x, f.X<T>()[4096], beta, gamma, f.Tmp(),
                     T(f.params.scalar[1]), eps, t);
            return true;
        }
        case 203: {
            BatchNormTiling t;
            t.originalBLength = a[1], t.meanVarSize = a[2] * a[3];
            BatchNorm(z, second, third, x, gamma, beta, f.Tmp(), eps, t);
            return true;
        }
        case 204: {
            GroupNormTiling t;
            t.n = a[1], t.c = a[2], t.g = a[4], t.d = a[2] / a[4];
            t.hw = t.hwAlignSize = a[3];
            GroupNorm(z, second, third, x, gamma, beta, f.Tmp(), eps, t);
            return true;
        }
        case 205: {
            LayerNormGradTiling t;
            t.bLength = a[1], t.sLength = a[2], t.hLength = a[3], t.originalHLength = a[4];
            LayerNormGradBetaTiling b;
            b.bLength = a[1], b.sLength = a[2], b.hLength = a[3], b.originalHLength = a[4];
            // x: dy and x; y: gamma, mean, variance
            LayerNormGrad(z, second, x, f.X<T>()[2048], f.Y<T>()[2048], f.Y<T>()[1024], gamma,
                          f.Tmp(), eps, t);
            PipeBarrier<PIPE_V>();
            LayerNormGradBeta(third, f.Z<T>(kThird + 2048), second, x, f.Tmp(), b);
            return true;
        }
        default:
            return false;
    }
}

template <typename T>
__aicore__ inline bool Reductions(Frame& f) {
    const uint32_t shape[2] = {f.params.a[2], f.params.a[3]};
    const LocalTensor<T> x = f.X<T>(), z = f.Z<T>();
    using AR = Pattern::Reduce::AR;
    using RA = Pattern::Reduce::RA;
#define REDUCE(KEY, NAME)                                  \
    case KEY:                                              \
        if (f.params.a[1] == 0) {                          \
            NAME<T, AR, true>(z, x, f.Tmp(), shape, true); \
        } else {                                           \
            NAME<T, RA>(z, x, shape, true);                \
        }                                                  \
        return true;
    switch (TILING_KEY_VAR) {
        REDUCE(300, ReduceSum)
        REDUCE(301, ReduceMean)
        REDUCE(302, ReduceMax)
        REDUCE(303, ReduceMin)
        REDUCE(304, ReduceProd)
        REDUCE(305, ReduceAny)
        REDUCE(306, ReduceAll)
        default:
            return false;
    }
}

extern "C" __global__ __aicore__ void adv(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR,
                                          GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(Params, params, tiling);
    Frame f;
    f.Begin(x, y, params);
    const bool isHalf = params.a[0] == 1;
    const bool known = isHalf ? Elementwise<half>(f) || Tensors<half>(f) || Norms<half>(f)
                              : Elementwise<float>(f) || Tensors<float>(f) || Norms<float>(f) ||
                                    Reductions<float>(f);
    ASSERT(known);
    f.End(z);
}
