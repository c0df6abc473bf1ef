// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_HOST_OP_SCOPE_H
#define OPGEN_HOST_OP_SCOPE_H

#include <string>

namespace ascendc_emu {
// Scope of registrations and look-ups on this thread (opgen_set_scope); "" is the common one.
const std::string &CurrentScope();

// Name under which an op of the current scope is kept: "scope::Op", or "Op" in the common scope.
std::string ScopedName(const std::string &op_type);
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OP_SCOPE_H
