// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Synchronisation between cores, scalar accesses, printing, assertions, tiling data.
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>

#include "ascendc_emu/system_api.h"
#include "ascendc_emu/tiling_macros.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

void EmitSync(Core& core, SyncKind kind, Pipe src, Pipe dst, int id, int mode, Loc loc)
{
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

std::mutex& PrintMutex()
{
    static std::mutex m;
    return m;
}

}  // namespace

void SyncAllCores(int scope, int wanted, Loc loc)
{
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
        TrapCheck(core, loc, "CrossCore", "SyncAll", "launch at most as many blocks as the SoC has cores",
                  "block dim %d exceeds the %d cores of %s: blocks that have no core yet can never arrive",
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

void CrossSet(int mode, Pipe pipe, int flag, Loc loc)
{
    Core& core = Current();
    loc = Where(core, loc);
    NeedsArch2201(core, loc, "CrossCoreSetFlag");
    if (flag < 0 || flag >= kCrossFlags) {
        TrapCheck(core, loc, "CrossCore", "CrossCoreSetFlag", "use flag ids 0..10 (11..15 are reserved)",
                  "flag id %d is not in 0..15", flag);
    }
    if (pipe == Pipe::kS || pipe == Pipe::kAll) {
        Complain(core, loc, "CrossCore", "CrossCoreSetFlag",
                 "name the pipe whose work the other cores wait for, e.g. PIPE_MTE3 or PIPE_FIX",
                 "PIPE_%s is no pipe that can raise a cross-core flag",
                 pipe == Pipe::kS ? "S" : "ALL");
    }
    const DeclaredKind declared = core.scheduler->declared();
    if (core.sink && declared.source >= KindSource::kDefault && core.kind != CoreKind::kUnified &&
        (declared.kind == OPGEN_KERNEL_AIV_ONLY || declared.kind == OPGEN_KERNEL_AIC_ONLY)) {
        const bool cube = declared.kind == OPGEN_KERNEL_AIC_ONLY;
        Complain(core, loc, "CrossCore", "CrossCoreSetFlag",
                 cube ? "declare KERNEL_TYPE_MIX_AIC_1_0, __mix__(1, 0)"
                      : "declare KERNEL_TYPE_MIX_AIV_1_0, __mix__(0, 1)",
                 "a kernel of type %s runs without the scheduler that passes flags between cores",
                 cube ? "AIC_ONLY (__cube__)" : "AIV_ONLY (__vector__)");
    }
    if (core.kind == CoreKind::kAic && pipe == Pipe::kV) return;
    if (core.kind == CoreKind::kAiv && (pipe == Pipe::kFix || pipe == Pipe::kM || pipe == Pipe::kMte1)) return;
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
        // A 16th set is a fault on the device. Kernels whose consumers are faster than the producer never
        // get there; here the producer may run first, so it lets them catch up, and what can never go on is
        // reported as a deadlock.
        struct Full {
            Core* core;
            int id, flag;
        } full{&core, state.overflow, flag};
        core.scheduler->Update([](void* p) { ++static_cast<Full*>(p)->core->scheduler->shared.fullFlags; },
                               &full);
        core.scheduler->Wait(
            core,
            [](void* p) {
                const Full& f = *static_cast<Full*>(p);
                Scheduler& s = *f.core->scheduler;
                if (s.credits[static_cast<size_t>(f.id)][static_cast<size_t>(f.flag)] > 15) return false;
                --s.shared.fullFlags;
                return true;
            },
            &full, "CrossCoreSetFlag: the flag's counter exceeds 15, nobody waits for it", loc);
    }
}

void CrossWait(int mode, Pipe pipe, int flag, Loc loc)
{
    Core& core = Current();
    loc = Where(core, loc);
    NeedsArch2201(core, loc, "CrossCoreWaitFlag");
    if (flag < 0 || flag >= kCrossFlags) {
        TrapCheck(core, loc, "CrossCore", "CrossCoreWaitFlag", "use flag ids 0..10 (11..15 are reserved)",
                  "flag id %d is not in 0..15", flag);
    }
    struct State {
        Core* core;
        int flag;
        bool makesRoom;
    } state{&core, flag, false};
    static const char* const what[kCrossFlags] = {
        "CrossCoreWaitFlag 0",  "CrossCoreWaitFlag 1",  "CrossCoreWaitFlag 2",  "CrossCoreWaitFlag 3",
        "CrossCoreWaitFlag 4",  "CrossCoreWaitFlag 5",  "CrossCoreWaitFlag 6",  "CrossCoreWaitFlag 7",
        "CrossCoreWaitFlag 8",  "CrossCoreWaitFlag 9",  "CrossCoreWaitFlag 10", "CrossCoreWaitFlag 11",
        "CrossCoreWaitFlag 12", "CrossCoreWaitFlag 13", "CrossCoreWaitFlag 14", "CrossCoreWaitFlag 15"};
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

void CheckSyncSpace(const char* op, const GmRef& gm, uint64_t firstSlot, uint64_t slots, const TensorRef& ub,
                    uint64_t ubSlots, Loc loc)
{
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
        const uint64_t room =
            range == nullptr ? 0
                             : static_cast<uint64_t>(static_cast<const uint8_t*>(range->data) + range->bytes - gm.ptr);
        if (room < end) {
            Complain(core, loc, "ErrorParam", op, "give gmWorkspace 32 bytes per core and event, zeroed",
                     "gmWorkspace has %llu bytes of '%s', %llu are needed", static_cast<unsigned long long>(room),
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

void BlockSet(const GmRef& gm, int block, int event, Loc loc)
{
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

void BlockWait(const GmRef& gm, int block, int event, Loc loc)
{
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

void GroupArrive(const GmRef& gm, Loc loc)
{
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

void GroupWait(const GmRef& gm, int arrivals, Loc loc)
{
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

void CacheClean(const void* address, uint64_t bytes, Loc loc)
{
    Core& core = Current();
    if (core.sink) {
        SyncEvent e;
        e.kind = SyncKind::kCacheClean;
        e.addr = reinterpret_cast<uint64_t>(address);
        e.bytes = bytes;
        e.loc = Where(core, loc);
        core.sink->OnSync(core, e);
    }
    // Cores that poll memory clean their cache in the loop: let the others make progress.
    if ((++core.spins & 0x3f) == 0) Poll(core);
}

uint64_t SystemCycle()
{
    // The counter runs at 50 MHz on the device.
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 50000000ull + static_cast<uint64_t>(t.tv_nsec) / 20;
}

void DevicePrintf(const char* format, ...)
{
    va_list args;
    va_start(args, format);
    {
        std::lock_guard<std::mutex> lock(PrintMutex());
        vprintf(format, args);
        fflush(stdout);
    }
    va_end(args);
}

void AssertFailed(const char* condition, const char* file, int line, const char* format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (g_current == nullptr) {
        // A program's own assert(), between its launches.
        fprintf(stderr, "%s:%d: assertion failed: %s%s%s\n", file, line, condition,
                text[0] ? ": " : "", text);
        abort();
    }
    Loc loc;
    loc.file = file;
    loc.line = static_cast<uint32_t>(line);
    Trap(Current(), loc, "ASSERT", "%s%s%s", condition, text[0] ? ": " : "", text);
}

namespace {
double Element(const void* data, DType type, uint64_t i)
{
    switch (type) {
        case DType::kF16: return static_cast<const half*>(data)[i];
        case DType::kBf16: return static_cast<const bfloat16_t*>(data)[i];
        case DType::kF32: return static_cast<const float*>(data)[i];
        case DType::kF64: return static_cast<const double*>(data)[i];
        case DType::kI8: return static_cast<const int8_t*>(data)[i];
        case DType::kI16: return static_cast<const int16_t*>(data)[i];
        case DType::kU16: return static_cast<const uint16_t*>(data)[i];
        case DType::kI32: return static_cast<const int32_t*>(data)[i];
        case DType::kU32: return static_cast<const uint32_t*>(data)[i];
        case DType::kI64: return static_cast<double>(static_cast<const int64_t*>(data)[i]);
        case DType::kU64: return static_cast<double>(static_cast<const uint64_t*>(data)[i]);
        default: return static_cast<const uint8_t*>(data)[i];
    }
}
bool IsFloating(DType t)
{
    return t == DType::kF16 || t == DType::kBf16 || t == DType::kF32 || t == DType::kF64;
}
void PrintList(const void* data, DType type, uint64_t count)
{
    for (uint64_t i = 0; i < count; ++i) {
        const double v = Element(data, type, i);
        if (IsFloating(type)) {
            printf(i ? ", %f" : "%f", v);
        } else {
            printf(i ? ", %.0f" : "%.0f", v);
        }
    }
}
}  // namespace

int32_t WriteBytes(const void* data, uint64_t bytes, const char* name)
{
    FILE* file = fopen(name, "wb");
    if (file == nullptr) return -1;
    const bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written ? 0 : -1;
}

void PrintElements(const void* data, DType type, uint64_t count, const char* what)
{
    std::lock_guard<std::mutex> lock(PrintMutex());
    printf("%s %s[%llu]: [", what, Name(type), static_cast<unsigned long long>(count));
    PrintList(data, type, count);
    printf("]\n");
    fflush(stdout);
}

void DumpElements(const void* data, DType type, uint32_t desc, uint64_t count, const uint32_t* shape,
                  uint32_t dims, const char* where)
{
    std::lock_guard<std::mutex> lock(PrintMutex());
    const Core& core = Current();
    printf("DumpTensor: desc=%u, block=%d, data_type=%s, position=%s", desc, core.blockIdx, Name(type),
           where);
    if (dims > 0) {
        printf(", shape=[");
        for (uint32_t i = 0; i < dims; ++i) printf(i ? ", %u" : "%u", shape[i]);
        printf("]");
    }
    printf("\n[");
    PrintList(data, type, count);
    printf("]\n");
    fflush(stdout);
}

void DeclareKind(int kind, KindSource source, Loc)
{
    Core& core = Current();
    Scheduler& s = *core.scheduler;
    if (kind <= 0 || kind > OPGEN_KERNEL_MIX_AIC_1_2 || core.kind == CoreKind::kUnified) return;
    if (!s.RequestKind(kind, source)) return;
    s.Fail("");
    throw BlockAbort();
}

void LoadTiling(void* dst, const void* src, uint64_t bytes, const char* type, Loc loc)
{
    Core& core = Current();
    if (src == nullptr) Trap(core, loc, "GET_TILING_DATA", "the tiling argument is null");
    const auto begin = reinterpret_cast<uintptr_t>(core.tilingData);
    const auto at = reinterpret_cast<uintptr_t>(src);
    if (core.tilingData != nullptr && at >= begin && at <= begin + core.tilingSize &&
        at + bytes > begin + core.tilingSize) {
        // Trailing padding may be missing, fields may not.
        const uint64_t have = begin + core.tilingSize - at;
        if (have + 8 <= bytes) {
            TrapCheck(core, loc, "ErrorParam", "GET_TILING_DATA",
                      "use the same tiling struct in op_host and op_kernel",
                      "%s has %llu bytes, the host wrote %llu", type,
                      static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(have));
        }
        memset(dst, 0, bytes);
        bytes = have;
    }
    memcpy(dst, src, bytes);
}

void EmitScalar(const TensorRef& t, DType type, uint64_t offset, uint32_t bytes, Access access, Loc loc)
{
    Core& core = Current();
    Record r;
    r.op = access == Access::kRead ? "GetValue" : access == Access::kWrite ? "SetValue" : "operator()";
    r.pipe = Pipe::kS;
    r.loc = Where(core, loc);
    r.scalarAccess = true;
    Operand& o = r.Add("tensor");
    o.mem = t.mem;
    o.dtype = type;
    o.access = access;
    o.align = 1;
    o.position = t.pos;
    o.addr = t.addr + offset;
    o.blockBytes = bytes;
    o.lo = t.lo;
    o.hi = t.hi;
    o.tensorEnd = uint64_t{t.addr} + t.size;
    o.buffer = t.buffer;
    core.sink->OnInstruction(core, r);
}

void EmitScalar(const GmRef& t, DType type, uint64_t offset, uint32_t bytes, Access access, Loc loc)
{
    Core& core = Current();
    Record r;
    r.op = access == Access::kRead ? "GetValue" : access == Access::kWrite ? "SetValue" : "operator()";
    r.pipe = Pipe::kS;
    r.loc = Where(core, loc);
    r.scalarAccess = true;
    Operand& o = r.Add("tensor");
    o.mem = Mem::kGm;
    o.dtype = type;
    o.access = access;
    o.align = 1;
    o.addr = reinterpret_cast<uint64_t>(t.ptr) + offset;
    o.blockBytes = bytes;
    o.lo = reinterpret_cast<uint64_t>(t.lo);
    o.hi = reinterpret_cast<uint64_t>(t.hi);
    core.sink->OnInstruction(core, r);
}

int64_t FloatToInt(float v, int mode, int bits)
{
    double d = v;
    switch (static_cast<AscendC::RoundMode>(mode)) {
        case AscendC::RoundMode::CAST_FLOOR: d = std::floor(d); break;
        case AscendC::RoundMode::CAST_CEIL: d = std::ceil(d); break;
        case AscendC::RoundMode::CAST_ROUND: d = std::round(d); break;
        case AscendC::RoundMode::CAST_TRUNC: d = std::trunc(d); break;
        default: d = std::nearbyint(d); break;
    }
    if (d != d) return 0;
    const double hi = std::ldexp(1.0, bits - 1);
    if (d >= hi) return static_cast<int64_t>(bits >= 64 ? INT64_MAX : (1ll << (bits - 1)) - 1);
    if (d < -hi) return bits >= 64 ? INT64_MIN : -(1ll << (bits - 1));
    return static_cast<int64_t>(d);
}

uint16_t FloatToHalfMode(float v, int mode)
{
    const uint16_t near = FloatToHalfBits(v);
    const float back = HalfBitsToFloat(near);
    if (back == v || v != v) return near;
    // Neighbours of the nearest value on either side of v.
    const bool negative = (near & 0x8000) != 0;
    const bool above = back > v;
    auto step = [&](bool up) -> uint16_t {
        if ((near & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
        return static_cast<uint16_t>(up != negative ? near + 1 : near - 1);
    };
    const uint16_t low = above ? step(false) : near;
    const uint16_t high = above ? near : step(true);
    switch (static_cast<AscendC::RoundMode>(mode)) {
        case AscendC::RoundMode::CAST_FLOOR: return low;
        case AscendC::RoundMode::CAST_CEIL: return high;
        case AscendC::RoundMode::CAST_TRUNC: return v > 0 ? low : high;
        case AscendC::RoundMode::CAST_ODD: return (low & 1) ? low : high;
        case AscendC::RoundMode::CAST_ROUND: {
            const double mid = (static_cast<double>(HalfBitsToFloat(low)) + HalfBitsToFloat(high)) / 2;
            if (v == mid) return v > 0 ? high : low;
            return near;
        }
        default: return near;
    }
}

int32_t CountLeadingZeros(uint64_t v) { return v == 0 ? 64 : __builtin_clzll(v); }

}  // namespace ascendc_emu
