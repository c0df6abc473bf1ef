// SPDX-License-Identifier: Apache-2.0
// ge::Shape, ge::TensorDesc and ge::Tensor: graph-level descriptions that some op-host code still
// uses.
#ifndef OPGEN_EMULATION_GRAPH_TENSOR_H
#define OPGEN_EMULATION_GRAPH_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/types.h"

namespace ge {
class Shape {
 public:
    Shape() = default;
    explicit Shape(const std::vector<int64_t> &dims) : dims_(dims) {}
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t index) const { return index < dims_.size() ? dims_[index] : 0; }
    graphStatus SetDim(size_t index, int64_t value) {
        if (index >= dims_.size()) {
            return GRAPH_FAILED;
        }
        dims_[index] = value;
        return GRAPH_SUCCESS;
    }
    std::vector<int64_t> GetDims() const { return dims_; }
    // Product of the dimensions; 0 for a scalar and -1 with an unknown dimension, as in CANN.
    int64_t GetShapeSize() const {
        if (dims_.empty()) {
            return 0;
        }
        int64_t size = 1;
        for (const int64_t dim : dims_) {
            if (dim < 0) {
                return UNKNOWN_DIM;
            }
            size *= dim;
        }
        return size;
    }

 private:
    std::vector<int64_t> dims_;
};

// Origin shape and format are those before a change of format; each has its own setter.
class TensorDesc {
 public:
    TensorDesc() = default;
    explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT)
        : shape_(std::move(shape)), format_(format), type_(type) {}
    Shape GetShape() const { return shape_; }
    void SetShape(const Shape &shape) { shape_ = shape; }
    Shape GetOriginShape() const { return origin_shape_; }
    void SetOriginShape(const Shape &shape) { origin_shape_ = shape; }
    Format GetFormat() const { return format_; }
    void SetFormat(Format format) { format_ = format; }
    Format GetOriginFormat() const { return origin_format_; }
    void SetOriginFormat(Format format) { origin_format_ = format; }
    DataType GetDataType() const { return type_; }
    void SetDataType(DataType type) { type_ = type; }
    graphStatus SetShapeRange(const std::vector<std::pair<int64_t, int64_t>> &range) {
        range_ = range;
        return GRAPH_SUCCESS;
    }
    graphStatus GetShapeRange(std::vector<std::pair<int64_t, int64_t>> &range) const {
        range = range_;
        return GRAPH_SUCCESS;
    }
    graphStatus SetOriginShapeRange(const std::vector<std::pair<int64_t, int64_t>> &range) {
        origin_range_ = range;
        return GRAPH_SUCCESS;
    }
    void SetName(const AscendString &name) { name_ = name; }
    graphStatus GetName(AscendString &name) const {
        name = name_;
        return GRAPH_SUCCESS;
    }
    int64_t GetSize() const { return size_; }
    void SetSize(int64_t size) { size_ = size; }

 private:
    Shape shape_, origin_shape_;
    Format format_ = FORMAT_ND;
    Format origin_format_ = FORMAT_ND;
    DataType type_ = DT_FLOAT;
    std::vector<std::pair<int64_t, int64_t>> range_, origin_range_;
    AscendString name_;
    int64_t size_ = 0;
};

// A description and the bytes of the values.
class Tensor {
 public:
    Tensor() = default;
    explicit Tensor(const TensorDesc &desc) : desc_(desc) {}
    Tensor(const TensorDesc &desc, const uint8_t *data, size_t size)
        : desc_(desc), data_(data, data + size) {}
    TensorDesc GetTensorDesc() const { return desc_; }
    graphStatus SetTensorDesc(const TensorDesc &desc) {
        desc_ = desc;
        return GRAPH_SUCCESS;
    }
    const uint8_t *GetData() const { return data_.data(); }
    uint8_t *GetData() { return data_.data(); }
    size_t GetSize() const { return data_.size(); }
    graphStatus SetData(const uint8_t *data, size_t size) {
        data_.assign(data, data + size);
        return GRAPH_SUCCESS;
    }
    graphStatus SetData(const std::vector<uint8_t> &data) {
        data_ = data;
        return GRAPH_SUCCESS;
    }

 private:
    TensorDesc desc_;
    std::vector<uint8_t> data_;
};
}  // namespace ge

#endif  // OPGEN_EMULATION_GRAPH_TENSOR_H
