// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Where the operands of an instruction lie and whether they may be used there and now.
#include <algorithm>

#include "checker.h"
#include "core/bounds.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

// An access that starts this close behind a tensor most likely ran over its end.
constexpr uint64_t kJustPast = 4096;

// Device memory of `len` bytes takes up len, rounded up to 32, and 32 more bytes (aclrtMalloc,
// aclrtMallocAlign32).
constexpr uint64_t kAllocationUnit = 32;

// Where the tensor of an operand on the chip begins and ends; end 0: nobody knows.
ByteRun BoundsOf(const CoreState& state, const Operand& o) {
    if (o.hi != 0) return {o.lo, o.hi};
    const Buffer* buffer = state.FindBuffer(o.buffer);
    // Rows given by address (TransDataTo5HD) carry no bounds: the buffer they start in has some.
    // Operands of the cube without bounds have none (AddOperand of cube.cpp).
    if (!buffer && o.mem == Mem::kUb) buffer = state.BufferAt(o.mem, o.addr);
    if (!buffer || buffer->life == Life::kGone) return {o.lo, 0};
    return {buffer->addr, buffer->addr + buffer->bytes};
}

}  // namespace

Checker::Place Checker::CheckPlace(Step& step, const Operand& o) {
    uint64_t begin, end;
    if (!Extent(step.record, o, &begin, &end)) return Place::kNowhere;
    CheckAlignment(step, o, begin, end);
    if (o.mem == Mem::kGm) {
        CheckGmPlace(step, o, begin, end);
        return Place::kInside;
    }
    CheckCapacity(step, o, begin, end);
    const ByteRun bounds = BoundsOf(step.state, o);
    if (bounds.end != 0 && (end > bounds.end || begin < bounds.begin)) {
        ReportOutside(step, o, {begin, end}, bounds);
        return Place::kOutside;
    }
    // Copies fill whole blocks, also the last one of a tensor.
    const uint64_t tensorEnd = (o.tensorEnd + 31) / 32 * 32;
    if (o.hi != 0 && o.tensorEnd != 0 && tensorEnd < bounds.end && end > tensorEnd &&
        GetOptions().suspicious) {
        WarnBehindTensor(step, o, begin, end);
    }
    return Place::kInside;
}

void Checker::CheckAlignment(Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    if (o.align <= 1 || o.addr % o.align == 0) return;
    const Record& r = step.record;
    Finding f = Start(step, Writes(r, o) ? "ErrorWrite4" : "ErrorRead4", o, begin, end);
    f.what = Format("%s of %s is not %d-byte aligned (address %% %d = %d)", o.role, r.op, o.align,
                    o.align, static_cast<int>(o.addr % o.align));
    f.why = Format("%s is addressed in units of %d bytes", f.memory.c_str(), o.align);
    f.fix = "start the tensor at an aligned offset, or move unaligned data with DataCopyPad";
    Findings::Instance().Add(f);
}

// Stops the launch where a core has no memory.
void Checker::CheckCapacity(Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    const Record& r = step.record;
    Core& core = *step.state.core;
    const uint64_t capacity = core.capacity[static_cast<int>(o.mem)];
    if (begin < capacity && end <= capacity) return;
    RequireInitialised(core, o.buffer, o.addr, o.mem, r.op, o.role, r.loc);
    ReportEmptyIndices(step);
    Finding f = Start(step, "ErrorBuffer3", o, begin, end);
    f.what = Format("%s of %s ends %llu bytes past the end of %s, which has %llu", o.role, r.op,
                    static_cast<unsigned long long>(end - capacity), Name(o.mem),
                    static_cast<unsigned long long>(capacity));
    f.why = "the core has no memory there";
    f.fix = "make the tile smaller, or correct offset, count, repeat or strides";
    Findings::Instance().Add(f);
    TrapCheck(core, r.loc, f.check.c_str(), r.op, f.fix.c_str(), "%s", f.what.c_str());
}

void Checker::ReportOutside(Step& step, const Operand& o, ByteRun used, ByteRun bounds) {
    const Record& r = step.record;
    const bool writes = Writes(r, o);
    const bool past = used.end > bounds.end;
    Finding f = Start(step, writes ? "ErrorWrite2" : "ErrorRead3", o, used.begin, used.end);
    f.what = Format(
        "%s of %s %s %llu bytes %s its tensor", o.role, r.op, writes ? "writes" : "reads",
        static_cast<unsigned long long>(past ? used.end - bounds.end : bounds.begin - used.begin),
        past ? "past the end of" : "before");
    f.why = Format("the tensor has %llu bytes from its start",
                   static_cast<unsigned long long>(bounds.end - bounds.begin));
    f.fix = "InitBuffer with more bytes, or correct count, mask, repeat or strides";
    Findings::Instance().Add(f);
}

