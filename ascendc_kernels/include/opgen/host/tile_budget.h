// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which kernel of an op serves a call, the longest tile that UB holds for it, and how many cores
// pay off: starting a core costs time at every launch, so a small tensor is done sooner by fewer
// cores than the chip has. C++11, no CANN header needed.
#ifndef OPGEN_HOST_TILE_BUDGET_H
#define OPGEN_HOST_TILE_BUDGET_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "schedule.h"
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

// What a core more adds to a launch, in cycles of a core: 0.15 us at 1.85 GHz. Fitted to published
// times of built-in ops (1M elements: 24 to 32 cores beat 48 by 8% and 16 by 11%). With the 0.1 us
// that `opgen profile` takes for a start, 1M elements get a fifth more cores and its times are 2 to
// 10% longer: cores also share the memory.
constexpr double kLaunchCycles = 280;
// What a tile takes besides its data, in cycles: latency and issue of its copies.
constexpr double kTileCycles = 250;
// What the vector unit takes for each cycle of its rate: start-ups of instructions, and accesses to
// UB that take turns. `opgen profile` shows 1.3 to 1.6 for tiles of the usual lengths.
constexpr double kVectorOverhead = 1.4;

// How many of `most` cores pay off for so many cycles of work of one core.
inline int64_t CoresThatPay(double work, int64_t most) {
    const double best = std::ceil(std::sqrt(work / kLaunchCycles));
    return best < static_cast<double>(most) ? std::max<int64_t>(1, static_cast<int64_t>(best))
                                            : most;
}

// How fast a core moves and computes.
struct CoreRates {
    double gmBytes;  // bytes per cycle between global memory and a core; 0: not known

    explicit CoreRates(uint64_t bandwidth) : gmBytes(static_cast<double>(bandwidth)) {}
    // Cycles of what takes longest: copies in, the vector unit, copies out; they overlap.
    double Cycles(double readBytes, double writtenBytes, double vectorCycles) const {
        const double copies = std::max(readBytes, writtenBytes);
        return std::max(kVectorOverhead * vectorCycles, gmBytes > 0 ? copies / gmBytes : copies);
    }
};

// Equal tiles and the cores that share them.
struct SharedTiles {
    int64_t cores = 1;
    double cycles = 0;  // until the last core is ready, from the launch

    // tileCycles: of one tile, its latency included; most: cores there are; all: that work as far
    // as there are tiles, even where fewer would be ready sooner.
    void Choose(int64_t tiles, double tileCycles, int64_t most, bool all = false) {
        cores = 1;
        cycles = kLaunchCycles;
        if (tiles <= 0) {
            return;
        }
        // So many tiles each take the least time together with the launch; fewer cores would not
        // be ready later where some of them have a tile less.
        const double best = std::sqrt(static_cast<double>(tiles) * kLaunchCycles / tileCycles);
        const int64_t least = CeilDiv(tiles, most);
        if (all) {
            cores = CeilDiv(tiles, least);
            cycles = Time(tiles, least, tileCycles);
            return;
        }
        int64_t each = std::max(least, std::min(tiles, static_cast<int64_t>(best)));
        cycles = Time(tiles, each, tileCycles);
        if (each < tiles && Time(tiles, each + 1, tileCycles) < cycles) {
            cycles = Time(tiles, ++each, tileCycles);
        }
        cores = CeilDiv(tiles, each);
    }

 private:
    // The first tile of a core has nothing to overlap with.
    static double Time(int64_t tiles, int64_t each, double tileCycles) {
        return kLaunchCycles * static_cast<double>(CeilDiv(tiles, each)) +
               tileCycles * static_cast<double>(each + 1);
    }
};

// What an element takes at least, in cycles, even where nothing is read or computed.
constexpr double kLeastCycles = 1.0 / 64;

// Bytes that all cores read from global memory in a cycle, at 1.5 TB/s.
constexpr double kSharedGmBytes = 800;
// Bytes that a core stores in a cycle, on the way to L2.
constexpr double kStoreBytes = 64;
// What an instruction takes beside its data that waits for the one before it, in cycles.
constexpr double kInstructionCycles = 30;
// The start-ups of the instructions of a tile: one takes a cycle for 64 elements, roughly.
inline double StartCycles(double vectorCycles) { return kInstructionCycles * 64 * vectorCycles; }
// What the vector unit takes for each cycle of its rate beside start-ups.
constexpr double kConflictOverhead = 1.1;

