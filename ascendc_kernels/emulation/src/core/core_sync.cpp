// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Synchronisation between cores: SyncAll, CrossCoreSetFlag, IBSet, GroupBarrier.
#include <cstdio>

#include "ascendc_emu/system_api.h"
#include "core/scheduler.h"
#include "core/sync_events.h"

namespace ascendc_emu {

void SyncAllCores(int scope, int wanted, Loc loc) {
    Core& core = Current();
    // An AIV-only barrier means nothing to a cube core.
    if (scope == 0 && core.kind == CoreKind::kAic) return;
    loc = Where(core, loc);
    Scheduler& s = *core.scheduler;
    if (core.kind == CoreKind::kUnified) scope = 0;
    const int physical = core.kind == CoreKind::kUnified ? core.soc->aiCores
                         : core.mixed                    ? core.soc->aicCores
                         : core.kind == CoreKind::kAic   ? core.soc->aicCores
                                                         : core.soc->aivCores;
    if (core.blockNum > physical) {
        TrapCheck(core, loc, "CrossCore", "SyncAll",
                  "launch at most as many blocks as the SoC has cores",
                  "block dim %d exceeds the %d cores of %s: blocks that have no core yet can never "
                  "arrive",
                  core.blockNum, physical, core.soc->name);
    }
    struct State {
        Scheduler* s;
        int scope;
        int expected;
        uint64_t generation;
    } state{&s, scope, wanted > 0 ? wanted : s.CountOf(scope), 0};
    EmitSync(core, SyncKind::kSyncArrive, Pipe::kAll, Pipe::kAll, 0, scope, loc);
    s.Update(
        [](void* p) {
            State& st = *static_cast<State*>(p);
            Scheduler::Barrier& b = st.s->shared.barriers[st.scope];
            st.generation = b.generation;
            if (++b.arrived >= st.expected) {
                b.arrived = 0;
                ++b.generation;
            }
        },
        &state);
    s.Wait(
        core,
        [](void* p) {
            State& st = *static_cast<State*>(p);
            return st.s->shared.barriers[st.scope].generation != st.generation;
        },
        &state, "SyncAll: not all cores arrive", loc);
    EmitSync(core, SyncKind::kSyncLeave, Pipe::kAll, Pipe::kAll, 0, scope, loc);
}

void NeedsScheduler(Api api, Loc loc) {
    Core& core = Current();
    if (core.sink == nullptr || core.kind == CoreKind::kUnified) return;
    const DeclaredKind declared = core.scheduler->declared();
    const bool cube = declared.kind == OPGEN_KERNEL_AIC_ONLY;
    // Without a declaration CANN's compile script turns the scheduler on by itself.
    if (declared.source < KindSource::kDefault || (!cube && declared.kind != OPGEN_KERNEL_AIV_ONLY))
        return;
    loc = Where(core, loc);
    const char* const fix = cube ? "declare KERNEL_TYPE_MIX_AIC_1_0, __mix__(1, 0)"
                                 : "declare KERNEL_TYPE_MIX_AIV_1_0, __mix__(0, 1)";
    const char* const text =
        "a kernel of type %s runs without the scheduler that passes flags between cores%s";
    const char* const type = cube ? "AIC_ONLY (__cube__)" : "AIV_ONLY (__vector__)";
    // Public samples of direct launches call SyncAll in __vector__ kernels.
    if (declared.source == KindSource::kLaunch && api == Api::kSyncAll) {
        Warn(core, loc, "CrossCore", api, fix, text, type, "; public samples do so all the same");
    } else {
        Complain(core, loc, "CrossCore", api, fix, text, type, ": it may wait for ever");
    }
}

namespace {
void RequireCrossFlag(Core& core, int flag, Api api, Loc loc) {
    NeedsApi(core, loc, api);
    if (flag < 0 || flag >= kCrossFlags) {
        TrapCheck(core, loc, "CrossCore", api, "use flag ids 0..10 (11..15 are reserved)",
                  "flag id %d is not in 0..15", flag);
    }
}
}  // namespace

void CrossSet(int mode, Pipe pipe, int flag, Loc loc) {
    Core& core = Current();
    loc = Where(core, loc);
    RequireCrossFlag(core, flag, Api::kCrossCoreSetFlag, loc);
    if (pipe == Pipe::kS || pipe == Pipe::kAll) {
        Complain(core, loc, "CrossCore", "CrossCoreSetFlag",
                 "name the pipe whose work the other cores wait for, e.g. PIPE_MTE3 or PIPE_FIX",
                 "PIPE_%s is no pipe that can raise a cross-core flag",
                 pipe == Pipe::kS ? "S" : "ALL");
    }
    NeedsScheduler(Api::kCrossCoreSetFlag, loc);
    if (core.kind == CoreKind::kAic && pipe == Pipe::kV) return;
    if (core.kind == CoreKind::kAiv &&
        (pipe == Pipe::kFix || pipe == Pipe::kM || pipe == Pipe::kMte1))
        return;
    EmitSync(core, SyncKind::kCrossSet, pipe, Pipe::kAll, flag, mode, loc);
    struct State {
        Core* core;
        int mode, flag;
        int overflow;
    } state{&core, mode, flag, -1};
    core.scheduler->Update(
        [](void* p) {
            State& st = *static_cast<State*>(p);
            Core& me = *st.core;
            Scheduler& s = *me.scheduler;
            const CoreSpec& mine = s.spec(me.id);
            auto give = [&](int id) {
                const auto i = static_cast<size_t>(id);
                int& credit = s.credits[i][static_cast<size_t>(st.flag)];
                if (++credit > 15) st.overflow = id;
                if (s.cores[i]) s.cores[i]->cross[st.flag] = static_cast<int16_t>(credit);
            };
            auto same = [&](const CoreSpec& o) {
                if (st.mode == 0) return o.kind == mine.kind;
                return o.group == mine.group && o.kind == mine.kind;
            };
            auto& pending = s.shared.pending[static_cast<size_t>(st.mode * kCrossFlags + st.flag)];
            if (pending.empty()) pending.assign(static_cast<size_t>(s.coreCount()), 0);
            ++pending[static_cast<size_t>(me.id)];
            // The set takes effect when every core of the setting group has executed it.
            for (int i = 0; i < s.coreCount(); ++i) {
                if (same(s.spec(i)) && pending[static_cast<size_t>(i)] == 0) return;
            }
            for (int i = 0; i < s.coreCount(); ++i) {
                if (same(s.spec(i))) --pending[static_cast<size_t>(i)];
            }
            for (int i = 0; i < s.coreCount(); ++i) {
                const CoreSpec& o = s.spec(i);
                if (st.mode == 2 ? o.group == mine.group && o.kind != mine.kind : same(o)) give(i);
            }
        },
        &state);
    if (state.overflow >= 0) {
        // A 16th set is a fault on the device. Kernels whose consumers are faster than the producer
        // never get there; here the producer may run first, so it lets them catch up, and what can
        // never go on is reported as a deadlock.
        struct Full {
            Core* core;
            int id, flag;
        } full{&core, state.overflow, flag};
        core.scheduler->Update(
            [](void* p) { ++static_cast<Full*>(p)->core->scheduler->shared.fullFlags; }, &full);
        core.scheduler->Wait(
            core,
            [](void* p) {
                const Full& f = *static_cast<Full*>(p);
                Scheduler& s = *f.core->scheduler;
                if (s.credits[static_cast<size_t>(f.id)][static_cast<size_t>(f.flag)] > 15)
                    return false;
                --s.shared.fullFlags;
                return true;
            },
            &full, "CrossCoreSetFlag: the flag's counter exceeds 15, nobody waits for it", loc);
    }
}

void CrossWait(int mode, Pipe pipe, int flag, Loc loc) {
    Core& core = Current();
    loc = Where(core, loc);
    RequireCrossFlag(core, flag, Api::kCrossCoreWaitFlag, loc);
    struct State {
        Core* core;
        int flag;
        bool makesRoom;
    } state{&core, flag, false};
    static const char* const what[kCrossFlags] = {
        "CrossCoreWaitFlag 0",  "CrossCoreWaitFlag 1",  "CrossCoreWaitFlag 2",
        "CrossCoreWaitFlag 3",  "CrossCoreWaitFlag 4",  "CrossCoreWaitFlag 5",
        "CrossCoreWaitFlag 6",  "CrossCoreWaitFlag 7",  "CrossCoreWaitFlag 8",
        "CrossCoreWaitFlag 9",  "CrossCoreWaitFlag 10", "CrossCoreWaitFlag 11",
        "CrossCoreWaitFlag 12", "CrossCoreWaitFlag 13", "CrossCoreWaitFlag 14",
        "CrossCoreWaitFlag 15"};
    core.scheduler->Wait(
        core,
        [](void* p) {
            State& st = *static_cast<State*>(p);
            Scheduler& s = *st.core->scheduler;
            int& credit = s.credits[static_cast<size_t>(st.core->id)][static_cast<size_t>(st.flag)];
            if (credit == 0) return false;
            --credit;
            st.core->cross[st.flag] = static_cast<int16_t>(credit);
            st.makesRoom = s.shared.fullFlags > 0;
            return true;
        },
        &state, what[flag], loc);
    if (state.makesRoom) core.scheduler->Update([](void*) {}, nullptr);
    EmitSync(core, SyncKind::kCrossWait, Pipe::kAll, pipe, flag, mode, loc);
}

void CheckSyncSpace(const char* op, const GmRef& gm, uint64_t firstSlot, uint64_t slots,
                    const TensorRef& ub, uint64_t ubSlots, Loc loc) {
    constexpr uint64_t kSlot = 32;
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    loc = Where(core, loc);
    if (ub.hi != 0 && ub.size < ubSlots * kSlot) {
        Complain(core, loc, "ErrorParam", op, "make ubWorkspace 32 bytes per core",
                 "ubWorkspace has %u bytes, %llu are needed", ub.size,
                 static_cast<unsigned long long>(ubSlots * kSlot));
    }
    const Scheduler& s = *core.scheduler;
    const OpgenGmRange* range = s.FindRange(gm.ptr);
    const uint64_t end = (firstSlot + slots) * kSlot;
    if (s.bounded()) {
        const uint64_t room = range == nullptr
                                  ? 0
                                  : static_cast<uint64_t>(static_cast<const uint8_t*>(range->data) +
                                                          range->bytes - gm.ptr);
        if (room < end) {
            Complain(core, loc, "ErrorParam", op,
                     "give gmWorkspace 32 bytes per core and event, zeroed",
                     "gmWorkspace has %llu bytes of '%s', %llu are needed",
                     static_cast<unsigned long long>(room),
                     range != nullptr && range->name != nullptr ? range->name : "no tensor",
                     static_cast<unsigned long long>(end));
            return;
        }
    }
    SyncEvent e;
    e.kind = SyncKind::kSyncSpace;
    e.addr = reinterpret_cast<uint64_t>(gm.ptr) + firstSlot * kSlot;
    e.bytes = slots * kSlot;
    e.op = op;
    e.loc = loc;
    core.sink->OnSync(core, e);
}

void BlockSet(const GmRef& gm, int block, int event, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    EmitSync(core, SyncKind::kBlockSet, Pipe::kAll, Pipe::kAll, (block << 16) | event, 0, loc);
    struct State {
        Scheduler* s;
        const void* gm;
        int block, event;
    } state{core.scheduler, gm.ptr, block, event};
    core.scheduler->Update(
        [](void* p) {
            State& st = *static_cast<State*>(p);
            ++st.s->shared.blockFlags[{st.gm, st.block, st.event}];
        },
        &state);
}

void BlockWait(const GmRef& gm, int block, int event, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    struct State {
        Scheduler* s;
        const void* gm;
        int block, event;
    } state{core.scheduler, gm.ptr, block, event};
    core.scheduler->Wait(
        core,
        [](void* p) {
            State& st = *static_cast<State*>(p);
            int& n = st.s->shared.blockFlags[{st.gm, st.block, st.event}];
            if (n == 0) return false;
            --n;
            return true;
        },
        &state, "IBWait", Where(core, loc));
    EmitSync(core, SyncKind::kBlockWait, Pipe::kAll, Pipe::kAll, (block << 16) | event, 0, loc);
}

namespace {
// Arrivals of a GroupBarrier share the map of IBSet under numbers that IBSet cannot have.
struct GroupState {
    Scheduler* s;
    const void* gm;
    int arrivals;
};
constexpr int kGroup = -1;
}  // namespace

void GroupArrive(const GmRef& gm, Loc loc) {
    Core& core = Current();
    EmitSync(core, SyncKind::kBlockSet, Pipe::kAll, Pipe::kAll, -1, 0, loc);
    GroupState state{core.scheduler, gm.ptr, 0};
    core.scheduler->Update(
        [](void* p) {
            GroupState& st = *static_cast<GroupState*>(p);
            ++st.s->shared.blockFlags[{st.gm, kGroup, 0}];
        },
        &state);
}

void GroupWait(const GmRef& gm, int arrivals, Loc loc) {
    Core& core = Current();
    GroupState state{core.scheduler, gm.ptr, arrivals};
    core.scheduler->Wait(
        core,
        [](void* p) {
            GroupState& st = *static_cast<GroupState*>(p);
            return st.s->shared.blockFlags[{st.gm, kGroup, 0}] >= st.arrivals;
        },
        &state, "GroupBarrier::Wait", Where(core, loc));
    EmitSync(core, SyncKind::kBlockWait, Pipe::kAll, Pipe::kAll, -1, 0, loc);
}

}  // namespace ascendc_emu
