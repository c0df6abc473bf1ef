// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Synchronisation: what each call lets which pipe of which core know.
#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

// A call as the kernel writes it.
std::string CallText(const char* name, const SyncEvent& e) {
    return Format("%s<HardEvent::%s_%s>(%d)", name, PipeName(Dense(e.src)), PipeName(Dense(e.dst)),
                  e.id);
}

}  // namespace

// One case per call.
void Checker::OnSync(Core& core, const SyncEvent& e) {
    CoreState& state = State(core);
    if (!hidden_.empty()) ShowNow();
    Settle(state);
    const int src = Dense(e.src);
    const uint32_t id = static_cast<uint32_t>(core.id);
    switch (e.kind) {
        case SyncKind::kSetFlag:
            return OnSetFlag(state, e);
        case SyncKind::kWaitFlag:
            return OnWaitFlag(state, e);
        case SyncKind::kPipeBarrier:
            if (e.src == Pipe::kAll) {
                state.BarrierAll();
            } else {
                state.clock[src].local.at[src] = state.issued[src];
            }
            return;
        case SyncKind::kPassScalar:
            state.Acquire(kPS, state.Release(src));
            state.Acquire(src, state.Release(kPS));
            state.Acquire(Dense(Pipe::kMte3), state.Release(kPS));
            return;
        case SyncKind::kPipeReset:
            return state.BarrierAll();
        case SyncKind::kCrossSet:
        case SyncKind::kCrossWait:
            return OnCross(state, e);
        case SyncKind::kSyncArrive:
        case SyncKind::kSyncLeave:
            return OnMeeting(state, e);
        case SyncKind::kBlockSet: {
            state.BarrierAll();
            CrossClock& slot = blockFlags_[e.id];
            slot = Join(slot, Release(state.clock[kPS], id));
            return;
        }
        case SyncKind::kBlockWait:
            state.AcquireFrom(kPS, blockFlags_[e.id]);
            return state.BarrierAll();
        case SyncKind::kSyncSpace:
            return CheckSyncSpace(state, e);
        case SyncKind::kDirectStore: {
            CrossClock& slot = directStores_[e.addr];
            slot = Join(slot, Release(state.Release(kPS), id));
            gm_.SetInitialised(e.addr, e.addr + e.bytes, true);
            return flagStores_.Forget(e.addr, e.addr + e.bytes);
        }
        case SyncKind::kDirectLoad: {
            auto stored = directStores_.find(e.addr);
            if (stored != directStores_.end()) state.AcquireFrom(kPS, stored->second);
            return;
        }
        case SyncKind::kCacheClean:
            return gm_.Clean(id, e.addr, e.bytes == 0);
        case SyncKind::kAllocEvent:
        case SyncKind::kReleaseEvent:
        case SyncKind::kFetchEvent:
        case SyncKind::kCacheHint:
            return;
    }
}

void Checker::OnSetFlag(CoreState& state, const SyncEvent& e) {
    if (e.id < 0 || e.id >= kEventIds) return;  // the core itself refuses such an id
    const int src = Dense(e.src), dst = Dense(e.dst);
    Flag& flag = state.flags[src][dst][e.id];
    if (flag.set && !flag.told) {
        flag.told = true;
        Finding f =
            Start(state, "ErrorSync4", "SetFlag", e.loc,
                  {Format("event %d of %s_%s is set a second time before anybody waited for it",
                          e.id, PipeName(src), PipeName(dst)),
                   "setting a set flag is undefined and hangs at the next PipeBarrier<PIPE_ALL>",
                   CallText("WaitFlag", e) + " between the two, or use another event id"});
        f.pipe = PipeName(src);
        f.hasOther = true;
        f.other.op = "SetFlag";
        f.other.file = flag.loc.file ? flag.loc.file : "";
        f.other.line = flag.loc.line;
        f.other.pipe = PipeName(src);
        f.other.access = "set";
        Findings::Instance().Add(f);
    }
    ++flag.set;
    flag.clock = state.Release(src);
    flag.loc = e.loc;
}

void Checker::OnWaitFlag(CoreState& state, const SyncEvent& e) {
    if (e.id < 0 || e.id >= kEventIds) return;
    const int dst = Dense(e.dst);
    Flag& flag = state.flags[Dense(e.src)][dst][e.id];
    if (!flag.set) {
        Finding f = Start(state, "ErrorSync3", "WaitFlag", e.loc,
                          {CallText("WaitFlag", e) + " waits for a flag nobody set",
                           "the pipe waits for ever: the launch times out (507014)",
                           "add " + CallText("SetFlag", e) + " after the producing instruction"});
        f.pipe = PipeName(dst);
        Findings::Instance().Add(f);
        return;
    }
    if (--flag.set == 0) flag.told = false;
    state.Acquire(dst, flag.clock);
    if (dst == kPS && !state.glimpses.empty()) LookThroughPointers(state);
}

