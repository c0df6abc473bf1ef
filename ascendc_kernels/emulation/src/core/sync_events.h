// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Telling the sink of synchronisation.
#ifndef OPGEN_CORE_SYNC_EVENTS_H
#define OPGEN_CORE_SYNC_EVENTS_H

#include "ascendc_emu/core.h"

namespace ascendc_emu {

// Of one call at `loc`; without a sink nothing happens.
inline void EmitSync(Core& core, SyncKind kind, Pipe src, Pipe dst, int id, int mode, Loc loc) {
    if (!core.sink) return;
    SyncEvent e;
    e.kind = kind;
    e.src = src;
    e.dst = dst;
    e.id = id;
    e.mode = mode;
    e.loc = Where(core, loc);
    core.sink->OnSync(core, e);
}

}  // namespace ascendc_emu

#endif  // OPGEN_CORE_SYNC_EVENTS_H
