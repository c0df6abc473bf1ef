// SPDX-License-Identifier: Apache-2.0
// CANN 9's name of the error reports.
#pragma once
#include "common/util/error_manager/error_manager.h"
