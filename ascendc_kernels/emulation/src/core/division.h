// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Integer division by zero in a kernel: the scalar unit of the device goes on, x86 raises SIGFPE.
#ifndef SRC_CORE_DIVISION_H
#define SRC_CORE_DIVISION_H

namespace ascendc_emu {

// Makes kernels go on behind a division by zero, with quotient 0 and the dividend as remainder; done
// once per process. Elsewhere the signal does what it did before.
void TolerateDivisionByZero();

}  // namespace ascendc_emu
#endif  // SRC_CORE_DIVISION_H
