// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rows that do not lie one behind the other, brought to the workspace as rows of elements of 4
// bytes, and results brought back. What lies along another axis is transposed in UB. Integers of 64
// bits are two planes of words there.
#ifndef OPGEN_ORDER_TURN_H
#define OPGEN_ORDER_TURN_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/order_digits.h"
#include "opgen/tile.h"
#include "opgen/transposed_matrix.h"

namespace opgen {

// A box of [outer, length, inner] elements, rows along `length`. Boxes are shared by the cores.
struct TurnSpace {
    static constexpr uint32_t kSide = 64;            // rows and columns of a box that is transposed
    static constexpr uint32_t kBox = kSide * kSide;  // its elements

    uint64_t outer = 1;
    uint64_t length = 1;  // of a row
    uint64_t inner = 1;

    // Boxes, each of up to kSide elements of up to kSide rows, or kBox elements of one row.
    __aicore__ inline bool Turned() const { return inner > 1; }
    __aicore__ inline uint64_t Along() const {
        const uint64_t side = Turned() ? kSide : kBox;
        return (length + side - 1) / side;
    }
    __aicore__ inline uint64_t Across() const { return (inner + kSide - 1) / kSide; }
    __aicore__ inline uint64_t Count() const { return outer * Along() * Across(); }
    __aicore__ inline void Seek(uint64_t box) {
        const uint64_t side = Turned() ? kSide : kBox;
        row = box % Across() * kSide;
        box /= Across();
        element = box % Along() * side;
        before = box / Along();
        rows = static_cast<uint32_t>(inner - row < kSide ? inner - row : kSide);
        elements = static_cast<uint32_t>(length - element < side ? length - element : side);
    }

    uint64_t before = 0;   // the outer position of the box
    uint64_t row = 0;      // its first row
    uint64_t element = 0;  // its first element of each row
    uint32_t rows = 1;
    uint32_t elements = 0;
};

// A box of rows x cols elements in memory, `apart` elements from one row to the next.
__aicore__ inline void BoxAt(Walk& walk, Tile& box, uint64_t offset, uint64_t apart, uint32_t rows,
                             uint32_t cols, uint32_t pitch) {
    walk.stride[kOuterDims] = static_cast<int64_t>(apart);
    walk.stride[kOuterDims + 1] = 1;
    walk.offset = static_cast<int64_t>(offset);
    box.rows = rows;
    box.cols = cols;
    box.pitch = pitch;
}

// Writes all elements of a tensor of T to `rows`, which have one behind the other, a plane after
// the other.
template <typename T, typename Value>
class TurnIn {
 public:
    __aicore__ inline void Run(const GlobalTensor<Value>& rows, const GlobalTensor<T>& gm,
                               TurnSpace space, AscendC::TPipe* pipe) {
        pipe->InitBuffer(queue_, 2, Bytes<T>(TurnSpace::kBox));
        pipe->InitBuffer(rowsQueue_, 2, Bytes<Value>(TurnSpace::kBox));
        pipe->InitBuffer(wideBuf_, Bytes<Value>(TurnSpace::kBox));
        pipe->InitBuffer(bytesBuf_, Bytes<half>(TurnSpace::kBox));
        const uint64_t words = space.outer * space.length * space.inner;
        Share share;
        share.Init(space.Count());
        for (uint64_t box = share.first; box < share.last; ++box) {
            space.Seek(box);
            Load(gm, space);
            LocalTensor<T> tile = queue_.template DeQue<T>();
            for (uint32_t plane = 0; plane < kPlanesOf<kDigitsOf<T>>; ++plane) {
                Turn(tile, plane, space);
                Store(rows[plane * words], space);
            }
            queue_.FreeTensor(tile);
        }
    }

 private:
    static constexpr uint32_t kSide = TurnSpace::kSide;

