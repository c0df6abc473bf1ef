// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The core a kernel runs on: its buffers, registers and identity. One Core is one AIV or AIC (or,
// on arch 2002, one unified AI core) of one block. API headers reach it through Current().
#ifndef ASCENDC_EMU_CORE_H
#define ASCENDC_EMU_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "ascendc_emu/arch_facts.h"
#include "ascendc_emu/record.h"

namespace ascendc_emu {

class Scheduler;
class PipeState;
struct QueueState;
struct SocInfo;

enum class CoreKind : uint8_t { kAiv = 0, kAic = 1, kUnified = 2 };

constexpr int kMemCount = static_cast<int>(Mem::kCount);
constexpr int kPipeCount = static_cast<int>(Pipe::kCount);
constexpr int kEventIds = 8;
constexpr int kCrossFlags = 16;
constexpr int kRememberedQueues = 64;  // a pipe has at most 64 buffers

// Registers that AscendC calls set and later instructions read. All of them are reset when a block
// starts.
struct Registers {
    uint64_t mask[2] = {~0ull, ~0ull};
    bool counter = false;      // SetMaskCount: mask[0] is an element count
    uint8_t atomicOp = 0;      // 0 none, 1 add, 2 max, 3 min
    uint8_t lastAtomicOp = 1;  // what setting a type alone switches on
    DType atomicType = DType::kNone;
    Loc atomicLoc;               // of the call that switched it on
    uint64_t ctrl = 1ull << 48;  // SetCtrlSpr bits; 48: inf and NaN are kept
    uint64_t cmpMask[4] = {0, 0, 0, 0};
    uint64_t deqScale = 0;  // SetDeqScale: raw 64 bits or a UB byte address
    bool deqVector = false;
    uint64_t padValue = 0;     // SetPadValue
    int64_t rsvdCount = 0;     // GatherMask
    float accValue = 0;        // GetAccVal / GetReduceRepeatSumSpr
    uint64_t maxMinValue = 0;  // GetReduceMaxMinCount: raw value bits
    uint64_t maxMinIndex = 0;
    uint64_t mrgSort = 0;  // GetMrgSortResult: four 16-bit counts
    bool hf32 = false;     // SetHF32Mode
    uint8_t hf32Trans = 0;
    bool mmRowMajor = true;  // SetMMLayoutTransform
    uint64_t fftsBase = 0;   // set_ffts_base_addr: not used, only given back
};

// A slot where a part of the library (cube, high-level API) keeps per-core state; freed at core
// end.
struct Extension {
    void* data = nullptr;
    void (*destroy)(void*) = nullptr;
};
enum ExtensionSlot {
    kExtCube = 0,
    kExtMatmul = 1,
    kExtSanitizer = 2,
    kExtDump = 3,
    kExtLocalArrays = 4,
    kExtCount = 6
};

struct Core {
    Sink* sink = nullptr;               // null in fast mode
    bool timeOnly = false;              // instructions are told to the sink and do nothing
    uint8_t* memory[kMemCount] = {};    // host base of each buffer; [kGm] is null
    uint32_t capacity[kMemCount] = {};  // bytes; 0: this core does not have the buffer
    Registers regs;
    Loc pinned;   // set while a library API runs on top of others
    Loc nowhere;  // of the last TBuf::Get without an InitBuffer

    CoreKind kind = CoreKind::kAiv;
    int32_t id = 0;        // unique in the launch: 0 .. number of cores - 1
    int32_t blockIdx = 0;  // what GetBlockIdx() returns
    int32_t blockNum = 1;  // block dim of the launch
    int32_t group = 0;     // AIC number of a mixed block; AIVs share it
    int32_t subBlockIdx = 0;
    int32_t subBlockNum = 1;  // AIVs per AIC of this launch (1 when not mixed)
    bool mixed = false;

    uint64_t tilingKey = 0;
    const void* tilingData = nullptr;
    uint64_t tilingSize = 0;
    uint8_t* workspace = nullptr;  // SetSysWorkspace / GetSysWorkSpacePtr
    uint64_t systemWorkspace = 0;  // bytes GetUserWorkspace() skips
    uint8_t* hccl[2] = {nullptr, nullptr};
    int32_t hcclObjects = 0;  // Hccl objects initialised so far
    const SocInfo* soc = nullptr;

    PipeState* pipe = nullptr;                              // TPipe / queue / event state (pipe.h)
    uint8_t flags[kPipeCount][kPipeCount][kEventIds] = {};  // SetFlag not yet waited for
    int16_t cross[kCrossFlags] = {};  // CrossCoreSetFlag counters this core can consume
    uint32_t nextBuffer = 1;          // numbers for BufferEvent::buffer
    uint32_t nextQueue = 1;
    QueueState* queues[kRememberedQueues] = {};  // by number; the last ones initialised
    uint64_t cycles = 0;                         // GetSystemCycle base
    uint32_t spins = 0;                          // polls of GM; see Poll()
    Scheduler* scheduler = nullptr;
    void* fiber = nullptr;
    Extension ext[kExtCount];
};

// The core of the running fiber. Initial-exec: one instruction to read from a kernel library.
extern thread_local Core* g_current __attribute__((tls_model("initial-exec")));

inline Core& Current() { return *g_current; }

// The position to report: the pinned user line inside library APIs, else the call's own.
inline Loc Where(const Core& core, Loc loc) { return core.pinned.file ? core.pinned : loc; }

// Pins the user's line while a high-level API is carried out by basic ones.
class LocScope {
 public:
    explicit LocScope(Loc loc) : core_(Current()), saved_(core_.pinned) {
        if (!saved_.file) core_.pinned = loc;
    }
    ~LocScope() { core_.pinned = saved_; }
    LocScope(const LocScope&) = delete;
    LocScope& operator=(const LocScope&) = delete;

