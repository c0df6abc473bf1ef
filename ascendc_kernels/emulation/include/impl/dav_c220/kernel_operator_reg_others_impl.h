// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Some public kernels include this internal header of the device library by name.
#include "kernel_operator.h"
