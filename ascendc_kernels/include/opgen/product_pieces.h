// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The sums of a product whose K was cut into pieces: cube cores have written a result for each
// piece to the workspace, and vector cores add them, always in the same order.
#ifndef OPGEN_PRODUCT_PIECES_H
#define OPGEN_PRODUCT_PIECES_H

#include "kernel_operator.h"
#include "opgen/product.h"
#include "opgen/tile.h"

namespace opgen {

// The dtype in which the cube sums up products of elements of T.
template <typename T>
using CubeSums = std::conditional_t<std::is_same<T, int8_t>::value, int32_t, float>;

// Adds the results of all pieces; all vector cores share the result. T is the dtype of the result,
// Sums that of the pieces.
template <typename T, typename Sums>
class ProductPieces {
 public:
    __aicore__ inline ProductPieces() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR result, GM_ADDR pieces, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        resultGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(result));
        piecesGm_.SetGlobalBuffer(reinterpret_cast<__gm__ Sums*>(pieces));
        lines_.Init(tiling);
        pieces_ = tiling.pieces;
        total_ = tiling.total;
        tileLength_ = tiling.sumTile;
        tilesPerLine_ = (lines_.Length() + tileLength_ - 1) / tileLength_;
        const uint32_t sumBytes = Bytes<Sums>(tileLength_);
        pipe->InitBuffer(loaded_, 2, kLoaded * sumBytes);
        pipe->InitBuffer(sums_, sumBytes);
        pipe->InitBuffer(stored_, 2, AlignBlock(Bytes<T>(tileLength_)));
    }

    __aicore__ inline void Process() {
        Share share;
        share.Init(lines_.Count() * tilesPerLine_);
        for (uint64_t i = share.first; i < share.last; ++i) {
            const uint64_t line = i / tilesPerLine_;
            const uint64_t column = i % tilesPerLine_ * tileLength_;
            const uint64_t left = lines_.Length() - column;
            const uint32_t count = left < tileLength_ ? static_cast<uint32_t>(left) : tileLength_;
            Sum(line * lines_.Length() + column, count);
            Write(static_cast<uint64_t>(lines_.At(line)) + column, count);
        }
    }

 private:
    static constexpr uint32_t kLoaded = 4;  // pieces of a load

    __aicore__ inline void Sum(uint64_t at, uint32_t count) {
        const LocalTensor<Sums> sums = sums_.template Get<Sums>();
        const uint32_t pitch = AlignElements<Sums>(count);
        AscendC::Duplicate(sums, static_cast<Sums>(0), count);
        for (uint32_t first = 0; first < pieces_; first += kLoaded) {
            const uint32_t loaded = pieces_ - first < kLoaded ? pieces_ - first : kLoaded;
            LocalTensor<Sums> tile = loaded_.template AllocTensor<Sums>();
            const AscendC::DataCopyExtParams blocks{
                static_cast<uint16_t>(loaded), Bytes<Sums>(count),
                static_cast<uint32_t>((total_ - count) * sizeof(Sums)), 0, 0};
            const AscendC::DataCopyPadExtParams<Sums> noPad{false, 0, 0, static_cast<Sums>(0)};
            AscendC::DataCopyPad(tile, piecesGm_[first * total_ + at], blocks, noPad);
            loaded_.EnQue(tile);
            tile = loaded_.template DeQue<Sums>();
            for (uint32_t i = 0; i < loaded; ++i) {
                VectorBarrier();
                AscendC::Add(sums, sums, tile[i * pitch], static_cast<int32_t>(count));
            }
            loaded_.FreeTensor(tile);
        }
        VectorBarrier();
    }
    __aicore__ inline void Write(uint64_t at, uint32_t count) {
        const LocalTensor<Sums> sums = sums_.template Get<Sums>();
        LocalTensor<T> tile = stored_.template AllocTensor<T>();
        if constexpr (std::is_same<T, Sums>::value) {
            AscendC::Adds(tile, sums, static_cast<Sums>(0), static_cast<int32_t>(count));
        } else {
            AscendC::Cast(tile, sums, AscendC::RoundMode::CAST_RINT, count);
        }
        VectorBarrier();  // the next tile sets the sums to 0
        stored_.EnQue(tile);
        tile = stored_.template DeQue<T>();
        StoreRange(resultGm_[at], tile, count);
        stored_.FreeTensor(tile);
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> loaded_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> stored_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> sums_;
    GlobalTensor<T> resultGm_;
    GlobalTensor<Sums> piecesGm_;
    ProductLines lines_;
    uint64_t total_ = 0;
    uint64_t tilesPerLine_ = 1;
    uint32_t pieces_ = 1;
    uint32_t tileLength_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_PRODUCT_PIECES_H
