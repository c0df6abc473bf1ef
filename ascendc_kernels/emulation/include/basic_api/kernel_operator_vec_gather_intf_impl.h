// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "kernel_operator.h"
