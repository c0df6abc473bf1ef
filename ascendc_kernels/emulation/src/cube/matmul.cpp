// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The Matmul object's computation: panels of A and B are converted to plain fp32 (or int64) blocks,
// a blocked product accumulates in K order, and the result leaves through the Fixpipe conversions.
#include "ascendc_emu/matmul_ops.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ascendc_emu/types.h"
#include "core/scheduler.h"
#include "core/thread_object.h"
#include "cube/cube.h"

namespace ascendc_emu {
namespace {

constexpr uint32_t kPanelK = 256;
constexpr uint32_t kPanelN = 512;
constexpr uint32_t kPanelM = 258;                            // whole tiles of the product
constexpr uint32_t kPanelRows = std::max(kPanelK, kPanelM);  // of A or B

template <typename Out>
Out Element(const uint8_t* data, DType type, uint64_t index) {
    Out value;
    UnpackRow(&value, data, index, 1, type);
    return value;
}

// out[count] <- elements (row, column), (row, column + 1), ... as stored, transposed or not.
template <typename Out>
void UnpackStored(Out* out, const MatrixRef& m, uint32_t row, uint32_t column, uint32_t count) {
    if (m.format == MatrixFormat::kNd) {
        UnpackRow(out, m.data, static_cast<uint64_t>(row) * m.stride + column, count, m.type);
        return;
    }
    const uint32_t c0 = RowOf(m);
    for (uint32_t done = 0; done < count;) {
        const uint32_t at = column + done;
        const uint32_t now = std::min(count - done, c0 - at % c0);
        const uint64_t first = static_cast<uint64_t>(at / c0) * m.stride * c0 +
                               static_cast<uint64_t>(row) * c0 + at % c0;
        UnpackRow(out + done, m.data, first, now, m.type);
        done += now;
    }
}

// out[rows][columns] <- m[row0 + .., column0 + ..]; rows: at most kPanelRows.
template <typename Out>
void Unpack(Out* out, const MatrixRef& m, uint32_t row0, uint32_t rows, uint32_t column0,
            uint32_t columns) {
    if (m.format == MatrixFormat::kScalar) {
        std::fill(out, out + static_cast<size_t>(rows) * columns, static_cast<Out>(m.scalar));
        return;
    }
    if (!m.transposed) {
        for (uint32_t r = 0; r < rows; ++r) {
            UnpackStored(out + static_cast<size_t>(r) * columns, m, row0 + r, column0, columns);
        }
        return;
    }
    // Some stored rows at a time, so that both sides are read and written in runs.
    constexpr uint32_t kAtOnce = 16;
    Out stored[kAtOnce][kPanelRows];
    for (uint32_t c = 0; c < columns; c += kAtOnce) {
        const uint32_t now = std::min(kAtOnce, columns - c);
        for (uint32_t i = 0; i < now; ++i) UnpackStored(stored[i], m, column0 + c + i, row0, rows);
        for (uint32_t r = 0; r < rows; ++r) {
            Out* line = out + static_cast<size_t>(r) * columns + c;
            for (uint32_t i = 0; i < now; ++i) line[i] = stored[i][r];
        }
    }
}

uint32_t Raw(float v) { return BitCast<uint32_t>(v); }
uint32_t Raw(int64_t v) {
    return static_cast<uint32_t>(static_cast<int32_t>(v > INT32_MAX   ? INT32_MAX
                                                      : v < INT32_MIN ? INT32_MIN
                                                                      : v));
}

template <typename Acc>
Acc Previous(const MatrixRef& c, uint64_t index) {
    return Element<Acc>(c.data, c.type, index);
}

// Bytes of the matrix an access of rows x columns at (row, column) spans, as operand fields.
void Describe(Core& core, Record& r, const char* role, const MatrixRef& m, uint32_t row,
              uint32_t rows, uint32_t column, uint32_t columns, Access access, bool atomic) {
    (void)core;
    if (m.hidden || m.format == MatrixFormat::kScalar || rows == 0 || columns == 0) return;
    Operand& o = m.onChip ? AddOperand(r, role, m.local, m.type, access, kBlock)
                          : AddOperand(r, role, m.gm, m.type, access);
    o.atomic = atomic;
    const uint32_t bits = DTypeBits(m.type);
    if (m.transposed) {
        std::swap(row, column);
        std::swap(rows, columns);
    }
    if (m.format == MatrixFormat::kNd) {
        o.addr += (static_cast<uint64_t>(row) * m.stride + column) * bits / 8;
        o.blockBytes = columns * bits / 8;
        o.repeats = rows;
        o.repeatStride = static_cast<int64_t>(m.stride * bits / 8);
        return;
    }
    const uint32_t c0 = RowOf(m);
    const uint32_t line = c0 * bits / 8;
    o.addr += (static_cast<uint64_t>(column / c0) * m.stride + row) * line;
    o.blockBytes = rows * line;
    o.repeats = CeilDiv(column % c0 + columns, c0);
    o.repeatStride = static_cast<int64_t>(m.stride) * line;
}

void EmitAll(Core& core, const MatmulArgs& a, Api api, Loc loc, bool atomic) {
    // The object's messages and waits order it after everything issued and before what follows.
    SyncEvent barrier;
    barrier.kind = SyncKind::kPipeBarrier;
    barrier.src = Pipe::kAll;
    barrier.loc = Where(core, loc);
    Emit(core, barrier);
    Record r;
    r.SetApi(api);
    r.pipe = Pipe::kFix;
    r.loc = Where(core, loc);
    Describe(core, r, "C", a.c, a.cRow, a.m, a.cColumn, a.n, Access::kWrite, atomic);
    Describe(core, r, "A", a.a, a.m0, a.m, 0, a.k, Access::kRead, false);
    Describe(core, r, "B", a.b, 0, a.k, a.n0, a.n, Access::kRead, false);
    if (a.hasBias) Describe(core, r, "bias", a.bias, 0, 1, a.n0, a.n, Access::kRead, false);
    Emit(core, r);
    Emit(core, barrier);
}

bool StorePlain(uint8_t* out, DType type, const float* from, uint32_t count,
                const FixpipeArgs& convert) {
    return StoreFloats(out, type, from, count, convert);
}
bool StorePlain(uint8_t*, DType, const int64_t*, uint32_t, const FixpipeArgs&) { return false; }

// How the sums of a product leave.
struct Way {
    Api api;
    Loc loc;
    uint8_t atomic;
    DType accType;
    bool inside;  // all of C is memory of the launch
};

template <typename Acc>
void StoreRow(Core& core, const MatmulArgs& a, const Acc* sums, uint32_t row, uint32_t column0,
              uint32_t columns, const Way& way) {
    FixpipeArgs convert;
    convert.quant = a.quant;
    convert.relu = a.relu;
    const uint32_t size = DTypeBits(a.c.type) / 8;
    if (a.c.format == MatrixFormat::kNd && !a.c.transposed) {
        const uint64_t index = IndexOf(a.c, a.cRow + row, a.cColumn + column0);
        if (!way.inside) {
            const uint64_t bytes = uint64_t{columns} * size;
            columns = GmBytes(core, a.c.data + index * size, bytes, true, way.api, way.loc) / size;
        }
        uint8_t* const out = a.c.data + index * size;
        if (way.atomic == 0 && StorePlain(out, a.c.type, sums, columns, convert)) return;
    }
    for (uint32_t j = 0; j < columns; ++j) {
        const uint32_t column = column0 + j;
        const uint64_t index = IndexOf(a.c, a.cRow + row, a.cColumn + column);
        const uint64_t parameter =
            a.quantVector != nullptr ? a.quantVector[a.n0 + column] : a.quantScalar;
        const uint32_t bits =
            ConvertElement(Raw(sums[j]), way.accType, a.c.type, convert, parameter);
        uint8_t* out = a.c.data + index * size;
        if (!way.inside && GmBytes(core, out, size, true, way.api, way.loc) < size) continue;
        if (way.atomic != 0) {
            StoreAtomic(out, bits, a.c.type, way.atomic);
        } else {
            memcpy(out, &bits, size);
        }
    }
}

// Kept from product to product: fresh memory would be cleared by the system, and again by a vector.
template <typename Acc>
struct Panels {
    std::unique_ptr<Acc[]> left{new Acc[static_cast<size_t>(kPanelM) * kPanelK]};
    std::unique_ptr<Acc[]> right{new Acc[static_cast<size_t>(kPanelK) * kPanelN]};
    std::vector<Acc> sums;
};

template <typename Acc>
void Run(Core& core, const MatmulArgs& a, const Way& way) {
    const ReadableMatrix aIn(core, a.a, {"A", a.m0, a.m, 0, a.k}, way.api, way.loc);
    const ReadableMatrix bIn(core, a.b, {"B", 0, a.k, a.n0, a.n}, way.api, way.loc);
    const ReadableMatrix biasIn(core, a.bias, {"bias", 0, a.hasBias ? 1u : 0u, a.n0, a.n}, way.api,
                                way.loc);
    Panels<Acc>& panels = OfThread<Panels<Acc>>();
    std::unique_lock<std::mutex> guard(AtomicLock(), std::defer_lock);
    Acc* const left = panels.left.get();
    Acc* const right = panels.right.get();
    std::vector<Acc>& sums = panels.sums;
    for (uint32_t n0 = 0; n0 < a.n; n0 += kPanelN) {
        const uint32_t n = std::min(kPanelN, a.n - n0);
        sums.assign(static_cast<size_t>(a.m) * n, Acc(0));
        if (a.hasBias || a.partial) {
            for (uint32_t i = 0; i < a.m; ++i) {
                for (uint32_t j = 0; j < n; ++j) {
                    sums[static_cast<size_t>(i) * n + j] =
                        a.partial ? Previous<Acc>(a.initial, IndexOf(a.initial, i, n0 + j))
                                  : Element<Acc>((*biasIn).data, a.bias.type, a.n0 + n0 + j);
                }
            }
        }
        for (uint32_t k0 = 0; k0 < a.k; k0 += kPanelK) {
            const uint32_t k = std::min(kPanelK, a.k - k0);
            Unpack(right, *bIn, k0, k, a.n0 + n0, n);
            if (a.hf32 && a.b.type == DType::kF32)
                RoundToHf32(right, static_cast<size_t>(k) * n, false);
            for (uint32_t m0 = 0; m0 < a.m; m0 += kPanelM) {
                const uint32_t m = std::min(kPanelM, a.m - m0);
                Unpack(left, *aIn, a.m0 + m0, m, k0, k);
                if (a.hf32 && a.a.type == DType::kF32)
                    RoundToHf32(left, static_cast<size_t>(m) * k, false);
                Gemm(sums.data() + static_cast<size_t>(m0) * n, n, left, k, right, n, m, n, k,
                     a.hf32 || a.a.type != DType::kF32);
            }
        }
        if (way.atomic != 0) guard.lock();
        for (uint32_t i = 0; i < a.m; ++i) {
            StoreRow(core, a, sums.data() + static_cast<size_t>(i) * n, i, n0, n, way);
        }
        if (way.atomic != 0) guard.unlock();
    }
}

}  // namespace

void MatmulCompute(const MatmulArgs& a, Api api, Loc loc) {
    Core& core = Current();
    if (a.m == 0 || a.n == 0) return;
    uint8_t atomic = a.atomic != 0 ? a.atomic : core.regs.atomicOp;
    if (atomic == kPlainStore) atomic = 0;
    if (core.sink != nullptr) EmitAll(core, a, api, loc, atomic != 0);
    for (uint32_t i = 0; i < a.blocks; ++i) NoteStore(core);
    if (core.timeOnly) return;
    const bool integer = a.a.type == DType::kI8 || a.a.type == DType::kI4;
    Way way{api, Where(core, loc), atomic, DType::kF32,
            IsInside(core, a.c, {"C", a.cRow, a.m, a.cColumn, a.n}, api, Where(core, loc))};
    if (integer && a.b.type != DType::kF16) {
        way.accType = DType::kI32;
        Run<int64_t>(core, a, way);
    } else {
        Run<float>(core, a, way);
    }
}

uint8_t* MatmulScratch(const void* owner, int slot, uint64_t bytes) {
    using Memory = std::map<std::pair<const void*, int>, std::vector<uint8_t>>;
    Extension& e = Current().ext[kExtMatmul];
    if (e.data == nullptr) {
        e.data = new Memory;
        e.destroy = [](void* p) { delete static_cast<Memory*>(p); };
    }
    std::vector<uint8_t>& v = (*static_cast<Memory*>(e.data))[{owner, slot}];
    if (v.size() < bytes) v.resize(bytes);
    return v.data();
}

namespace {
// Callbacks of a Matmul object move data between global memory and buffers that stand in for those
// of the cube core. What they do to global memory is the kernel's own and passed on; the object
// orders it.
class CallbackSink : public Sink {
 public:
    Sink* kernel = nullptr;

