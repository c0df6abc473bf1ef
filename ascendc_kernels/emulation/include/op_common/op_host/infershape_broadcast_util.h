// SPDX-License-Identifier: Apache-2.0
// InferShape of CANN 9's op repositories: element by element, broadcasting, reductions.
#ifndef OPGEN_EMULATION_OP_COMMON_INFERSHAPE_BROADCAST_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_INFERSHAPE_BROADCAST_UTIL_H

#include <algorithm>
#include <vector>

#include "exe_graph/runtime/infer_shape_context.h"
#include "graph/compiler_def.h"
#include "op_common/log/log.h"
#include "op_common/op_host/util/const_util.h"
#include "op_common/op_host/util/shape_util.h"

namespace Ops {
namespace Base {
// InferShape of ops that work element by element.
// Output 0 has the shape of input 0.
inline ge::graphStatus InferShape4Elewise(gert::InferShapeContext *context) {
    const gert::Shape *in = context->GetInputShape(0);
    OP_CHECK_NULL_WITH_CONTEXT(context, in);
    gert::Shape *out = context->GetOutputShape(0);
    OP_CHECK_NULL_WITH_CONTEXT(context, out);
    *out = *in;
    return ge::GRAPH_SUCCESS;
}

// Broadcasting of shapes: numpy's rule, with unknown dimensions (-1) and ranks (-2). A dimension
// that is not known meets 1 as itself and any other number as that number.
// False when the shapes do not fit; `out` is undefined then and may be one of the inputs.
inline bool BroadcastShape(const gert::Shape *in1, const gert::Shape *in2, gert::Shape *out) {
    if (IsUnknownRank(*in1) || IsUnknownRank(*in2)) {
        SetUnknownRank(*out);
        return true;
    }
    const size_t rank = std::max(in1->GetDimNum(), in2->GetDimNum());
    gert::Shape result;
    result.SetDimNum(rank);
    auto dim = [rank](const gert::Shape &shape, size_t i) {
        const size_t missing = rank - shape.GetDimNum();
        return i < missing ? int64_t{1} : shape.GetDim(i - missing);
    };
    for (size_t i = 0; i < rank; ++i) {
        const int64_t a = dim(*in1, i);
        const int64_t b = dim(*in2, i);
        if (a != b && a != 1 && b != 1 && a != UNKNOWN_DIM_VALUE_ && b != UNKNOWN_DIM_VALUE_) {
            return false;
        }
        if (a == b || b == 1) {
            result.SetDim(i, a);
        } else {
            result.SetDim(i, a == 1 || a == UNKNOWN_DIM_VALUE_ ? b : a);
        }
    }
    *out = result;
    return true;
}
inline bool BroadcastShape(const gert::Shape **shapes, size_t size, gert::Shape *out) {
    if (size == 0) {
        return false;
    }
    gert::Shape result = *shapes[0];
    for (size_t i = 1; i < size; ++i) {
        if (!BroadcastShape(&result, shapes[i], &result)) {
            return false;
        }
    }
    *out = result;
    return true;
}
inline bool BroadcastShape(const std::vector<const gert::Shape *> &shapes, gert::Shape *out) {
    std::vector<const gert::Shape *> copy(shapes);
    return BroadcastShape(copy.data(), copy.size(), out);
}

// Output 0 has the broadcast shape of the first `input_num` inputs.
inline ge::graphStatus InferShape4Broadcast(gert::InferShapeContext *context,
                                            const size_t input_num) {
    std::vector<const gert::Shape *> shapes;
    std::string text;
    for (size_t i = 0; i < input_num; ++i) {
        shapes.push_back(context->GetInputShape(i));
        OP_CHECK_NULL_WITH_CONTEXT(context, shapes.back());
        text += (i == 0 ? "" : " and ") + ToString(*shapes.back());
    }
    gert::Shape *out = context->GetOutputShape(0);
    OP_CHECK_NULL_WITH_CONTEXT(context, out);
    OP_CHECK_IF(!BroadcastShape(shapes, out),
                OP_LOGE(context, "the shapes %s cannot be broadcast", text.c_str()),
                return ge::GRAPH_FAILED);
    return ge::GRAPH_SUCCESS;
}
inline ge::graphStatus InferShape4Broadcast(gert::InferShapeContext *context) {
    return InferShape4Broadcast(context, 2);
}

// InferShape of reductions.
// `axes` count from the end when negative; a scalar has the one axis 0.
template <typename T>
ge::graphStatus ReduceDims(const gert::Shape *in, const T *axes, int32_t count, bool keep_dims,
                           gert::Shape *out) {
    const int64_t rank = static_cast<int64_t>(in->GetDimNum());
    const int64_t axis_limit = rank == 0 ? 1 : rank;
    std::vector<bool> reduced(static_cast<size_t>(axis_limit), false);
    for (int32_t i = 0; i < count; ++i) {
        const int64_t axis = static_cast<int64_t>(axes[i]);
        OP_CHECK_IF(
            axis < -axis_limit || axis >= axis_limit,
            OP_LOGE("reduce", "axis %ld is outside [%ld, %ld]", axis, -axis_limit, axis_limit - 1),
            return ge::GRAPH_FAILED);
        reduced[static_cast<size_t>(axis < 0 ? axis + axis_limit : axis)] = true;
    }
    gert::Shape result;
    for (int64_t i = 0; i < rank; ++i) {
        if (!reduced[static_cast<size_t>(i)]) {
            result.AppendDim(in->GetDim(static_cast<size_t>(i)));
        } else if (keep_dims) {
            result.AppendDim(1);
        }
    }
    *out = result;
    return ge::GRAPH_SUCCESS;
}
template <typename T>
ge::graphStatus ReduceDimsWithKeepDims(const gert::Shape *in, const T *axes, int32_t count,
                                       gert::Shape *out) {
    return ReduceDims(in, axes, count, true, out);
}
template <typename T>
ge::graphStatus ReduceDimsWithoutKeepDims(const gert::Shape *in, const T *axes, int32_t count,
                                          gert::Shape *out) {
    return ReduceDims(in, axes, count, false, out);
}

// Input 0 reduced over the axes in input 1; attribute 0 is keep_dims, attribute 1 (optional)
// noop_with_empty_axes. No axes means all of them, unless that attribute says none.
inline ge::graphStatus InferShape4Reduce(gert::InferShapeContext *context) {
    const gert::Shape *in = context->GetInputShape(0);
    const gert::Tensor *axes = context->GetInputTensor(1);
    gert::Shape *out = context->GetOutputShape(0);
    OP_CHECK_NULL_WITH_CONTEXT(context, in);
    OP_CHECK_NULL_WITH_CONTEXT(context, axes);
    OP_CHECK_NULL_WITH_CONTEXT(context, out);
    const auto *attrs = context->GetAttrs();
    OP_CHECK_NULL_WITH_CONTEXT(context, attrs);
    const bool *keep_attr = attrs->GetAttrPointer<bool>(0);
    const bool keep = keep_attr != nullptr && *keep_attr;
    if (IsUnknownRank(*in)) {
        SetUnknownRank(*out);
        return ge::GRAPH_SUCCESS;
    }
    std::vector<int64_t> values;
    if (axes->GetShapeSize() != 0 &&
        !VisitIntegers(axes, [&](size_t, int64_t v) { values.push_back(v); })) {
        const int64_t rank = static_cast<int64_t>(in->GetDimNum());
        const int64_t count = axes->GetShapeSize();
        if (keep) {
            SetUnknownShape(rank, *out);
        } else if (count > 0 && count <= rank) {
            SetUnknownShape(rank - count, *out);
        } else {
            SetUnknownRank(*out);
        }
        return ge::GRAPH_SUCCESS;
    }
    if (values.empty()) {
        const bool *noop = attrs->GetAttrNum() > 1 ? attrs->GetAttrPointer<bool>(1) : nullptr;
        if (noop != nullptr && *noop) {
            *out = *in;
            return ge::GRAPH_SUCCESS;
        }
        for (size_t i = 0; i < in->GetDimNum(); ++i) {
            values.push_back(static_cast<int64_t>(i));
        }
    }
    return ReduceDims(in, values.data(), static_cast<int32_t>(values.size()), keep, out);
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_INFERSHAPE_BROADCAST_UTIL_H
