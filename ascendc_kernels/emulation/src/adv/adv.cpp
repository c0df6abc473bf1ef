// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/adv.h"

#include "core/operands.h"

namespace ascendc_emu {

bool AdvBegin(Api api, Loc loc, const AdvOperand* operands, uint32_t count) {
    Core& core = Current();
    for (uint32_t i = 0; i < count; ++i) {
        const AdvOperand& o = operands[i];
        if (o.tensor == nullptr || o.elements == 0) continue;
        const uint64_t bytes = (o.elements * DTypeBits(o.type) + 7) / 8;
        const uint32_t capacity = core.capacity[static_cast<int>(o.tensor->mem)];
        if (o.tensor->addr + bytes > capacity) {
            TrapCheck(core, loc, o.access == Access::kRead ? "ErrorRead3" : "ErrorWrite2", api,
                      "use a smaller count or a larger buffer",
                      "%s needs bytes [%u, %llu) of %s, which has %u", o.role.name, o.tensor->addr,
                      static_cast<unsigned long long>(o.tensor->addr + bytes), Name(o.tensor->mem),
                      capacity);
        }
    }
    if (core.sink == nullptr) return true;
    Record r;
    r.SetApi(api);
    r.pipe = Pipe::kV;
    r.loc = Where(core, loc);
    r.countForm = true;
    for (uint32_t i = 0; i < count; ++i) {
        const AdvOperand& from = operands[i];
        if (from.tensor == nullptr || from.elements == 0) continue;
        const TensorRef& t = *from.tensor;
        Operand& o = AddTensor(r, from.role, t, from.type, from.access);
        o.align = from.align;
        o.blockBytes = static_cast<uint32_t>((from.elements * DTypeBits(from.type) + 7) / 8);
    }
    Emit(core, r);
    return !core.timeOnly;
}

}  // namespace ascendc_emu
