// SPDX-License-Identifier: Apache-2.0
// InferShape of ops that work element by element.
#ifndef OPGEN_EMULATION_OP_COMMON_INFERSHAPE_ELEWISE_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_INFERSHAPE_ELEWISE_UTIL_H

#include "exe_graph/runtime/infer_shape_context.h"
#include "op_common/log/log.h"
#include "op_common/op_host/util/opbase_export.h"
#include "op_common/op_host/util/shape_util.h"

namespace Ops {
namespace Base {
// Output 0 has the shape of input 0.
inline ge::graphStatus InferShape4Elewise(gert::InferShapeContext *context) {
    const gert::Shape *in = context->GetInputShape(0);
    OP_CHECK_NULL_WITH_CONTEXT(context, in);
    gert::Shape *out = context->GetOutputShape(0);
    OP_CHECK_NULL_WITH_CONTEXT(context, out);
    *out = *in;
    return ge::GRAPH_SUCCESS;
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_INFERSHAPE_ELEWISE_UTIL_H
