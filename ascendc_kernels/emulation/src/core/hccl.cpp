// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Collective communication in a domain of one rank.
#include <cstring>

#include "ascendc_emu/hccl_server.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

// Finished copies share the map of IBSet under numbers that IBSet cannot have.
constexpr int kHccl = -2;
constexpr int kHandles = 128;

struct Waiting {
    Scheduler* s;
    int object, handle, count;
    int& Done() { return s->shared.blockFlags[{nullptr, kHccl - object, handle}]; }
};

void EmitOrder(Core& core, SyncKind kind, int object, int handle, Loc loc) {
    SyncEvent e;
    e.kind = kind;
    e.src = Pipe::kAll;
    e.dst = Pipe::kAll;
    e.id = kHccl - (object * kHandles + handle);
    e.loc = Where(core, loc);
    Emit(core, e);
}

Operand& AddGm(Record& r, const char* role, const uint8_t* address, uint64_t bytes, Access access) {
    Operand& o = r.Add(role);
    o.mem = Mem::kGm;
    o.access = access;
    o.align = 1;
    o.addr = reinterpret_cast<uint64_t>(address);
    o.blockBytes = static_cast<uint32_t>(bytes);
    return o;
}

}  // namespace

int HcclOpen() { return Current().hcclObjects++; }

void HcclServe(int object, int handle, const HcclTask& task, Loc loc) {
    Core& core = Current();
    const uint64_t bytes = task.bytes * static_cast<uint64_t>(task.repeat);
    if (core.sink && bytes > 0) {
        Record r;
        r.SetApi(task.api);
        r.pipe = Pipe::kS;
        r.loc = Where(core, loc);
        AddGm(r, "recvBuf", task.dst, bytes, Access::kWrite);
        AddGm(r, "sendBuf", task.src, bytes, Access::kRead);
        Emit(core, r);
    }
    const uint64_t readable = GmBytes(core, task.src, bytes, false, task.api, loc);
    const uint64_t room = GmBytes(core, task.dst, bytes, true, task.api, loc);
    memmove(task.dst, task.src, readable < room ? readable : room);
    EmitOrder(core, SyncKind::kBlockSet, object, handle, loc);
    Waiting state{core.scheduler, object, handle, task.repeat};
    core.scheduler->Update(
        [](void* p) {
            Waiting& st = *static_cast<Waiting*>(p);
            st.Done() += st.count;
        },
        &state);
}

int HcclServed(int object, int handle, Loc loc) {
    Core& core = Current();
    Waiting state{core.scheduler, object, handle, 0};
    core.scheduler->Update(
        [](void* p) {
            Waiting& st = *static_cast<Waiting*>(p);
            st.count = st.Done();
        },
        &state);
    if (state.count > 0) EmitOrder(core, SyncKind::kBlockWait, object, handle, loc);
    return state.count;
}

void HcclAwait(int object, int handle, int count, Loc loc) {
    Core& core = Current();
    Waiting state{core.scheduler, object, handle, count};
    core.scheduler->Wait(
        core,
        [](void* p) {
            Waiting& st = *static_cast<Waiting*>(p);
            return st.Done() >= st.count;
        },
        &state, "Hccl::Wait", Where(core, loc));
    EmitOrder(core, SyncKind::kBlockWait, object, handle, loc);
}

void HcclRefuse(const char* api, Loc loc) {
    Trap(Current(), loc, api,
         "needs the memory of other ranks; the emulation runs a communication domain of one rank");
}

}  // namespace ascendc_emu
