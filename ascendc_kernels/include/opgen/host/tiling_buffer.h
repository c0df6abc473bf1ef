// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Hands tiling data of the 8.1 style to the caller. C++11, no CANN header needed.
#ifndef OPGEN_HOST_TILING_BUFFER_H
#define OPGEN_HOST_TILING_BUFFER_H

namespace opgen {

// Copies `tiling` into the buffer of a call (a gert::TilingContext); false: it is too small.
template <typename Context, typename Tiling>
bool SaveTiling(Context* context, Tiling& tiling) {
    auto* const raw = context->GetRawTilingData();
    if (raw == nullptr || tiling.GetDataSize() > raw->GetCapacity()) {
        return false;
    }
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    return true;
}

}  // namespace opgen

#endif  // OPGEN_HOST_TILING_BUFFER_H
