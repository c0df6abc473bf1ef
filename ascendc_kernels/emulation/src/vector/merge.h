// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Merging sorted lists of records, whatever a record is on the architecture.
#ifndef ASCENDC_EMU_SRC_VECTOR_MERGE_H
#define ASCENDC_EMU_SRC_VECTOR_MERGE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ascendc_emu {

// How many records the first `used` lists of lengths[] hold together.
inline uint64_t GroupOf(const uint16_t lengths[4], int used) {
    uint64_t records = 0;
    for (int i = 0; i < used; ++i) records += lengths[i];
    return records;
}

// Whether lists of these lengths can be merged several times in a row: the groups follow each
// other.
inline bool CanRepeat(const uint16_t lengths[4], int used, bool suspend) {
    bool equal = used == 4 && !suspend;
    for (int i = 1; i < 4; ++i) equal &= lengths[i] == lengths[0];
    return equal;
}

// Hands the records of `used` lists to put in order; of equal ones that of the earlier list comes
// first. suspend: ends once a list is used up. Returns how many each list gave, 16 bits each, as
// GetMrgSortResult's register has it.
template <typename T, typename Before, typename Put>
uint64_t MergeLists(const std::vector<T> (&in)[4], int used, bool suspend, Before before, Put put) {
    size_t at[4] = {0, 0, 0, 0};
    for (;;) {
        int best = -1;
        for (int i = 0; i < used; ++i) {
            if (at[i] >= in[i].size()) continue;
            if (best < 0 || before(in[i][at[i]], in[best][at[best]])) best = i;
        }
        if (best < 0) break;
        put(in[best][at[best]++]);
        if (suspend && at[best] == in[best].size()) break;
    }
    uint64_t given = 0;
    for (int i = 0; i < used; ++i) given |= static_cast<uint64_t>(at[i] & 0xffff) << (16 * i);
    return given;
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_SRC_VECTOR_MERGE_H
