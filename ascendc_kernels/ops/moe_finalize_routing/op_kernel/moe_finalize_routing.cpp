// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// MoeFinalizeRouting: what the experts made of a token, added up in its row. Handwritten: the rows
// that are added are only known on the device.
//
//   out[i] = skip1[i] + skip2[i] + sum over k of scales[i, k] * (rows[index(i, k)] + bias[expert])
//
// Each core takes a balanced share of the tokens. The sum of a piece of a token's row stays in UB
// in float32; rows of experts come to UB one after another through a double-buffered queue. Places,
// experts and scales of a token are read by the scalar unit.
//
// Tiling data (opgen's default for handwritten kernels): shapes, ranks (-1: absent), drop_pad_mode.
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "moe_finalize_routing_tiling.h"
#endif

// CANN defines no type of an input that a call leaves out.
#ifndef DTYPE_SCALES
#define DTYPE_SCALES DTYPE_EXPANDED_PERMUTED_ROWS
#endif

namespace moe_finalize_routing_kernel {
using namespace AscendC;

// T: rows, W: scales.
template <typename T, typename W>
class Kernel {
 public:
    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR rows, GM_ADDR places, GM_ADDR skip1, GM_ADDR skip2,
                                GM_ADDR bias, GM_ADDR scales, GM_ADDR experts, GM_ADDR out,
                                const Tiling& tiling, TPipe* pipe) {
        const int64_t rank = tiling.expanded_permuted_rowsRank;
        rowCount = tiling.expanded_permuted_rowsShape[0];
        if (rank == 3) {
            rowCount *= tiling.expanded_permuted_rowsShape[1];
        }
        length = static_cast<uint64_t>(tiling.outShape[1]);
        tokens = static_cast<uint64_t>(tiling.outShape[0]);
        scaled = tiling.scalesRank >= 0;
        terms = scaled ? static_cast<uint64_t>(tiling.scalesShape[1]) : 1;
        byTerm = tiling.drop_pad_mode < 2;
        withSkip1 = tiling.skip1Rank >= 0;
        withSkip2 = tiling.skip2Rank >= 0;
        biased = tiling.biasRank >= 0 && tiling.expert_for_source_rowRank >= 0;
        expertCount = biased ? tiling.biasShape[0] : 0;
        rowsGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(rows));
        placesGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(places));
        skip1Gm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(skip1));
        skip2Gm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(skip2));
        biasGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(bias));
        scalesGm.SetGlobalBuffer(reinterpret_cast<__gm__ W*>(scales));
        expertsGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(experts));
        outGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(out));
        share.Init(tokens);
        pipe->InitBuffer(rowQueue, 2, opgen::Bytes<T>(kPiece));
        pipe->InitBuffer(outQueue, 2, opgen::Bytes<T>(kPiece));
        pipe->InitBuffer(scaleQueue, 1, opgen::Bytes<W>(kTerms));
        pipe->InitBuffer(sumBuf, opgen::Bytes<float>(kPiece));
        pipe->InitBuffer(termBuf, opgen::Bytes<float>(kPiece));
        pipe->InitBuffer(biasBuf, opgen::Bytes<float>(kPiece));
        pipe->InitBuffer(placeBuf, kTerms * opgen::kBlockBytes);
        pipe->InitBuffer(expertBuf, opgen::Bytes<int32_t>(kTerms));
        pipe->InitBuffer(scaleBuf, opgen::Bytes<float>(kTerms));
        sum = sumBuf.Get<float>();
        term = termBuf.Get<float>();
    }

    __aicore__ inline void Process() {
        for (uint64_t token = share.first; token < share.last; ++token) {
            for (uint64_t at = 0; at < length; at += kPiece) {
                const uint64_t left = length - at;
                const uint32_t count = static_cast<uint32_t>(left < kPiece ? left : kPiece);
                Start(token * length + at, count);
                for (uint64_t first = 0; first < terms; first += kTerms) {
                    AddTerms(token, first, at, count);
                }
                Store(token * length + at, count);
            }
        }
    }

 private:
    // sum = skip1 + skip2
    __aicore__ inline void Start(uint64_t at, uint32_t count) {
        if (!withSkip1 && !withSkip2) {
            Duplicate(sum, 0.0f, count);
            PipeBarrier<PIPE_V>();
            return;
        }
        Load(sum, withSkip1 ? skip1Gm : skip2Gm, at, count);
        if (withSkip1 && withSkip2) {
            Load(term, skip2Gm, at, count);
            Add(sum, sum, term, count);
            PipeBarrier<PIPE_V>();
        }
    }

    // Add up to kTerms terms of a token, from `first` on, to the piece of the sum.
    __aicore__ inline void AddTerms(uint64_t token, uint64_t first, uint64_t at, uint32_t count) {
        const uint64_t left = terms - first;
        const uint32_t some = static_cast<uint32_t>(left < kTerms ? left : kTerms);
        LoadPlaces(token, first, some);
        const LocalTensor<int32_t> places = placeBuf.Get<int32_t>();
        const LocalTensor<int32_t> experts = expertBuf.Get<int32_t>();
        const LocalTensor<float> scales = scaleBuf.Get<float>();
        for (uint32_t k = 0; k < some; ++k) {
            const int64_t place = places.GetValue(byTerm ? k * kApart : k);
            const int64_t expert = biased ? experts.GetValue(k) : -1;
            const float scale = scaled ? scales.GetValue(k) : 1.0f;
            if (place < 0 || place >= rowCount) {
                continue;  // a dropped token
            }
            Load(term, rowsGm, static_cast<uint64_t>(place) * length + at, count);
            if (expert >= 0 && expert < expertCount) {
                const LocalTensor<float> bias = biasBuf.Get<float>();
                Load(bias, biasGm, static_cast<uint64_t>(expert) * length + at, count);
                Add(term, term, bias, count);
                PipeBarrier<PIPE_V>();
            }
            if (scaled) {
                Muls(term, term, scale, count);
                PipeBarrier<PIPE_V>();
            }
            Add(sum, sum, term, count);
            PipeBarrier<PIPE_V>();
        }
        // what the scalar unit has read may be overwritten
        opgen::Order<HardEvent::S_MTE2>();
        opgen::Order<HardEvent::S_V>();
    }

    // Bring places, experts and scales of some terms of a token to UB.
    __aicore__ inline void LoadPlaces(uint64_t token, uint64_t first, uint32_t some) {
        if (byTerm) {
            // the places of all tokens for the first term, then those for the second: one in a
            // block
            const DataCopyExtParams blocks{static_cast<uint16_t>(some), sizeof(int32_t),
                                           static_cast<uint32_t>((tokens - 1) * sizeof(int32_t)), 0,
                                           0};
            const DataCopyPadExtParams<int32_t> noPad{false, 0, 0, 0};
            DataCopyPad(placeBuf.Get<int32_t>(), placesGm[first * tokens + token], blocks, noPad);
        } else {
            opgen::LoadRange(placeBuf.Get<int32_t>(), placesGm[token * terms + first], some);
        }
        if (biased) {
            opgen::LoadRange(expertBuf.Get<int32_t>(), expertsGm[token * terms + first], some);
        }
        opgen::Order<HardEvent::MTE2_S>();
        if (scaled) {
            LocalTensor<W> tile = scaleQueue.template AllocTensor<W>();
            opgen::LoadRange(tile, scalesGm[token * terms + first], some);
            scaleQueue.EnQue(tile);
            tile = scaleQueue.template DeQue<W>();
            opgen::WidenCopy(scaleBuf.Get<float>(), tile, some);
            PipeBarrier<PIPE_V>();
            scaleQueue.FreeTensor(tile);
            opgen::Order<HardEvent::V_S>();
        }
    }

    // Bring a range of a tensor to UB, as float.
    __aicore__ inline void Load(const LocalTensor<float>& values, const GlobalTensor<T>& gm,
                                uint64_t at, uint32_t count) {
        LocalTensor<T> tile = rowQueue.template AllocTensor<T>();
        opgen::LoadRange(tile, gm[at], count);
        rowQueue.EnQue(tile);
        tile = rowQueue.template DeQue<T>();
        opgen::WidenCopy(values, tile, count);
        PipeBarrier<PIPE_V>();
        rowQueue.FreeTensor(tile);
    }

    __aicore__ inline void Store(uint64_t at, uint32_t count) {
        LocalTensor<T> tile = outQueue.template AllocTensor<T>();
        opgen::NarrowCopy(tile, sum, count);
        PipeBarrier<PIPE_V>();
        outQueue.EnQue(tile);
        tile = outQueue.template DeQue<T>();
        opgen::StoreRange(outGm[at], tile, count);
        outQueue.FreeTensor(tile);
    }

    static constexpr uint32_t kPiece = 4096;  // elements of a row per step
    static constexpr uint32_t kTerms = 256;   // terms per load of their places
    static constexpr uint32_t kApart = opgen::kBlockBytes / sizeof(int32_t);

    TQue<TPosition::VECIN, 1> rowQueue;
    TQue<TPosition::VECIN, 1> scaleQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> sumBuf;
    TBuf<TPosition::VECCALC> termBuf;
    TBuf<TPosition::VECCALC> biasBuf;
    TBuf<TPosition::VECCALC> placeBuf;
    TBuf<TPosition::VECCALC> expertBuf;
    TBuf<TPosition::VECCALC> scaleBuf;
    LocalTensor<float> sum;
    LocalTensor<float> term;
    GlobalTensor<T> rowsGm;
    GlobalTensor<int32_t> placesGm;
    GlobalTensor<T> skip1Gm;
    GlobalTensor<T> skip2Gm;
    GlobalTensor<T> biasGm;
    GlobalTensor<W> scalesGm;
    GlobalTensor<int32_t> expertsGm;
    GlobalTensor<T> outGm;
    opgen::Share share;
    uint64_t tokens = 0;
    uint64_t length = 0;
    uint64_t terms = 1;
    int64_t rowCount = 0;
    int64_t expertCount = 0;
    bool byTerm = true;
    bool scaled = false;
    bool biased = false;
    bool withSkip1 = false;
    bool withSkip2 = false;
};
}  // namespace moe_finalize_routing_kernel

extern "C" __global__ __aicore__ void moe_finalize_routing(
    GM_ADDR expanded_permuted_rows, GM_ADDR expanded_src_to_dst_row, GM_ADDR skip1, GM_ADDR skip2,
    GM_ADDR bias, GM_ADDR scales, GM_ADDR expert_for_source_row, GM_ADDR out, GM_ADDR workspace,
    GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(MoeFinalizeRoutingTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    moe_finalize_routing_kernel::Kernel<DTYPE_EXPANDED_PERMUTED_ROWS, DTYPE_SCALES> kernel;
    kernel.Init(expanded_permuted_rows, expanded_src_to_dst_row, skip1, skip2, bias, scales,
                expert_for_source_row, out, tilingData, &pipe);
    kernel.Process();
}
