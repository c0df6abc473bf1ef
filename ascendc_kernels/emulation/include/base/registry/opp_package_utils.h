// SPDX-License-Identifier: Apache-2.0
// Host libraries to register, by path.
#ifndef OPGEN_EMULATION_BASE_REGISTRY_OPP_PACKAGE_UTILS_H
#define OPGEN_EMULATION_BASE_REGISTRY_OPP_PACKAGE_UTILS_H

#include <vector>

#include "graph/ascend_string.h"

namespace gert {
enum class OppImplVersionTag { kOpp, kOppKernel, kVersionEnd = 20 };

class OppSoDesc {
 public:
    OppSoDesc(const std::vector<ge::AscendString> &so_paths, const ge::AscendString &package_name)
        : so_paths_(so_paths), package_name_(package_name) {}
    std::vector<ge::AscendString> GetSoPaths() const { return so_paths_; }
    ge::AscendString GetPackageName() const { return package_name_; }

 private:
    std::vector<ge::AscendString> so_paths_;
    ge::AscendString package_name_;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_REGISTRY_OPP_PACKAGE_UTILS_H
