// SPDX-License-Identifier: Apache-2.0
// gert::OpImplSpaceRegistryV2: looks up the functions of op types, for unit tests of op_host.
#ifndef OPGEN_EMULATION_BASE_REGISTRY_OP_IMPL_SPACE_REGISTRY_V2_H
#define OPGEN_EMULATION_BASE_REGISTRY_OP_IMPL_SPACE_REGISTRY_V2_H

#include <array>
#include <memory>
#include <vector>

#include "graph/types.h"
#include "register/op_impl_registry.h"

namespace gert {
// Host libraries to register, by path.
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

using char_t = char;

// Every registry sees all that the process registered: sources linked into a program register
// themselves, libraries when they are loaded.
class OpImplSpaceRegistryV2 {
 public:
    // Loads the libraries; GRAPH_FAILED with a logged reason when one does not load.
    ge::graphStatus AddSoToRegistry(const OppSoDesc &so_desc);
    // Null for an op type that nobody registered. Valid until the process ends.
    const OpImplKernelRegistry::OpImplFunctionsV2 *GetOpImpl(const char_t *op_type) const;
};

using OpImplSpaceRegistryV2Ptr = std::shared_ptr<OpImplSpaceRegistryV2>;
using OpImplSpaceRegistryV2Array =
    std::array<OpImplSpaceRegistryV2Ptr, static_cast<size_t>(OppImplVersionTag::kVersionEnd)>;

class DefaultOpImplSpaceRegistryV2 {
 public:
    DefaultOpImplSpaceRegistryV2(const DefaultOpImplSpaceRegistryV2 &) = delete;
    DefaultOpImplSpaceRegistryV2 &operator=(const DefaultOpImplSpaceRegistryV2 &) = delete;

    static DefaultOpImplSpaceRegistryV2 &GetInstance();
    // Never null: there is always one that knows the process's ops.
    const std::shared_ptr<OpImplSpaceRegistryV2> GetSpaceRegistry(
        OppImplVersionTag version = OppImplVersionTag::kOpp) const;
    ge::graphStatus SetSpaceRegistry(const std::shared_ptr<OpImplSpaceRegistryV2> &registry,
                                     OppImplVersionTag version = OppImplVersionTag::kOpp);
    void ClearSpaceRegistry() {}

 private:
    DefaultOpImplSpaceRegistryV2() = default;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_REGISTRY_OP_IMPL_SPACE_REGISTRY_V2_H
