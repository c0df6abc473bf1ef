// SPDX-License-Identifier: Apache-2.0
// OP_ADD: registers an ops::OpDef when the library loads.
#ifndef OPGEN_EMULATION_REGISTER_OP_DEF_REGISTRY_H
#define OPGEN_EMULATION_REGISTER_OP_DEF_REGISTRY_H

#include "register/op_def.h"
#include "register/op_def_factory.h"

// CANN builds the source three times (OP_PROTO_LIB, OP_TILING_LIB, neither) and registers another
// part each time; here one build registers everything. Extra arguments are for CANN's opbuild.
#define OP_ADD(opType, ...)                                                                     \
    static int g_##opType##_added __attribute__((unused)) = ::ops::OpDefFactory::OpDefRegister( \
        #opType, [](const char *name) -> ::ops::OpDef { return opType(name); },                 \
        reinterpret_cast<const void *>(&g_##opType##_added))

#endif  // OPGEN_EMULATION_REGISTER_OP_DEF_REGISTRY_H
