// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// All elementary functions on tiles, for kernels that are written by hand; a generated kernel
// includes the headers of the functions that it calls.
#ifndef OPGEN_MATH_H
#define OPGEN_MATH_H

#include "opgen/error_function.h"
#include "opgen/exponential.h"
#include "opgen/float_division.h"
#include "opgen/float_tile.h"
#include "opgen/hyperbolic.h"
#include "opgen/int_division.h"
#include "opgen/inverse_trigonometric.h"
#include "opgen/power.h"
#include "opgen/recurrence.h"
#include "opgen/trigonometric.h"

#endif  // OPGEN_MATH_H
