// SPDX-License-Identifier: Apache-2.0
// Declarations of ops and tiling structs as JSON.
#ifndef OPGEN_HOST_OP_JSON_H
#define OPGEN_HOST_OP_JSON_H

#include <string>

namespace ascendc_emu {
// Array of ops; see opgen_op_defs_json() in op_runtime.h for the members.
std::string OpDefsJson();
// Array of tiling structs; see opgen_tiling_defs_json().
std::string TilingDefsJson();
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OP_JSON_H
