// SPDX-License-Identifier: Apache-2.0
// Ops::Base::TilingBaseClass: a tiling function in steps. Derived classes fill in the steps; the
// first registered one that is capable of the call decides.
#ifndef OPGEN_EMULATION_OP_COMMON_TILING_BASE_CLASS_H
#define OPGEN_EMULATION_OP_COMMON_TILING_BASE_CLASS_H

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"
#include "op_common/log/log.h"
#include "op_common/op_host/util/shape_util.h"
#include "tiling/platform/platform_ascendc.h"

#ifndef ASCENDC_EXTERN_C
#define ASCENDC_EXTERN_C
#endif

namespace Ops {
namespace Base {
// Bytes and core counts of the SoC.
struct AiCoreParams {
    uint64_t ubSize = 0;
    uint64_t blockDim = 0;
    uint64_t numBlocks = 0;
    uint64_t aicNum = 0;
    uint64_t l1Size = 0;
    uint64_t l0aSize = 0;
    uint64_t l0bSize = 0;
    uint64_t l0cSize = 0;
};

struct CompileInfoCommon {
    uint32_t aivNum;
    uint32_t aicNum;
    uint64_t ubSize;
    uint64_t l1Size;
    uint64_t l0aSize;
    uint64_t l0bSize;
    uint64_t l0cSize;
    uint64_t l2CacheSize;
    int64_t coreNum;
    int32_t socVersion;
    uint32_t rsvd;
};

class TilingBaseClass {
 public:
    explicit TilingBaseClass(gert::TilingContext *context) : context_(context) {}
    virtual ~TilingBaseClass() = default;

    // Runs the steps. GRAPH_PARAM_INVALID: this class cannot do it, the next one should try.
    ge::graphStatus DoTiling() {
        ge::graphStatus status = GetShapeAttrsInfo();
        if (status == ge::GRAPH_SUCCESS) {
            status = GetPlatformInfo();
        }
        if (status != ge::GRAPH_SUCCESS) {
            return status;
        }
        if (!IsCapable()) {
            return ge::GRAPH_PARAM_INVALID;
        }
        status = DoOpTiling();
        if (status == ge::GRAPH_SUCCESS) {
            status = DoLibApiTiling();
        }
        if (status == ge::GRAPH_SUCCESS) {
            status = GetWorkspaceSize();
        }
        if (status == ge::GRAPH_SUCCESS) {
            status = PostTiling();
        }
        if (status != ge::GRAPH_SUCCESS) {
            return status;
        }
        context_->SetTilingKey(GetTilingKey());
        DumpTilingInfo();
        return ge::GRAPH_SUCCESS;
    }
    virtual void Reset(gert::TilingContext *context) { context_ = context; }

 protected:
    virtual bool IsCapable() = 0;
    virtual ge::graphStatus GetPlatformInfo() = 0;
    virtual ge::graphStatus GetShapeAttrsInfo() = 0;
    virtual ge::graphStatus DoOpTiling() = 0;
    virtual ge::graphStatus DoLibApiTiling() = 0;
    virtual uint64_t GetTilingKey() const = 0;
    virtual ge::graphStatus GetWorkspaceSize() = 0;
    virtual ge::graphStatus PostTiling() = 0;
    virtual void DumpTilingInfo() { DefaultTilingInfoDump(); }

    int64_t DefaultTilingInfoDump() {
        const auto *raw = context_->GetRawTilingData();
        if (raw == nullptr) {
            return 0;
        }
        std::ostringstream text;
        const auto *words = static_cast<const uint32_t *>(raw->GetData());
        for (size_t i = 0; i < raw->GetDataSize() / sizeof(uint32_t); ++i) {
            text << (i == 0 ? "" : ",") << words[i];
        }
        OP_LOGD(context_, "tiling key %lu, tiling data %s", context_->GetTilingKey(),
                text.str().c_str());
        return 0;
    }
    // Block dim of a mixed kernel for `slices` slices on the vector cores.
    static uint32_t CalcTschBlockDim(uint32_t slices, uint32_t aic_cores, uint32_t aiv_cores) {
        if (aic_cores == 0 || aiv_cores == 0 || aic_cores > aiv_cores) {
            return slices;
        }
        const uint32_t ratio = aiv_cores / aic_cores;
        return (slices + ratio - 1) / ratio;
    }
    static uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t aic_cores, uint32_t aiv_cores) {
        return CalcTschBlockDim(slices, aic_cores, aiv_cores);
    }
    template <typename T>
    std::string GetShapeDebugStr(const T &shape) const {
        return ToString(shape);
    }
    std::string GetTensorDebugStr(const gert::StorageShape *shape,
                                  const gert::CompileTimeTensorDesc *tensor) const {
        if (shape == nullptr || tensor == nullptr) {
            return "nil ";
        }
        return "(dtype: " + ToString(tensor->GetDataType()) +
               "),(shape:" + ToString(shape->GetStorageShape()) +
               "),(ori_shape:" + ToString(shape->GetOriginShape()) + ")";
    }
    std::string GetTilingContextDebugStr() {
        std::string text;
        for (size_t i = 0; i < context_->GetComputeNodeInfo()->GetInputsNum(); ++i) {
            text += "input" + std::to_string(i) + ": " +
                    GetTensorDebugStr(context_->GetInputShape(i), context_->GetInputDesc(i));
        }
        for (size_t i = 0; i < context_->GetComputeNodeInfo()->GetOutputsNum(); ++i) {
            text += "output" + std::to_string(i) + ": " +
                    GetTensorDebugStr(context_->GetOutputShape(i), context_->GetOutputDesc(i));
        }
        return text;
    }

 protected:
    gert::TilingContext *context_ = nullptr;
    std::unique_ptr<platform_ascendc::PlatformAscendC> ascendcPlatform_{nullptr};
    uint32_t blockDim_{0};
    uint32_t numBlocks_{0};
    uint64_t workspaceSize_{0};
    uint64_t tilingKey_{0};
    AiCoreParams aicoreParams_;
};
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_TILING_BASE_CLASS_H
