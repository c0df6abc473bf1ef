// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rows longer than UB holds. Runs of a row are sorted in UB and kept as records in the workspace;
// rounds merge four lists of records into one until a row is one list. NaN counts as the infinity
// that it follows until then; the last step, which takes records apart, moves it behind all numbers
// (before, where the largest come first).
#ifndef OPGEN_ORDER_RUNS_H
#define OPGEN_ORDER_RUNS_H

#include "kernel_operator.h"
#include "opgen/core_wait.h"
#include "opgen/order.h"
#include "opgen/order_records.h"
#include "opgen/tile.h"

namespace opgen {

// What long rows have in the workspace: elements; records, twice; NaN of each run; and results, of
// which a row has `keep`. Elements and values of integers are planes of words, one behind the
// other.
struct RunSpace {
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR workspace, const Tiling& tiling) {
        length = tiling.length;
        rows = tiling.outer * tiling.inner;
        runLength = tiling.runLength;
        keep = tiling.keep;
        runs = (length + runLength - 1) / runLength;
        Set(elements, workspace);
        Set(records, workspace + tiling.recordsAt);
        Set(merged, workspace + tiling.mergedAt);
        Set(nans, workspace + tiling.nansAt);
        Set(values, workspace + tiling.valuesAt);
        positions.SetGlobalBuffer(
            reinterpret_cast<__gm__ int32_t*>(workspace + tiling.positionsAt));
    }

    // Words of a plane of elements, and of one of values.
    __aicore__ inline uint64_t ElementWords() const { return rows * length; }
    __aicore__ inline uint64_t ValueWords() const { return rows * keep; }

    uint64_t rows = 0;
    uint64_t runs = 0;  // of a row
    uint32_t length = 0;
    uint32_t runLength = 0;
    uint64_t keep = 0;
    GlobalTensor<float> elements;
    GlobalTensor<float> records;
    GlobalTensor<float> merged;
    GlobalTensor<float> nans;  // a block of 32 bytes for each run
    GlobalTensor<float> values;
    GlobalTensor<int32_t> positions;

 private:
    __aicore__ static inline void Set(GlobalTensor<float>& gm, GM_ADDR at) {
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(at));
    }
};

// Up to four lists of records in GM, one behind the other.
struct RecordLists {
    uint64_t at[kMergedLists] = {};
    uint64_t left[kMergedLists] = {};
    uint32_t count = 0;

    __aicore__ inline void Add(uint64_t first, uint64_t records) {
        at[count] = first;
        left[count] = records;
        ++count;
    }
    // Leave out lists that are used up; the others stay in their order.
    __aicore__ inline void Drop() {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; ++i) {
            if (left[i] > 0) {
                at[kept] = at[i];
                left[kept] = left[i];
                ++kept;
            }
        }
        count = kept;
    }
};

// How many elements of a row are NaN, as its runs have counted them.
class RowNans {
 public:
    __aicore__ inline void Init(const RunSpace& space, AscendC::TPipe* pipe) {
        space_ = space;
        pipe->InitBuffer(buffer_, 2 * kSlots * kBlockBytes);
    }
    __aicore__ inline uint32_t Of(uint64_t row) {
        if (row == row_) {
            return count_;
        }
        row_ = row;
        count_ = 0;
        const LocalTensor<float> slots = buffer_.template Get<float>();
        const LocalTensor<float> sum = slots[kSlots * kLanes];
        for (uint64_t run = 0; run < space_.runs; run += kSlots) {
            const uint64_t left = space_.runs - run;
            const uint32_t count = static_cast<uint32_t>(left < kSlots ? left : kSlots) * kLanes;
            LoadRange(slots, space_.nans[(row * space_.runs + run) * kLanes], count);
            Order<AscendC::HardEvent::MTE2_V>();
            AscendC::ReduceSum(sum, slots, sum[kLanes], static_cast<int32_t>(count));
            count_ += static_cast<uint32_t>(FirstElement(sum));
            Order<AscendC::HardEvent::V_MTE2>();
        }
        return count_;
    }

 private:
    static constexpr uint32_t kLanes = kBlockBytes / sizeof(float);
    static constexpr uint32_t kSlots = 128;
    static constexpr uint64_t kNoRow = ~static_cast<uint64_t>(0);

