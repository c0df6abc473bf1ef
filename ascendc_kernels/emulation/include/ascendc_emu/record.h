// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What an AscendC call did, as data. Every instruction, synchronisation, queue and buffer call of a
// kernel is described by one of the structs below and, when a sink is attached to the running core,
// handed to it *before* the call takes effect. Sinks: the sanitizer, the profiler. Without a sink
// nothing of this is built: the cost is one branch per call.
#ifndef ASCENDC_EMU_RECORD_H
#define ASCENDC_EMU_RECORD_H

#include <stdint.h>

namespace ascendc_emu {

struct Core;

// An API or instruction of the table, emulation/instructions.csv. Kernels pass it on; what the
// table says about it is asked of core/instructions.h.
struct Api {
    // Written from the table.
    enum Id : uint16_t {
        kNone,
#include "ascendc_emu/api_names.inc"
        kCount
    };

    constexpr Api() = default;
    constexpr Api(Id number) : id(number) {}
    // Its name, for reports; never to be compared.
    operator const char*() const;
    friend constexpr bool operator==(Api a, Api b) { return a.id == b.id; }
    friend constexpr bool operator!=(Api a, Api b) { return a.id != b.id; }

    Id id = kNone;
};

// Source position of the kernel line that made a call. The default argument `Loc loc = Loc::Here()`
// of an API is evaluated at the caller, so no debug information is needed.
struct Loc {
    const char* file = nullptr;
    uint32_t line = 0;
    static constexpr Loc Here(const char* f = __builtin_FILE(), uint32_t l = __builtin_LINE()) {
        return Loc{f, l};
    }
};

// Values are those of CANN's pipe_t.
enum class Pipe : uint8_t {
    kS = 0,
    kV = 1,
    kM = 2,
    kMte1 = 3,
    kMte2 = 4,
    kMte3 = 5,
    kAll = 6,
    kMte4 = 7,
    kMte5 = 8,
    kV2 = 9,
    kFix = 10,
    kCount = 11
};

// Memories a core can address. kGm addresses are host addresses; all others are byte offsets from
// the start of that core's own buffer.
enum class Mem : uint8_t { kGm = 0, kUb, kL1, kL0a, kL0b, kL0c, kBt, kFb, kCount };

// Element types. kNone: raw bytes.
enum class DType : uint8_t {
    kNone = 0,
    kF16,
    kBf16,
    kF32,
    kF64,
    kI4,
    kI8,
    kU8,
    kI16,
    kU16,
    kI32,
    kU32,
    kI64,
    kU64,
    kBool,
    kF8,
    kCount
};

// Element size in bits.
constexpr uint32_t DTypeBits(DType t) {
    constexpr uint8_t bits[] = {8, 16, 16, 32, 64, 4, 8, 8, 16, 16, 32, 32, 64, 64, 8, 8};
    return bits[static_cast<int>(t)];
}

enum class Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

// What an operand is to its instruction, where that decides a check.
enum class Use : uint8_t {
    kData,
    kIndex,    // says which data is used: offsets, patterns
    kScratch,  // working memory, whose content is lost
    kLeft,     // of a product: its element depends on a row of it
    kRight,    // of a product: on a column
};

// The parameter that an operand is.
struct Role {
    const char* name = "";  // "dst", "src0", ...
    Use use = Use::kData;
    constexpr Role() = default;
    constexpr Role(const char* text, Use what = Use::kData) : name(text), use(what) {}
};
inline constexpr Role kTmpRole{"sharedTmpBuffer", Use::kScratch};

// One operand of one instruction. The bytes it touches are
//   addr + r * repeatStride + b * blockStride + [0, blockBytes)   r < repeats, b < blocks
// and, where `masked`, only the elements of a repeat which Record::mask selects (element e of a
// repeat lies in block e / (blockBytes / element size)), and only the first Record::elements
// element slots counted over all repeats where that is not 0 (counter mode). ForEachSpan() walks
// them.
struct Operand {
    const char* role = "";  // parameter name: "dst", "src0", ...
    Use use = Use::kData;
    Mem mem = Mem::kUb;
    DType dtype = DType::kNone;
    Access access = Access::kRead;
    bool masked = false;
    bool atomic = false;   // GM write that adds / takes the max or min
    uint16_t align = 32;   // required alignment of addr in bytes (1: none)
    uint8_t position = 0;  // AscendC::TPosition of the tensor
    uint64_t addr = 0;     // see Mem
    uint32_t blockBytes = 0;
    uint32_t blocks = 1;
    int64_t blockStride = 0;
    uint32_t repeats = 1;
    int64_t repeatStride = 0;
    uint64_t lo = 0, hi = 0;  // bytes the tensor may touch: [lo, hi); hi == 0: unknown
    uint64_t tensorEnd = 0;   // where a tensor ends that is only a part of [lo, hi); 0: not known
    uint32_t buffer = 0;      // BufferEvent::buffer that owns it; 0: none known (raw address)
};

// One executed instruction.
struct Record {
    static constexpr int kMaxOperands = 20;
    const char* op = "";  // name of `api`, for reports
    Api api;
    Pipe pipe = Pipe::kS;
    Loc loc;
    uint8_t count = 0;          // operands in use
    bool scalarAccess = false;  // GetValue/SetValue: S pipe; on GM through the data cache
    bool perLane = false;       // lane-wise: dst element i depends on source elements i only
    uint64_t mask[2] = {~0ull, ~0ull};
    uint32_t elements = 0;   // counter mode: element slots in total; 0: not limited
    int32_t repeat = 1;      // repeatTime as the kernel gave it (0 for count forms)
    bool countForm = false;  // the n-element form of the API
    int8_t mode = -1;        // RoundMode of a Cast
    uint8_t unitFlag =
        0;  // Mmad, Fixpipe: 2, 3: L0C is handed over fractal by fractal; 3: the last
    uint16_t m = 0, n = 0, k = 0;  // Mmad: the shape of the product of "fm" and "filter"
    const char* note = nullptr;  // parameter problem found by the API itself (see Sink::OnProblem)
    union {
        Operand operands[kMaxOperands];  // only `count` of them have values: a record is made per
                                         // instruction
    };

