// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/division.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "ascendc_emu/core.h"

namespace ascendc_emu {

#if defined(__x86_64__)
namespace {

struct Division {
    int length = 0;  // bytes of the instruction; 0: it is no division
    int bits = 32;
    bool isSigned = false;
};

// DIV and IDIV: F6 /6 /7 with 8 bits, F7 /6 /7 with 16, 32 or 64.
Division Decode(const uint8_t* start) {
    Division d;
    const uint8_t* p = start;
    uint8_t rex = 0;
    bool word = false;
    for (; *p == 0x66 || *p == 0x67 || *p == 0x2e || *p == 0x36 || *p == 0x3e || *p == 0x26 ||
           *p == 0x64 || *p == 0x65;
         ++p) {
        word = word || *p == 0x66;
    }
    if ((*p & 0xf0) == 0x40) rex = *p++;
    const uint8_t opcode = *p++;
    const uint8_t modrm = *p++;
    const int mod = modrm >> 6, which = modrm >> 3 & 7, rm = modrm & 7;
    if ((opcode != 0xf6 && opcode != 0xf7) || which < 6) return d;
    if (mod != 3) {
        const bool plainBase = mod == 0 && (rm == 4 ? (*p & 7) == 5 : rm == 5);
        p += rm == 4 ? 1 : 0;  // SIB
        p += mod == 2 || plainBase ? 4 : mod == 1 ? 1 : 0;
    }
    d.bits = opcode == 0xf6 ? 8 : (rex & 8) ? 64 : word ? 16 : 32;
    d.isSigned = which == 7;
    d.length = static_cast<int>(p - start);
    return d;
}

// Also raised by the smallest number divided by -1, which wraps on the device.
void Resume(greg_t* regs, const Division& d) {
    const auto dividend = static_cast<uint64_t>(regs[REG_RAX]);
    if (d.bits == 8) {
        regs[REG_RAX] = static_cast<greg_t>((dividend & ~0xffffull) | (dividend & 0xff) << 8);
    } else {
        const uint64_t low = d.bits == 64 ? ~0ull : (1ull << d.bits) - 1;
        const bool wraps = d.isSigned && (dividend & low) == 1ull << (d.bits - 1);
        // 32-bit results clear the upper halves, 16-bit ones keep the rest.
        const uint64_t keep = d.bits == 16 ? ~low : 0;
        const uint64_t quotient = wraps ? dividend & low : 0;
        const uint64_t remainder = wraps ? 0 : dividend & low;
        regs[REG_RAX] = static_cast<greg_t>((dividend & keep) | quotient);
        regs[REG_RDX] =
            static_cast<greg_t>((static_cast<uint64_t>(regs[REG_RDX]) & keep) | remainder);
    }
    regs[REG_RIP] += d.length;
}

}  // namespace

bool ResumeDivision(const siginfo_t& info, void* context) {
    if (g_current == nullptr || (info.si_code != FPE_INTDIV && info.si_code != FPE_INTOVF))
        return false;
    greg_t* const regs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const Division d = Decode(reinterpret_cast<const uint8_t*>(regs[REG_RIP]));
    if (d.length == 0) return false;
    Resume(regs, d);
    return true;
}
#else
bool ResumeDivision(const siginfo_t&, void*) { return false; }  // aarch64: the instruction gives 0
#endif

}  // namespace ascendc_emu