    RunSpace space_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    uint64_t row_ = kNoRow;
    uint32_t count_ = 0;
};

// Elements of a row of the workspace by their positions, each by a copy of its own.
class ScatteredElements {
 public:
    __aicore__ inline void Init(const RunSpace& space, AscendC::TPipe* pipe) {
        elements_ = space.elements;
        pipe->InitBuffer(blocksBuf_, kPiece * kBlockBytes);
        pipe->InitBuffer(offsetsBuf_, Bytes<int32_t>(kPiece));
        const LocalTensor<int32_t> offsets = offsetsBuf_.template Get<int32_t>();
        AscendC::CreateVecIndex(offsets, static_cast<int32_t>(0), kPiece);
        VectorBarrier();
        AscendC::Muls(offsets, offsets, static_cast<int32_t>(kBlockBytes), kPiece);
        VectorBarrier();
    }
    // The words of a row that begins at `row`; the vector unit or a copy has made the positions.
    __aicore__ inline void Load(const LocalTensor<float>& dst, uint64_t row,
                                const LocalTensor<int32_t>& positions, uint32_t count) {
        const LocalTensor<float> blocks = blocksBuf_.template Get<float>();
        Order<AscendC::HardEvent::V_S>();
        Order<AscendC::HardEvent::MTE2_S>();
        for (uint32_t first = 0; first < count; first += kPiece) {
            const uint32_t left = count - first;
            const uint32_t piece = left < kPiece ? left : kPiece;
            Order<AscendC::HardEvent::V_MTE2>();
            for (uint32_t i = 0; i < piece; ++i) {
                const uint64_t at = static_cast<uint64_t>(positions.GetValue(first + i));
                LoadRange(blocks[i * kLanes], elements_[row + at], 1);
            }
            Order<AscendC::HardEvent::MTE2_V>();
            AscendC::Gather(dst[first], blocks, offsetsBuf_.template Get<uint32_t>(), 0, piece);
        }
        Order<AscendC::HardEvent::S_V>();
        VectorBarrier();
    }

 private:
    static constexpr uint32_t kLanes = kBlockBytes / sizeof(float);
    static constexpr uint32_t kPiece = 256;

    GlobalTensor<float> elements_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> blocksBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> offsetsBuf_;
};

// Sorts all rows of a workspace: of floats, or of integers by so many digits.
template <bool kDescending, uint32_t kDigits>
class RunOrder {
 public:
    // wanted: the first results of a row in order, which are all that is stored.
    template <typename Tiling>
    __aicore__ inline void Init(const RunSpace& space, const Tiling& tiling, uint64_t wanted,
                                AscendC::TPipe* pipe) {
        space_ = space;
        wanted_ = wanted;
        tileLength_ = tiling.tileLength;
        runs_.Init(tiling, pipe);
        tiles_.Init(tiling);
        pipe->InitBuffer(elementsBuf_, Bytes<float>(tileLength_));
        if constexpr (kDigits > 0) {
            scattered_.Init(space, pipe);
        } else {
            pipe->InitBuffer(nansBuf_, kBlockBytes);
            rowNans_.Init(space, pipe);
        }
    }
    __aicore__ inline void Run() {
        if constexpr (kDigits == 0) {
            SortRuns();
            MergeRuns();
        }
        for (uint32_t number = 0; number < kDigits; ++number) {
            if (number > 0) {
                TakePositions();
                WaitForCores();
            }
            SortByDigit(Digit{number, kDigits});
            MergeRuns();
        }
        TakeResults();
    }

 private:
    using Rows = RowOrder<float, kDescending, OrderPick::kFirst>;
    static constexpr uint32_t kPlanes = kPlanesOf<kDigits>;
    static constexpr uint32_t kLanes = kBlockBytes / sizeof(float);

