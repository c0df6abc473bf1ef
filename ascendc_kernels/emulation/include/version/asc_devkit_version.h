// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// The release whose API the emulation follows.
#ifndef ASCENDC_EMU_ASC_DEVKIT_VERSION_H
#define ASCENDC_EMU_ASC_DEVKIT_VERSION_H

#define ASC_DEVKIT_MAJOR 9
#define ASC_DEVKIT_MINOR 0
#define ASC_DEVKIT_PATCH 0
#define ASC_DEVKIT_VERSION_STR "9.0.0"

#endif  // ASCENDC_EMU_ASC_DEVKIT_VERSION_H
