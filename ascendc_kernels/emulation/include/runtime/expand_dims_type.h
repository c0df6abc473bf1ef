// SPDX-License-Identifier: Apache-2.0
// Short name of the header, as op repositories of CANN 9 write it.
#pragma once
#include "exe_graph/runtime/expand_dims_type.h"