    Record() {}
    void SetApi(Api which) {
        api = which;
        op = which;
    }
    Operand& Add(Role role) {
        Operand& o = operands[count < kMaxOperands ? count++ : kMaxOperands - 1];
        o = Operand();
        o.role = role.name;
        o.use = role.use;
        return o;
    }
};

// Calls f(addr, bytes) for every contiguous run of bytes the operand touches; neighbouring runs are
// merged, so the plain count form is one call.
template <typename F>
void ForEachSpan(const Record& r, const Operand& o, F&& f) {
    uint64_t start = 0, end = 0;
    auto emit = [&](uint64_t a, uint64_t n) {
        if (n == 0) return;
        if (a == end && end != 0) {
            end += n;
            return;
        }
        if (end > start) f(start, end - start);
        start = a;
        end = a + n;
    };
    const uint32_t bits = DTypeBits(o.dtype);
    const uint32_t perBlock = o.blockBytes * 8 / bits;
    const bool all = !o.masked || (r.mask[0] == ~0ull && r.mask[1] == ~0ull && r.elements == 0);
    uint64_t left = r.elements != 0 ? r.elements : ~0ull;
    for (uint32_t rep = 0; rep < o.repeats; ++rep) {
        const uint64_t base = o.addr + static_cast<int64_t>(rep) * o.repeatStride;
        for (uint32_t b = 0; b < o.blocks; ++b) {
            const uint64_t a = base + static_cast<int64_t>(b) * o.blockStride;
            if (all) {
                emit(a, o.blockBytes);
                continue;
            }
            if (left == 0) break;
            for (uint32_t e = 0; e < perBlock && left != 0; ++e, --left) {
                const uint32_t lane = b * perBlock + e;
                if (lane < 128 && ((r.mask[lane >> 6] >> (lane & 63)) & 1) == 0) continue;
                emit(a + static_cast<uint64_t>(e) * bits / 8, bits < 8 ? 1 : bits / 8);
            }
        }
    }
    if (end > start) f(start, end - start);
}

// Synchronisation calls.
enum class SyncKind : uint8_t {
    kSetFlag,       // src, dst, id: HardEvent src->dst
    kWaitFlag,      // src, dst, id
    kPipeBarrier,   // src (kAll: every pipe)
    kCrossSet,      // src pipe, id, mode
    kCrossWait,     // dst pipe, id, mode: after the wait succeeded
    kSyncArrive,    // SyncAll reached; scope in `mode`: 0 AIV only, 1 AIC + AIV, 2 AIC only
    kSyncLeave,     // SyncAll left
    kBlockSet,      // IBSet: id = (blockIdx << 16 | eventID)
    kBlockWait,     // IBWait succeeded: same id as the set
    kSyncSpace,     // IBSet, soft SyncAll: addr, bytes of its flags in GM, which have to hold zeros
    kCacheClean,    // DataCacheCleanAndInvalid: addr, bytes (0: entire cache)
    kAllocEvent,    // src, dst, id: TPipe::AllocEventID
    kReleaseEvent,  // src, dst, id
    kFetchEvent,    // src, dst, id: TPipe::FetchEventID
    kPassScalar,  // a library call that waits on the scalar unit for src, then lets src and MTE3 go
                  // on
    kDirectStore,  // WriteGmByPassDCache: addr, bytes
    kDirectLoad,   // ReadGmByPassDCache: addr, bytes
    kPipeReset,    // TPipe::Reset, Destroy, destructor; TBufPool::Reset: waits for all users
    kCacheHint,    // SetL2CacheHint: addr, bytes (0: not known), mode: a CacheMode
};

struct SyncEvent {
    SyncKind kind = SyncKind::kPipeBarrier;
    Pipe src = Pipe::kAll;
    Pipe dst = Pipe::kAll;
    int32_t id = 0;
    int32_t mode = 0;
    uint64_t addr = 0;
    uint64_t bytes = 0;
    const char* op = "";  // kSyncSpace, kDirectStore, kDirectLoad: the API
    Loc loc;
};

// Buffers (one LocalTensor's worth of memory handed out by InitBuffer, a TBuf, an allocator) and
// the life of the tensors in them.
enum class BufferKind : uint8_t {
    kInit,      // InitBuffer(queue, num, len): one event per buffer; queue != 0
    kInitBuf,   // InitBuffer(tbuf, len)
    kInitPool,  // InitBufPool: the pool's range
    kRaw,       // LocalMemAllocator::Alloc, LocalTensor(pos, addr, size)
    kAlloc,     // queue AllocTensor
    kEnQue,
    kDeQue,
    kFree,     // queue FreeTensor
    kGet,      // TBuf::Get
    kPointer,  // plain C++ reads and writes [addr, addr + bytes) from now on: GetPhyAddr
    kRelease,  // buffer is gone: pipe Reset/Destroy, pool Reset; buffer == 0: all of the core's
};

struct BufferEvent {
    BufferKind kind = BufferKind::kInit;
    Mem mem = Mem::kUb;
    uint8_t position = 0;     // TPosition the queue/buffer was declared with (source side)
    uint8_t dstPosition = 0;  // TQueBind: destination side; else == position
    uint32_t buffer = 0;      // unique number within the core, > 0
    uint32_t queue = 0;       // unique number of the TQue/TQueBind/TBuf within the core
    uint64_t addr = 0;        // byte offset in mem
    uint64_t bytes = 0;
    Pipe producer = Pipe::kS;  // pipe that fills the buffer (VECIN: MTE2, VECOUT: V, ...)
    Pipe consumer = Pipe::kS;  // pipe that drains it
    int32_t depth = 0;
    int32_t number = 0;  // buffers in the queue
    Loc loc;
};

// A rule broken that the core itself sees (capacity, empty queue, wait that can never end, range of
// a parameter). `fatal` ones stop the launch in every mode; the others only matter to a sink.
struct Problem {
    const char* check = "";  // npuchk name or our own, e.g. "ErrorBuffer2"
    const char* text = "";   // one line, no newline; valid during the call
    const char* op = "";
    const char* fix = "";
    bool fatal = false;
    bool warning = false;
    Loc loc;
};

struct LaunchInfo;

// Receives what happens. The launch runs on one thread while a sink is attached, so calls never
// overlap. Instruction records come before the instruction's effect on memory.
class Sink {
 public:
    virtual ~Sink() = default;
    // Whether instructions need not do what they are told to the sink as.
    virtual bool IsTimeOnly() const { return false; }
    virtual void OnLaunch(const LaunchInfo&) {}
    virtual void OnLaunchEnd(const LaunchInfo&) {}
    virtual void OnCoreStart(Core&) {}
    virtual void OnCoreEnd(Core&) {}
    virtual void OnInstruction(Core&, const Record&) {}
    virtual void OnSync(Core&, const SyncEvent&) {}
    virtual void OnBuffer(Core&, const BufferEvent&) {}
    virtual void OnProblem(Core&, const Problem&) {}
};

// Library names of the enums, for reports ("MTE2", "UB", "float16").
const char* Name(Pipe);
const char* Name(Mem);
const char* Name(DType);

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_RECORD_H
