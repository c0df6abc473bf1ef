// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rows of records in UB, sorted by the sort instructions. A record is a key, a float, and the
// position of its element in the row, 8 bytes together. Keys are sorted from the largest to the
// smallest; equal ones stay in the order of their positions.
#ifndef OPGEN_ORDER_RECORDS_H
#define OPGEN_ORDER_RECORDS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"

namespace opgen {

constexpr uint32_t kSortedAtOnce = 32;  // elements that an instruction sorts
constexpr uint32_t kMergedLists = 4;    // lists that an instruction merges
constexpr uint32_t kRecordWords = 2;    // words of 4 bytes in a record

// Copy `count` words of 4 bytes with all their bits.
template <typename T>
__aicore__ inline void CopyWords(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 uint32_t count) {
    AscendC::Adds(dst.template ReinterpretCast<int32_t>(), src.template ReinterpretCast<int32_t>(),
                  0, count);
}

// Merge up to four lists of records that lie one behind the other, `each` records long but for the
// last one.
__aicore__ inline void MergeLists(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                  uint32_t records, uint32_t each) {
    const uint32_t lists = (records + each - 1) / each;
    if (lists < 2) {
        CopyWords(dst, src, records * kRecordWords);
        return;
    }
    uint16_t lengths[kMergedLists] = {};
    uint32_t from[kMergedLists] = {};
    for (uint32_t i = 0; i < lists; ++i) {
        const uint32_t left = records - i * each;
        lengths[i] = static_cast<uint16_t>(left < each ? left : each);
        from[i] = i * each * kRecordWords;
    }
    const AscendC::MrgSortSrcList<float> sources(src[from[0]], src[from[1]], src[from[2]],
                                                 src[from[3]]);
    const uint16_t used = static_cast<uint16_t>((1u << lists) - 1);
    AscendC::MrgSort(dst, sources, AscendC::MrgSort4Info(lengths, false, used, 1));
}

// Merge `groups` times four lists of `each` records.
__aicore__ inline void MergeGroups(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                   uint32_t groups, uint32_t each) {
    constexpr uint32_t kMaxRepeat = 255;
    const uint32_t list = each * kRecordWords;
    const uint16_t length = static_cast<uint16_t>(each);
    const uint16_t lengths[kMergedLists] = {length, length, length, length};
    for (uint32_t group = 0; group < groups; group += kMaxRepeat) {
        const uint32_t at = group * kMergedLists * list;
        const uint32_t left = groups - group;
        const AscendC::MrgSortSrcList<float> sources(src[at], src[at + list], src[at + 2 * list],
                                                     src[at + 3 * list]);
        AscendC::MrgSort(
            dst[at], sources,
            AscendC::MrgSort4Info(lengths, false, 15,
                                  static_cast<uint16_t>(left < kMaxRepeat ? left : kMaxRepeat)));
    }
}

// Two buffers of records; sorting moves them from one to the other and back.
struct RecordPair {
    LocalTensor<float> records;
    LocalTensor<float> free;

    __aicore__ inline void Swap() {
        const LocalTensor<float> other = records;
        records = free;
        free = other;
    }
};

// Sort rows of `pitch` keys, a multiple of 32, to `pair.records`; keys and positions may lie in
// pair.free.
__aicore__ inline void SortRows(RecordPair& pair, const LocalTensor<float>& keys,
                                const LocalTensor<uint32_t>& positions, uint32_t rows,
                                uint32_t pitch) {
    constexpr uint32_t kMaxRepeat = 255;
    const uint32_t sorts = rows * pitch / kSortedAtOnce;
    for (uint32_t i = 0; i < sorts; i += kMaxRepeat) {
        const uint32_t left = sorts - i;
        const uint32_t at = i * kSortedAtOnce;
        AscendC::Sort32(pair.records[at * kRecordWords], keys[at], positions[at],
                        static_cast<int32_t>(left < kMaxRepeat ? left : kMaxRepeat));
    }
    VectorBarrier();
    for (uint32_t each = kSortedAtOnce; each < pitch; each *= kMergedLists) {
        const uint32_t group = each * kMergedLists;
        if (pitch % group == 0) {
            MergeGroups(pair.free, pair.records, rows * (pitch / group), each);
        } else {
            const uint32_t groups = pitch / group;
            const uint32_t behind = groups * group * kRecordWords;
            for (uint32_t row = 0; row < rows; ++row) {
                const LocalTensor<float> to = pair.free[row * pitch * kRecordWords];
                const LocalTensor<float> from = pair.records[row * pitch * kRecordWords];
                MergeGroups(to, from, groups, each);
                MergeLists(to[behind], from[behind], pitch - groups * group, each);
            }
        }
        VectorBarrier();
        pair.Swap();
    }
}

// The keys, or the positions, of records.
template <typename T>
__aicore__ inline void TakeWords(const LocalTensor<T>& dst, const LocalTensor<float>& records,
                                 uint32_t count, bool positions) {
    uint64_t taken = 0;
    const AscendC::GatherMaskParams once{1, 1, 0, 0};
    AscendC::GatherMask(dst, records.template ReinterpretCast<T>(),
                        static_cast<uint8_t>(positions ? 2 : 1), true, count * kRecordWords, once,
                        taken);
}

// Set the keys behind the `length` elements of each row.
__aicore__ inline void FillBehindRows(const LocalTensor<float>& keys, float value, uint32_t rows,
                                      uint32_t length, uint32_t pitch) {
    constexpr uint32_t kMaxRepeat = 255;
    const uint32_t block = length / kSortedAtOnce * kSortedAtOnce;
    if (length == pitch) {
        return;
    }
    const uint64_t lanes = (static_cast<uint64_t>(1) << kSortedAtOnce) - 1;
    uint64_t mask[2] = {lanes & ~((static_cast<uint64_t>(1) << (length - block)) - 1), 0};
    const uint32_t stride = pitch * static_cast<uint32_t>(sizeof(float)) / kBlockBytes;
    const uint32_t repeat = stride <= kMaxRepeat ? kMaxRepeat : 1;
    for (uint32_t row = 0; row < rows; row += repeat) {
        const uint32_t left = rows - row;
        const uint8_t times = static_cast<uint8_t>(left < repeat ? left : repeat);
        AscendC::Duplicate(keys[row * pitch + block], value, mask, times, 1,
                           static_cast<uint8_t>(times > 1 ? stride : 8));
    }
}

}  // namespace opgen

#endif  // OPGEN_ORDER_RECORDS_H
