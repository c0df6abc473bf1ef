// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling decision of products of groups of rows: how large the blocks are that cores make.
// C++11, no CANN header needed.
#ifndef OPGEN_HOST_GROUP_BLOCKS_H
#define OPGEN_HOST_GROUP_BLOCKS_H

#include <cstdint>

#include "sizes.h"

namespace opgen {

// Blocks of all groups. Tiling: groups, ends, columns, blockRows, blockColumns.
template <typename Tiling>
inline int64_t CountGroupBlocks(const Tiling& tiling) {
    int64_t down = 0;
    int64_t start = 0;
    for (uint32_t i = 0; i < tiling.groups; ++i) {
        down += CeilDiv(tiling.ends[i] - start, tiling.blockRows);
        start = tiling.ends[i];
    }
    return down * CeilDiv(tiling.columns, tiling.blockColumns);
}

// Choose blockRows and blockColumns, and return how many blocks there are. L0C holds 128 x 256
// sums; 16 are the least that a cube multiplies at once. Blocks are narrower where there would be
// fewer of them than cores. longest: rows of the longest group.
template <typename Tiling>
inline int64_t ChooseGroupBlocks(Tiling& tiling, int64_t longest, int64_t cores) {
    constexpr int64_t kRows = 128, kColumns = 256, kLeastColumns = 64, kUnit = 16;
    const int64_t rows = AlignUp(longest, kUnit);
    tiling.blockRows = static_cast<uint32_t>(rows < kUnit ? kUnit : rows > kRows ? kRows : rows);
    tiling.blockColumns = static_cast<uint32_t>(kColumns);
    int64_t blocks = CountGroupBlocks(tiling);
    while (blocks < cores && tiling.blockColumns > kLeastColumns) {
        tiling.blockColumns /= 2;
        blocks = CountGroupBlocks(tiling);
    }
    return blocks;
}

}  // namespace opgen

#endif  // OPGEN_HOST_GROUP_BLOCKS_H
