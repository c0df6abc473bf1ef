// SPDX-License-Identifier: Apache-2.0
// REG_OP: CANN's graph prototypes. The op runtime works from OpDef, so a prototype declares only
// a type name here; its INPUT/OUTPUT/ATTR lines are accepted and not stored.
#ifndef OPGEN_EMULATION_GRAPH_OPERATOR_REG_H
#define OPGEN_EMULATION_GRAPH_OPERATOR_REG_H

#include "graph/operator.h"
#include "graph/types.h"

#define REG_OP(x)                                  \
    namespace ge {                                 \
    namespace op {                                 \
    class x : public Operator {                    \
    public:                                        \
        explicit x(const char *name) : Operator(name, #x) {}
#define INPUT(x, t)
#define OPTIONAL_INPUT(x, t)
#define DYNAMIC_INPUT(x, t)
#define OUTPUT(x, t)
#define DYNAMIC_OUTPUT(x, t)
#define ATTR(x, Type, ...)
#define REQUIRED_ATTR(x, Type)
#define DATATYPE(x, t)
#define OP_END_FACTORY_REG(x) \
    }                         \
    ;                         \
    }                         \
    }

#endif  // OPGEN_EMULATION_GRAPH_OPERATOR_REG_H
