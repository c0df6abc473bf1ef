// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "hcom/hcom_topo_info.h"