void Checker::WarnBehindTensor(Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    const Record& r = step.record;
    const bool writes = Writes(r, o);
    Finding f = Start(step, writes ? "ErrorWrite2" : "ErrorRead3", o, begin, end);
    f.warning = true;
    f.what = Format(
        "%s of %s %s %llu bytes past the end of its tensor, inside the buffer the tensor "
        "was taken from",
        o.role, r.op, writes ? "writes" : "reads",
        static_cast<unsigned long long>(end - o.tensorEnd));
    f.why = "the tensor was made shorter than this; what lies behind it may belong to another one";
    f.fix =
        "take a longer tensor (Get with more elements), or correct count, mask, repeat or strides";
    Findings::Instance().Add(f);
}

// The size given to SetGlobalBuffer bounds nothing on the device, but it tells what the kernel
// means. Rounding up the last block is usual.
void Checker::CheckGlobalTensor(Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    if (o.hi == 0 || (end <= o.hi + 31 && begin >= o.lo) || !GetOptions().suspicious) return;
    const Record& r = step.record;
    const bool writes = Writes(r, o);
    Finding f = Start(step.state, writes ? "ErrorWrite2" : "ErrorRead3", r.op, r.loc);
    f.warning = true;
    f.pipe = PipeName(step.pipe);
    Describe(step.state, o, begin, end, &f);
    f.what = Format("%s of %s %s %llu bytes %s its GlobalTensor of %llu bytes", o.role, r.op,
                    writes ? "writes" : "reads",
                    static_cast<unsigned long long>(begin < o.lo ? o.lo - begin : end - o.hi),
                    begin < o.lo ? "before" : "past the end of",
                    static_cast<unsigned long long>(o.hi - o.lo));
    f.why =
        "the memory exists, but it is more than SetGlobalBuffer gave this tensor: the part of "
        "another "
        "core or tile?";
    f.fix = "correct offset or count, or the size in SetGlobalBuffer (in elements)";
    Findings::Instance().Add(f);
}

// Whether what is read lies before the kernel's workspace, where the system's part of it is.
bool Checker::InSystemWorkspace(const Region& region, uint64_t end) const {
    const Region* const behind = FindRegion(region.end);
    return region.kind == OPGEN_GM_OTHER && behind && behind->kind == OPGEN_GM_WORKSPACE &&
           end <= behind->end;
}

// Warns about a tail read inside the tensor's allocation; stops the launch when more is out of
// bounds than the copy cuts off.
void Checker::CheckGmPlace(Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    if (regions_.empty()) return;
    const Region* region = FindRegion(begin);
    if (!region) StopOutsideRegions(step, o, begin, end);
    if (end <= region->end) return CheckGlobalTensor(step, o, begin, end);
    const Record& r = step.record;
    if (!Writes(r, o) && InSystemWorkspace(*region, end)) {
        // The system's part of the workspace lies before the kernel's, so the read does not fault.
        Finding f = Start(step, "ErrorRead3", o, begin, end);
        f.warning = true;
        f.what = Format("%s of %s reads %llu bytes before the start of %s", o.role, r.op,
                        static_cast<unsigned long long>(region->end - begin),
                        FindRegion(region->end)->name.c_str());
        f.why = "the system's part of the workspace lies there: what it holds is nobody's data";
        f.fix = "check the offset, or leave out what lies before the first element";
        Findings::Instance().Add(f);
        return;
    }
    CheckGmTail(step, o, *region, begin, end);
}

// An access that starts where the launch has no memory.
void Checker::StopOutsideRegions(Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    const Record& r = step.record;
    const bool writes = Writes(r, o);
    const char* const does = writes ? "writes" : "reads";
    Finding f = Start(step, "", o, begin, end);
    const Region* before = RegionBefore(begin);
    if (before && begin - before->end < kJustPast) {
        f.check = writes ? "ErrorWrite2" : "ErrorRead3";
        f.what =
            Format("%s of %s %s byte %llu of %s, which has %llu", o.role, r.op, does,
                   static_cast<unsigned long long>(begin - before->begin), before->name.c_str(),
                   static_cast<unsigned long long>(before->end - before->begin));
        f.why = "global memory behind the tensor belongs to somebody else";
        f.fix = "check the GM offset and the loop bounds: block index, tile index, element size";
    } else {
        f.check = writes ? "ErrorWrite1" : "ErrorRead1";
        f.what = Format("%s of %s %s global memory that belongs to no tensor of this launch",
                        o.role, r.op, does);
        f.why = "the address lies outside all inputs, outputs and the workspace";
        f.fix = "check the GM offset: block index, tile index and element size";
    }
    Findings::Instance().Add(f);
    TrapCheck(*step.state.core, r.loc, f.check.c_str(), r.op, f.fix.c_str(), "%s", f.what.c_str());
}

