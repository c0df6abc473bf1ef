// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays that a kernel declares in UB: one after another in the order in which the core meets their
// declarations, as the device compiler lays out what TPipe does not manage.
#include <unordered_map>

#include "ascendc_emu/c_api.h"

namespace ascendc_emu {
namespace {

struct UbArrays {
    std::unordered_map<const void*, uint32_t> address;
    uint32_t used = 0;
};

}  // namespace

void* UbArray(const void* declaration, uint64_t bytes, Loc loc)
{
    Core& core = Current();
    uint8_t* const base = core.memory[static_cast<int>(Mem::kUb)];
    Extension& slot = core.ext[kExtUbArrays];
    if (slot.data == nullptr) {
        slot.data = new UbArrays;
        slot.destroy = [](void* data) { delete static_cast<UbArrays*>(data); };
    }
    auto& arrays = *static_cast<UbArrays*>(slot.data);
    const auto found = arrays.address.find(declaration);
    if (found != arrays.address.end()) return base + found->second;
    const uint64_t size = (bytes + 31) / 32 * 32;
    const uint32_t capacity = core.soc->ubBytes;
    if (arrays.used + size > capacity) {
        TrapCheck(core, loc, "ErrorBuffer2", "__ubuf__", "declare smaller or fewer arrays",
                  "an array of %llu bytes does not fit: %u of %u bytes of UB are left",
                  static_cast<unsigned long long>(bytes), capacity - arrays.used, capacity);
    }
    const uint32_t address = arrays.used;
    arrays.address.emplace(declaration, address);
    arrays.used += static_cast<uint32_t>(size);
    if (core.capacity[static_cast<int>(Mem::kUb)] != 0) {
        MakeRaw(AscendC::TPosition::VECCALC, address, bytes, loc);
    }
    return base + address;
}

}  // namespace ascendc_emu
