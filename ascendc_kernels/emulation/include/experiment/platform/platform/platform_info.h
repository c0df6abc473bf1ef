// SPDX-License-Identifier: Apache-2.0
// The same header under the path of CANN's experimental includes.
#pragma once
#include "platform/platform_info.h"
