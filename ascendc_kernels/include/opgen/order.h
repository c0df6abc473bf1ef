// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rows in order, a tile of rows at a time. The sort instructions compare floats: half, bfloat16 and
// integers of up to 16 bits are keys as floats, int32 and int64 are sorted by digits of 16 bits
// (opgen/order_digits.h). NaN is no key: it is sorted as the infinity that it follows, marked by
// its position, and moved behind (before, where the largest come first) all other elements.
#ifndef OPGEN_ORDER_H
#define OPGEN_ORDER_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/order_digits.h"
#include "opgen/order_records.h"
#include "opgen/tile.h"

namespace opgen {

// What a row gives: its first elements in order, others, the one in the middle (or the first NaN),
// or that in the middle of what is no NaN.
enum class OrderPick : uint32_t { kFirst, kChosen, kMedian, kNanMedian };

// Where the results of a row begin that has so many numbers, NaN behind them.
template <OrderPick kPick>
__aicore__ inline uint32_t PlaceOf(uint32_t numbers, uint32_t length, uint32_t first) {
    if constexpr (kPick == OrderPick::kMedian) {
        return numbers < length ? numbers : (length - 1) / 2;
    } else if constexpr (kPick == OrderPick::kNanMedian) {
        return numbers > 0 ? (numbers - 1) / 2 : 0;
    } else {
        return first;
    }
}

// The rows of a call, and those of a tile.
struct OrderTiles {
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        allRows_ = tiling.outer * tiling.inner;
        tileRows_ = tiling.tileRows;
        length = tiling.length;
        count = tiling.count;
        pitch = tiling.pitch;
        resultPitch = tiling.resultPitch;
    }
    __aicore__ inline uint64_t Count() const {
        return count == 0 ? 0 : (allRows_ + tileRows_ - 1) / tileRows_;
    }
    __aicore__ inline void Seek(uint64_t tile) {
        row = tile * tileRows_;
        const uint64_t left = allRows_ - row;
        rows = static_cast<uint32_t>(left < tileRows_ ? left : tileRows_);
    }

    // A part of a row as a tile of its own.
    __aicore__ inline void SeekRun(uint32_t elements) {
        length = elements;
        rows = 1;
        pitch = (elements + kSortedAtOnce - 1) / kSortedAtOnce * kSortedAtOnce;
    }

    uint32_t length = 0;  // elements of a row
    uint32_t count = 0;   // results of a row
    uint32_t pitch = 0;
    uint32_t resultPitch = 0;
    uint64_t row = 0;  // the first one of the tile
    uint32_t rows = 0;

 private:
    uint64_t allRows_ = 0;
    uint32_t tileRows_ = 1;
};

// Copy the rows of a tile to UB.
template <typename T>
__aicore__ inline void LoadOrderTile(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                     const OrderTiles& tiles) {
    if (tiles.length == 0) {
        return;
    }
    Walk walk;
    walk.stride[kOuterDims] = tiles.length;
    walk.stride[kOuterDims + 1] = 1;
    Tile box;
    box.row = tiles.row;
    box.rows = tiles.rows;
    box.cols = tiles.length;
    box.pitch = tiles.pitch;
    LoadBox(tile, gm, walk, box);
}

// Copy the results of a tile to GM.
template <typename T>
__aicore__ inline void StoreOrderTile(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                      const OrderTiles& tiles) {
    Walk walk;
    walk.stride[kOuterDims] = tiles.count;
    walk.stride[kOuterDims + 1] = 1;
    Tile box;
    box.row = tiles.row;
    box.rows = tiles.rows;
    box.cols = tiles.count;
    box.pitch = tiles.resultPitch;
    StoreBox(gm, tile, walk, box);
}

