// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Flags between pipes: the ids that TPipe hands out, SetFlag, WaitFlag, PipeBarrier.
#include <array>

#include "core/pipe_rules.h"
#include "core/sync_events.h"

namespace ascendc_emu {

int EventOf(Pipe src, Pipe dst) {
    static const auto kEvents = [] {
        std::array<std::array<int8_t, kPipeCount>, kPipeCount> all;
        for (auto& row : all) row.fill(-1);
        for (int e = 0; e < static_cast<int>(AscendC::HardEvent::MAX); ++e) {
            const PipePair p = PipesOf(static_cast<AscendC::HardEvent>(e));
            int8_t& slot = all[static_cast<size_t>(p.src)][static_cast<size_t>(p.dst)];
            if (slot < 0) slot = static_cast<int8_t>(e);
        }
        return all;
    }();
    return kEvents[static_cast<size_t>(src)][static_cast<size_t>(dst)];
}

int32_t EventId(PipeState& pipe, AscendC::HardEvent event, bool reserve, Loc loc) {
    Core& core = Current();
    uint8_t& used = pipe.events[static_cast<int>(event)];
    int id = 0;
    while (id < kEventIds && ((used >> id) & 1)) ++id;
    if (id == kEventIds) {
        TrapCheck(core, loc, "EventId", reserve ? "AllocEventID" : "FetchEventID",
                  "release ids with ReleaseEventID",
                  "all 8 event ids of this pipe pair are in use");
    }
    if (reserve) used = static_cast<uint8_t>(used | (1 << id));
    if (core.sink) {
        const PipePair p = PipesOf(event);
        EmitSync(core, reserve ? SyncKind::kAllocEvent : SyncKind::kFetchEvent, p.src, p.dst, id, 0,
                 loc);
    }
    return id;
}

void ReleaseEvent(PipeState& pipe, AscendC::HardEvent event, int32_t id, Loc loc) {
    Core& core = Current();
    if (id >= 0 && id < kEventIds) {
        uint8_t& used = pipe.events[static_cast<int>(event)];
        used = static_cast<uint8_t>(used & ~(1 << id));
    }
    if (core.sink) {
        const PipePair p = PipesOf(event);
        EmitSync(core, SyncKind::kReleaseEvent, p.src, p.dst, id, 0, loc);
    }
}

namespace {
// A cube core has no V pipe and ignores its flags, a vector core has neither MTE1, M nor FIX: both
// halves of a mixed kernel may run the same code.
bool HasPipe(const Core& core, Pipe p) {
    if (core.kind == CoreKind::kAic) return p != Pipe::kV;
    if (core.kind == CoreKind::kAiv) return p != Pipe::kM && p != Pipe::kMte1 && p != Pipe::kFix;
    return true;
}

bool CheckFlag(Core& core, Pipe src, Pipe dst, int32_t id, const char* op, Loc loc) {
    if (!HasPipe(core, src) || !HasPipe(core, dst)) return false;
    if (id < 0 || id >= kEventIds) {
        TrapCheck(core, loc, "EventId", op, "use an id from AllocEventID or FetchEventID",
                  "event id %d is not in 0..7", id);
    }
    return true;
}

// On cube cores of arch 2201 TPipe sets the first three M_MTE1 flags for products and waits for
// them at its end (CANN's public implementation; no page says so). Kernels that know begin with a
// WaitFlag; others set these flags themselves, so one counts from the first wait for it only.
bool TakePipesFlag(Core& core, Pipe src, Pipe dst, int32_t id) {
    if (src != Pipe::kM || dst != Pipe::kMte1 || core.kind != CoreKind::kAic ||
        core.soc == nullptr || id >= core.soc->traits.pipeFlags || core.pipe == nullptr) {
        return false;
    }
    const uint8_t bit = static_cast<uint8_t>(1 << id);
    if ((core.pipe->takenFlags & bit) != 0) return false;
    core.pipe->takenFlags |= bit;
    core.pipe->events[static_cast<int>(AscendC::HardEvent::M_MTE1)] |=
        bit;  // AllocEventID has others
    return true;
}

}  // namespace

void WaitForTakenFlags(Core& core, const PipeState& pipe, Loc loc) {
    for (int32_t id = 0; core.soc != nullptr && id < core.soc->traits.pipeFlags; ++id) {
        const bool isSet =
            core.flags[static_cast<int>(Pipe::kM)][static_cast<int>(Pipe::kMte1)][id] != 0;
        if ((pipe.takenFlags >> id & 1) != 0 && isSet) WaitEvent(Pipe::kM, Pipe::kMte1, id, loc);
    }
}

void SetEvent(Pipe src, Pipe dst, int32_t id, Loc loc) {
    Core& core = Current();
    if (!CheckFlag(core, src, dst, id, "SetFlag", loc)) return;
    uint8_t& flag = core.flags[static_cast<int>(src)][static_cast<int>(dst)][id];
    if (core.sink) {
        const int event = EventOf(src, dst);
        if (core.pipe != nullptr && event >= 0 && (core.pipe->queueEvents[event] >> id & 1) != 0) {
            Complain(core, loc, "ErrorSync4", "SetFlag",
                     "take the id from AllocEventID, or FetchEventID for immediate use, which know "
                     "the queues'",
                     "event %d of %s_%s is set although a queue has set it: EnQue and FreeTensor "
                     "take the "
                     "lowest free ids until DeQue and AllocTensor",
                     id, Name(src), Name(dst));
        }
        EmitSync(core, SyncKind::kSetFlag, src, dst, id, 0, loc);
    }
    if (flag < 255) ++flag;
}

void WaitEvent(Pipe src, Pipe dst, int32_t id, Loc loc) {
    Core& core = Current();
    if (!CheckFlag(core, src, dst, id, "WaitFlag", loc)) return;
    uint8_t& flag = core.flags[static_cast<int>(src)][static_cast<int>(dst)][id];
    if (flag == 0 && TakePipesFlag(core, src, dst, id)) SetEvent(src, dst, id, loc);
    if (flag == 0) {
        TrapCheck(core, loc, "ErrorSync3", "WaitFlag", "put the matching SetFlag before it",
                  "waits for event %s_%s id %d that nothing has set: the device would hang",
                  Name(src), Name(dst), id);
    }
    --flag;
    EmitSync(core, SyncKind::kWaitFlag, src, dst, id, 0, loc);
}

void Barrier(Pipe pipe, Loc loc) {
    Core& core = Current();
    if (!core.sink || (pipe != Pipe::kAll && !HasPipe(core, pipe))) return;
    if (pipe == Pipe::kS) {
        Complain(core, loc, "ErrorParam", "PipeBarrier",
                 "remove it: the scalar unit works in order",
                 "there is no barrier of the scalar pipe PIPE_S");
    }
    EmitSync(core, SyncKind::kPipeBarrier, pipe, pipe, 0, 0, loc);
}

}  // namespace ascendc_emu
