// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host classes and types of ATVOSS's templates, which are for arch 35 alone and not here: sources
// that serve several architectures name them. Tiling with them fails and says why.
#ifndef OP_COMMON_ATVOSS_ELEWISE_ELEWISE_TILING_H
#define OP_COMMON_ATVOSS_ELEWISE_ELEWISE_TILING_H

#include <cstdint>
#include <vector>

#include "ascendc_emu/host_log.h"
#include "atvoss/elewise/elewise_base_struct.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"
#include "op_common/op_host/util/math_util.h"
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

// Bytes of UB that the templates keep for themselves.
constexpr uint64_t CACHE_BUF_SIZE = 16 * 1024;

struct ReduceOpCompileInfo {
    uint64_t vectorCoreNum = 0;
    uint64_t ubSize = 0;
    uint64_t cacheLineSize = 0;
    uint64_t ubBlockSize = 0;
    uint64_t vRegSize = 0;
};

struct ReduceOpInputParam {
    ge::DataType inputDtype = ge::DT_UNDEFINED;
    ge::DataType promoteDtpye = ge::DT_UNDEFINED;
    std::vector<int64_t> axes;
    std::vector<int64_t> shape;
};

struct ReduceTilingKey {
    uint32_t patternID = 0;
    uint32_t loopARCount = 0;
    uint32_t loopInnerARCount = 0;
};

}  // namespace Base
}  // namespace Ops

#endif  // OP_COMMON_ATVOSS_ELEWISE_ELEWISE_TILING_H
