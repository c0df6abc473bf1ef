// SPDX-License-Identifier: Apache-2.0
// REG_OP: CANN's graph prototypes. The op runtime works from OpDef, so a prototype declares only
// a type name here; its INPUT/OUTPUT/ATTR lines are accepted and not stored.
#ifndef OPGEN_EMULATION_GRAPH_OPERATOR_REG_H
#define OPGEN_EMULATION_GRAPH_OPERATOR_REG_H

#include <vector>

#include "graph/operator.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace ge {
using std::vector;

// What the lines of a prototype are chained on.
struct OpReg {
    OpReg &Line() { return *this; }
};
}  // namespace ge

// Stands inside namespace ge, as in CANN.
#define REG_OP(x)                                            \
    namespace op {                                           \
    class x : public Operator {                              \
     public:                                                 \
        explicit x(const char *name) : Operator(name, #x) {} \
                                                             \
     private:                                                \
        void Declare() {                                     \
            OpReg()
#define INPUT(x, t) Line()
#define OPTIONAL_INPUT(x, t) Line()
#define DYNAMIC_INPUT(x, t) Line()
#define OUTPUT(x, t) Line()
#define DYNAMIC_OUTPUT(x, t) Line()
#define ATTR(x, Type, ...) Line()
#define REQUIRED_ATTR(x, Type) Line()
#define DATATYPE(x, t) Line()
#define OP_END_FACTORY_REG(x) \
    Line();                   \
    }                         \
    }                         \
    ;                         \
    }

#endif  // OPGEN_EMULATION_GRAPH_OPERATOR_REG_H
