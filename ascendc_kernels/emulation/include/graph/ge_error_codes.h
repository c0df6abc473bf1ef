// SPDX-License-Identifier: Apache-2.0
// Status codes of graph and op-host functions, with CANN's values.
#ifndef OPGEN_EMULATION_GRAPH_GE_ERROR_CODES_H
#define OPGEN_EMULATION_GRAPH_GE_ERROR_CODES_H

#include <cstdint>

#ifndef GE_FUNC_HOST_VISIBILITY
#define GE_FUNC_HOST_VISIBILITY
#endif
#ifndef GE_FUNC_DEV_VISIBILITY
#define GE_FUNC_DEV_VISIBILITY
#endif

namespace ge {
using graphStatus = uint32_t;
const graphStatus GRAPH_SUCCESS = 0U;
const graphStatus GRAPH_FAILED = 0xFFFFFFFFU;
const graphStatus GRAPH_NOT_CHANGED = 1343242304U;
const graphStatus GRAPH_INVALID_IR_DEF = 50331646U;
const graphStatus GRAPH_NODE_NEED_REPASS = 50331647U;
const graphStatus GRAPH_NODE_WITHOUT_CONST_INPUT = 50331648U;
const graphStatus GRAPH_PARAM_INVALID = 50331649U;
const graphStatus GRAPH_PARAM_OUT_OF_RANGE = 50331650U;
const graphStatus GRAPH_MEM_OPERATE_FAILED = 50331651U;
const graphStatus GRAPH_NULL_PTR = 50331652U;
const graphStatus GRAPH_ADD_OVERFLOW = 50331656U;
const graphStatus GRAPH_MUL_OVERFLOW = 50331657U;

using Status = uint32_t;
const Status SUCCESS = 0U;
const Status FAILED = 0xFFFFFFFFU;
}  // namespace ge

#endif  // OPGEN_EMULATION_GRAPH_GE_ERROR_CODES_H
