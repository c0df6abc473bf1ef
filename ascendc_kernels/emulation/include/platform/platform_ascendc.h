// SPDX-License-Identifier: Apache-2.0
// CANN 9's other name of platform_ascendc.
#pragma once
#include "tiling/platform/platform_ascendc.h"