// The workspace that SyncAll counts in.
void Checker::CheckSyncSpace(CoreState& state, const SyncEvent& e) {
    std::vector<ByteRun> garbage;
    if (GetOptions().uninit) gm_.UninitialisedRuns(e.addr, e.addr + e.bytes, &garbage);
    if (garbage.empty()) return;
    Finding f = Start(state, "ErrorRead2", e.op, e.loc,
                      {Format("gmWorkspace of %s holds no data", e.op),
                       "the cores count in it from zero: what an earlier kernel left there makes "
                       "them pass too early or wait for ever",
                       "fill it with zeros before, on the host or on every core"});
    f.role = "gmWorkspace";
    f.memory = "GM";
    if (const Region* region = FindRegion(e.addr)) {
        f.name = region->name;
        f.begin = e.addr - region->begin;
        f.end = f.begin + e.bytes;
    }
    Findings::Instance().Add(f);
}

// The n-th CrossCoreSetFlag(mode, id) of every sender makes up round n; the receivers' counters
// rise once per round. Rounds of one flag are kept in order, because a receiver may not have
// started yet.
void Checker::OnCross(CoreState& state, const SyncEvent& e) {
    Core& me = *state.core;
    if (e.id < 0 || e.id >= kCrossFlags) return;
    std::vector<Round>& rounds = rounds_[e.id];
    if (e.kind == SyncKind::kCrossWait) {
        size_t& next = cursors_[me.id][e.id];
        while (next < rounds.size() && !rounds[next].Reaches(me)) ++next;
        if (next == rounds.size()) return;  // the core reports the deadlock
        state.AcquireFrom(kPS, rounds[next].clock);
        ++next;
        return;
    }
    uint64_t number = state.crossSets[{e.mode, e.id}]++;
    int domain = e.mode == 0 ? static_cast<int>(me.kind) : me.group * 4 + static_cast<int>(me.kind);
    auto key = std::make_tuple(e.mode, e.id, domain, number);
    auto found = roundIndex_.find(key);
    if (found == roundIndex_.end()) {
        Round round;
        round.mode = e.mode;
        round.sender = me.kind;
        round.group = me.group;
        round.loc = e.loc;
        found = roundIndex_.emplace(key, rounds.size()).first;
        rounds.push_back(round);
    }
    Round& round = rounds[found->second];
    round.clock =
        Join(round.clock, Release(state.Release(Dense(e.src)), static_cast<uint32_t>(me.id)));
    ++round.senders;
}

// Flags raised more often than waited for, once all cores have ended.
void Checker::ReportLeftCrossFlags() {
    for (int id = 0; id < kCrossFlags; ++id) {
        for (size_t c = 0; c < identities_.size(); ++c) {
            const Core& core = identities_[c];
            if (!started_[c]) continue;
            uint64_t left = 0;
            Loc loc;
            for (size_t i = cursors_[c][id]; i < rounds_[id].size(); ++i) {
                const Round& round = rounds_[id][i];
                if (!round.Reaches(core) || round.senders < Senders(round)) continue;
                if (left++ == 0) loc = round.loc;
            }
            if (left == 0) continue;
            CoreState state(&identities_[c]);
            Finding f = Start(state, "ErrorSync3", "CrossCoreSetFlag", loc);
            const std::string times =
                left == 1 ? "once" : Format("%llu times", static_cast<unsigned long long>(left));
            f.what = Format("cross-core flag %d was set %s more than it was waited for", id,
                            times.c_str());
            f.why = "the counter stays up after the kernel and lets a later wait pass too early";
            f.fix = Format("pair every CrossCoreSetFlag with one CrossCoreWaitFlag(%d)", id);
            Findings::Instance().Add(f);
        }
    }
}

// How many cores have to set the flag before the counters rise.
uint32_t Checker::Senders(const Round& round) const {
    uint32_t senders = 0;
    for (size_t c = 0; c < identities_.size(); ++c) {
        const Core& core = identities_[c];
        senders += started_[c] && core.kind == round.sender &&
                   (round.mode == 0 || core.group == round.group);
    }
    return senders;
}

// SyncAll waits for all pipes of a core, then for all cores. A round is over once a core leaves it:
// whoever arrives after that belongs to the next one.
void Checker::OnMeeting(CoreState& state, const SyncEvent& e) {
    int scope = e.mode >= 0 && e.mode < 3 ? e.mode : 0;
    std::vector<Meeting>& rounds = meetings_[scope];
    if (e.kind == SyncKind::kSyncArrive) {
        if (rounds.empty() || rounds.back().over) rounds.push_back({});
        state.BarrierAll();
        state.meeting[scope] = rounds.size() - 1;
        CrossClock& clock = rounds.back().clock;
        clock = Join(clock, Release(state.clock[kPS], static_cast<uint32_t>(state.core->id)));
        return;
    }
    if (state.meeting[scope] >= rounds.size()) return;
    Meeting& round = rounds[state.meeting[scope]];
    round.over = true;
    for (int p = 0; p < kPipes; ++p) state.AcquireFrom(p, round.clock);
}

}  // namespace sanitizer
}  // namespace ascendc_emu
