// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Steps that the data movements share: copy.cpp, layout_copy.cpp.
#ifndef OPGEN_CORE_COPY_STEPS_H
#define OPGEN_CORE_COPY_STEPS_H

#include "ascendc_emu/copy_api.h"
#include "core/bounds.h"
#include "core/operands.h"
#include "core/scheduler.h"

namespace ascendc_emu {

// Stores to global memory, atomically if the core's registers say so.
void Store(Core& core, uint8_t* dst, const uint8_t* src, uint64_t bytes, Api api, Loc loc);

// On-chip accesses must stay inside the buffer in every mode: anything else would corrupt another
// buffer of the emulation.
inline void CheckLocal(Core& core, const TensorRef& t, uint64_t end, Api api, const char* role,
                       Loc loc) {
    const uint32_t size = core.capacity[static_cast<int>(t.mem)];
    if (__builtin_expect(end > size || t.ptr == nullptr, 0))
        OutOfBounds(core, t, end, api, role, loc);
}

// Whether the core has this memory: both halves of a mixed kernel may run the same calls.
inline bool Has(const Core& core, Mem mem) { return core.capacity[static_cast<int>(mem)] > 0; }

inline void SetBlocks(Operand& o, uint64_t bytes, uint32_t blocks, int64_t stride) {
    o.blockBytes = static_cast<uint32_t>(bytes);
    o.repeats = blocks;
    o.repeatStride = stride;
}

// Bytes from the begin of the first block to the end of the last.
inline uint64_t Span(uint64_t bytes, uint32_t blocks, int64_t stride) {
    return blocks == 0 ? 0
                       : bytes + static_cast<uint64_t>(blocks - 1) * static_cast<uint64_t>(stride);
}

inline Record Start(const Core& core, const CopyCall& c, Pipe pipe) {
    Record r;
    r.SetApi(c.api);
    r.pipe = pipe;
    r.loc = Where(core, c.loc);
    return r;
}

}  // namespace ascendc_emu

#endif  // OPGEN_CORE_COPY_STEPS_H