 private:
    Core& core_;
    Loc saved_;
};

// Emits to the sink when there is one.
inline void Emit(Core& core, const Record& r) {
    if (__builtin_expect(core.sink != nullptr, 0)) core.sink->OnInstruction(core, r);
}
inline void Emit(Core& core, const SyncEvent& e) {
    if (__builtin_expect(core.sink != nullptr, 0)) core.sink->OnSync(core, e);
}
// What a kernel asks for that depends on values, which a launch whose time alone is asked for does
// not have: ends the launch with the line. Does nothing in any other launch.
[[noreturn]] void StopWithoutValues(Core& core, Loc loc, const char* what);
inline void NeedsValues(Core& core, const char* what, Loc loc) {
    if (__builtin_expect(core.timeOnly, 0)) StopWithoutValues(core, loc, what);
}
inline void NeedsValues(Core& core, Api api, Loc loc) {
    if (__builtin_expect(core.timeOnly, 0)) StopWithoutValues(core, loc, api);
}
// The registers that hold results of instructions.
inline const Registers& ResultRegisters() {
    Core& core = Current();
    NeedsValues(core, "a register with a result", Loc());
    return core.regs;
}

// A scalar access to GM past the data cache, or a cleaning of the cache.
inline void EmitDirect(Core& core, SyncKind kind, const void* address, uint64_t bytes, Loc loc) {
    if (__builtin_expect(core.sink == nullptr, 1)) return;
    if (kind == SyncKind::kDirectLoad) NeedsValues(core, "ReadGmByPassDCache", loc);
    SyncEvent e;
    e.kind = kind;
    e.addr = reinterpret_cast<uint64_t>(address);
    e.bytes = bytes;
    e.loc = Where(core, loc);
    core.sink->OnSync(core, e);
}
inline void Emit(Core& core, const BufferEvent& e) {
    if (__builtin_expect(core.sink != nullptr, 0)) core.sink->OnBuffer(core, e);
}

// Stops the running block and the launch with an error; printf-style text without newline. The text
// reaches the caller of Launch() with kernel line, core and op. Never returns.
[[noreturn]] void Trap(Core& core, Loc loc, const char* op, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

// Same, with the name of the broken check (npuchk's where it has one) and a cure.
[[noreturn]] void TrapCheck(Core& core, Loc loc, const char* check, const char* op, const char* fix,
                            const char* format, ...) __attribute__((format(printf, 6, 7)));

// Tells the sink about a broken rule and goes on; does nothing in fast mode.
void Complain(Core& core, Loc loc, const char* check, const char* op, const char* fix,
              const char* format, ...) __attribute__((format(printf, 6, 7)));
// Likewise for what is suspicious and can be right: a warning.
void Warn(Core& core, Loc loc, const char* check, const char* op, const char* fix,
          const char* format, ...) __attribute__((format(printf, 6, 7)));

// Reports an API that the architecture does not have, see instructions.csv: to the sink, else once
// per name to stderr.
void ReportMissingApi(Core& core, Loc loc, Api api);

// Stops the kernel: it calls an API that this SoC does not have and whose call does nothing there.
[[noreturn]] void StopAbsentApi(const char* name, Loc loc);

// Lets other blocks run until ready(context) is true. `what` says what is waited for, for the
// deadlock report; it must stay valid while waiting. ready() runs under the scheduler's lock and
// may change shared state (e.g. consume a counter) when it returns true.
void WaitUntil(Core& core, bool (*ready)(void*), void* context, const char* what, Loc loc);

// Runs change(context) under the scheduler's lock and wakes waiting blocks.
void UpdateShared(Core& core, void (*change)(void*), void* context);

// A core polling GM in its own loop calls this; now and then it lets other blocks run.
void Poll(Core& core);

// Facts of a SoC as far as the device side needs them; from platform_facts.csv.
struct SocInfo {
    char name[32];    // "Ascend910B3"
    char family[32];  // "Ascend910B" (Short_SoC_version)
    int32_t arch;     // 2201, 2002, ...
    int32_t aicCores;
    int32_t aivCores;  // 0 on unified cores
    int32_t aiCores;
    uint32_t ubBytes, l1Bytes, l0aBytes, l0bBytes, l0cBytes, btBytes, fbBytes;
    uint64_t l2Bytes;
    int32_t frequencyMhz;
    ArchFacts traits;  // arch 0: not emulated
    bool apisListed;   // instructions.csv says which APIs the architecture has
};

// At the start of an API that some architecture lacks.
inline void NeedsApi(Core& core, Loc loc, Api api) {
    if (__builtin_expect(core.soc->apisListed, 0)) ReportMissingApi(core, loc, api);
}

// Exact or family name, any case; null or "": OPGEN_SOC, else the default. Null if unknown.
const SocInfo* FindSoc(const char* name);

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_CORE_H
