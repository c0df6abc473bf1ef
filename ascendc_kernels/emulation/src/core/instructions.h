// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the table of instructions (emulation/instructions.csv) says about an API: what it computes,
// how data goes through it, and which architectures, data types and rounding modes have it.
#ifndef OPGEN_CORE_INSTRUCTIONS_H
#define OPGEN_CORE_INSTRUCTIONS_H

#include <cstdint>
#include <string>

#include "ascendc_emu/vector.h"

namespace ascendc_emu {

// Which parts of the sources a part of the destination comes from.
enum class Flow : uint8_t {
    kWhole,   // any part may come from any part
    kLanes,   // part i of the destination from part i of the source
    kBlocks,  // the same, block by block of a copy, where the destination may be padded
};

// A value of one source that decides the result whatever the other one holds.
enum class Absorbs : uint8_t { kNothing, kZeros, kOnes };

struct Instruction {
    static constexpr int kMostArchs = 4;

    const char* name = "";
    VecOp arithmetic = VecOp::kNone;
    bool readsDst = false;  // dst is a source, too
    Flow flow = Flow::kWhole;
    Absorbs absorbs = Absorbs::kNothing;
    bool fills = false;              // sets memory up; that somebody reads it is not expected
    bool chooses = false;            // takes each result from one of its sources
    bool makesBits = false;          // a result is a bit
    Pipe pipe = Pipe::kAll;          // kAll: the call decides
    const char* page = "";           // of the documentation
    int32_t archs[kMostArchs] = {};  // that have it; 0: no further one; none: nothing is known
    // Of the architectures whose types the table lists, in the order of kListedArchs: names of
    // types, space separated; of Cast source>destination:MODE/MODE; empty: all.
    const char* types[kMostArchs] = {};

    // Whether the table says which architectures have it.
    bool IsListed() const { return archs[0] != 0; }
    bool IsOn(int32_t arch) const;
    // Its types on an architecture; empty: all, or not listed.
    const char* TypesOn(int32_t arch) const;
};

extern const Instruction kInstructions[Api::kCount];
inline const Instruction& FactsOf(Api api) { return kInstructions[api.id]; }

// Whether the architecture's list of types, which is not empty, has the type.
bool HasType(const Instruction& facts, int32_t arch, const std::string& type);

// Whether the table has the data types of an architecture's APIs: only these are checked.
bool ListsApisOf(int32_t arch);

// Why an architecture does not have this instruction, as a sentence; empty: it has. `page`: where
// it says so.
std::string MissingOn(int32_t arch, const Record& record, std::string* page);

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_INSTRUCTIONS_H
