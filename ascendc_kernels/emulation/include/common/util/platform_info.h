// SPDX-License-Identifier: Apache-2.0
// An older public path of the platform facts.
#pragma once
#include "platform/platform_info.h"
