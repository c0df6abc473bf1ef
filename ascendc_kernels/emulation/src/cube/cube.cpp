// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "cube/cube.h"

#include <string.h>

#include "ascendc_emu/launch.h"
#include "core/operands.h"
#include "core/scheduler.h"

namespace ascendc_emu {

void DeclareKind(int kind, KindSource source, Loc loc);  // src/core

CubeState& StateOf(Core& core) {
    Extension& slot = core.ext[kExtCube];
    if (slot.data == nullptr) {
        slot.data = new CubeState;
        slot.destroy = [](void* data) { delete static_cast<CubeState*>(data); };
    }
    return *static_cast<CubeState*>(slot.data);
}

void RequireCubeCores(Core& core, Loc loc) {
    if (core.kind != CoreKind::kAiv || core.mixed) return;
    DeclareKind(OPGEN_KERNEL_MIX_AIC_1_2, KindSource::kGuess, loc);
}

void CheckRange(Core& core, const TensorRef& t, uint64_t bytes, const char* role, Api api,
                Loc loc) {
    const uint32_t capacity = core.capacity[static_cast<int>(t.mem)];
    if (capacity == 0) RequireCubeCores(core, loc);
    if (t.addr + bytes <= capacity) {
        return;
    }
    TrapCheck(core, loc, "ErrorWrite2", api, "use a smaller block or another start address",
              "%s of %s needs bytes [%u, %llu) of %s, which has %u", role, api, t.addr,
              static_cast<unsigned long long>(t.addr + bytes), Name(t.mem), capacity);
}

const TensorRef& FromStart(const TensorRef& t, AscendC::TPosition pos, TensorRef& placed) {
    if (t.ptr != nullptr || t.addr != 0 || t.size != 0 || t.buffer != 0) return t;
    PlaceTensor(placed, pos, 0, 0);
    return placed;
}

Operand& AddOperand(Record& r, Role role, const TensorRef& t, DType type, Access access,
                    uint16_t align) {
    Operand& o = r.Add(role);
    o.mem = t.mem;
    o.dtype = type;
    o.access = access;
    o.align = align;
    o.position = t.pos;
    o.addr = t.addr;
    // The cube rounds sizes up to fractals, and programs that place tensors by address size them
    // for the valid part: the official checks bound those by the memory's capacity only.
    if (t.queue != 0) {
        o.buffer = t.buffer;
        o.lo = t.lo;
        o.hi = t.hi;
        o.tensorEnd = uint64_t{t.addr} + t.size;
    }
    return o;
}

Operand& AddOperand(Record& r, Role role, const GmRef& t, DType type, Access access) {
    Operand& o = AddTensor(r, role, t, type, access);
    o.align = 1;
    return o;
}

void CubeSetFmatrix(uint32_t height, uint32_t width, const uint8_t pad[4], bool right) {
    CubeState& state = StateOf(Current());
    CubeState::Fmatrix& f = right ? state.right : state.left;
    f.height = height;
    f.width = width;
    for (int i = 0; i < 4; ++i) f.pad[i] = pad[i];
}

void CubeGetFmatrix(bool right, Load3dArgs& args) {
    CubeState& state = StateOf(Current());
    const CubeState::Fmatrix& f = right ? state.right : state.left;
    args.height = f.height;
    args.width = f.width;
    for (int i = 0; i < 4; ++i) args.pad[i] = f.pad[i];
}

void CubeSetPadding(uint64_t bits) { StateOf(Current()).padding = bits; }
uint64_t CubePadding() { return StateOf(Current()).padding; }

void CubeSetLoadRepeat(uint32_t time, uint32_t stride, bool alongK) {
    CubeState& state = StateOf(Current());
    state.repeatTime = time;
    state.repeatStride = stride;
    state.repeatAlongK = alongK;
}

void CubeSetFixpipeNd(uint32_t ndNum, uint32_t srcNdStride, uint32_t dstNdStride) {
    CubeState& state = StateOf(Current());
    state.ndNum = ndNum;
    state.srcNdStride = srcNdStride;
    state.dstNdStride = dstNdStride;
}

void CubeGetFixpipeNd(FixpipeArgs& args) {
    const CubeState& state = StateOf(Current());
    args.ndNum = state.ndNum;
    args.srcNdStride = state.srcNdStride;
    args.dstNdStride = state.dstNdStride;
}

void CubeSetFixpipeQuant(uint64_t scalar) { StateOf(Current()).quantScalar = scalar; }
uint64_t CubeFixpipeQuant() { return StateOf(Current()).quantScalar; }

void CubeSetFixpipeTable(const TensorRef& table) {
    CubeState& state = StateOf(Current());
    state.quantTable = table;
    state.hasTable = true;
}

const TensorRef* CubeFixpipeTable() {
    const CubeState& state = StateOf(Current());
    return state.hasTable ? &state.quantTable : nullptr;
}

void CubeSetFixpipeUnitFlag(bool on) { StateOf(Current()).unitFlag = on; }
bool CubeFixpipeUnitFlag() { return StateOf(Current()).unitFlag; }

namespace {

struct Span {
    uint64_t begin, end;  // bytes from the matrix's data
};

// Both layouts put the last row's last column last.
Span SpanOf(const MatrixRef& m, const MatrixBlock& b) {
    const uint64_t bits = DTypeBits(m.type);
    const uint64_t last = IndexOf(m, b.row + b.rows - 1, b.column + b.columns - 1);
    return {IndexOf(m, b.row, b.column) * bits / 8, ((last + 1) * bits + 7) / 8};
}

}  // namespace

bool IsInside(Core& core, const MatrixRef& m, const MatrixBlock& block, Api api, Loc loc) {
    if (m.hidden || m.format == MatrixFormat::kScalar || block.rows == 0 || block.columns == 0)
        return true;
    const Span span = SpanOf(m, block);
    if (!m.onChip) return GmHolds(core, m.data + span.begin, span.end - span.begin);
    if (m.local.ptr != nullptr) {
        CheckRange(core, m.local, static_cast<uint64_t>(m.data - m.local.ptr) + span.end,
                   block.role, api, loc);
    }
    return true;
}

ReadableMatrix::ReadableMatrix(Core& core, const MatrixRef& m, const MatrixBlock& block, Api api,
                               Loc loc)
    : matrix_(m) {
    if (IsInside(core, m, block, api, loc)) return;
    const Span span = SpanOf(m, block);
    copy_.resize(span.end - span.begin);
    const uint8_t* const from = m.data + span.begin;
    memcpy(copy_.data(), from, GmBytes(core, from, copy_.size(), false, api, loc));
    matrix_.data = copy_.data() - span.begin;
}

}  // namespace ascendc_emu
