// SPDX-License-Identifier: Apache-2.0
// Values of small integer inputs (axes, sizes, shapes) that host functions read. The op has to
// declare that it depends on them; otherwise, or when they are not known yet, the result is false.
#ifndef OPGEN_EMULATION_OP_COMMON_CONST_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_CONST_UTIL_H

#include <cstddef>
#include <cstdint>

#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tensor.h"
#include "exe_graph/runtime/tiling_context.h"
#include "op_common/log/log.h"
#include "op_common/op_host/util/shape_util.h"

namespace Ops {
namespace Base {
// Calls visit(position, value) for every value; false for a tensor that is no int32, int64,
// uint32 or uint64, or whose values are not here.
template <typename Visit>
bool VisitIntegers(const gert::Tensor *tensor, Visit visit) {
    if (tensor == nullptr || tensor->GetAddr() == nullptr) {
        return false;
    }
    const size_t count = static_cast<size_t>(tensor->GetShapeSize());
    auto all = [&](const auto *values) {
        for (size_t i = 0; i < count; ++i) {
            visit(i, static_cast<int64_t>(values[i]));
        }
        return true;
    };
    switch (tensor->GetDataType()) {
        case ge::DT_INT32:
            return all(tensor->GetData<int32_t>());
        case ge::DT_INT64:
            return all(tensor->GetData<int64_t>());
        case ge::DT_UINT32:
            return all(tensor->GetData<uint32_t>());
        case ge::DT_UINT64:
            return all(tensor->GetData<uint64_t>());
        default:
            return false;
    }
}

template <typename T>
void GetValueToShape(const gert::Tensor *tensor, gert::Shape &shape) {
    const T *values = tensor->GetData<T>();
    const size_t count = static_cast<size_t>(tensor->GetShapeSize());
    shape.SetDimNum(count);
    for (size_t i = 0; i < count; ++i) {
        shape.SetDim(i, static_cast<int64_t>(values[i]));
    }
}
template <typename T>
void GetValueToShape(const gert::Tensor *tensor, gert::Shape *shape) {
    GetValueToShape<T>(tensor, *shape);
}

// Input `index` as a shape.
template <typename Context>
bool GetConstIntToShape(Context *context, const int64_t index, gert::Shape &shape) {
    const gert::Tensor *tensor = context->GetInputTensor(static_cast<size_t>(index));
    const size_t count = tensor == nullptr ? 0 : static_cast<size_t>(tensor->GetShapeSize());
    if (count > gert::Shape::kMaxDimNum) {
        OP_LOGE(context, "input %ld has %zu values, more than a shape holds", index, count);
        return false;
    }
    gert::Shape values;
    values.SetDimNum(count);
    if (!VisitIntegers(tensor, [&](size_t i, int64_t v) { values.SetDim(i, v); })) {
        return false;
    }
    shape = values;
    return true;
}

// The first value of input `index`.
template <typename Context, typename T>
bool GetConstInt(Context *context, const int64_t index, T &value) {
    const gert::Tensor *tensor = context->GetInputTensor(static_cast<size_t>(index));
    bool found = false;
    VisitIntegers(tensor, [&](size_t i, int64_t v) {
        if (i == 0) {
            value = static_cast<T>(v);
            found = true;
        }
    });
    return found;
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_CONST_UTIL_H
