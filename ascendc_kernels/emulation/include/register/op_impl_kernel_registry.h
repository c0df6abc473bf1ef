// SPDX-License-Identifier: Apache-2.0
// gert::OpImplKernelRegistry: the functions that an op type registered.
#ifndef OPGEN_EMULATION_REGISTER_OP_IMPL_KERNEL_REGISTRY_H
#define OPGEN_EMULATION_REGISTER_OP_IMPL_KERNEL_REGISTRY_H

#include <cstddef>
#include <cstdint>

#include "register/op_impl_registry.h"

namespace gert {
struct OpImplKernelRegistry {
    using InferShapeKernelFunc = OpImplRegisterV2::InferShapeKernelFunc;
    using InferShapeRangeKernelFunc = OpImplRegisterV2::InferShapeRangeKernelFunc;
    using InferDataTypeKernelFunc = OpImplRegisterV2::InferDataTypeKernelFunc;
    using TilingKernelFunc = OpImplRegisterV2::TilingKernelFunc;
    using TilingParseFunc = OpImplRegisterV2::TilingParseFunc;
    using GenSimplifiedKeyKernelFunc = OpImplRegisterV2::GenSimplifiedKeyKernelFunc;
    using KernelFunc = OpImplRegisterV2::KernelFunc;
    using CompileInfoCreatorFunc = OpImplRegisterV2::CompileInfoCreatorFunc;
    using CompileInfoDeleterFunc = OpImplRegisterV2::CompileInfoDeleterFunc;
    using OpType = OpImplRegisterV2::OpType;

    // Null for what was not registered. Bit i of a dependency is parameter i.
    struct OpImplFunctions {
        bool HasDataDependency() const { return inputs_dependency != 0; }
        bool IsInputDataDependency(const size_t index) const {
            return index < 64 && (inputs_dependency >> index & 1) != 0;
        }
        bool HasTilingInputDataDependency() const { return tiling_dependency != 0; }
        bool IsTilingInputDataDependency(const size_t index) const {
            return index < 64 && (tiling_dependency >> index & 1) != 0;
        }

        OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
        OpImplRegisterV2::InferShapeRangeKernelFunc infer_shape_range = nullptr;
        OpImplRegisterV2::InferDataTypeKernelFunc infer_datatype = nullptr;
        OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
        OpImplRegisterV2::KernelFunc tiling_parse = nullptr;
        OpImplRegisterV2::CompileInfoCreatorFunc compile_info_creator = nullptr;
        OpImplRegisterV2::CompileInfoDeleterFunc compile_info_deleter = nullptr;
        size_t max_tiling_data_size = 0;
        uint64_t inputs_dependency = 0;
        uint64_t tiling_dependency = 0;
        OpImplRegisterV2::GenSimplifiedKeyKernelFunc gen_simplifiedkey = nullptr;
    };
    struct OpImplFunctionsV2 : OpImplFunctions {};
};
}  // namespace gert

#endif  // OPGEN_EMULATION_REGISTER_OP_IMPL_KERNEL_REGISTRY_H
