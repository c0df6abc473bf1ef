// SPDX-License-Identifier: Apache-2.0
// ops::OpDefFactory: where OP_ADD hands in an op's declaration.
#ifndef OPGEN_EMULATION_REGISTER_OP_DEF_FACTORY_H
#define OPGEN_EMULATION_REGISTER_OP_DEF_FACTORY_H

#include <functional>

#include "register/op_def.h"

namespace ops {
using OpDefCreator = std::function<OpDef(const char *)>;

class OpDefFactory {
 public:
    // Builds the declaration and stores it with its functions; `owner` is any address inside the
    // library that registers, so that a reloaded library replaces what another one declared. The
    // place of OP_ADD tells a second declaration from one that two sources include.
    static int OpDefRegister(const char *name, OpDefCreator creator, const void *owner,
                             const char *file = __builtin_FILE(), int line = __builtin_LINE());
};
}  // namespace ops

#endif  // OPGEN_EMULATION_REGISTER_OP_DEF_FACTORY_H
