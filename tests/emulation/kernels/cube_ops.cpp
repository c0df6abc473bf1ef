// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// One matrix product through L1, L0 and Fixpipe; the loads and the way out are chosen by the
// tiling.
#include "kernel_operator.h"

using namespace AscendC;

struct CubeCase {
    uint32_t m, n, k;
    // 0 2D, 1 2D of a stored transpose, 2 3D, 3 3D of an image, 4 a vector as it is, 5 and 6 3D in
    // 16 rows or one column of fractals at a time, repeated
    uint32_t loadA;
    uint32_t loadB;  // 0 stored [N][K], 1 [K][N] by 2D transpose, 2 [K][N] by LoadDataWithTranspose
    uint32_t bias;
    uint32_t splitK;  // Mmads that accumulate
    uint32_t quant;   // QuantMode_t
    uint32_t relu, nz, channelSplit, atomic;
    uint64_t scalar;
    uint32_t height, width, channels, filter, stride, pad, hf32;
};

template <typename A, typename L0C, typename Dst>
class CubeKernel {
 public:
    __aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const CubeCase& t) {
        p = t;
        k0 = 32 * 8 / (IsSameType<A, int4b_t>::value ? 4 : sizeof(A) * 8);
        mBlocks = (p.m + 15) / 16;
        nBlocks = (p.n + 15) / 16;
        kBlocks = (p.k + k0 - 1) / k0;
        aGm.SetGlobalBuffer((__gm__ A*)a);
        bGm.SetGlobalBuffer((__gm__ A*)b);
        biasGm.SetGlobalBuffer((__gm__ L0C*)bias);
        halfBiasGm.SetGlobalBuffer((__gm__ half*)bias);
        tableGm.SetGlobalBuffer((__gm__ uint64_t*)bias);
        cGm.SetGlobalBuffer((__gm__ Dst*)c);
        pipe.InitBuffer(a1, 128 * 1024);
        pipe.InitBuffer(b1, 128 * 1024);
        pipe.InitBuffer(c1, 8 * 1024);
        pipe.InitBuffer(a2, 64 * 1024);
        pipe.InitBuffer(b2, 64 * 1024);
        pipe.InitBuffer(co1, 128 * 1024);
        pipe.InitBuffer(c2, 1024);
        SetHF32Mode(p.hf32 != 0);
        CopyIn();
        PipeBarrier<PIPE_ALL>();
        LoadA();
        LoadB();
        PipeBarrier<PIPE_ALL>();
        Multiply();
        PipeBarrier<PIPE_ALL>();
        CopyOut();
        SetHF32Mode(false);
    }

 private:
    __aicore__ inline Nd2NzParams ToNz(uint32_t rows, uint32_t columns) {
        // int4 is copied as pairs in bytes, as on the device.
        return Nd2NzParams{1,
                           uint16_t(rows),
                           uint16_t(columns),
                           0,
                           uint16_t(columns),
                           uint16_t((rows + 15) / 16 * 16),
                           1,
                           0};
    }
    __aicore__ inline void ToL1(TBuf<TPosition::A1>& to, GlobalTensor<A>& from, uint32_t rows,
                                uint32_t columns) {
        if constexpr (IsSameType<A, int4b_t>::value) {
            GlobalTensor<int8_t> bytes;
            bytes.SetGlobalBuffer((__gm__ int8_t*)from.GetPhyAddr());
            DataCopy(to.Get<int8_t>(), bytes, ToNz(rows, columns / 2));
        } else {
            DataCopy(to.Get<A>(), from, ToNz(rows, columns));
        }
    }
    __aicore__ inline void CopyIn() {
        if (p.loadA == 3) {
            DataCopy(a1.Get<A>(), aGm, (p.channels + k0 - 1) / k0 * p.height * p.width * k0);
        } else if (p.loadA == 4) {
            DataCopy(a1.Get<A>(), aGm, (p.k + 16 * k0 - 1) / (16 * k0) * 16 * k0);
        } else if (p.loadA == 1) {
            ToL1(a1, aGm, p.k, p.m);
        } else {
            ToL1(a1, aGm, p.m, p.k);
        }
        if (p.loadB == 0)
            ToL1(b1, bGm, p.n, p.k);
        else
            ToL1(b1, bGm, p.k, p.n);
        if (p.bias == 1) DataCopy(c1.Get<L0C>(), biasGm, nBlocks * 16);
        if (p.bias == 2) DataCopy(c1.Get<half>(), halfBiasGm, (p.n + 31) / 32 * 32);
        if (UsesTable()) DataCopy(c1.Get<uint64_t>(), tableGm, nBlocks * 16);
    }
    __aicore__ inline bool UsesTable() const {
        return p.quant == QuantMode_t::VDEQF16 || p.quant == QuantMode_t::VQF322B8_PRE ||
               p.quant == QuantMode_t::VREQ8;
    }
    __aicore__ inline void LoadA() {
        LocalTensor<A> to = a2.Get<A>(), from = a1.Get<A>();
        const uint32_t fractal = 16 * k0;
        if (p.loadA == 0) {
            LoadData2DParams q;
            q.repeatTimes = uint8_t(kBlocks);
            q.srcStride = uint16_t(mBlocks);
            for (uint32_t i = 0; i < mBlocks; ++i) {
                LoadData(to[i * kBlocks * fractal], from[i * fractal], q);
            }
        } else if (p.loadA == 1) {
            if constexpr (sizeof(A) == 2) {
                LoadData2DParams q;
                q.repeatTimes = uint8_t(mBlocks * kBlocks);
                q.srcStride = 1;
                q.ifTranspose = true;
                LoadData(to, from, q);
            }
        } else if (p.loadA == 4) {
            LoadData2DParams q;
            q.repeatTimes = uint8_t((p.k + 16 * k0 - 1) / (16 * k0));
            q.srcStride = 1;
            LoadData(to, from, q);
        } else {
            LoadData3DParamsV2<A> q;
            q.l1H = uint16_t(p.loadA == 3 ? p.height : 1);
            q.l1W = uint16_t(p.loadA == 3 ? p.width : mBlocks * 16);
            q.channelSize = uint16_t(p.loadA == 3 ? p.channels : kBlocks * k0);
            q.kExtension = uint16_t(kBlocks * k0);
            q.mExtension = uint16_t(mBlocks * 16);
            if (p.loadA == 3) {
                q.filterH = q.filterW = uint8_t(p.filter);
                q.strideH = q.strideW = uint8_t(p.stride);
                for (int i = 0; i < 4; ++i) q.padList[i] = uint8_t(p.pad);
            }
            LoadDataRepeatParam repeat;
            if (p.loadA == 5) {
                q.mExtension = 16;
                repeat = LoadDataRepeatParam(1, uint8_t(mBlocks), 0);
            } else if (p.loadA == 6) {
                q.kExtension = uint16_t(k0);
                repeat = LoadDataRepeatParam(1, uint8_t(kBlocks), 1);
            }
            SetLoadDataRepeat(repeat);
            LoadData(to, from, q);
            SetLoadDataRepeat(LoadDataRepeatParam());
        }
    }
    __aicore__ inline void LoadB() {
        LocalTensor<A> to = b2.Get<A>(), from = b1.Get<A>();
        const uint32_t fractal = 16 * k0;
        if (p.loadB == 0) {
            LoadData2DParams q;
            q.repeatTimes = uint8_t(nBlocks * kBlocks);
            q.srcStride = 1;
            LoadData(to, from, q);
        } else if (p.loadB == 1) {
            if constexpr (sizeof(A) == 2) {
                LoadData2DParams q;
                q.repeatTimes = uint8_t(nBlocks);
                q.srcStride = uint16_t(kBlocks);
                q.ifTranspose = true;
                for (uint32_t i = 0; i < kBlocks; ++i) {
                    LoadData(to[i * nBlocks * fractal], from[i * fractal], q);
                }
            }
        } else {
            const uint32_t square = k0 / 16;  // fractals of a square of 8 or 4 bit elements
            LoadData2dTransposeParams q;
            q.repeatTimes = uint8_t((p.n + k0 - 1) / k0);
            q.srcStride = uint16_t(kBlocks);
            q.dstGap = uint16_t(square - 1);
            for (uint32_t i = 0; i < kBlocks; ++i) {
                LoadDataWithTranspose(to[i * nBlocks * fractal], from[i * square * fractal], q);
            }
        }
    }
    __aicore__ inline void Multiply() {
        LocalTensor<L0C> c = co1.Get<L0C>();
        LocalTensor<A> left = a2.Get<A>(), right = b2.Get<A>();
        const uint32_t step = kBlocks / p.splitK * k0;
        for (uint32_t part = 0; part < p.splitK; ++part) {
            MmadParams q;
            q.m = uint16_t(p.m);
            q.n = uint16_t(p.n);
            q.k = uint16_t(p.splitK == 1 ? p.k : step);
            q.cmatrixInitVal = part == 0;
            q.kDirectionAlign = IsSameType<A, float>::value && kBlocks % 2 == 0;
            if (part == 0 && p.bias) {
                if (p.bias == 1) {
                    DataCopy(c2.Get<L0C>(), c1.Get<L0C>(), nBlocks * 16);
                } else {
                    // Half becomes float on the way; lengths count 64 bytes of half.
                    DataCopy(c2.Get<L0C>(), c1.Get<half>(),
                             DataCopyParams(1, uint16_t((p.n + 31) / 32), 0, 0));
                }
                PipeBarrier<PIPE_ALL>();
                q.cmatrixInitVal = false;
                Mmad(c, left, right, c2.Get<L0C>(), q);
            } else {
                // Parts along K of A are only contiguous for one fractal row.
                Mmad(c, left[part * step * 16], right[part * step * nBlocks * 16], q);
            }
            PipeBarrier<PIPE_M>();
        }
    }
    __aicore__ inline void CopyOut() {
        FixpipeParamsV220 q;
        q.nSize = uint16_t(p.n);
        q.mSize = uint16_t(p.m);
        q.srcStride = uint16_t(mBlocks * 16);
        q.quantPre = QuantMode_t(p.quant);
        q.deqScalar = p.scalar;
        q.reluEn = p.relu != 0;
        q.isChannelSplit = p.channelSplit != 0;
        const uint32_t width = p.channelSplit ? 8 : sizeof(Dst) == 1 ? 32 : 16;
        q.dstStride = p.nz ? mBlocks * 16 * width * uint32_t(sizeof(Dst)) / 32 : p.n;
        if (p.nz) q.nSize = uint16_t(nBlocks * 16);
        if (p.nz) q.mSize = uint16_t(mBlocks * 16);
        if (p.atomic == 1) SetAtomicAdd<Dst>();
        if (p.atomic == 2) SetAtomicMax<Dst>();
        LocalTensor<L0C> c = co1.Get<L0C>();
        if (p.nz) {
            Fixpipe<Dst, L0C, CFG_NZ>(cGm, c, q);
        } else if (UsesTable()) {
            Fixpipe<Dst, L0C, CFG_ROW_MAJOR>(cGm, c, c1.Get<uint64_t>(), q);
        } else {
            Fixpipe<Dst, L0C, CFG_ROW_MAJOR>(cGm, c, q);
        }
        if (p.atomic) SetAtomicNone();
    }

    CubeCase p;
    uint32_t k0, mBlocks, nBlocks, kBlocks;
    TPipe pipe;
    GlobalTensor<A> aGm, bGm;
    GlobalTensor<L0C> biasGm;
    GlobalTensor<half> halfBiasGm;
    GlobalTensor<uint64_t> tableGm;
    GlobalTensor<Dst> cGm;
    TBuf<TPosition::A1> a1, b1;
    TBuf<TPosition::C1> c1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> co1;
    TBuf<TPosition::C2> c2;
};

extern "C" __global__ __aicore__ void cube(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c,
                                           GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    const CubeCase t = *reinterpret_cast<__gm__ CubeCase*>(tiling);
    if (TILING_KEY_IS(1)) {
        CubeKernel<half, float, float>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(2)) {
        CubeKernel<half, float, half>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(3)) {
        CubeKernel<half, float, int8_t>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(4)) {
        CubeKernel<bfloat16_t, float, bfloat16_t>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(5)) {
        CubeKernel<float, float, float>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(6)) {
        CubeKernel<int8_t, int32_t, int32_t>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(7)) {
        CubeKernel<int8_t, int32_t, half>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(8)) {
        CubeKernel<int8_t, int32_t, int8_t>().Run(a, b, bias, c, t);
    } else if (TILING_KEY_IS(9)) {
        CubeKernel<int4b_t, int32_t, int32_t>().Run(a, b, bias, c, t);
    }
}
