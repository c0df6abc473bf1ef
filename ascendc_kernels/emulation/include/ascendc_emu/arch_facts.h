// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What decides how an NPU architecture behaves: a row of architectures.csv.
#ifndef ASCENDC_EMU_ARCH_FACTS_H
#define ASCENDC_EMU_ARCH_FACTS_H

#include <cstdint>

namespace ascendc_emu {

struct ArchFacts {
    int32_t arch = 0;          // 2201, 2002, ...
    bool full = false;         // else only the sizes are the architecture's own
    int32_t instructions = 0;  // architecture whose instructions its kernels are compiled with
    uint32_t version = 0;      // GetArchVersion(), the macro __CCE_AICORE__ in hexadecimal digits
    bool unified =
        false;  // one core for cube and vector; results of the cube reach UB by the vector unit
    uint32_t libraryWorkspace = 0;  // bytes in front of the user's workspace
    uint32_t ubReserved = 0;        // bytes of UB that tiling does not see
    uint32_t fixpipeBytes = 0;      // all buffers of the fixpipe; 0: the SoC's fb0_size
    int32_t pipeFlags = 0;          // M_MTE1 flags that TPipe sets on cube cores
};

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_ARCH_FACTS_H
