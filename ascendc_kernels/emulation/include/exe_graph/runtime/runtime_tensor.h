// SPDX-License-Identifier: Apache-2.0
// gert::TensorV2: a tensor with strides and an offset in its storage.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RUNTIME_TENSOR_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RUNTIME_TENSOR_H

#include "exe_graph/runtime/stride.h"
#include "exe_graph/runtime/tensor.h"

namespace gert {
// Contexts hand tensors over dense and do not read what is added here.
class TensorV2 : public Tensor {
 public:
    TensorV2() {}
    TensorV2(const StorageShape &shape, const StorageFormat &format, ge::DataType data_type)
        : Tensor(shape, format, data_type) {}
    TensorV2(const StorageShape &shape, const StorageFormat &format,
             const TensorPlacement placement, const ge::DataType data_type, TensorAddress addr,
             TensorAddrManager manager = nullptr)
        : Tensor(shape, format, placement, data_type, addr, manager) {}
    TensorV2(const StorageShape &shape, const StorageFormat &format,
             const TensorPlacement placement, const ge::DataType data_type, TensorAddress addr,
             TensorAddrManager manager, const Stride &stride, const int64_t offset)
        : Tensor(shape, format, placement, data_type, addr, manager),
          stride_(stride),
          offset_(offset) {}

    const Stride &GetStride() const { return stride_; }
    Stride &MutableStride() { return stride_; }
    int64_t GetOffset() const { return offset_; }
    void SetOffset(const int64_t offset) { offset_ = offset; }

 private:
    Stride stride_;
    int64_t offset_ = 0;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RUNTIME_TENSOR_H
