// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the parts of TPipe share: pipe.cpp (memory), queue.cpp, events.cpp, raw_tensor.cpp.
#ifndef OPGEN_CORE_PIPE_RULES_H
#define OPGEN_CORE_PIPE_RULES_H

#include "ascendc_emu/pipe.h"

namespace ascendc_emu {

// Bytes of a memory on this SoC, whether or not this core has it: both halves of a mixed kernel run
// the same InitBuffer calls.
uint32_t SizeOf(const Core& core, Mem mem);

// Unified cores move results of the cube to UB, by the vector unit.
inline bool IsUnified() { return Current().soc->traits.unified; }
inline Mem MemoryOf(AscendC::TPosition pos) { return MemOf(pos, IsUnified()); }

// What happened to one buffer of a queue; `user`: the positions that the call named.
BufferEvent QueueEvent(BufferKind kind, const QueueState& q, uint32_t index, Loc loc,
                       UserPositions user = {});

// The HardEvent from one pipe to another; -1: there is none.
int EventOf(Pipe src, Pipe dst);

// The waits at the end of a TPipe.
void WaitForTakenFlags(Core& core, const PipeState& pipe, Loc loc);

}  // namespace ascendc_emu

#endif  // OPGEN_CORE_PIPE_RULES_H
