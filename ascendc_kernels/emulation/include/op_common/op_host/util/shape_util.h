// SPDX-License-Identifier: Apache-2.0
// Shape helpers that op-host sources of CANN 9 use.
#ifndef OPGEN_EMULATION_OP_COMMON_SHAPE_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_SHAPE_UTIL_H

#include <string>
#include <type_traits>
#include <vector>

#include "exe_graph/runtime/shape.h"
#include "graph/types.h"

namespace Ops {
namespace Base {
constexpr int64_t UNKNOWN_DIM_VALUE_ = -1;
constexpr int64_t UNKNOWN_RANK_DIM_VALUE_ = -2;

inline bool IsUnknownRank(const gert::Shape &shape) {
    return shape.GetDimNum() == 1 && shape.GetDim(0) == UNKNOWN_RANK_DIM_VALUE_;
}
inline bool IsUnknownShape(const gert::Shape &shape) {
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
        if (shape.GetDim(i) == UNKNOWN_DIM_VALUE_) {
            return true;
        }
    }
    return false;
}
inline void SetUnknownRank(gert::Shape &shape) {
    shape.SetDimNum(0);
    shape.AppendDim(UNKNOWN_RANK_DIM_VALUE_);
}
// `rank` dimensions that are not known yet.
inline void SetUnknownShape(int64_t rank, gert::Shape &shape) {
    shape.SetDimNum(0);
    for (int64_t i = 0; i < rank; ++i) {
        shape.AppendDim(UNKNOWN_DIM_VALUE_);
    }
}
// The shape, or [1] for a scalar.
inline gert::Shape EnsureNotScalar(const gert::Shape &shape) {
    return shape.IsScalar() ? gert::Shape{1} : shape;
}

inline std::string ToString(const gert::Shape &shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(shape.GetDim(i));
    }
    return text + "]";
}
inline std::string ToString(ge::DataType data_type) {
    return ge::TypeUtils::DataTypeToSerialString(data_type);
}
inline std::string ToString(ge::Format format) {
    return ge::TypeUtils::FormatToSerialString(format);
}
inline std::string ToString(const gert::Shape *shape) {
    return shape == nullptr ? "null" : ToString(*shape);
}
// Of numbers, shapes, pointers to shapes, data types or formats.
template <typename T>
std::string ToString(const std::vector<T> &values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
        text += i == 0 ? "" : ", ";
        if constexpr (std::is_arithmetic<T>::value) {
            text += std::to_string(values[i]);
        } else {
            text += ToString(values[i]);
        }
    }
    return text + "]";
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_SHAPE_UTIL_H
