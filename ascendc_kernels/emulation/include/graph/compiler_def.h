// SPDX-License-Identifier: Apache-2.0
// Compiler attributes that registration macros use.
#ifndef OPGEN_EMULATION_GRAPH_COMPILER_DEF_H
#define OPGEN_EMULATION_GRAPH_COMPILER_DEF_H

#define VAR_UNUSED __attribute__((unused))
#define METADEF_FUNC_VISIBILITY

#endif  // OPGEN_EMULATION_GRAPH_COMPILER_DEF_H
