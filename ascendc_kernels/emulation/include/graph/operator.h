// SPDX-License-Identifier: Apache-2.0
// ge::Operator, and REG_OP, which declares one.
#ifndef OPGEN_EMULATION_GRAPH_OPERATOR_H
#define OPGEN_EMULATION_GRAPH_OPERATOR_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "graph/types.h"

namespace ge {
// ge::Operator: named in op-host signatures; graphs are not built here.
// Sources with `using namespace ge` write these without std::.
using std::function;
using std::shared_ptr;
using std::string;

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
    // Graph-time questions of check-support functions, which this emulation never calls: nothing
    // is known, so attributes are refused and descriptions are empty.
    TensorDesc GetInputDescByName(const char_t *) const { return TensorDesc(); }
    TensorDesc GetOutputDescByName(const char_t *) const { return TensorDesc(); }
    TensorDesc GetInputDesc(uint32_t) const { return TensorDesc(); }
    TensorDesc GetInputDesc(const std::string &) const { return TensorDesc(); }
    TensorDesc GetOutputDesc(uint32_t) const { return TensorDesc(); }
    TensorDesc GetOutputDesc(const std::string &) const { return TensorDesc(); }
    TensorDesc GetDynamicInputDesc(const std::string &, uint32_t) const { return TensorDesc(); }
    TensorDesc GetDynamicOutputDesc(const std::string &, uint32_t) const { return TensorDesc(); }
    graphStatus TryGetInputDesc(const std::string &, TensorDesc &) const { return GRAPH_FAILED; }
    graphStatus GetInputConstData(const std::string &, Tensor &) const { return GRAPH_FAILED; }
    int32_t GetDynamicInputNum(const std::string &) const { return 0; }
    int32_t GetDynamicOutputNum(const std::string &) const { return 0; }
    size_t GetInputsSize() const { return 0; }
    size_t GetOutputsSize() const { return 0; }
    template <typename T>
    graphStatus GetAttr(const char_t *, T &) const {
        return GRAPH_FAILED;
    }

 private:
    AscendString name_;
    AscendString type_;
};
using OperatorPtr = std::shared_ptr<Operator>;

// REG_OP: CANN's graph prototypes. The op runtime works from OpDef, so a prototype declares only
// a type name here; its INPUT/OUTPUT/ATTR lines are accepted and not stored.
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

#endif  // OPGEN_EMULATION_GRAPH_OPERATOR_H
