// SPDX-License-Identifier: Apache-2.0
// gert::TilingParseContext: makes the op's compile info from the platform, once per SoC.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_PARSE_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_PARSE_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"
#include "graph/types.h"

namespace fe {
class PlatFormInfos;
}

namespace gert {
class TilingParseContext : public ExtendedKernelContext {
 public:
    // Compile info as JSON text: "{}" here, kernels of this emulation bring none.
    const ge::char_t *GetCompiledJson() const { return GetInputValue<const char *>(0); }
    fe::PlatFormInfos *GetPlatformInfo() const { return GetInputValue<fe::PlatFormInfos *>(1); }
    // Where TilingParse leaves what it finds, however large it is.
    template <typename T>
    T *GetCompiledInfo() {
        return static_cast<T *>(GetOutputPointer<void>(0));
    }
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_PARSE_CONTEXT_H
