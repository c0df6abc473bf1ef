// SPDX-License-Identifier: Apache-2.0
// gert::InferDataTypeContext: input dtypes in, output dtypes out.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_DATATYPE_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_DATATYPE_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"
#include "graph/types.h"

namespace gert {
// A missing input reads as DT_UNDEFINED.
class InferDataTypeContext : public ExtendedKernelContext {
 public:
    ge::DataType GetInputDataType(const size_t index) const {
        return ValueOf(GetInputPointer<ge::DataType>(index));
    }
    ge::DataType GetOptionalInputDataType(const size_t ir_index) const {
        return ValueOf(GetDynamicInputPointer<ge::DataType>(ir_index, 0));
    }
    ge::DataType GetRequiredInputDataType(const size_t ir_index) const {
        return ValueOf(GetDynamicInputPointer<ge::DataType>(ir_index, 0));
    }
    ge::DataType GetDynamicInputDataType(const size_t ir_index, const size_t relative_index) const {
        return ValueOf(GetDynamicInputPointer<ge::DataType>(ir_index, relative_index));
    }
    ge::DataType GetOutputDataType(const size_t index) const {
        return ValueOf(GetOutputPointer<ge::DataType>(index));
    }
    ge::graphStatus SetOutputDataType(const size_t index, const ge::DataType data_type) {
        ge::DataType *const output = GetOutputPointer<ge::DataType>(index);
        if (output == nullptr) {
            return ge::GRAPH_FAILED;
        }
        *output = data_type;
        return ge::GRAPH_SUCCESS;
    }

 private:
    static ge::DataType ValueOf(const ge::DataType *value) {
        return value == nullptr ? ge::DT_UNDEFINED : *value;
    }
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_DATATYPE_CONTEXT_H
