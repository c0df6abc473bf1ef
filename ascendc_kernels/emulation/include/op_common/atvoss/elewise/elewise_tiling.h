// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host class of ATVOSS's element-wise templates, which are for arch 35 alone and not here: sources
// that serve several architectures name it. Tiling with it fails and says why.
#ifndef OP_COMMON_ATVOSS_ELEWISE_ELEWISE_TILING_H
#define OP_COMMON_ATVOSS_ELEWISE_ELEWISE_TILING_H

#include <cstdint>

#include "ascendc_emu/host_log.h"
#include "atvoss/elewise/elewise_base_struct.h"
#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"
#include "register/tilingdata_base.h"

namespace Ops {
namespace Base {

struct ElewiseCompileInfo {
    uint64_t coreNum = 0;
    uint64_t ubSize = 0;
    bool isRegbase = false;
};

class ElewiseBaseTiling {
 public:
    explicit ElewiseBaseTiling(gert::TilingContext *) {}

    template <class Dag, class... Args>
    ge::graphStatus DoTiling(Args &&...) {
        return Missing();
    }
    template <class Dag>
    ge::graphStatus DoTiling32B() {
        return Missing();
    }
    template <class T>
    void SetScalar(const T &) {}
    int64_t GetBlockDim() const { return 0; }

 private:
    static ge::graphStatus Missing() {
        OPGEN_HOST_LOG_AT(kError, "%s is for another architecture", "ElewiseBaseTiling");
        return ge::GRAPH_FAILED;
    }
};

}  // namespace Base
}  // namespace Ops

#endif  // OP_COMMON_ATVOSS_ELEWISE_ELEWISE_TILING_H
