// SPDX-License-Identifier: Apache-2.0
#include "base/registry/op_impl_space_registry_v2.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "ascendc_emu/host_log.h"
#include "host/op_registry.h"

namespace gert {
ge::graphStatus OpImplSpaceRegistryV2::AddSoToRegistry(const OppSoDesc &so_desc) {
    for (const ge::AscendString &path : so_desc.GetSoPaths()) {
        // Never closed: registered functions live in it.
        if (dlopen(path.GetString(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
            OPGEN_HOST_LOG_AT(kError, "%s", dlerror());
            return ge::GRAPH_FAILED;
        }
    }
    return ge::GRAPH_SUCCESS;
}

const OpImplKernelRegistry::OpImplFunctionsV2 *OpImplSpaceRegistryV2::GetOpImpl(
    const char_t *op_type) const {
    if (op_type == nullptr) {
        return nullptr;
    }
    const auto entry = ascendc_emu::FindOp(op_type);
    if (entry == nullptr) {
        return nullptr;
    }
    static std::mutex mutex;
    static std::map<std::string, OpImplKernelRegistry::OpImplFunctionsV2> all;
    const std::lock_guard<std::mutex> lock(mutex);
    OpImplKernelRegistry::OpImplFunctionsV2 &functions = all[op_type];
    functions.infer_shape = entry->infer_shape;
    functions.infer_shape_range = entry->infer_shape_range;
    functions.infer_datatype = entry->infer_data_type;
    functions.tiling = entry->tiling;
    functions.tiling_parse = entry->tiling_parse;
    functions.compile_info_creator = entry->create_compile_info;
    functions.compile_info_deleter = entry->delete_compile_info;
    functions.max_tiling_data_size = entry->max_tiling_data_size;
    functions.gen_simplifiedkey = entry->gen_simplified_key;
    functions.inputs_dependency = 0;
    for (const auto &[position, library] : entry->value_dependent) {
        functions.inputs_dependency |= position < 64 ? uint64_t{1} << position : 0;
    }
    functions.tiling_dependency = functions.inputs_dependency;
    return &functions;
}

DefaultOpImplSpaceRegistryV2 &DefaultOpImplSpaceRegistryV2::GetInstance() {
    static DefaultOpImplSpaceRegistryV2 instance;
    return instance;
}

namespace {
OpImplSpaceRegistryV2Ptr &Registry() {
    static OpImplSpaceRegistryV2Ptr registry = std::make_shared<OpImplSpaceRegistryV2>();
    return registry;
}
}  // namespace

const std::shared_ptr<OpImplSpaceRegistryV2> DefaultOpImplSpaceRegistryV2::GetSpaceRegistry(
    OppImplVersionTag) const {
    return Registry();
}

ge::graphStatus DefaultOpImplSpaceRegistryV2::SetSpaceRegistry(
    const std::shared_ptr<OpImplSpaceRegistryV2> &registry, OppImplVersionTag) {
    if (registry != nullptr) {
        Registry() = registry;
    }
    return ge::GRAPH_SUCCESS;
}
}  // namespace gert