    __aicore__ inline void Load(const GlobalTensor<T>& gm, const TurnSpace& space) {
        LocalTensor<T> tile = queue_.template AllocTensor<T>();
        const uint64_t at = (space.before * space.length + space.element) * space.inner + space.row;
        if (space.Turned()) {
            Walk walk;
            Tile box;
            BoxAt(walk, box, at, space.inner, space.elements, space.rows, kSide);
            LoadBox(tile, gm, walk, box);
        } else {
            LoadRange(tile, gm[at], space.elements);
        }
        queue_.EnQue(tile);
    }
    __aicore__ inline void Turn(const LocalTensor<T>& tile, uint32_t plane,
                                const TurnSpace& space) {
        VectorBarrier();  // the box before may still be read
        LocalTensor<Value> rows = rowsQueue_.template AllocTensor<Value>();
        const LocalTensor<half> bytes = bytesBuf_.template Get<half>();
        const uint32_t count = space.Turned() ? space.elements * kSide : space.elements;
        if (space.Turned()) {
            LocalTensor<Value> wide = wideBuf_.template Get<Value>();
            if constexpr (Same<T, Value>::value) {
                wide = tile;
            } else {
                WordsOf(wide, tile, plane, bytes, count);
                VectorBarrier();
            }
            TransposeMatrix(rows, wide, space.elements, kSide, kSide);
        } else if constexpr (Same<T, Value>::value) {
            AscendC::Adds(rows.template ReinterpretCast<int32_t>(),
                          tile.template ReinterpretCast<int32_t>(), 0, count);
        } else {
            WordsOf(rows, tile, plane, bytes, count);
        }
        rowsQueue_.EnQue(rows);
    }
    // Elements as keys, or the words of theirs that a plane has.
    __aicore__ inline void WordsOf(const LocalTensor<Value>& dst, const LocalTensor<T>& src,
                                   uint32_t plane, const LocalTensor<half>& bytes, uint32_t count) {
        if constexpr (kDigitsOf<T> > 0) {
            TakePlane(dst, src, plane, count);
        } else {
            Widen(dst, src, bytes, count);
        }
    }
    __aicore__ inline void Store(const GlobalTensor<Value>& gm, const TurnSpace& space) {
        LocalTensor<Value> rows = rowsQueue_.template DeQue<Value>();
        const uint64_t at = (space.before * space.inner + space.row) * space.length + space.element;
        if (space.Turned()) {
            Walk walk;
            Tile box;
            BoxAt(walk, box, at, space.length, space.rows, space.elements, kSide);
            StoreBox(gm, rows, walk, box);
        } else {
            StoreRange(gm[at], rows, space.elements);
        }
        rowsQueue_.FreeTensor(rows);
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> queue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> rowsQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wideBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> bytesBuf_;
};

// Writes results that lie in rows, `keep` elements from one row to the next, as T where they
// belong, joined from words of two planes where there are two. Place tells at which element the
// results of a row begin.
template <typename T, typename Value, uint32_t kPlanes>
class TurnOut {
 public:
    template <typename Place>
    __aicore__ inline void Run(const GlobalTensor<T>& gm, const GlobalTensor<Value>& rows,
                               TurnSpace space, uint64_t keep, Place& place, AscendC::TPipe* pipe) {
        pipe->InitBuffer(rowsQueue_, 2, Bytes<Value>(TurnSpace::kBox));
        pipe->InitBuffer(queue_, 2, Bytes<T>(TurnSpace::kBox));
        // two planes that are joined, and scratch
        pipe->InitBuffer(wideBuf_, (2 * kPlanes - 1) * Bytes<int32_t>(TurnSpace::kBox));
        pipe->InitBuffer(bytesBuf_, Bytes<half>(TurnSpace::kBox));
        const uint64_t words = space.outer * space.inner * keep;
        Share share;
        share.Init(space.Count());
        for (uint64_t box = share.first; box < share.last; ++box) {
            space.Seek(box);
            if constexpr (kPlanes == 1) {
                Load(rows, space, keep, place);
                Turn(space);
            } else {
                VectorBarrier();  // the box before may still be read
                for (uint32_t plane = 0; plane < kPlanes; ++plane) {
                    Load(rows[plane * words], space, keep, place);
                    TurnPlane(plane, space);
                }
                JoinPlanes(space);
            }
            Store(gm, space);
        }
    }

 private:
    static constexpr uint32_t kSide = TurnSpace::kSide;

