// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling of the high-level APIs (pad, sort, normalisation, transpose) as kernels see it.
#ifndef KERNEL_TILING_ADV_TILING_H
#define KERNEL_TILING_ADV_TILING_H

#include <stdint.h>

#include "kernel_tiling/adv_tiling_fields.h"

namespace AscendC {
namespace tiling {

#define OPGEN_TILING_FIELD(type, name) type name = 0;
struct UnPadTiling {
    OPGEN_UN_PAD_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct PadTiling {
    OPGEN_PAD_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct TopkTiling {
    OPGEN_TOPK_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormTiling {
    OPGEN_LAYER_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormSeparateTiling {
    OPGEN_LAYER_NORM_SEPARATE_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormGradBetaTiling {
    OPGEN_LAYER_NORM_GRAD_BETA_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct LayerNormGradTiling {
    OPGEN_LAYER_NORM_GRAD_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct RmsNormTiling {
    OPGEN_RMS_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct BatchNormTiling {
    OPGEN_BATCH_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct GroupNormTiling {
    OPGEN_GROUP_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct DeepNormTiling {
    OPGEN_DEEP_NORM_TILING_FIELDS(OPGEN_TILING_FIELD)
};
struct ConfusionTransposeTiling {
    OPGEN_CONFUSION_TRANSPOSE_TILING_FIELDS(OPGEN_TILING_FIELD)
};
#undef OPGEN_TILING_FIELD

}  // namespace tiling
}  // namespace AscendC

using UnPadTiling = AscendC::tiling::UnPadTiling;
using PadTiling = AscendC::tiling::PadTiling;
using TopkTiling = AscendC::tiling::TopkTiling;
using LayerNormTiling = AscendC::tiling::LayerNormTiling;
using LayerNormSeparateTiling = AscendC::tiling::LayerNormSeparateTiling;
using LayerNormGradBetaTiling = AscendC::tiling::LayerNormGradBetaTiling;
using LayerNormGradTiling = AscendC::tiling::LayerNormGradTiling;
using RmsNormTiling = AscendC::tiling::RmsNormTiling;
using BatchNormTiling = AscendC::tiling::BatchNormTiling;
using GroupNormTiling = AscendC::tiling::GroupNormTiling;
using DeepNormTiling = AscendC::tiling::DeepNormTiling;
using ConfusionTransposeTiling = AscendC::tiling::ConfusionTransposeTiling;

#endif  // KERNEL_TILING_ADV_TILING_H
