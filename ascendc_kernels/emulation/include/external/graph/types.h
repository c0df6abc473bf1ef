// SPDX-License-Identifier: Apache-2.0
// The same header under its external path.
#pragma once
#include "graph/types.h"
