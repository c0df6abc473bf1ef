// SPDX-License-Identifier: Apache-2.0
// What host libraries registered: one entry per op type.
#ifndef OPGEN_HOST_OP_REGISTRY_H
#define OPGEN_HOST_OP_REGISTRY_H

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "register/op_def.h"
#include "register/op_impl_registry.h"

namespace ascendc_emu {
struct OpEntry {
    // Null when only functions were registered (IMPL_OP without OP_ADD).
    std::shared_ptr<ops::OpDef> def;
    // Base address of the library that declared `def`.
    const void *library = nullptr;
    std::string place;                    // file and line of the declaration
    std::vector<std::string> duplicates;  // problems noticed while registering

    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
    gert::OpImplRegisterV2::InferShapeRangeKernelFunc infer_shape_range = nullptr;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_data_type = nullptr;
    bool data_type_as_first_input = false;
    gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
    gert::OpImplRegisterV2::KernelFunc tiling_parse = nullptr;
    gert::OpImplRegisterV2::CompileInfoCreatorFunc create_compile_info = nullptr;
    gert::OpImplRegisterV2::CompileInfoDeleterFunc delete_compile_info = nullptr;
    size_t max_tiling_data_size = 0;
    gert::OpImplRegisterV2::GenSimplifiedKeyKernelFunc gen_simplified_key = nullptr;
    std::map<int32_t, const void *> value_dependent;  // parameter positions, and who told them
};

// Copies; entries stay as they are while a later library replaces them.
std::shared_ptr<const OpEntry> FindOp(const std::string &op_type);
std::vector<std::string> OpTypes();
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OP_REGISTRY_H