// Sorts the rows of tiles of T.
template <typename T, bool kDescending, OrderPick kPick>
class RowOrder {
 public:
    // Digits that elements are sorted by, 0 where they are keys as floats.
    static constexpr uint32_t kDigits = kDigitsOf<T>;
    static constexpr uint32_t kPlanes = kPlanesOf<kDigits>;
    static constexpr bool kNans =
        Same<T, float>::value || Same<T, half>::value || Same<T, bfloat16_t>::value;
    // A marked position is that much smaller.
    static constexpr int32_t kMark = 1 << 30;
    static constexpr int32_t kLeast = -2147483647 - 1;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        tileLength_ = tiling.tileLength;
        first_ = tiling.first;
        pipe->InitBuffer(recordsBuf_, 2 * kRecordWords * Bytes<float>(tileLength_));
        pipe->InitBuffer(positionsBuf_, Bytes<int32_t>(tileLength_));
        if constexpr (kDigits > 0) {
            pipe->InitBuffer(elementsBuf_, kPlanes * Bytes<int32_t>(tileLength_));
        }
        if constexpr (kNans) {
            pipe->InitBuffer(masksBuf_, tileLength_ / 4);
        }
        SetPair();
        CountPositions(tiling.pitch);
        if constexpr (kPick != OrderPick::kFirst) {
            pipe->InitBuffer(chosenBuf_, Bytes<int32_t>(tiling.resultPitch));
            const LocalTensor<int32_t> offsets = chosenBuf_.template Get<int32_t>();
            AscendC::Muls(offsets, AllPositions(), static_cast<int32_t>(sizeof(float)),
                          tiling.resultPitch);
            VectorBarrier();
        }
    }
    // Sort the rows of a tile, loaded `pitch` elements apart.
    __aicore__ inline void Sort(const OrderTiles& tiles, const LocalTensor<T>& elements) {
        VectorBarrier();  // the results of the last tile have been read
        SetPair();
        if constexpr (kPick == OrderPick::kMedian || kPick == OrderPick::kNanMedian) {
            if (tiles.length == 0) {
                StageNothing(tiles);
                return;
            }
        }
        if constexpr (kDigits > 0) {
            for (uint32_t plane = 0; plane < kPlanes; ++plane) {
                TakePlane(Plane(plane), elements, plane, tiles.rows * tiles.pitch);
            }
            SortDigits(tiles);
        } else {
            SortKeys(tiles, elements);
        }
        Stage(tiles);
    }
    // The same where words of elements lie in planes: bring each of them here, then sort them.
    __aicore__ inline void HoldPlane(const OrderTiles& tiles, const LocalTensor<int32_t>& words,
                                     uint32_t plane) {
        VectorBarrier();  // the results of the last tile have been read
        CopyWords(Plane(plane), words, tiles.rows * tiles.pitch);
        VectorBarrier();  // the next load may clear the gaps between its rows
    }
    __aicore__ inline void SortPlanes(const OrderTiles& tiles) {
        SetPair();
        SortDigits(tiles);
        Stage(tiles);
    }
    // Sort a part of a row that begins at an element `base` of it, and keep records; returns how
    // many elements are NaN: their positions are marked.
    __aicore__ inline uint32_t SortRun(const OrderTiles& run, const LocalTensor<T>& elements,
                                       uint32_t base) {
        static_assert(kDigits == 0, "records have one key of 32 bits");
        base_ = base;
        SetPair();
        SortKeys(run, elements);
        return nans_;
    }
    // Sort a part of a row by one digit of its elements, whose words are given; their positions lie
    // behind the room for keys in Pair().free.
    __aicore__ inline void SortByDigit(const OrderTiles& run, const LocalTensor<int32_t>& words,
                                       const Digit& digit) {
        RowKeys(pair_.free, words, digit, run);
        SortRows(pair_, pair_.free, pair_.free[tileLength_].template ReinterpretCast<uint32_t>(), 1,
                 run.pitch);
    }
    // Records that SortRun has left, and as much room.
    __aicore__ inline const RecordPair& Pair() const { return pair_; }
    // Of `count` values in order, marked positions behind them: bring numbers, with their positions
    // behind them, to `numbers`, and leave NaN; returns how many numbers there are.
    __aicore__ inline uint32_t PartNans(const LocalTensor<float>& values,
                                        const LocalTensor<float>& numbers, uint32_t count) {
        const LocalTensor<int32_t> positions =
            values[tileLength_].template ReinterpretCast<int32_t>();
        const LocalTensor<int32_t> others =
            numbers[tileLength_].template ReinterpretCast<int32_t>();
        const LocalTensor<float> marks = numbers[tileLength_];
        const uint32_t compared = (count + kComparedAtOnce - 1) / kComparedAtOnce * kComparedAtOnce;
        if (compared > count) {
            AscendC::Duplicate(marks, 0.0f, compared);
            VectorBarrier();
        }
        AscendC::Cast(marks, positions, RoundMode::CAST_RINT, count);
        VectorBarrier();
        AscendC::CompareScalar(Mask(0), marks, 0.0f, AscendC::CMPMODE::GE, compared);
        VectorBarrier();
        const uint32_t taken = TakeMarked(numbers, values, Mask(0), count);
        if (taken < count) {
            AscendC::CompareScalar(Mask(1), marks, 0.0f, AscendC::CMPMODE::LT, compared);
        }
        VectorBarrier();
        TakeMarked(others, positions, Mask(0), count);
        if (taken < count) {
            const LocalTensor<int32_t> nans = values.template ReinterpretCast<int32_t>();
            TakeMarked(nans, positions, Mask(1), count);
            VectorBarrier();
            AscendC::Adds(positions, nans, kMark, count - taken);
            VectorBarrier();
            AscendC::Duplicate(values, kNan, count - taken);
        }
        VectorBarrier();
        return taken;
    }
    // The results, in rows `resultPitch` apart, as T or as the floats that keys are, and as
    // positions of any integer type.
    template <typename TOut>
    __aicore__ inline void Values(const LocalTensor<TOut>& dst, const OrderTiles& tiles) {
        const uint32_t count = tiles.rows * tiles.resultPitch;
        if constexpr (kPlanes > 1) {
            const LocalTensor<int32_t> low = pair_.free.template ReinterpretCast<int32_t>();
            const LocalTensor<int32_t> high = low[tileLength_];
            PlaneValues(low, 0, tiles);
            PlaneValues(high, 1, tiles);
            JoinWords(dst, low, high, Staged(0).template ReinterpretCast<int32_t>(), count);
        } else if constexpr (kDigits > 0) {
            PlaneValues(dst, 0, tiles);
        } else if constexpr (Same<TOut, float>::value) {
            CopyWords(dst, Staged(0), count);
        } else if constexpr (kNans) {
            Narrow(dst, Staged(0), count);
        } else {
            const LocalTensor<int32_t> whole = pair_.free.template ReinterpretCast<int32_t>();
            AscendC::Cast(whole, Staged(0), RoundMode::CAST_RINT, count);
            VectorBarrier();
            Narrow(dst, whole, pair_.free[tileLength_].template ReinterpretCast<half>(), count);
        }
    }
    // The words of results that lie in a plane.
    __aicore__ inline void PlaneValues(const LocalTensor<int32_t>& dst, uint32_t plane,
                                       const OrderTiles& tiles) {
        const LocalTensor<uint32_t> offsets = Staged(0).template ReinterpretCast<uint32_t>();
        AscendC::ShiftLeft(offsets, Staged(1).template ReinterpretCast<uint32_t>(), 2u,
                           static_cast<int32_t>(tiles.rows * tiles.resultPitch));
        VectorBarrier();
        for (uint32_t row = 0; row < tiles.rows; ++row) {
            const uint32_t at = row * tiles.resultPitch;
            AscendC::Gather(dst[at], Plane(plane)[row * tiles.pitch], offsets[at], 0, tiles.count);
        }
        VectorBarrier();
    }
    template <typename Index>
    __aicore__ inline void Positions(const LocalTensor<Index>& dst, const OrderTiles& tiles) {
        NarrowCopy(dst, Staged(1).template ReinterpretCast<int32_t>(),
                   tiles.rows * tiles.resultPitch);
    }

 private:
    static constexpr uint32_t kComparedAtOnce = 64;
    static constexpr float kSign = kDescending ? 1.0f : -1.0f;

    __aicore__ inline void SetPair() {
        pair_.free = recordsBuf_.template GetWithOffset<float>(kRecordWords * tileLength_, 0);
        pair_.records = recordsBuf_.template GetWithOffset<float>(
            kRecordWords * tileLength_, kRecordWords * Bytes<float>(tileLength_));
    }
    __aicore__ inline LocalTensor<int32_t> Plane(uint32_t number) {
        return elementsBuf_.template Get<int32_t>()[number * tileLength_];
    }
    __aicore__ inline LocalTensor<float> Staged(uint32_t part) {
        return pair_.records[part * tileLength_];
    }
    __aicore__ inline LocalTensor<int32_t> AllPositions() {
        return positionsBuf_.template Get<int32_t>();
    }
    __aicore__ inline LocalTensor<uint8_t> Mask(uint32_t number) {
        return masksBuf_.template GetWithOffset<uint8_t>(tileLength_ / 8,
                                                         number * (tileLength_ / 8));
    }
    // 0, 1, 2 ... along every row of a tile.
    __aicore__ inline void CountPositions(uint32_t pitch) {
        const LocalTensor<int32_t> all = AllPositions();
        AscendC::CreateVecIndex(all, static_cast<int32_t>(0), pitch);
        for (uint32_t done = pitch; done < tileLength_;) {
            const uint32_t left = tileLength_ - done;
            const uint32_t more = left < done ? left : done;
            VectorBarrier();
            AscendC::Adds(all[done], all, 0, more);
            done += more;
        }
        VectorBarrier();
    }

    // ---- keys ----------------------------------------------------------------------------------

    __aicore__ inline void SortKeys(const OrderTiles& tiles, const LocalTensor<T>& elements) {
        const uint32_t all = tiles.rows * tiles.pitch;
        const LocalTensor<float> keys = pair_.free;
        LocalTensor<float> source = keys;
        if constexpr (Same<T, float>::value) {
            source = elements;
        } else {
            const LocalTensor<float> bytes = pair_.records;
            Widen(keys, elements, bytes.template ReinterpretCast<half>(), all);
            VectorBarrier();
        }
        marked_ = false;
        nans_ = 0;
        LocalTensor<int32_t> positions = AllPositions();
        if constexpr (kNans) {
            MarkNans(keys, source, tiles, positions);
        } else {
            AscendC::Muls(keys, source, kSign, all);
        }
        VectorBarrier();
        if (base_ > 0) {
            const LocalTensor<int32_t> moved =
                pair_.free[tileLength_].template ReinterpretCast<int32_t>();
            AscendC::Adds(moved, positions, static_cast<int32_t>(base_), all);
            positions = moved;
        }
        FillBehindRows(keys, -kInf, tiles.rows, tiles.length, tiles.pitch);
        VectorBarrier();
        SortRows(pair_, keys, positions.template ReinterpretCast<uint32_t>(), tiles.rows,
                 tiles.pitch);
    }
    // Give NaN the key of the infinity beside it, and a marked position.
    __aicore__ inline void MarkNans(const LocalTensor<float>& keys,
                                    const LocalTensor<float>& source, const OrderTiles& tiles,
                                    LocalTensor<int32_t>& positions) {
        const uint32_t all = tiles.rows * tiles.pitch;
        const LocalTensor<uint8_t> numbers = Mask(0);
        const LocalTensor<float> other = pair_.records;
        const uint32_t compared = (all + kComparedAtOnce - 1) / kComparedAtOnce * kComparedAtOnce;
        AscendC::Muls(other, source, kSign, all);
        if (compared > all) {
            AscendC::Duplicate(other[all], 0.0f, compared - all);
        }
        VectorBarrier();
        AscendC::Compare(numbers, other, other, AscendC::CMPMODE::EQ, compared);
        VectorBarrier();
        AscendC::Select(keys, numbers, other, kDescending ? kInf : -kInf,
                        AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, all);
        VectorBarrier();
        // 0 for numbers, -kMark for NaN
        const LocalTensor<float> found = pair_.free[tileLength_];
        AscendC::Duplicate(other, 0.0f, all);
        VectorBarrier();
        AscendC::Select(other, numbers, other, static_cast<float>(-kMark),
                        AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, all);
        VectorBarrier();
        marked_ = Smallest(found, other, all) < 0.0f;
        if (!marked_) {
            return;
        }
        // what a copy has left behind a row may be NaN, too
        nans_ = CountMarks(found, other, tiles.length);
        const LocalTensor<int32_t> marked = found.template ReinterpretCast<int32_t>();
        AscendC::Cast(marked, other, RoundMode::CAST_RINT, all);
        VectorBarrier();
        AscendC::Add(marked, marked, AllPositions(), all);
        positions = marked;
    }
    // By one digit after the other, each in the order that the one before has given.
    __aicore__ inline void SortDigits(const OrderTiles& tiles) {
        const uint32_t all = tiles.rows * tiles.pitch;
        VectorBarrier();
        RowKeys(pair_.free, Plane(0), Digit{0, kDigits}, tiles);
        SortRows(pair_, pair_.free, AllPositions().template ReinterpretCast<uint32_t>(), tiles.rows,
                 tiles.pitch);
        for (uint32_t number = 1; number < kDigits; ++number) {
            const Digit digit{number, kDigits};
            const LocalTensor<float> sorted = pair_.free;
            const LocalTensor<uint32_t> order =
                pair_.free[tileLength_].template ReinterpretCast<uint32_t>();
            TakeWords(order, pair_.records, all, true);
            VectorBarrier();
            const LocalTensor<float> keys = pair_.records;
            RowKeys(keys, Plane(digit.Plane()), digit, tiles);
            GatherRows(sorted, keys, order, pair_.records[tileLength_], tiles);
            SortRows(pair_, sorted, order, tiles.rows, tiles.pitch);
        }
    }
    // A digit of the elements of rows as keys.
    __aicore__ inline void RowKeys(const LocalTensor<float>& keys,
                                   const LocalTensor<int32_t>& words, const Digit& digit,
                                   const OrderTiles& tiles) {
        const uint32_t all = tiles.rows * tiles.pitch;
        DigitKeys(keys, words, digit, all);
        AscendC::Muls(keys, keys, kSign, all);
        VectorBarrier();
        FillBehindRows(keys, -kInf, tiles.rows, tiles.length, tiles.pitch);
        VectorBarrier();
    }
    // Elements of rows by their positions.
    __aicore__ inline void GatherRows(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                      const LocalTensor<uint32_t>& positions,
                                      const LocalTensor<float>& scratch, const OrderTiles& tiles) {
        const uint32_t all = tiles.rows * tiles.pitch;
        const LocalTensor<uint32_t> offsets = scratch.template ReinterpretCast<uint32_t>();
        AscendC::ShiftLeft(offsets, positions, 2u, static_cast<int32_t>(all));
        VectorBarrier();
        for (uint32_t row = 0; row < tiles.rows; ++row) {
            const uint32_t at = row * tiles.pitch;
            AscendC::Gather(dst[at], src[at], offsets[at], 0, tiles.pitch);
        }
        VectorBarrier();
    }

    // ---- results -------------------------------------------------------------------------------

    // Bring the results to both halves of pair_.records: values, and positions. Digits are no
    // values: Values brings these by their positions.
    __aicore__ inline void Stage(const OrderTiles& tiles) {
        const bool narrow = tiles.resultPitch < tiles.pitch;
        const bool whole = kPick != OrderPick::kFirst || marked_ || !narrow;
        const uint32_t rows = whole ? 1 : tiles.rows;
        const uint32_t count = whole ? tiles.rows * tiles.pitch : tiles.resultPitch;
        const LocalTensor<float> values = pair_.free;
        const LocalTensor<int32_t> positions =
            pair_.free[tileLength_].template ReinterpretCast<int32_t>();
        for (uint32_t row = 0; row < rows; ++row) {
            const LocalTensor<float> from = pair_.records[row * tiles.pitch * kRecordWords];
            if constexpr (kDigits == 0) {
                TakeWords(values[row * count], from, count, false);
            }
            TakeWords(positions[row * count], from, count, true);
        }
        VectorBarrier();
        if constexpr (!kDescending && kDigits == 0) {
            AscendC::Muls(values, values, kSign, rows * count);
            VectorBarrier();
        }
        pair_.Swap();
        for (uint32_t row = 0; (marked_ || kPick != OrderPick::kFirst) && row < tiles.rows; ++row) {
            const uint32_t numbers =
                marked_ ? MoveNans(row * tiles.pitch, tiles.length) : tiles.length;
            if constexpr (kPick != OrderPick::kFirst) {
                ChooseResults(row, PlaceOf<kPick>(numbers, tiles.length, first_), tiles);
            }
        }
        if constexpr (kPick != OrderPick::kFirst) {
            VectorBarrier();
            pair_.Swap();
        } else if (whole && narrow) {
            for (uint32_t row = 0; row < tiles.rows; ++row) {
                for (uint32_t part = 0; part < 2; ++part) {
                    const uint32_t half = part * tileLength_;
                    CopyWords(pair_.free[half + row * tiles.resultPitch],
                              pair_.records[half + row * tiles.pitch], tiles.resultPitch);
                }
            }
            VectorBarrier();
            pair_.Swap();
        }
    }
    // Results of rows without elements, as PyTorch has them: NaN, which is the smallest number of
    // wide integers and zero among narrow ones.
    __aicore__ inline void StageNothing(const OrderTiles& tiles) {
        const int32_t count = static_cast<int32_t>(tiles.rows * tiles.pitch);
        for (uint32_t plane = 0; plane < kPlanes && kDigits > 0; ++plane) {
            AscendC::Duplicate(Plane(plane), plane + 1 < kPlanes ? 0 : kLeast, count);
        }
        AscendC::Duplicate(Staged(0), kNans ? kNan : 0.0f, count);
        AscendC::Duplicate(Staged(1).template ReinterpretCast<int32_t>(), 0, count);
        VectorBarrier();
    }
    // Bring the results of a row, from a place on, to pair_.free.
    __aicore__ inline void ChooseResults(uint32_t row, uint32_t place, const OrderTiles& tiles) {
        for (uint32_t part = kDigits > 0 ? 1 : 0; part < 2; ++part) {
            const uint32_t half = part * tileLength_;
            AscendC::Gather(pair_.free[half + row * tiles.resultPitch],
                            pair_.records[half + row * tiles.pitch],
                            chosenBuf_.template Get<uint32_t>(), Bytes<float>(place), tiles.count);
        }
    }
    // Bring the NaN of a sorted row behind its numbers, or before them; returns how many numbers
    // it has.
    __aicore__ inline uint32_t MoveNans(uint32_t at, uint32_t length) {
        const LocalTensor<float> values = Staged(0)[at];
        const LocalTensor<int32_t> positions = Staged(1)[at].template ReinterpretCast<int32_t>();
        const LocalTensor<float> scratch = pair_.free[at];
        const LocalTensor<int32_t> words = scratch.template ReinterpretCast<int32_t>();
        const LocalTensor<int32_t> others =
            pair_.free[tileLength_ + at].template ReinterpretCast<int32_t>();
        const LocalTensor<float> found = pair_.free[tileLength_ + at];
        const uint32_t compared =
            (length + kComparedAtOnce - 1) / kComparedAtOnce * kComparedAtOnce;
        if (compared > length) {
            AscendC::Duplicate(scratch, 0.0f, compared);
            VectorBarrier();
        }
        AscendC::Cast(scratch, positions, RoundMode::CAST_RINT, length);
        VectorBarrier();
        if (Smallest(found, scratch, length) >= 0.0f) {
            return length;
        }
        AscendC::CompareScalar(Mask(0), scratch, 0.0f, AscendC::CMPMODE::GE, compared);
        VectorBarrier();
        const uint32_t numbers = TakeMarked(found, values, Mask(0), length);
        VectorBarrier();
        if (numbers == 0) {
            AscendC::Duplicate(values, kNan, length);
            AscendC::Adds(positions, positions, kMark, length);
            VectorBarrier();
            return numbers;
        }
        const uint32_t before = kDescending ? length - numbers : numbers;
        AscendC::CompareScalar(Mask(1), scratch, 0.0f, AscendC::CMPMODE::LT, compared);
        ShiftOffsets(before, length);
        if constexpr (kDescending) {
            AscendC::Gather(values, found, Offsets(), 0, length);
            VectorBarrier();
            AscendC::Duplicate(values, kNan, before);
        } else {
            AscendC::Duplicate(values, kNan, length);
            VectorBarrier();
            CopyWords(values, found, before);
        }
        VectorBarrier();
        TakeMarked(words, positions, Mask(0), length);
        TakeMarked(others, positions, Mask(1), length);
        VectorBarrier();
        AscendC::Adds(others, others, kMark, length - numbers);
        VectorBarrier();
        AscendC::Gather(positions, kDescending ? words : others, Offsets(), 0, length);
        VectorBarrier();
        CopyWords(positions, kDescending ? others : words, before);
        // the offsets lay where positions are counted
        AscendC::CreateVecIndex(AllPositions(), static_cast<int32_t>(0), length);
        VectorBarrier();
        return numbers;
    }
    // The smallest of some numbers; `scratch` holds as many.
    __aicore__ inline float Smallest(const LocalTensor<float>& scratch,
                                     const LocalTensor<float>& numbers, uint32_t count) {
        constexpr uint32_t kLanes = kBlockBytes / sizeof(float);
        AscendC::ReduceMin(scratch, numbers, scratch[kLanes], static_cast<int32_t>(count));
        return FirstElement(scratch);
    }
    // How many of some numbers are -kMark; the others are 0.
    __aicore__ inline uint32_t CountMarks(const LocalTensor<float>& scratch,
                                          const LocalTensor<float>& numbers, uint32_t count) {
        constexpr uint32_t kLanes = kBlockBytes / sizeof(float);
        AscendC::ReduceSum(scratch, numbers, scratch[kLanes], static_cast<int32_t>(count));
        return static_cast<uint32_t>(FirstElement(scratch) / static_cast<float>(-kMark));
    }
    __aicore__ inline LocalTensor<uint32_t> Offsets() {
        return positionsBuf_.template Get<uint32_t>();
    }
    // Byte offsets of words that are moved `before` words behind: 0 before them.
    __aicore__ inline void ShiftOffsets(uint32_t before, uint32_t length) {
        const LocalTensor<int32_t> offsets = AllPositions();
        AscendC::Adds(offsets, offsets, -static_cast<int32_t>(before), length);
        VectorBarrier();
        AscendC::Maxs(offsets, offsets, 0, length);
        VectorBarrier();
        AscendC::Muls(offsets, offsets, static_cast<int32_t>(sizeof(float)), length);
        VectorBarrier();
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> recordsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> positionsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> elementsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> masksBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> chosenBuf_;
    RecordPair pair_;
    uint32_t tileLength_ = 0;
    uint32_t first_ = 0;
    uint32_t base_ = 0;
    uint32_t nans_ = 0;
    bool marked_ = false;  // the tile has NaN
};

}  // namespace opgen

#endif  // OPGEN_ORDER_H
