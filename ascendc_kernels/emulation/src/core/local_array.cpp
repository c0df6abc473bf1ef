// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays that a kernel declares in a core's memory: in each one after another in the order in which
// the core meets their declarations, as the device compiler lays out what TPipe does not manage.
#include <unordered_map>

#include "ascendc_emu/c_api.h"

namespace ascendc_emu {
namespace {

struct LocalArrays {
    std::unordered_map<const void*, uint32_t> address;
    uint32_t used[kMemCount] = {};
};

// What the buffers' instructions ask of an address: blocks of 32 bytes, fractals of operands and
// results.
uint64_t Alignment(Mem memory) {
    switch (memory) {
        case Mem::kL0a:
        case Mem::kL0b:
            return 512;
        case Mem::kL0c:
            return 1024;
        case Mem::kBt:
            return 64;
        case Mem::kFb:
            return 128;
        default:
            return 32;
    }
}

AscendC::TPosition Position(Mem memory) {
    switch (memory) {
        case Mem::kL1:
            return AscendC::TPosition::A1;
        case Mem::kL0a:
            return AscendC::TPosition::A2;
        case Mem::kL0b:
            return AscendC::TPosition::B2;
        case Mem::kL0c:
            return AscendC::TPosition::CO1;
        case Mem::kBt:
            return AscendC::TPosition::C2;
        case Mem::kFb:
            return AscendC::TPosition::C2PIPE2GM;
        default:
            return AscendC::TPosition::VECCALC;
    }
}

}  // namespace

void* LocalArray(Mem memory, const void* declaration, uint64_t bytes, Loc loc) {
    Core& core = Current();
    const int place = static_cast<int>(memory);
    uint8_t* const base = core.memory[place];
    Extension& slot = core.ext[kExtLocalArrays];
    if (slot.data == nullptr) {
        slot.data = new LocalArrays;
        slot.destroy = [](void* data) { delete static_cast<LocalArrays*>(data); };
    }
    auto& arrays = *static_cast<LocalArrays*>(slot.data);
    const auto found = arrays.address.find(declaration);
    if (found != arrays.address.end()) return base + found->second;
    const uint64_t unit = Alignment(memory);
    const uint64_t size = (bytes + unit - 1) / unit * unit;
    const uint32_t capacity = core.capacity[place];
    // A core without this memory skips the instructions on it as well.
    if (capacity != 0 && arrays.used[place] + size > capacity) {
        TrapCheck(core, loc, "ErrorBuffer2", "array", "declare smaller or fewer arrays",
                  "an array of %llu bytes does not fit: %u of %u bytes of %s are left",
                  static_cast<unsigned long long>(bytes), capacity - arrays.used[place], capacity,
                  Name(memory));
    }
    const uint32_t address = arrays.used[place];
    arrays.address.emplace(declaration, address);
    arrays.used[place] += static_cast<uint32_t>(size);
    if (capacity != 0) NotePointer(MakeRaw(Position(memory), address, bytes, loc));
    return base + address;
}

}  // namespace ascendc_emu
