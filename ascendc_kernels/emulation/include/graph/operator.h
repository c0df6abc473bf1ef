// SPDX-License-Identifier: Apache-2.0
// ge::Operator: named in op-host signatures; graphs are not built here.
#ifndef OPGEN_EMULATION_GRAPH_OPERATOR_H
#define OPGEN_EMULATION_GRAPH_OPERATOR_H

#include <string>

#include "graph/ascend_string.h"
#include "graph/types.h"

namespace ge {
class Operator {
public:
    Operator() = default;
    explicit Operator(const char_t *type) : type_(type) {}
    Operator(const char_t *name, const char_t *type) : name_(name), type_(type) {}
    graphStatus GetName(AscendString &name) const {
        name = name_;
        return GRAPH_SUCCESS;
    }
    graphStatus GetOpType(AscendString &type) const {
        type = type_;
        return GRAPH_SUCCESS;
    }

private:
    AscendString name_;
    AscendString type_;
};
}  // namespace ge

#endif  // OPGEN_EMULATION_GRAPH_OPERATOR_H