    // Merge runs until a row is one list.
    __aicore__ inline void MergeRuns() {
        WaitForCores();
        for (uint64_t each = space_.runLength; each < space_.length; each *= kMergedLists) {
            Merge(each);
            WaitForCores();
            const GlobalTensor<float> other = space_.records;
            space_.records = space_.merged;
            space_.merged = other;
        }
    }
    __aicore__ inline void SortRuns() {
        const LocalTensor<float> elements = elementsBuf_.template Get<float>();
        const LocalTensor<float> nans = nansBuf_.template Get<float>();
        Share share;
        share.Init(space_.rows * space_.runs);
        for (uint64_t run = share.first; run < share.last; ++run) {
            const uint64_t row = run / space_.runs;
            const uint64_t first = run % space_.runs * space_.runLength;
            const uint64_t left = space_.length - first;
            const uint32_t count =
                static_cast<uint32_t>(left < space_.runLength ? left : space_.runLength);
            const uint64_t at = row * space_.length + first;
            tiles_.SeekRun(count);
            Order<AscendC::HardEvent::V_MTE2>();
            LoadRun(elements, at, count);
            Order<AscendC::HardEvent::MTE2_V>();
            Order<AscendC::HardEvent::MTE3_V>();
            const uint32_t found = runs_.SortRun(tiles_, elements, static_cast<uint32_t>(first));
            AscendC::Duplicate(nans, 0.0f, kLanes);
            VectorBarrier();
            AscendC::Duplicate(nans, static_cast<float>(found), 1);
            Order<AscendC::HardEvent::V_MTE3>();
            StoreRange(space_.records[at * kRecordWords], runs_.Pair().records,
                       count * kRecordWords);
            StoreRange(space_.nans[run * kLanes], nans, kLanes);
        }
    }
    // Sort runs by one digit of their elements: as they lie in memory by the lowest one, by others
    // in the order that the one before has given.
    __aicore__ inline void SortByDigit(const Digit& digit) {
        const LocalTensor<float> loaded = elementsBuf_.template Get<float>();
        const uint64_t plane = digit.Plane() * space_.ElementWords();
        Share share;
        share.Init(space_.rows * space_.runs);
        for (uint64_t run = share.first; run < share.last; ++run) {
            const uint64_t row = run / space_.runs * space_.length;
            const uint64_t first = run % space_.runs * space_.runLength;
            const uint64_t left = space_.length - first;
            const uint32_t count =
                static_cast<uint32_t>(left < space_.runLength ? left : space_.runLength);
            const LocalTensor<int32_t> positions = Positions(0);
            tiles_.SeekRun(count);
            Order<AscendC::HardEvent::V_MTE2>();
            Order<AscendC::HardEvent::MTE3_MTE2>();
            Order<AscendC::HardEvent::MTE3_V>();
            if (digit.number == 0) {
                LoadRun(loaded, row + first, count);
                Order<AscendC::HardEvent::MTE2_V>();
                AscendC::CreateVecIndex(positions, static_cast<int32_t>(first), tiles_.pitch);
                VectorBarrier();
            } else {
                const uint32_t last = tiles_.pitch - kSortedAtOnce;
                AscendC::Duplicate(positions[last], 0, kSortedAtOnce);
                AscendC::Duplicate(loaded[last], 0.0f, kSortedAtOnce);
                VectorBarrier();
                Order<AscendC::HardEvent::V_MTE2>();
                LoadRange(positions, space_.positions[row + first], count);
                scattered_.Load(loaded, plane + row, positions, count);
                Order<AscendC::HardEvent::MTE2_V>();
            }
            runs_.SortByDigit(tiles_, loaded.template ReinterpretCast<int32_t>(), digit);
            Order<AscendC::HardEvent::V_MTE3>();
            StoreRange(space_.records[(row + first) * kRecordWords], runs_.Pair().records,
                       count * kRecordWords);
        }
    }
    // The positions of all records, which are in the order of a digit.
    __aicore__ inline void TakePositions() {
        Share share;
        share.Init(space_.rows * space_.runs);
        for (uint64_t run = share.first; run < share.last; ++run) {
            const uint64_t first = run % space_.runs * space_.runLength;
            const uint64_t left = space_.length - first;
            const uint32_t count =
                static_cast<uint32_t>(left < space_.runLength ? left : space_.runLength);
            const uint64_t at = run / space_.runs * space_.length + first;
            TakeRecords(at, count);
            Order<AscendC::HardEvent::V_MTE3>();
            StoreRange(space_.positions[at], Positions(0), count);
        }
    }
    // Elements, and zeros up to whole records that are sorted at once.
    __aicore__ inline void LoadRun(const LocalTensor<float>& elements, uint64_t at,
                                   uint32_t count) {
        if (tiles_.pitch > count) {
            AscendC::Duplicate(elements[tiles_.pitch - kSortedAtOnce], 0.0f, kSortedAtOnce);
            Order<AscendC::HardEvent::V_MTE2>();
        }
        LoadRange(elements, space_.elements[at], count);
    }
    // Merge lists of `each` records, four at a time.
    __aicore__ inline void Merge(uint64_t each) {
        const uint64_t group = each * kMergedLists;
        const uint64_t groups = (space_.length + group - 1) / group;
        Share share;
        share.Init(space_.rows * groups);
        for (uint64_t i = share.first; i < share.last; ++i) {
            const uint64_t base = i / groups * space_.length;
            const uint64_t first = i % groups * group;
            RecordLists lists;
            for (uint64_t at = first; at < space_.length && at < first + group; at += each) {
                const uint64_t left = space_.length - at;
                lists.Add(base + at, left < each ? left : each);
            }
            MergeOne(lists, base + first);
        }
    }
    // A window of each list comes to UB; merging stops where one is used up.
    __aicore__ inline void MergeOne(RecordLists& lists, uint64_t to) {
        const LocalTensor<float> windows = runs_.Pair().free;
        const LocalTensor<float> merged = runs_.Pair().records;
        const uint32_t most = Window();
        while (lists.count > 0) {
            uint16_t lengths[kMergedLists] = {};
            const uint32_t share = lists.count > 1 ? most : most * kMergedLists;
            Order<AscendC::HardEvent::V_MTE2>();
            for (uint32_t i = 0; i < lists.count; ++i) {
                const uint32_t count =
                    static_cast<uint32_t>(lists.left[i] < share ? lists.left[i] : share);
                lengths[i] = static_cast<uint16_t>(count);
                LoadRange(windows[i * most * kRecordWords],
                          space_.records[lists.at[i] * kRecordWords], count * kRecordWords);
            }
            Order<AscendC::HardEvent::MTE2_V>();
            Order<AscendC::HardEvent::MTE3_V>();
            uint16_t taken[kMergedLists] = {lengths[0], 0, 0, 0};
            if (lists.count > 1) {
                const uint32_t list = most * kRecordWords;
                const AscendC::MrgSortSrcList<float> sources(windows, windows[list],
                                                             windows[2 * list], windows[3 * list]);
                const uint16_t used = static_cast<uint16_t>((1u << lists.count) - 1);
                AscendC::MrgSort(merged, sources, AscendC::MrgSort4Info(lengths, true, used, 1));
                Order<AscendC::HardEvent::V_S>();
                AscendC::GetMrgSortResult(taken[0], taken[1], taken[2], taken[3]);
            } else {
                CopyWords(merged, windows, lengths[0] * kRecordWords);
            }
            uint32_t all = 0;
            for (uint32_t i = 0; i < lists.count; ++i) {
                lists.at[i] += taken[i];
                lists.left[i] -= taken[i];
                all += taken[i];
            }
            Order<AscendC::HardEvent::V_MTE3>();
            StoreRange(space_.merged[to * kRecordWords], merged, all * kRecordWords);
            to += all;
            lists.Drop();
        }
    }
    // Records of a list that UB holds at once, a multiple of a block of them.
    __aicore__ inline uint32_t Window() const {
        constexpr uint32_t kMost = 4092;  // a merge takes 4095 of a list
        constexpr uint32_t kBlock = kLanes / kRecordWords;
        const uint32_t most = tileLength_ / kMergedLists / kBlock * kBlock;
        return most < kMost ? most : kMost;
    }
    // Take the records of sorted rows apart.
    __aicore__ inline void TakeResults() {
        const uint64_t chunks = (space_.length + space_.runLength - 1) / space_.runLength;
        Share share;
        share.Init(space_.rows * chunks);
        for (uint64_t i = share.first; i < share.last; ++i) {
            const uint64_t row = i / chunks;
            const uint64_t first = i % chunks * space_.runLength;
            uint32_t nans = 0;
            if constexpr (kDigits == 0) {
                nans = rowNans_.Of(row);
            }
            if (nans > 0) {
                if (first == 0) {
                    TakeRow(row, nans);  // one core, as it counts what it has seen
                }
            } else if (first < wanted_) {
                const uint64_t left = wanted_ - first;
                const uint32_t count =
                    static_cast<uint32_t>(left < space_.runLength ? left : space_.runLength);
                TakeRecords(row * space_.length + first, count);
                StoreUpperPlanes(row, first, count);
                StoreResults(Part(0), Positions(0), row, first, count);
            }
        }
    }
    __aicore__ inline LocalTensor<float> Part(uint32_t number) {
        return number == 0 ? runs_.Pair().free : runs_.Pair().records;
    }
    __aicore__ inline LocalTensor<int32_t> Positions(uint32_t number) {
        return Part(number)[tileLength_].template ReinterpretCast<int32_t>();
    }
    // Values and positions of records, to Part(0).
    __aicore__ inline void TakeRecords(uint64_t at, uint32_t count) {
        Order<AscendC::HardEvent::V_MTE2>();
        Order<AscendC::HardEvent::MTE3_MTE2>();
        LoadRange(Part(1), space_.records[at * kRecordWords], count * kRecordWords);
        Order<AscendC::HardEvent::MTE2_V>();
        Order<AscendC::HardEvent::MTE3_V>();
        if constexpr (kDigits == 0) {
            TakeWords(Part(0), Part(1), count, false);
        }
        TakeWords(Positions(0), Part(1), count, true);
        VectorBarrier();
        if constexpr (!kDescending && kDigits == 0) {
            AscendC::Muls(Part(0), Part(0), -1.0f, count);
            VectorBarrier();
        }
    }
    // Of results that lie in planes, store all of these but the lowest one, which comes to Part(0).
    __aicore__ inline void StoreUpperPlanes(uint64_t row, uint64_t at, uint32_t count) {
        if constexpr (kDigits > 0) {
            for (uint32_t plane = kPlanes; plane-- > 0;) {
                scattered_.Load(Part(0), plane * space_.ElementWords() + row * space_.length,
                                Positions(0), count);
                if (plane > 0) {
                    Order<AscendC::HardEvent::V_MTE3>();
                    StoreRange(space_.values[plane * space_.ValueWords() + row * space_.keep + at],
                               Part(0), count);
                    Order<AscendC::HardEvent::MTE3_V>();
                }
            }
        }
    }
    // As many of `count` results as are wanted, from the element `at` of a row on.
    __aicore__ inline void StoreResults(const LocalTensor<float>& values,
                                        const LocalTensor<int32_t>& positions, uint64_t row,
                                        uint64_t at, uint32_t count) {
        if (at >= wanted_ || count == 0) {
            return;
        }
        const uint64_t left = wanted_ - at;
        const uint32_t kept = static_cast<uint32_t>(left < count ? left : count);
        Order<AscendC::HardEvent::V_MTE3>();
        StoreRange(space_.values[row * space_.keep + at], values, kept);
        StoreRange(space_.positions[row * space_.keep + at], positions, kept);
    }
    // A row with NaN: numbers and NaN go to places of their own.
    __aicore__ inline void TakeRow(uint64_t row, uint32_t nans) {
        uint64_t numberAt = kDescending ? nans : 0;
        uint64_t nanAt = kDescending ? 0 : space_.length - nans;
        for (uint64_t first = 0; first < space_.length; first += space_.runLength) {
            const uint64_t left = space_.length - first;
            const uint32_t count =
                static_cast<uint32_t>(left < space_.runLength ? left : space_.runLength);
            TakeRecords(row * space_.length + first, count);
            const uint32_t numbers = runs_.PartNans(Part(0), Part(1), count);
            StoreResults(Part(1), Positions(1), row, numberAt, numbers);
            numberAt += numbers;
            if (numbers < count) {
                StoreResults(Part(0), Positions(0), row, nanAt, count - numbers);
                nanAt += count - numbers;
            }
        }
    }

    RunSpace space_;
    Rows runs_;
    OrderTiles tiles_;
    RowNans rowNans_;
    ScatteredElements scattered_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> elementsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> nansBuf_;
    uint64_t wanted_ = 0;
    uint32_t tileLength_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_ORDER_RUNS_H
