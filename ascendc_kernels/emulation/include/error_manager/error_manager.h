// SPDX-License-Identifier: Apache-2.0
// Another name of the error manager.
#pragma once
#include "common/util/error_manager/error_manager.h"