// What the steps of a tile take, in cycles: copies in and out and computing, which overlap with
// those of its neighbours.
struct TileTimes {
    double in;      // per element
    double vector;  // per element
    double start;   // the start-ups of the instructions
    double out;     // per element

    TileTimes(double readBytes, double writtenBytes, double vectorCycles, const CoreRates& rates,
              int64_t cores)
        : in(readBytes), vector(kConflictOverhead * vectorCycles), start(0), out(0) {
        const double shared = kSharedGmBytes / static_cast<double>(std::max<int64_t>(1, cores));
        in /= rates.gmBytes > 0 ? std::min(rates.gmBytes, shared) : shared;
        start = StartCycles(vectorCycles);
        out = writtenBytes / kStoreBytes;
    }
    // Until a core has stored the last of `elements`, cut as `Tiles::NextFlat` does, with two
    // copies of its queues.
    double Of(int64_t elements, int64_t length, int64_t edge) const {
        double loaded = 0;
        double computed[2] = {0, 0};
        double stored[2] = {0, 0};
        int64_t now = edge > 0 ? edge : length;
        int64_t left = elements;
        for (size_t tile = 0; left > 0; tile = 1 - tile) {
            const int64_t most = left > edge ? left - edge : left;
            const double count = static_cast<double>(std::min(most, now));
            left -= std::min(most, now);
            now = length;
            loaded = std::max(loaded, computed[tile]) + in * count;
            const double ready = std::max(loaded + kTileCycles, computed[1 - tile]);
            computed[tile] = std::max(ready, stored[tile]) + start + vector * count;
            stored[tile] = std::max(computed[tile], stored[1 - tile]) + out * count;
        }
        return std::max(stored[0], stored[1]);
    }
};

// The share of a core in a contiguous range, and the tiles it is cut into.
struct FlatTiles {
    int64_t cores = 1;
    int64_t length = kUnit;  // elements of a tile
    int64_t edge = 0;        // elements of the first and the last one; 0: as of the others

    // units: of kUnit elements; longest: elements that a tile may have; cycles: of an element.
    void Choose(int64_t units, int64_t longest, double cycles, int64_t coresOfChip,
                const Schedule& asked = Schedule()) {
        SharedTiles shared;
        shared.Choose(units, std::max(cycles, kLeastCycles) * static_cast<double>(kUnit),
                      coresOfChip, asked.cores > 0);
        cores = shared.cores;
        // Two tiles per core at least where there is enough work, so that copies overlap compute.
        const int64_t perCore = CeilDiv(units, cores) * kUnit;
        const int64_t half = AlignUp(CeilDiv(perCore, 2), kUnit);
        if (asked.tile > 0) {
            length = std::max(kUnit, std::min(asked.Tile(longest), perCore));
            return;
        }
        length = std::min(longest, std::max(half, std::min<int64_t>(perCore, 2048)));
        length = std::max(length, kUnit);
    }
    // Shorten the first and the last tile of a core where it is ready sooner then: it computes
    // nothing while the first one is read, nor while the last one is stored.
    void ChooseEdges(int64_t perCore, int64_t longest, const TileTimes& times) {
        constexpr int64_t kFewTiles = 16;  // of more tiles the edges are a small part
        constexpr int64_t kMoreTiles = 4;
        if (perCore > kFewTiles * longest) {
            return;
        }
        double least = kWorthwhile * times.Of(perCore, length, edge);
        for (int64_t part = 32; part >= 4; part /= 2) {
            const int64_t ends = AlignUp(perCore / part, kUnit);
            const int64_t middle = perCore - 2 * ends;
            const int64_t fewest = CeilDiv(middle, longest);
            for (int64_t tiles = fewest; middle > ends && tiles < fewest + kMoreTiles; ++tiles) {
                const int64_t each = AlignUp(CeilDiv(middle, tiles), kUnit);
                const double time = each > ends ? times.Of(perCore, each, ends) : least;
                if (time < least) {
                    least = time;
                    length = each;
                    edge = ends;
                }
            }
        }
    }

 private:
    static constexpr double kWorthwhile = 0.98;
};

}  // namespace opgen

#endif  // OPGEN_HOST_TILE_BUDGET_H
