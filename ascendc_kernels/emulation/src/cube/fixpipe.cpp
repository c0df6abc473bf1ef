// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Fixpipe: results from L0C to GM, L1 or UB with layout change, conversion, quantisation and ReLU.
// Formulas: asc-devkit docs, "quantisation on the way out" and its combination with ReLU.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "ascendc_emu/types.h"
#include "core/scheduler.h"
#include "cube/cube.h"

namespace ascendc_emu {
namespace {

// QuantMode_t of the public interface.
enum Quant {
    kNone = 0,
    kF32ToF16 = 1,
    kVReq8 = 2,
    kReq8 = 3,
    kVDeqF16 = 4,
    kDeqF16 = 5,
    kF32ToBf16 = 16,
    kVQuantB8 = 23,
    kQuantB8 = 24,
};

// The 64-bit parameter: scale with 10 bits of mantissa, shift, offset, sign.
struct Scale {
    float factor;
    bool shiftFirst;
    uint32_t shift;
    int32_t offset;
    bool isSigned;
};

Scale Decode(uint64_t bits) {
    Scale s;
    s.factor = BitCast<float>(static_cast<uint32_t>(bits) & ~0x1fffu);
    s.shiftFirst = ((bits >> 36) & 1) != 0;
    s.shift = static_cast<uint32_t>((bits >> 32) & 15) + 1;
    const int32_t offset = static_cast<int32_t>((bits >> 37) & 0x1ff);
    s.offset = offset >= 256 ? offset - 512 : offset;
    s.isSigned = ((bits >> 46) & 1) != 0;
    return s;
}

float Clamp(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

int32_t QuantiseB8(float value, const Scale& s) {
    const float scaled = isnan(value) ? 0.0f : nearbyintf(Clamp(value, -256.0f, 255.0f));
    const float shifted = scaled + static_cast<float>(s.offset);
    return static_cast<int32_t>(s.isSigned ? Clamp(shifted, -128.0f, 127.0f)
                                           : Clamp(shifted, 0.0f, 255.0f));
}

float Scaled(float value, const Scale& s, bool relu) {
    return value >= 0.0f || !relu ? value * s.factor : 0.0f;
}

float IntegerInput(int32_t value, const Scale& s) {
    if (!s.shiftFirst) return static_cast<float>(value);
    const int32_t shifted = value >> s.shift;
    return static_cast<float>(std::min(std::max(shifted, -32768), 32767));
}

template <typename T>
T Combine(uint8_t op, T old, T value) {
    return op == 1   ? static_cast<T>(old + value)
           : op == 2 ? std::max(old, value)
                     : std::min(old, value);
}

}  // namespace

bool HasQuant(int32_t quant) {
    return (quant >= kNone && quant <= kDeqF16) || quant == kF32ToBf16 || quant == kVQuantB8 ||
           quant == kQuantB8;
}
bool UsesTable(int32_t quant) { return quant == kVReq8 || quant == kVDeqF16 || quant == kVQuantB8; }

// One element of L0C as the destination stores it.
uint32_t ConvertElement(uint32_t raw, DType srcType, DType dstType, const FixpipeArgs& a,
                        uint64_t parameter) {
    const bool integer = srcType == DType::kI32;
    const float f = integer ? 0.0f : BitCast<float>(raw);
    const int32_t i = static_cast<int32_t>(raw);
    switch (a.quant) {
        case kF32ToF16:
            return FloatToHalfBits(a.relu && f < 0.0f ? 0.0f : f);
        case kF32ToBf16:
            return FloatToBf16Bits(a.relu && f < 0.0f ? 0.0f : f);
        case kDeqF16:
        case kVDeqF16: {
            const Scale s = Decode(parameter);
            return FloatToHalfBits(Scaled(IntegerInput(i, s), s, a.relu));
        }
        case kReq8:
        case kVReq8: {
            const Scale s = Decode(parameter);
            return static_cast<uint32_t>(QuantiseB8(Scaled(IntegerInput(i, s), s, a.relu), s)) &
                   0xffu;
        }
        case kQuantB8:
        case kVQuantB8: {
            const Scale s = Decode(parameter);
            return static_cast<uint32_t>(QuantiseB8(Scaled(f, s, a.relu), s)) & 0xffu;
        }
        default:
            break;
    }
    if (integer) return a.relu && i < 0 ? 0u : raw;
    const float v = a.relu && f < 0.0f ? 0.0f : f;
    // Some kernels leave quantPre at its default although the types differ; the hardware then
    // converts by the destination type.
    if (dstType == DType::kF16) return FloatToHalfBits(v);
    if (dstType == DType::kBf16) return FloatToBf16Bits(v);
    return BitCast<uint32_t>(v);
}

bool StoreFloats(uint8_t* out, DType type, const float* from, uint32_t count,
                 const FixpipeArgs& args) {
    if (args.relu) return false;
    if (type == DType::kF32 && args.quant == kNone) {
        Store(reinterpret_cast<float*>(out), from, count);
    } else if (type == DType::kF16 && (args.quant == kNone || args.quant == kF32ToF16)) {
        Store(reinterpret_cast<half*>(out), from, count);
    } else if (type == DType::kBf16 && (args.quant == kNone || args.quant == kF32ToBf16)) {
        Store(reinterpret_cast<bfloat16_t*>(out), from, count);
    } else {
        return false;
    }
    return true;
}

// Atomic stores of several cores may meet at one address.
std::mutex& AtomicLock() {
    static std::mutex lock;
    return lock;
}

void StoreAtomic(uint8_t* out, uint32_t bits, DType type, uint8_t op) {
    switch (type) {
        case DType::kF32: {
            float old;
            memcpy(&old, out, 4);
            const float v = Combine(op, old, BitCast<float>(bits));
            memcpy(out, &v, 4);
            break;
        }
        case DType::kI32: {
            int32_t old;
            memcpy(&old, out, 4);
            const int32_t v = Combine(op, old, static_cast<int32_t>(bits));
            memcpy(out, &v, 4);
            break;
        }
        case DType::kF16: {
            uint16_t old;
            memcpy(&old, out, 2);
            const uint16_t v = FloatToHalfBits(
                Combine(op, HalfBitsToFloat(old), HalfBitsToFloat(static_cast<uint16_t>(bits))));
            memcpy(out, &v, 2);
            break;
        }
        case DType::kBf16: {
            uint16_t old;
            memcpy(&old, out, 2);
            const uint16_t v = FloatToBf16Bits(
                Combine(op, Bf16BitsToFloat(old), Bf16BitsToFloat(static_cast<uint16_t>(bits))));
            memcpy(out, &v, 2);
            break;
        }
        case DType::kI8: {
            const int8_t v = Combine(op, static_cast<int8_t>(*out), static_cast<int8_t>(bits));
            *out = static_cast<uint8_t>(v);
            break;
        }
        default:
            memcpy(out, &bits, DTypeBits(type) / 8);
            break;
    }
}

namespace {

// Byte offset in the destination of element (m, n) of matrix `nd`.
uint64_t TargetOffset(const FixpipeArgs& a, uint32_t size, uint32_t nd, uint32_t m, uint32_t n) {
    if (a.toNd) {
        return (static_cast<uint64_t>(nd) * a.dstNdStride + static_cast<uint64_t>(m) * a.dstStride +
                n) *
               size;
    }
    const uint64_t column = static_cast<uint64_t>(a.dstStride) * kBlock;
    if (size == 4 && a.channelSplit) return n / 8 * column + (m * 8ull + n % 8) * 4;
    if (size == 1) {
        // Two neighbouring fractals become one of 32 channels; an odd last one keeps its own width.
        const bool paired = n / 32 < a.n / 32;
        const uint64_t start = n / 32 * column;
        return paired ? start + m * 32ull + n % 32 : start + m * 16ull + n % 16;
    }
    return n / kCube * column + (static_cast<uint64_t>(m) * kCube + n % kCube) * size;
}

// Bytes from the destination's start to the end of what is written.
uint64_t TargetBytes(const FixpipeArgs& a, uint32_t size) {
    return TargetOffset(a, size, a.toNd ? a.ndNum - 1 : 0, a.m - 1, a.n - 1) + size;
}

// `inside`: all of the destination is memory of the launch; else what is outside is left out.
void Run(Core& core, uint8_t* base, DType dstType, const TensorRef& src, DType srcType,
         const TensorRef* table, const FixpipeArgs& a, bool atomic, bool inside, Api api, Loc loc) {
    const uint32_t size = DTypeBits(dstType) / 8;
    const uint32_t columns = CeilDiv(a.n, kCube);
    std::unique_lock<std::mutex> guard(AtomicLock(), std::defer_lock);
    if (atomic) guard.lock();
    // The device copies the parameters to its fixpipe buffer first: results may go where they lie.
    std::vector<uint64_t> parameters(UsesTable(a.quant) ? a.n : 0);
    if (!parameters.empty()) memcpy(parameters.data(), table->ptr, parameters.size() * 8);
    const bool plain =
        a.quant == 0 && !a.relu && srcType == dstType && size == 4 && a.toNd && !atomic && inside;
    for (uint32_t nd = 0; nd < std::max(a.toNd ? a.ndNum : 1u, 1u); ++nd) {
        // srcNdStride counts blocks of 16 x 16 elements.
        const uint8_t* matrix = src.ptr + static_cast<uint64_t>(nd) * a.srcNdStride * 1024;
        for (uint32_t nb = 0; nb < columns; ++nb) {
            const uint8_t* column = matrix + static_cast<uint64_t>(nb) * a.srcStride * 64;
            const uint32_t width = std::min(kCube, a.n - nb * kCube);
            for (uint32_t m = 0; m < a.m; ++m) {
                const uint32_t* in = reinterpret_cast<const uint32_t*>(column) + m * kCube;
                if (plain) {
                    memcpy(base + TargetOffset(a, size, nd, m, nb * kCube), in, width * 4);
                    continue;
                }
                for (uint32_t i = 0; i < width; ++i) {
                    const uint32_t n = nb * kCube + i;
                    const uint64_t parameter = parameters.empty() ? a.scalar : parameters[n];
                    const uint32_t bits = ConvertElement(in[i], srcType, dstType, a, parameter);
                    uint8_t* out = base + TargetOffset(a, size, nd, m, n);
                    if (!inside && GmBytes(core, out, size, true, api, loc) < size) continue;
                    if (atomic) {
                        StoreAtomic(out, bits, dstType, core.regs.atomicOp);
                    } else {
                        memcpy(out, &bits, size);
                    }
                }
            }
        }
    }
}

void FillTarget(Operand& to, const FixpipeArgs& a, uint32_t size) {
    if (a.toNd) {
        to.blockBytes = a.n * size;
        to.blocks = a.m;
        to.blockStride = static_cast<int64_t>(a.dstStride) * size;
        to.repeats = std::max(a.ndNum, 1u);
        to.repeatStride = static_cast<int64_t>(a.dstNdStride) * size;
        return;
    }
    const uint32_t channels = size == 1 ? 32 : size == 4 && a.channelSplit ? 8 : kCube;
    to.blockBytes = a.m * channels * size;
    to.blocks = CeilDiv(a.n, channels);
    to.blockStride = static_cast<int64_t>(a.dstStride) * kBlock;
}

void Prepare(Core& core, Record& r, Operand& to, const TensorRef& src, DType srcType, DType dstType,
             const TensorRef* table, const FixpipeArgs& a) {
    FillTarget(to, a, DTypeBits(dstType) / 8);
    Operand& from = AddOperand(r, "src", src, srcType, Access::kRead, 64);
    from.blockBytes = a.m * 64;
    from.blocks = CeilDiv(a.n, kCube);
    from.blockStride = static_cast<int64_t>(a.srcStride) * 64;
    from.repeats = std::max(a.toNd ? a.ndNum : 1u, 1u);
    from.repeatStride = static_cast<int64_t>(a.srcNdStride) * 1024;
    if (UsesTable(a.quant) && table != nullptr) {
        Operand& parameters =
            AddOperand(r, "cbufWorkspace", *table, DType::kU64, Access::kRead, kBlock);
        parameters.blockBytes = a.n * 8;
    }
    Emit(core, r);
}

void Check(Core& core, const TensorRef& src, const TensorRef* table, const FixpipeArgs& a, Api api,
           Loc loc) {
    if (!HasQuant(a.quant)) {
        Trap(core, loc, api, "this quantisation mode does not exist on %s", core.soc->name);
    }
    CheckRange(core, src,
               ((CeilDiv(a.n, kCube) - 1ull) * a.srcStride + a.m) * 64 +
                   (std::max(a.toNd ? a.ndNum : 1u, 1u) - 1ull) * a.srcNdStride * 1024,
               "src", api, loc);
    if (UsesTable(a.quant) && table == nullptr) {
        TrapCheck(core, loc, "ErrorParam", api, "pass the parameters as cbufWorkspace",
                  "quantisation per channel (mode %d) has no parameter tensor", a.quant);
    }
}

}  // namespace

void CubeFixpipe(const GmRef& dst, DType dstType, const TensorRef& given, DType srcType,
                 const TensorRef* table, const FixpipeArgs& a, Api api, Loc loc) {
    Core& core = Current();
    TensorRef start;
    const TensorRef& src = FromStart(given, AscendC::TPosition::CO1, start);
    NeedsApi(core, loc, Api::kFixpipe);
    if (a.n == 0 || a.m == 0 || a.ndNum == 0) return;
    Check(core, src, table, a, api, loc);
    NoteStore(core);
    const bool atomic = core.regs.atomicOp != 0;
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kFix;
        r.unitFlag = a.unitFlag;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, dstType, Access::kWrite);
        to.atomic = atomic;
        Prepare(core, r, to, src, srcType, dstType, table, a);
        if (core.timeOnly) return;
    }
    const bool inside = GmHolds(core, dst.ptr, TargetBytes(a, DTypeBits(dstType) / 8));
    Run(core, dst.ptr, dstType, src, srcType, table, a, atomic, inside, api, Where(core, loc));
}

void CubeFixpipe(const TensorRef& dst, DType dstType, const TensorRef& given, DType srcType,
                 const TensorRef* table, const FixpipeArgs& a, Api api, Loc loc) {
    Core& core = Current();
    TensorRef start;
    const TensorRef& src = FromStart(given, AscendC::TPosition::CO1, start);
    NeedsApi(core, loc, Api::kFixpipe);
    if (a.n == 0 || a.m == 0 || a.ndNum == 0) return;
    Check(core, src, table, a, api, loc);
    const uint32_t size = DTypeBits(dstType) / 8;
    CheckRange(core, dst, TargetBytes(a, size), "dst", api, loc);
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kFix;
        r.unitFlag = a.unitFlag;
        r.loc = Where(core, loc);
        Operand& to = AddOperand(r, "dst", dst, dstType, Access::kWrite, kBlock);
        Prepare(core, r, to, src, srcType, dstType, table, a);
        if (core.timeOnly) return;
    }
    Run(core, dst.ptr, dstType, src, srcType, table, a, false, true, api, loc);
}

}  // namespace ascendc_emu
