// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which kernel of an op serves a call, and the longest tile that UB holds for it. C++11, no CANN
// header needed.
#ifndef OPGEN_HOST_TILE_BUDGET_H
#define OPGEN_HOST_TILE_BUDGET_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core_count.h"
#include "sizes.h"

namespace opgen {

// The row of a table for a variant and dtypes (its members `variant` and `dtypes`); nullptr: none.
template <typename Budget, size_t kRows, typename DataType, size_t kDtypes>
const Budget* FindBudget(const Budget (&table)[kRows], uint64_t variant,
                         const DataType (&dtypes)[kDtypes]) {
    for (const Budget& row : table) {
        if (row.variant == variant && std::equal(dtypes, dtypes + kDtypes, row.dtypes)) {
            return &row;
        }
    }
    return nullptr;
}

// The longest tile in elements, a multiple of `unit`; 0: UB does not hold one of `unit` elements.
// reserved: bytes that do not grow with the tile; bytes: of UB per element of a tile.
inline int64_t LongestTile(uint64_t ubSize, int64_t reserved, double bytes, int64_t unit) {
    const int64_t room = static_cast<int64_t>(ubSize) - reserved;
    return room <= 0 ? 0 : static_cast<int64_t>(static_cast<double>(room) / bytes) / unit * unit;
}

// Why LongestTile gives 0.
inline std::string NoTileText(uint64_t ubSize, int64_t reserved, double bytes, int64_t unit) {
    const double needed = static_cast<double>(reserved) + bytes * static_cast<double>(unit);
    return "UB has " + std::to_string(ubSize) + " bytes, one tile of " + std::to_string(unit) +
           " elements needs " + std::to_string(static_cast<int64_t>(needed));
}

// What an element takes at least, in cycles, even where nothing is read or computed.
constexpr double kLeastCycles = 1.0 / 64;

// The share of a core in a contiguous range, and the tiles it is cut into.
struct FlatTiles {
    int64_t cores = 1;
    int64_t length = kUnit;  // elements of a tile

    // units: of kUnit elements; longest: elements that a tile may have; cycles: of an element.
    void Choose(int64_t units, int64_t longest, double cycles, int64_t coresOfChip) {
        SharedTiles shared;
        shared.Choose(units, std::max(cycles, kLeastCycles) * static_cast<double>(kUnit),
                      coresOfChip);
        cores = shared.cores;
        // Two tiles per core at least where there is enough work, so that copies overlap compute.
        const int64_t perCore = CeilDiv(units, cores) * kUnit;
        const int64_t half = AlignUp(CeilDiv(perCore, 2), kUnit);
        length = std::min(longest, std::max(half, std::min<int64_t>(perCore, 2048)));
        length = std::max(length, kUnit);
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_TILE_BUDGET_H
