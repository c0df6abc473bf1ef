// SPDX-License-Identifier: Apache-2.0
// The same header under CANN 8's path.
#pragma once
#include "ascendc/host_api/tiling/template_argument.h"