// An access that starts in a region and ends behind it.
void Checker::CheckGmTail(Step& step, const Operand& o, const Region& region, uint64_t begin,
                          uint64_t end) {
    const Record& r = step.record;
    const bool writes = Writes(r, o);
    const uint64_t over = end - region.end;
    const uint64_t size = region.end - region.begin;
    // Counted from the start of the tensor, which a device allocation aligns; the host's need not
    // be.
    const uint64_t room = (size + kAllocationUnit - 1) / kAllocationUnit * kAllocationUnit;
    Finding f = Start(step, writes ? "ErrorWrite2" : "ErrorRead3", o, begin, end);
    f.what = Format("%s of %s %s %llu bytes past the end of %s (%llu bytes)", o.role, r.op,
                    writes ? "writes" : "reads", static_cast<unsigned long long>(over),
                    region.name.c_str(), static_cast<unsigned long long>(size));
    f.fix = "copy the tail with DataCopyPad and the exact byte count";
    if (!writes && end <= region.begin + room + kAllocationUnit) {
        // Reads garbage but does not fault.
        f.warning = true;
        f.why = "only the padding that every allocation has lies there";
        Findings::Instance().Add(f);
        return;
    }
    if (end <= region.begin + room) {
        // As much as every allocation has, as long as the tensor is all of it.
        const Region* next = FindRegion(region.end) ? FindRegion(region.end) : FindRegion(end - 1);
        f.why = next ? Format("these bytes are the first of %s", next->name.c_str())
                : region.slice
                    ? "the tensor is a slice of a larger one, which has data there"
                    : "allocations are rounded up to 32 bytes, so nothing is lost as long as the "
                      "tensor has one of its own; where it is a view or a slice of a larger one, "
                      "this destroys its neighbour";
        f.warning = !next && !region.slice && !GetOptions().tailWriteIsError;
        Findings::Instance().Add(f);
        return;
    }
    f.why = "global memory behind the tensor belongs to somebody else";
    Findings::Instance().Add(f);
    // The copy itself is cut off where the tensor ends, so the kernel can go on and show more.
    if (over < (writes ? kGmCutOff : kGmReadCutOff)) return;
    TrapCheck(*step.state.core, r.loc, f.check.c_str(), r.op, f.fix.c_str(), "%s", f.what.c_str());
}

// The end of the lanes that an operand's mask leaves.
static uint64_t EndOf(const Record& r, const Operand& o) {
    uint64_t last = o.addr;
    ForEachSpan(r, o,
                [&](uint64_t begin, uint64_t bytes) { last = std::max(last, begin + bytes); });
    return last;
}

void Checker::CheckOverlap(Step& step) {
    const Record& r = step.record;
    if (!r.perLane) return;
    for (int d = 0; d < r.count; ++d) {
        const Operand& dst = r.operands[d];
        if (!Writes(r, dst) || dst.mem == Mem::kGm || !Contiguous(dst)) continue;
        uint64_t bytes = uint64_t{dst.blockBytes} * dst.blocks * dst.repeats;
        for (int s = 0; s < r.count; ++s) {
            const Operand& src = r.operands[s];
            if (s == d || !Reads(src) || src.mem != dst.mem || !Contiguous(src)) continue;
            if (DTypeBits(src.dtype) != DTypeBits(dst.dtype)) continue;
            if (dst.addr <= src.addr || dst.addr >= src.addr + bytes) continue;
            if (uint64_t{src.blockBytes} * src.blocks * src.repeats != bytes) continue;
            if (bytes <= 256 && !r.countForm) continue;
            if (dst.addr >= EndOf(r, src)) continue;
            Finding f = Start(step.state, "ErrorOverlap", r.op, r.loc);
            f.pipe = PipeName(step.pipe);
            Describe(step.state, dst, dst.addr, dst.addr + bytes, &f);
            f.what = Format("dst of %s starts %llu bytes into %s and overlaps it", r.op,
                            static_cast<unsigned long long>(dst.addr - src.addr), src.role);
            f.why =
                "a later repeat would read what an earlier one has written; operands must be "
                "identical or disjoint";
            f.fix = "write to a separate buffer or in place";
            Findings::Instance().Add(f);
        }
    }
}

