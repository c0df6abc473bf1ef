// SPDX-License-Identifier: Apache-2.0
// Types of the graph engine that sources beside op functions include; graphs are not built here.
#ifndef OPGEN_EMULATION_GE_GE_API_TYPES_H
#define OPGEN_EMULATION_GE_GE_API_TYPES_H

#include <map>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "graph/types.h"

#endif  // OPGEN_EMULATION_GE_GE_API_TYPES_H
