// SPDX-License-Identifier: Apache-2.0
#include "opdev/op_log.h"