    void OnInstruction(Core& core, const Record& record) override {
        Record r = record;
        r.count = 0;
        for (int i = 0; i < record.count; ++i) {
            if (record.operands[i].mem == Mem::kGm) r.operands[r.count++] = record.operands[i];
        }
        if (r.count == 0) return;
        SyncEvent barrier;
        barrier.kind = SyncKind::kPipeBarrier;
        barrier.src = Pipe::kAll;
        barrier.loc = r.loc;
        kernel->OnSync(core, barrier);
        kernel->OnInstruction(core, r);
        kernel->OnSync(core, barrier);
    }
    void OnProblem(Core& core, const Problem& problem) override {
        kernel->OnProblem(core, problem);
    }
};

// All cores of a launch share one sink, and a launch with a sink runs on one thread.
CallbackSink g_callbacks;
}  // namespace

CubeRole::CubeRole() {
    Core& core = Current();
    const Mem mems[2] = {Mem::kL1, Mem::kL0c};
    const uint32_t sizes[2] = {core.soc->l1Bytes, core.soc->l0cBytes};
    uint8_t* own[2];
    for (int i = 0; i < 2; ++i) {
        const int at = static_cast<int>(mems[i]);
        oldMemory_[i] = core.memory[at];
        oldCapacity_[i] = core.capacity[at];
        own[i] = MatmulScratch(&core, i, sizes[i]);
        core.memory[at] = own[i];
        core.capacity[at] = sizes[i];
    }
    l1_ = own[0];
    l0c_ = own[1];
    oldSink_ = core.sink;
    oldKind_ = core.kind;
    oldBlock_ = core.blockIdx;
    if (core.sink != nullptr && core.sink != &g_callbacks) {
        g_callbacks.kernel = core.sink;
        core.sink = &g_callbacks;
    }
    if (core.mixed && core.kind == CoreKind::kAiv) {
        core.kind = CoreKind::kAic;
        core.blockIdx = core.group;
    }
}

CubeRole::~CubeRole() {
    Core& core = Current();
    const Mem mems[2] = {Mem::kL1, Mem::kL0c};
    for (int i = 0; i < 2; ++i) {
        core.memory[static_cast<int>(mems[i])] = oldMemory_[i];
        core.capacity[static_cast<int>(mems[i])] = oldCapacity_[i];
    }
    core.sink = oldSink_;
    core.kind = oldKind_;
    core.blockIdx = oldBlock_;
}

bool IsMatmulServer(Loc loc) {
    Core& core = Current();
    RequireCubeCores(core, loc);
    return core.mixed && core.kind == CoreKind::kAic;
}

}  // namespace ascendc_emu
