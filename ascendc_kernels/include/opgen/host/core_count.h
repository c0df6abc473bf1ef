// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How many cores pay off. Starting a core costs time at every launch, so a small tensor is done
// sooner by fewer cores than the chip has. C++11, no CANN header needed.
#ifndef OPGEN_HOST_CORE_COUNT_H
#define OPGEN_HOST_CORE_COUNT_H

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sizes.h"

namespace opgen {

// What a core more adds to a launch, in cycles of a core: 0.15 us at 1.85 GHz. Fitted to published
// times of built-in ops (1M elements: 24 to 32 cores beat 48 by 8% and 16 by 11%).
constexpr double kLaunchCycles = 280;
// What a tile takes besides its data, in cycles: latency and issue of its copies.
constexpr double kTileCycles = 250;

// How fast a core moves and computes.
struct CoreRates {
    double gmBytes;  // bytes per cycle between global memory and a core; 0: not known

    explicit CoreRates(uint64_t bandwidth) : gmBytes(static_cast<double>(bandwidth)) {}
    // Cycles of what takes longest: copies in, the vector unit, copies out; they overlap.
    double Cycles(double readBytes, double writtenBytes, double vectorCycles) const {
        const double copies = std::max(readBytes, writtenBytes);
        return std::max(vectorCycles, gmBytes > 0 ? copies / gmBytes : copies);
    }
};

// Equal tiles and the cores that share them.
struct SharedTiles {
    int64_t cores = 1;
    double cycles = 0;  // until the last core is ready, from the launch

    // tileCycles: of one tile, its latency included; most: cores there are.
    void Choose(int64_t tiles, double tileCycles, int64_t most) {
        cores = 1;
        cycles = kLaunchCycles;
        if (tiles <= 0) {
            return;
        }
        // So many tiles each take the least time together with the launch; fewer cores would not
        // be ready later where some of them have a tile less.
        const double best = std::sqrt(static_cast<double>(tiles) * kLaunchCycles / tileCycles);
        const int64_t least = CeilDiv(tiles, most);
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

}  // namespace opgen

#endif  // OPGEN_HOST_CORE_COUNT_H
