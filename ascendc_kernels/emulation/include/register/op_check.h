// SPDX-License-Identifier: Apache-2.0
// Macros that register a graph-time function of an op under its name; nothing here calls it.
#ifndef OPGEN_EMULATION_REGISTER_OP_CHECK_H
#define OPGEN_EMULATION_REGISTER_OP_CHECK_H

#include "register/op_def.h"

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

#endif  // OPGEN_EMULATION_REGISTER_OP_CHECK_H
