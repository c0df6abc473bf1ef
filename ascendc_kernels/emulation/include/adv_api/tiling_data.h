// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling data classes of the high-level APIs for ops in the BEGIN_TILING_DATA_DEF style, and how
// they are filled from the kernel's struct.
#ifndef ADV_API_TILING_DATA_H
#define ADV_API_TILING_DATA_H

#include "kernel_tiling/kernel_tiling.h"
#include "register/tilingdata_base.h"

#define OPGEN_TILING_FIELD(type, name) TILING_DATA_FIELD_DEF(type, name)
#define OPGEN_TILING_SET(type, name) to.set_##name(from.name);
#define OPGEN_TILING_CLASS(CLASS, FIELDS)                                                     \
    namespace optiling {                                                                      \
    BEGIN_TILING_DATA_DEF(CLASS)                                                              \
    FIELDS(OPGEN_TILING_FIELD)                                                                \
    END_TILING_DATA_DEF                                                                       \
    }                                                                                         \
    namespace ascendc_emu {                                                                   \
    inline void StoreTiling(optiling::CLASS& to, const AscendC::tiling::CLASS& from) {        \
        FIELDS(OPGEN_TILING_SET)                                                              \
    }                                                                                         \
    inline void StoreTiling(AscendC::tiling::CLASS& to, const AscendC::tiling::CLASS& from) { \
        to = from;                                                                            \
    }                                                                                         \
    }
OPGEN_TILING_CLASS(UnPadTiling, OPGEN_UN_PAD_TILING_FIELDS)
OPGEN_TILING_CLASS(PadTiling, OPGEN_PAD_TILING_FIELDS)
OPGEN_TILING_CLASS(TopkTiling, OPGEN_TOPK_TILING_FIELDS)
OPGEN_TILING_CLASS(LayerNormTiling, OPGEN_LAYER_NORM_TILING_FIELDS)
OPGEN_TILING_CLASS(LayerNormSeparateTiling, OPGEN_LAYER_NORM_SEPARATE_TILING_FIELDS)
OPGEN_TILING_CLASS(LayerNormGradBetaTiling, OPGEN_LAYER_NORM_GRAD_BETA_TILING_FIELDS)
OPGEN_TILING_CLASS(LayerNormGradTiling, OPGEN_LAYER_NORM_GRAD_TILING_FIELDS)
OPGEN_TILING_CLASS(RmsNormTiling, OPGEN_RMS_NORM_TILING_FIELDS)
OPGEN_TILING_CLASS(BatchNormTiling, OPGEN_BATCH_NORM_TILING_FIELDS)
OPGEN_TILING_CLASS(GroupNormTiling, OPGEN_GROUP_NORM_TILING_FIELDS)
OPGEN_TILING_CLASS(DeepNormTiling, OPGEN_DEEP_NORM_TILING_FIELDS)
OPGEN_TILING_CLASS(ConfusionTransposeTiling, OPGEN_CONFUSION_TRANSPOSE_TILING_FIELDS)
OPGEN_TILING_CLASS(SoftMaxTiling, OPGEN_SOFT_MAX_TILING_FIELDS)
OPGEN_TILING_CLASS(LogSoftMaxTiling, OPGEN_SOFT_MAX_TILING_FIELDS)
#undef OPGEN_TILING_CLASS
#undef OPGEN_TILING_SET
#undef OPGEN_TILING_FIELD

#endif  // ADV_API_TILING_DATA_H
