// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Global memory as copies see it: how much of an access lies in a tensor, and atomic stores.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/copy_steps.h"

namespace ascendc_emu {

uint64_t GmBytes(Core& core, const uint8_t* address, uint64_t bytes, bool write, Api api, Loc loc) {
    const Scheduler& s = *core.scheduler;
    if (!s.bounded()) return bytes;
    const OpgenGmRange* r = s.FindRange(address);
    const uint64_t cutOff = write ? kGmCutOff : kGmReadCutOff;
    if (r == nullptr) {
        // Behind a tensor: the rows of a block that is rounded up.
        const bool near = s.FindRange(address - 512) != nullptr ||
                          (!write && s.FindRange(address - kGmReadCutOff) != nullptr);
        if (bytes <= kGmCutOff && near) return 0;
        TrapCheck(core, loc, write ? "ErrorWrite2" : "ErrorRead3", api,
                  "check the offset and the length",
                  "%s %llu bytes of global memory at %p, which no argument of the kernel covers",
                  write ? "writes" : "reads", static_cast<unsigned long long>(bytes),
                  static_cast<const void*>(address));
    }
    uint64_t left =
        static_cast<uint64_t>(static_cast<const uint8_t*>(r->data) + r->bytes - address);
    if (bytes <= left) return bytes;
    // What lies directly behind may be memory of the launch, too: the workspace behind the
    // system's.
    while (left < bytes) {
        const OpgenGmRange* const next = s.FindRange(address + left);
        if (next == nullptr) break;
        left =
            static_cast<uint64_t>(static_cast<const uint8_t*>(next->data) + next->bytes - address);
    }
    if (bytes <= left) return bytes;
    if (bytes > left + cutOff) {
        TrapCheck(core, loc, write ? "ErrorWrite2" : "ErrorRead3", api,
                  "check the offset and the length", "%s %llu bytes of '%s' where %llu are left",
                  write ? "writes" : "reads", static_cast<unsigned long long>(bytes),
                  r->name ? r->name : "", static_cast<unsigned long long>(left));
    }
    return left;
}

bool GmHolds(const Core& core, const uint8_t* address, uint64_t bytes) {
    const Scheduler& s = *core.scheduler;
    if (!s.bounded()) return true;
    const OpgenGmRange* r = s.FindRange(address);
    return r != nullptr && address + bytes <= static_cast<const uint8_t*>(r->data) + r->bytes;
}

namespace {

// Atomic stores of different blocks may hit the same address; DMA atomics are per element, so one
// lock per address stripe is enough.
std::mutex g_atomic[64];

template <typename T, typename Op>
void AtomicLoop(uint8_t* dst, const uint8_t* src, uint64_t bytes, Op op) {
    for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T a, b;
        memcpy(&a, dst + i, sizeof(T));
        memcpy(&b, src + i, sizeof(T));
        a = op(a, b);
        memcpy(dst + i, &a, sizeof(T));
    }
}

template <typename T>
void AtomicStore(uint8_t* dst, const uint8_t* src, uint64_t bytes, int op) {
    if (op == 1) {
        AtomicLoop<T>(dst, src, bytes, [](T a, T b) {
            if constexpr (std::is_integral<T>::value) {
                using U = std::make_unsigned_t<T>;
                return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
            } else {
                return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
            }
        });
    } else if (op == 2) {
        AtomicLoop<T>(dst, src, bytes, [](T a, T b) { return a < b ? b : a; });
    } else {
        AtomicLoop<T>(dst, src, bytes, [](T a, T b) { return b < a ? b : a; });
    }
}

}  // namespace

void Store(Core& core, uint8_t* dst, const uint8_t* src, uint64_t bytes, Api api, Loc loc) {
    const Registers& r = core.regs;
    if (r.atomicOp == 0) {
        memcpy(dst, src, bytes);
        return;
    }
    // Stripes of 4 KB, locked one after the other: a store never holds two locks.
    while (bytes > 0) {
        const uintptr_t page = reinterpret_cast<uintptr_t>(dst) >> 12;
        const uint64_t room = ((page + 1) << 12) - reinterpret_cast<uintptr_t>(dst);
        const uint64_t n = std::min(bytes, room);
        std::lock_guard<std::mutex> lock(g_atomic[page % 64]);
        switch (r.atomicType) {
            case DType::kF32:
                AtomicStore<float>(dst, src, n, r.atomicOp);
                break;
            case DType::kF16:
                AtomicStore<half>(dst, src, n, r.atomicOp);
                break;
            case DType::kBf16:
                AtomicStore<bfloat16_t>(dst, src, n, r.atomicOp);
                break;
            case DType::kI32:
                AtomicStore<int32_t>(dst, src, n, r.atomicOp);
                break;
            case DType::kI16:
                AtomicStore<int16_t>(dst, src, n, r.atomicOp);
                break;
            case DType::kI8:
                AtomicStore<int8_t>(dst, src, n, r.atomicOp);
                break;
            default:
                Trap(core, loc, api, "atomic stores of %s do not exist on arch 2201",
                     Name(r.atomicType));
        }
        dst += n;
        src += n;
        bytes -= n;
    }
}

}  // namespace ascendc_emu
