// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/code_range.h"

#include <link.h>

namespace ascendc_emu {
namespace {

int FindText(dl_phdr_info* info, size_t, void* found) {
    auto* wanted = static_cast<CodeRange*>(found);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& h = info->dlpi_phdr[i];
        if (h.p_type != PT_LOAD || (h.p_flags & PF_X) == 0) continue;
        const uintptr_t begin = info->dlpi_addr + h.p_vaddr;
        if (wanted->begin >= begin && wanted->begin < begin + h.p_memsz) {
            *wanted = {begin, begin + h.p_memsz};
            return 1;
        }
    }
    return 0;
}

}  // namespace

CodeRange CodeOf(const void* code) {
    CodeRange range;
    range.begin = range.end = reinterpret_cast<uintptr_t>(code);
    dl_iterate_phdr(&FindText, &range);
    return range;
}

}  // namespace ascendc_emu
