// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a program or unit test includes to run kernels on the CPU by ICPU_RUN_KF.
#ifndef ASCENDC_EMU_TIKICPULIB_H
#define ASCENDC_EMU_TIKICPULIB_H

// What CANN's header of this name brings along and public tests use without including it.
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "ascendc_emu/cpu_twin.h"
#include "ascendc_emu/macros.h"
#include "ascendc_emu/types.h"
#include "securec.h"

#endif  // ASCENDC_EMU_TIKICPULIB_H
