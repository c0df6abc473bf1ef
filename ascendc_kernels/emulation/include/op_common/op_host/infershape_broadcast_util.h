// SPDX-License-Identifier: Apache-2.0
// Broadcasting of shapes: numpy's rule, with unknown dimensions (-1) and ranks (-2). A dimension
// that is not known meets 1 as itself and any other number as that number.
#ifndef OPGEN_EMULATION_OP_COMMON_INFERSHAPE_BROADCAST_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_INFERSHAPE_BROADCAST_UTIL_H

#include <algorithm>
#include <vector>

#include "exe_graph/runtime/infer_shape_context.h"
#include "op_common/log/log.h"
#include "op_common/op_host/util/opbase_export.h"
#include "op_common/op_host/util/shape_util.h"

namespace Ops {
namespace Base {
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
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_INFERSHAPE_BROADCAST_UTIL_H
