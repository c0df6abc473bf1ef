// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host class of ATVOSS's broadcast templates, which are for arch 35 alone and not here: sources
// that serve several architectures name it. Tiling with it fails and says why.
#ifndef OP_COMMON_ATVOSS_BROADCAST_BROADCAST_TILING_H
#define OP_COMMON_ATVOSS_BROADCAST_BROADCAST_TILING_H

#include <cstdint>
#include <vector>

#include "ascendc_emu/host_log.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"
#include "register/tilingdata_base.h"

namespace Ops {
namespace Base {

struct BroadcastCompileInfo {
    uint64_t coreNum = 0;
    uint64_t ubSize = 0;
};

template <class Dag>
class BroadcastBaseTiling {
 public:
    explicit BroadcastBaseTiling(gert::TilingContext *) {}

    template <class... Args>
    ge::graphStatus DoTiling(Args &&...) {
        OPGEN_HOST_LOG_AT(kError, "%s is for another architecture", "BroadcastBaseTiling");
        return ge::GRAPH_FAILED;
    }
    uint64_t GetSchMode() const { return 0; }
    template <class T>
    void SetScalar(const T &) {}
    void SetOpInputStorageShapes(const std::vector<gert::Shape> &) {}
};

}  // namespace Base
}  // namespace Ops

#endif  // OP_COMMON_ATVOSS_BROADCAST_BROADCAST_TILING_H
