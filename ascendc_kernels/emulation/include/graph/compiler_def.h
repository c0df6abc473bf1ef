// SPDX-License-Identifier: Apache-2.0
// Compiler attributes of declarations and registration macros.
#ifndef OPGEN_EMULATION_GRAPH_COMPILER_DEF_H
#define OPGEN_EMULATION_GRAPH_COMPILER_DEF_H

#define VAR_UNUSED __attribute__((unused))
#define METADEF_FUNC_VISIBILITY

#define FMK_FUNC_HOST_VISIBILITY
#define FMK_FUNC_DEV_VISIBILITY
#define ATTRIBUTED_DEPRECATED(replacement) \
    __attribute__((deprecated("Please use " #replacement " instead.")))

// Visibility of CANN 9's op base library; its functions are inline here.
#define OPBASE_API
#define OPBASE_FUNC_VISIBILITY

#endif  // OPGEN_EMULATION_GRAPH_COMPILER_DEF_H
