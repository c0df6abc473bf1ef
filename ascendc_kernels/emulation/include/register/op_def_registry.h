// SPDX-License-Identifier: Apache-2.0
// Registers an op's declaration (OP_ADD) and its graph-time functions when the library loads.
#ifndef OPGEN_EMULATION_REGISTER_OP_DEF_REGISTRY_H
#define OPGEN_EMULATION_REGISTER_OP_DEF_REGISTRY_H

#include <functional>

#include "register/op_def.h"

namespace ops {
// ops::OpDefFactory: where OP_ADD hands in an op's declaration.
using OpDefCreator = std::function<OpDef(const char *)>;

class OpDefFactory {
 public:
    // Builds the declaration and stores it with its functions; `owner` is any address inside the
    // library that registers, so that a reloaded library replaces what another one declared. The
    // place of OP_ADD tells a second declaration from one that two sources include.
    static int OpDefRegister(const char *name, OpDefCreator creator, const void *owner,
                             const char *file = __builtin_FILE(), int line = __builtin_LINE());
};
}  // namespace ops

// OP_ADD: registers an ops::OpDef when the library loads.
// CANN builds the source three times (OP_PROTO_LIB, OP_TILING_LIB, neither) and registers another
// part each time; here one build registers everything. Extra arguments are for CANN's opbuild.
#define OP_ADD(opType, ...)                                                                     \
    static int g_##opType##_added __attribute__((unused)) = ::ops::OpDefFactory::OpDefRegister( \
        #opType, [](const char *name) -> ::ops::OpDef { return opType(name); },                 \
        reinterpret_cast<const void *>(&g_##opType##_added))

// Macros that register a graph-time function of an op under its name; nothing here calls it.
#define REG_CHECK_SUPPORT(op_type, func)                                                \
    static ::optiling::OpCheckFuncHelper op_check_registry_##op_type##_check_supported( \
        FUNC_CHECK_SUPPORTED, #op_type, func)
#define REG_OP_SELECT_FORMAT(op_type, func)                                              \
    static ::optiling::OpCheckFuncHelper op_check_registry_##op_type##_op_select_format( \
        FUNC_OP_SELECT_FORMAT, #op_type, func)
#define REG_OP_SUPPORT_INFO(op_type, func)                                                  \
    static ::optiling::OpCheckFuncHelper op_check_registry_##op_type##_get_op_support_info( \
        FUNC_GET_OP_SUPPORT_INFO, #op_type, func)
#define REG_OP_SPEC_INFO(op_type, func)                                                   \
    static ::optiling::OpCheckFuncHelper op_check_registry_##op_type##_get_specific_info( \
        FUNC_GET_SPECIFIC_INFO, #op_type, func)
#define REG_OP_PARAM_GENERALIZE(op_type, func) \
    static ::optiling::OpCheckFuncHelper op_check_generalize_registry_##op_type(#op_type, func)

#endif  // OPGEN_EMULATION_REGISTER_OP_DEF_REGISTRY_H
