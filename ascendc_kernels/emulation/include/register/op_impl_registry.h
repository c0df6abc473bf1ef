// SPDX-License-Identifier: Apache-2.0
// gert::OpImplRegisterV2 and the IMPL_OP* macros: functions of an op, by op type;
// gert::OpImplKernelRegistry: what is registered.
#ifndef OPGEN_EMULATION_REGISTER_OP_IMPL_REGISTRY_H
#define OPGEN_EMULATION_REGISTER_OP_IMPL_REGISTRY_H

#include <cstddef>
#include <cstdint>

// More than this header needs: op_host sources rely on what CANN's headers bring along.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "exe_graph/runtime/kernel_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"
#include "graph/compiler_def.h"

namespace gert {
class OpExecuteContext;

enum TilingPlacement { TILING_ON_HOST = 0, TILING_ON_AICPU = 1 };

// Each call stores its function for the op type at once; a later one replaces an earlier one.
// Null functions are ignored.
class OpImplRegisterV2 {
 public:
    using InferShapeKernelFunc = UINT32 (*)(InferShapeContext *);
    using InferShapeRangeKernelFunc = UINT32 (*)(InferShapeRangeContext *);
    using InferDataTypeKernelFunc = UINT32 (*)(InferDataTypeContext *);
    using TilingKernelFunc = UINT32 (*)(TilingContext *);
    using GenSimplifiedKeyKernelFunc = UINT32 (*)(TilingContext *, ge::char_t *);
    using OpExecFunc = UINT32 (*)(OpExecuteContext *);
    using KernelFunc = UINT32 (*)(KernelContext *);
    using TilingParseFunc = UINT32 (*)(TilingParseContext *);
    using CompileInfoCreatorFunc = void *(*)();
    using CompileInfoDeleterFunc = void (*)(void *);
    using OpType = ge::AscendString;

    explicit OpImplRegisterV2(const ge::char_t *op_type) : op_type_(op_type) {}

    OpImplRegisterV2 &InferShape(InferShapeKernelFunc func);
    OpImplRegisterV2 &InferShapeRange(InferShapeRangeKernelFunc func);
    OpImplRegisterV2 &InferDataType(InferDataTypeKernelFunc func);
    OpImplRegisterV2 &InferOutDataTypeSameWithFirstInput();
    OpImplRegisterV2 &Tiling(TilingKernelFunc func, size_t max_tiling_data_size = 2048);
    template <typename T>
    OpImplRegisterV2 &TilingParse(KernelFunc const func) {
        return TilingParse(func, Create<T>, Delete<T>);
    }
    template <typename T>
    OpImplRegisterV2 &TilingParse(TilingParseFunc const func) {
        return TilingParse(reinterpret_cast<KernelFunc>(func), Create<T>, Delete<T>);
    }
    // Inputs whose values the host functions read.
    OpImplRegisterV2 &InputsDataDependency(std::initializer_list<int32_t> inputs);
    OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t> inputs);
    OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t> inputs,
                                                 std::initializer_list<TilingPlacement> placements);
    OpImplRegisterV2 &HostInputs(std::initializer_list<int32_t> inputs);

    // Kept for whoever looks it up; the emulation compiles kernels by data types instead.
    OpImplRegisterV2 &GenSimplifiedKey(GenSimplifiedKeyKernelFunc func);

    // Accepted and without effect here: fallback execution, private attributes.
    OpImplRegisterV2 &OpExecuteFunc(OpExecFunc) { return *this; }
    OpImplRegisterV2 &OutputShapeDependOnCompute(std::initializer_list<int32_t>) { return *this; }
    template <typename... Value>
    OpImplRegisterV2 &PrivateAttr(const ge::char_t *, Value &&...) {
        return *this;
    }

 private:
    OpImplRegisterV2 &TilingParse(KernelFunc func, CompileInfoCreatorFunc create,
                                  CompileInfoDeleterFunc destroy);
    template <typename T>
    static void *Create() {
        return new T();
    }
    template <typename T>
    static void Delete(void *object) {
        delete static_cast<T *>(object);
    }

    ge::AscendString op_type_;
};
using OpImplRegister = OpImplRegisterV2;
}  // namespace gert

#define OPGEN_IMPL_OP_NAMED(op_type, name, counter) \
    static gert::OpImplRegisterV2 VAR_UNUSED name##counter = gert::OpImplRegisterV2(#op_type)
#define OPGEN_IMPL_OP(op_type, name, counter) OPGEN_IMPL_OP_NAMED(op_type, name, counter)
#define IMPL_OP(op_type) OPGEN_IMPL_OP(op_type, op_impl_register_##op_type, __COUNTER__)
#define IMPL_OP_DEFAULT() IMPL_OP(DefaultImpl)
#define IMPL_OP_INFERSHAPE(op_type) \
    OPGEN_IMPL_OP(op_type, op_impl_register_infershape_##op_type, __COUNTER__)
#define IMPL_OP_OPTILING(op_type) \
    OPGEN_IMPL_OP(op_type, op_impl_register_optiling_##op_type, __COUNTER__)

// DEVICE_IMPL_OP_OPTILING: tiling on the device's AI CPU; here it runs on the host like any other.
#define DEVICE_IMPL_OP_OPTILING(op_type) \
    OPGEN_IMPL_OP(op_type, op_impl_register_device_optiling_##op_type, __COUNTER__)

namespace gert {
// gert::OpImplKernelRegistry: the functions that an op type registered.
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

#endif  // OPGEN_EMULATION_REGISTER_OP_IMPL_REGISTRY_H
