// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// MoeReRouting: tokens that came from several ranks, brought into the order of the experts.
// Handwritten: how many rows of a rank go to an expert is only known on the device.
//
// The tokens hold a block of rows for each rank and expert, rank by rank; the result holds them
// expert by expert. Each core takes a balanced share of the rows of the result, walks the blocks
// with its scalar unit and copies the part of each block that lies in its share, GM -> UB -> GM.
// Whole blocks are contiguous, so that copies are as long as a piece of UB.
//
// Tiling data (opgen's default for handwritten kernels): tokensShape, the shape of the counts, and
// per_token_scalesRank, which is -1 without scales.
#include "kernel_operator.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "moe_re_routing_tiling.h"
#endif

namespace moe_re_routing_kernel {
using namespace AscendC;

// T: tokens, C: counts.
template <typename T, typename C>
class Kernel {
 public:
    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR tokens, GM_ADDR counts, GM_ADDR scales,
                                GM_ADDR permutedTokens, GM_ADDR permutedScales, GM_ADDR index,
                                GM_ADDR sums, const Tiling& tiling, TPipe* pipe) {
        rows = static_cast<uint64_t>(tiling.tokensShape[0]);
        length = static_cast<uint64_t>(tiling.tokensShape[1]);
        ranks = static_cast<uint64_t>(tiling.expert_token_num_per_rankShape[0]);
        experts = static_cast<uint64_t>(tiling.expert_token_num_per_rankShape[1]);
        scaled = tiling.per_token_scalesRank >= 0;
        if (ranks * experts > kMostBlocks) {
            AscendC::printf("moe_re_routing: %lld counts, at most %lld fit UB\n",
                            static_cast<int64_t>(ranks * experts),
                            static_cast<int64_t>(kMostBlocks));
            AscendC::Trap();
            ranks = 0;
            experts = 0;
        }
        tokensGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(tokens));
        countsGm.SetGlobalBuffer(reinterpret_cast<__gm__ C*>(counts));
        scalesGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(scales));
        permutedTokensGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(permutedTokens));
        permutedScalesGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(permutedScales));
        indexGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(index));
        sumsGm.SetGlobalBuffer(reinterpret_cast<__gm__ C*>(sums));
        share.Init(rows);
        pipe->InitBuffer(pieceQueue, 2, kPieceBytes);
        pipe->InitBuffer(indexQueue, 2, kPieceBytes);
        pipe->InitBuffer(clearBuf, kPieceBytes);
        pipe->InitBuffer(absentBuf, kPieceBytes);
        pipe->InitBuffer(countBuf, opgen::Bytes<C>(kMostBlocks));
        pipe->InitBuffer(startBuf, opgen::Bytes<int32_t>(kMostBlocks));
        pipe->InitBuffer(sumBuf, opgen::Bytes<C>(kMostBlocks));
        const LocalTensor<int32_t> zeros = clearBuf.Get<int32_t>();
        const LocalTensor<int32_t> absent = absentBuf.Get<int32_t>();
        Duplicate(zeros, static_cast<int32_t>(0), kPieceBytes / 4);
        Duplicate(absent, static_cast<int32_t>(-1), kPieceBytes / 4);
        opgen::Order<HardEvent::V_MTE3>();
    }

    __aicore__ inline void Process() {
        FindStarts();
        if (GetBlockIdx() == 0) {
            StoreSums();
        }
        uint64_t to = 0;
        const LocalTensor<int32_t> starts = startBuf.Get<int32_t>();
        for (uint64_t expert = 0; expert < experts && to < share.last; ++expert) {
            for (uint64_t rank = 0; rank < ranks && to < share.last; ++rank) {
                const uint32_t block = static_cast<uint32_t>(rank * experts + expert);
                const uint64_t count = Count(block);
                const uint64_t first = to > share.first ? to : share.first;
                const uint64_t last = to + count < share.last ? to + count : share.last;
                if (first < last) {
                    const uint64_t start = static_cast<uint64_t>(starts.GetValue(block));
                    CopyRows(start + (first - to), first, last - first);
                }
                to += count;
            }
        }
        const uint64_t rest = to > share.first ? to : share.first;
        if (rest < share.last) {
            ClearRows(rest, share.last - rest);
        }
    }

 private:
    __aicore__ inline uint64_t Count(uint32_t block) {
        const int64_t count = static_cast<int64_t>(countBuf.Get<C>().GetValue(block));
        if (count < 0) {
            return 0;
        }
        return static_cast<uint64_t>(count) < rows ? static_cast<uint64_t>(count) : rows;
    }

    // Where the block of each rank and expert begins among the tokens, at most at their end.
    __aicore__ inline void FindStarts() {
        const uint32_t blocks = static_cast<uint32_t>(ranks * experts);
        if (blocks == 0) {
            return;
        }
        opgen::LoadRange(countBuf.Get<C>(), countsGm, blocks);
        opgen::Order<HardEvent::MTE2_S>();
        const LocalTensor<int32_t> starts = startBuf.Get<int32_t>();
        uint64_t start = 0;
        for (uint32_t block = 0; block < blocks; ++block) {
            starts.SetValue(block, static_cast<int32_t>(start));
            start += Count(block);
            start = start < rows ? start : rows;
        }
    }

    // How many rows each expert gets, of all ranks.
    __aicore__ inline void StoreSums() {
        if (experts == 0) {
            return;
        }
        const LocalTensor<C> counts = countBuf.Get<C>();
        const LocalTensor<C> sums = sumBuf.Get<C>();
        for (uint32_t expert = 0; expert < experts; ++expert) {
            C sum = 0;
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                const C count = counts.GetValue(static_cast<uint32_t>(rank * experts + expert));
                sum += count > 0 ? count : 0;
            }
            sums.SetValue(expert, sum);
        }
        opgen::Order<HardEvent::S_MTE3>();
        opgen::StoreRange(sumsGm, sums, static_cast<uint32_t>(experts));
    }

    // Rows `to` and following become the tokens `from` and following; none is left at the end.
    __aicore__ inline void CopyRows(uint64_t from, uint64_t to, uint64_t count) {
        const uint64_t left = from < rows ? rows - from : 0;
        const uint64_t copied = count < left ? count : left;
        if (copied > 0) {
            Copy(permutedTokensGm, tokensGm, to * length, from * length, copied * length);
            StoreIndex(from, to, copied);
            if (scaled) {
                Copy(permutedScalesGm, scalesGm, to, from, copied);
            } else {
                Fill(permutedScalesGm, clearBuf.Get<float>(), to, copied);
            }
        }
        if (copied < count) {
            ClearRows(to + copied, count - copied);
        }
    }

    __aicore__ inline void ClearRows(uint64_t to, uint64_t count) {
        Fill(permutedTokensGm, clearBuf.Get<T>(), to * length, count * length);
        Fill(permutedScalesGm, clearBuf.Get<float>(), to, count);
        Fill(indexGm, absentBuf.Get<int32_t>(), to, count);
    }

    template <typename E>
    __aicore__ inline void Copy(const GlobalTensor<E>& result, const GlobalTensor<E>& source,
                                uint64_t to, uint64_t from, uint64_t count) {
        for (uint64_t at = 0; at < count; at += Piece<E>()) {
            const uint32_t piece = Left<E>(count - at);
            LocalTensor<E> tile = pieceQueue.template AllocTensor<E>();
            opgen::LoadRange(tile, source[from + at], piece);
            pieceQueue.EnQue(tile);
            tile = pieceQueue.template DeQue<E>();
            opgen::StoreRange(result[to + at], tile, piece);
            pieceQueue.FreeTensor(tile);
        }
    }

    __aicore__ inline void StoreIndex(uint64_t from, uint64_t to, uint64_t count) {
        for (uint64_t at = 0; at < count; at += Piece<int32_t>()) {
            const uint32_t piece = Left<int32_t>(count - at);
            LocalTensor<int32_t> tile = indexQueue.AllocTensor<int32_t>();
            CreateVecIndex(tile, static_cast<int32_t>(from + at), piece);
            indexQueue.EnQue(tile);
            tile = indexQueue.DeQue<int32_t>();
            opgen::StoreRange(indexGm[to + at], tile, piece);
            indexQueue.FreeTensor(tile);
        }
    }

    template <typename E>
    __aicore__ inline void Fill(const GlobalTensor<E>& result, const LocalTensor<E>& tile,
                                uint64_t to, uint64_t count) {
        for (uint64_t at = 0; at < count; at += Piece<E>()) {
            opgen::StoreRange(result[to + at], tile, Left<E>(count - at));
        }
    }

    // Elements of a piece of UB.
    template <typename E>
    __aicore__ static inline constexpr uint64_t Piece() {
        return kPieceBytes / sizeof(E);
    }

    template <typename E>
    __aicore__ static inline uint32_t Left(uint64_t count) {
        return static_cast<uint32_t>(count < Piece<E>() ? count : Piece<E>());
    }

    static constexpr uint32_t kPieceBytes = 16384;
    static constexpr uint32_t kMostBlocks = 4096;  // counts that UB holds

    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> pieceQueue;
    TQue<TPosition::VECOUT, 1> indexQueue;
    TBuf<TPosition::VECCALC> clearBuf;
    TBuf<TPosition::VECCALC> absentBuf;
    TBuf<TPosition::VECCALC> countBuf;
    TBuf<TPosition::VECCALC> startBuf;
    TBuf<TPosition::VECCALC> sumBuf;
    GlobalTensor<T> tokensGm;
    GlobalTensor<C> countsGm;
    GlobalTensor<float> scalesGm;
    GlobalTensor<T> permutedTokensGm;
    GlobalTensor<float> permutedScalesGm;
    GlobalTensor<int32_t> indexGm;
    GlobalTensor<C> sumsGm;
    opgen::Share share;
    uint64_t rows = 0;
    uint64_t length = 0;
    uint64_t ranks = 0;
    uint64_t experts = 0;
    bool scaled = false;
};
}  // namespace moe_re_routing_kernel

extern "C" __global__ __aicore__ void moe_re_routing(
    GM_ADDR tokens, GM_ADDR expert_token_num_per_rank, GM_ADDR per_token_scales,
    GM_ADDR permute_tokens, GM_ADDR permute_per_token_scales, GM_ADDR permute_token_idx,
    GM_ADDR expert_token_num, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(MoeReRoutingTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    moe_re_routing_kernel::Kernel<DTYPE_TOKENS, DTYPE_EXPERT_TOKEN_NUM_PER_RANK> kernel;
    kernel.Init(tokens, expert_token_num_per_rank, per_token_scales, permute_tokens,
                permute_per_token_scales, permute_token_idx, expert_token_num, tilingData, &pipe);
    kernel.Process();
}
