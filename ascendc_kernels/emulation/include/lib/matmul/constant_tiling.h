// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "adv_api/matmul/matmul_intf.h"