    template <typename Place>
    __aicore__ inline void Load(const GlobalTensor<Value>& gm, const TurnSpace& space,
                                uint64_t keep, Place& place) {
        LocalTensor<Value> tile = rowsQueue_.template AllocTensor<Value>();
        for (uint32_t i = 0; i < space.rows; ++i) {
            const uint64_t row = space.before * space.inner + space.row + i;
            LoadRange(tile[i * kSide], gm[row * keep + place.Of(row) + space.element],
                      space.elements);
        }
        rowsQueue_.EnQue(tile);
    }
    __aicore__ inline void Turn(const TurnSpace& space) {
        VectorBarrier();  // the box before may still be read
        LocalTensor<Value> rows = rowsQueue_.template DeQue<Value>();
        LocalTensor<T> tile = queue_.template AllocTensor<T>();
        const LocalTensor<Value> wide =
            wideBuf_.template Get<int32_t>().template ReinterpretCast<Value>();
        uint32_t count = space.elements;
        LocalTensor<Value> turned = rows;
        if (space.Turned()) {
            TransposeMatrix(wide, rows, space.rows, kSide, kSide);
            VectorBarrier();
            turned = wide;
            count = space.elements * kSide;
        }
        NarrowRows(tile, turned, rows, count);
        queue_.EnQue(tile);
        rowsQueue_.FreeTensor(rows);
    }
    // A plane of a box, to its place in wideBuf_.
    __aicore__ inline void TurnPlane(uint32_t plane, const TurnSpace& space) {
        LocalTensor<Value> rows = rowsQueue_.template DeQue<Value>();
        if (space.Turned()) {
            TransposeMatrix(Plane(plane), rows, space.rows, kSide, kSide);
        } else {
            AscendC::Adds(Plane(plane), rows, 0, space.elements);
        }
        rowsQueue_.FreeTensor(rows);
    }
    __aicore__ inline void JoinPlanes(const TurnSpace& space) {
        static_assert(kPlanes == 2 && Same<T, int64_t>::value, "words of int64_t");
        VectorBarrier();
        LocalTensor<T> tile = queue_.template AllocTensor<T>();
        JoinWords(tile, Plane(0), Plane(1), Plane(2),
                  space.Turned() ? space.elements * kSide : space.elements);
        queue_.EnQue(tile);
    }
    __aicore__ inline LocalTensor<int32_t> Plane(uint32_t number) {
        return wideBuf_.template Get<int32_t>()[number * TurnSpace::kBox];
    }
    // Integers come by way of int32.
    __aicore__ inline void NarrowRows(const LocalTensor<T>& dst, const LocalTensor<Value>& src,
                                      const LocalTensor<Value>& scratch, uint32_t count) {
        constexpr bool kFloat = Same<T, float>::value || Same<T, half>::value ||
                                Same<T, bfloat16_t>::value || Same<Value, int32_t>::value;
        if constexpr (Same<T, Value>::value) {
            AscendC::Adds(dst.template ReinterpretCast<int32_t>(),
                          src.template ReinterpretCast<int32_t>(), 0, count);
        } else if constexpr (kFloat) {
            Narrow(dst, src, count);
        } else {
            const LocalTensor<int32_t> whole = scratch.template ReinterpretCast<int32_t>();
            AscendC::Cast(whole, src, RoundMode::CAST_RINT, count);
            VectorBarrier();
            Narrow(dst, whole, bytesBuf_.template Get<half>(), count);
        }
    }
    __aicore__ inline void Store(const GlobalTensor<T>& gm, const TurnSpace& space) {
        LocalTensor<T> tile = queue_.template DeQue<T>();
        const uint64_t at = (space.before * space.length + space.element) * space.inner + space.row;
        if (space.Turned()) {
            Walk walk;
            Tile box;
            BoxAt(walk, box, at, space.inner, space.elements, space.rows, kSide);
            StoreBox(gm, tile, walk, box);
        } else {
            StoreRange(gm[at], tile, space.elements);
        }
        queue_.FreeTensor(tile);
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> rowsQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wideBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> bytesBuf_;
};

}  // namespace opgen

#endif  // OPGEN_ORDER_TURN_H
