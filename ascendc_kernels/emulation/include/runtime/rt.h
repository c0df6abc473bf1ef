// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/rt_external_base.h"
