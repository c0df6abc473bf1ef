// SPDX-License-Identifier: Apache-2.0
// All registered tiling structs.
#ifndef OPGEN_HOST_TILING_CLASSES_H
#define OPGEN_HOST_TILING_CLASSES_H

#include <string>
#include <utility>
#include <vector>

#include "register/tilingdata_base.h"

namespace ascendc_emu {
// Name as registered ("Add", "Add_11", or a nested struct's own name) and constructor.
std::vector<std::pair<std::string, optiling::TilingDataConstructor>> TilingClasses();
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_TILING_CLASSES_H