// Arch 2002 (Ascend310P) runs on the instructions of 2201 here, so what it lacks must be reported.
void Checker::CheckArch(Step& step) {
    const Record& r = step.record;
    auto report = [&](const std::string& what, const std::string& page) {
        Finding f = Start(step.state, "NotOnSoc", r.op, r.loc);
        f.pipe = PipeName(step.pipe);
        f.what = Format("%s on %s (arch %d)", what.c_str(), step.state.core->soc->name,
                        step.state.core->soc->arch);
        f.why =
            "the documentation of the API (page " + page + ") does not list it for this product";
        f.fix = "use another API or data type on this SoC, or take the SoC out of the op's";
        Findings::Instance().Add(f);
    };
    const int32_t arch = step.state.core->soc->arch;
    std::string page;
    std::string missing = MissingOn(arch, r, &page);
    if (!missing.empty()) report(missing, page);
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (o.dtype == DType::kBf16 && missing.empty() && o.mem != Mem::kGm) {
            if (HasType(FactsOf(r.api), arch, "bfloat16")) continue;
            report(Format("bfloat16 (%s of %s) does not exist", o.role, r.op), "of its data types");
            break;
        }
        if (!o.atomic) continue;
        Record add = r;
        add.SetApi(Api::kSetAtomicAdd);
        add.count = 1;
        add.operands[0] = o;
        missing = MissingOn(arch, add, &page);
        if (!missing.empty()) report(missing, page);
    }
}

// A CPU reaches all memories, and so do programs of the CPU twin; the scalar unit does not.
void Checker::CheckScalarScope(Step& step) {
    const Record& r = step.record;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (o.mem == Mem::kGm || o.mem == Mem::kUb) continue;
        Finding f = Start(step.state, "TensorScope", r.op, r.loc);
        f.pipe = PipeName(step.pipe);
        Describe(step.state, o, o.addr, o.addr + o.blockBytes, &f);
        f.what = Format("%s of a tensor in %s", r.op, Name(o.mem));
        f.why =
            "the scalar unit reaches the Unified Buffer only: the pages of GetValue and SetValue "
            "list the "
            "positions VECIN, VECCALC and VECOUT";
        f.fix = Writes(r, o)
                    ? "fill the tensor by LoadData, DataCopy or Fill"
                    : "bring the values to global memory (Fixpipe, DataCopy) and read them there";
        Findings::Instance().Add(f);
    }
}

void Checker::CheckScope(Step& step) {
    const Record& r = step.record;
    if (step.pipe == kPS && r.scalarAccess) CheckScalarScope(step);
    if (step.pipe != kPV && step.pipe != kPM) return;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        bool fits = step.pipe == kPV ? o.mem == Mem::kUb
                    : Writes(r, o)   ? o.mem == Mem::kL0c
                                     : o.mem == Mem::kL0a || o.mem == Mem::kL0b ||
                                         o.mem == Mem::kL0c || o.mem == Mem::kBt;
        // On arch 2002 vector instructions also move L0C to UB.
        if (!fits && step.state.core->kind == CoreKind::kUnified && o.mem == Mem::kL0c) fits = true;
        if (fits) continue;
        Finding f = Start(step.state, "TensorScope", r.op, r.loc);
        f.pipe = PipeName(step.pipe);
        Describe(step.state, o, o.addr, o.addr + o.blockBytes, &f);
        f.what = Format("%s of %s is in %s", o.role, r.op, Name(o.mem));
        f.why = step.pipe == kPV ? "vector instructions work on the Unified Buffer only"
                                 : "Mmad reads L0A, L0B and the bias table and writes L0C";
        f.fix = "copy the data to the right buffer first";
        Findings::Instance().Add(f);
        Core& core = *step.state.core;
        if (o.mem == Mem::kGm || core.capacity[static_cast<int>(o.mem)] == 0) {
            TrapCheck(core, r.loc, f.check.c_str(), r.op, f.fix.c_str(), "%s", f.what.c_str());
        }
    }
}

}  // namespace sanitizer
}  // namespace ascendc_emu
