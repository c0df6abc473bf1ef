// SPDX-License-Identifier: Apache-2.0
#include "host/op_registry.h"

#include <cstring>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "ascendc_emu/host_log.h"
#include "ascendc_emu/op_runtime.h"
#include "base/registry/op_impl_space_registry_v2.h"
#include "register/op_def_registry.h"

namespace ascendc_emu {
namespace {
std::recursive_mutex &RegistryMutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

std::map<std::string, std::shared_ptr<OpEntry>> &Entries() {
    static std::map<std::string, std::shared_ptr<OpEntry>> entries;
    return entries;
}

// Changes an entry. Readers may hold the old one, so a changed copy takes its place.
template <typename Change>
void Update(const ge::AscendString &op_type, Change change) {
    const std::lock_guard<std::recursive_mutex> lock(RegistryMutex());
    std::shared_ptr<OpEntry> &entry = Entries()[ScopedName(op_type.GetString())];
    entry = entry == nullptr ? std::make_shared<OpEntry>() : std::make_shared<OpEntry>(*entry);
    change(*entry);
}

const void *LibraryOf(const void *address) {
    Dl_info info;
    return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

template <typename Function>
const void *LibraryOfFunction(Function function) {
    return LibraryOf(reinterpret_cast<const void *>(function));
}

// A function that comes from another library than the declaration belongs to an older version of
// the op: the declaration now decides alone.
template <typename Function>
void DropForeign(Function &function, const void *library) {
    if (function != nullptr && LibraryOfFunction(function) != library) {
        function = nullptr;
    }
}
}  // namespace

std::shared_ptr<const OpEntry> FindOp(const std::string &op_type) {
    const std::lock_guard<std::recursive_mutex> lock(RegistryMutex());
    auto it = Entries().find(ScopedName(op_type));
    if (it == Entries().end()) {
        it = Entries().find(op_type);
    }
    return it == Entries().end() ? nullptr : it->second;
}

std::vector<std::string> OpTypes() {
    const std::lock_guard<std::recursive_mutex> lock(RegistryMutex());
    std::vector<std::string> names;
    const std::string prefix = ScopedName("");
    for (const auto &entry : Entries()) {
        const std::string &name = entry.first;
        if (name.compare(0, prefix.size(), prefix) == 0) {
            const std::string op_type = name.substr(prefix.size());
            if (op_type.find("::") == std::string::npos) {
                names.push_back(op_type);
            }
        }
    }
    return names;
}

// Parameters may be declared in the configuration of a SoC alone.
static void AddMissing(std::deque<ops::OpParamDef> &params,
                       const std::deque<ops::OpParamDef> &more) {
    for (const ops::OpParamDef &param : more) {
        const auto same = [&](const ops::OpParamDef &known) { return known.name == param.name; };
        if (std::none_of(params.begin(), params.end(), same)) {
            params.push_back(param);
        }
    }
}

// Stores a declaration; functions of the op that other libraries registered before are dropped.
static void RegisterOpDef(const char *name, const ops::OpDef &def, const void *owner,
                          const std::string &place) {
    const void *const library = LibraryOf(owner);
    Update(name, [&](OpEntry &entry) {
        if (entry.def != nullptr && entry.library == library && entry.place != place) {
            entry.duplicates.push_back("OP_ADD(" + std::string(name) + ") appears twice");
        }
        if (entry.library != library) {
            entry.duplicates.clear();
            // Those of this library may have come first: the order of its sources decides.
            for (auto it = entry.value_dependent.begin(); it != entry.value_dependent.end();) {
                it = it->second == library ? std::next(it) : entry.value_dependent.erase(it);
            }
            entry.data_type_as_first_input = false;
            DropForeign(entry.infer_shape, library);
            DropForeign(entry.infer_shape_range, library);
            DropForeign(entry.infer_data_type, library);
            DropForeign(entry.tiling, library);
            DropForeign(entry.tiling_parse, library);
        }
        entry.library = library;
        entry.place = place;
        entry.def = std::make_shared<ops::OpDef>(def);
        entry.def->op_type = name;
        for (const auto &config : def.ai_core.configs) {
            AddMissing(entry.def->inputs, config.second.inputs);
            AddMissing(entry.def->outputs, config.second.outputs);
        }
        if (def.infer_shape != nullptr) {
            entry.infer_shape = def.infer_shape;
        }
        if (def.infer_shape_range != nullptr) {
            entry.infer_shape_range = def.infer_shape_range;
        }
        if (def.infer_data_type != nullptr) {
            entry.infer_data_type = def.infer_data_type;
        }
        if (def.ai_core.tiling != nullptr) {
            entry.tiling = def.ai_core.tiling;
        }
    });
}
}  // namespace ascendc_emu

namespace ops {
int OpDefFactory::OpDefRegister(const char *name, OpDefCreator creator, const void *owner,
                                const char *file, int line) {
    const char *const slash = std::strrchr(file, '/');
    const std::string place = slash == nullptr ? file : slash + 1;
    ascendc_emu::RegisterOpDef(name, creator(name), owner, place + ":" + std::to_string(line));
    return 0;
}
}  // namespace ops

namespace gert {
using ascendc_emu::OpEntry;
using ascendc_emu::Update;

OpImplRegisterV2 &OpImplRegisterV2::InferShape(InferShapeKernelFunc func) {
    if (func != nullptr) {
        Update(op_type_, [=](OpEntry &entry) { entry.infer_shape = func; });
    }
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::InferShapeRange(InferShapeRangeKernelFunc func) {
    if (func != nullptr) {
        Update(op_type_, [=](OpEntry &entry) { entry.infer_shape_range = func; });
    }
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::InferDataType(InferDataTypeKernelFunc func) {
    if (func != nullptr) {
        Update(op_type_, [=](OpEntry &entry) { entry.infer_data_type = func; });
    }
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::InferOutDataTypeSameWithFirstInput() {
    Update(op_type_, [](OpEntry &entry) { entry.data_type_as_first_input = true; });
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::Tiling(TilingKernelFunc func, size_t max_tiling_data_size) {
    if (func != nullptr) {
        Update(op_type_, [=](OpEntry &entry) {
            entry.tiling = func;
            entry.max_tiling_data_size = max_tiling_data_size;
        });
    }
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::TilingParse(KernelFunc func, CompileInfoCreatorFunc create,
                                                CompileInfoDeleterFunc destroy) {
    Update(op_type_, [=](OpEntry &entry) {
        entry.tiling_parse = func;
        entry.create_compile_info = create;
        entry.delete_compile_info = destroy;
    });
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::GenSimplifiedKey(GenSimplifiedKeyKernelFunc func) {
    Update(op_type_, [=](OpEntry &entry) { entry.gen_simplified_key = func; });
    return *this;
}

// caller: an address in the library that registers.
static void AddDependent(const ge::AscendString &op_type, std::initializer_list<int32_t> inputs,
                         const void *caller) {
    const void *const library = ascendc_emu::LibraryOf(caller);
    Update(op_type, [&](OpEntry &entry) {
        for (const int32_t position : inputs) {
            entry.value_dependent[position] = library;
        }
    });
}

OpImplRegisterV2 &OpImplRegisterV2::InputsDataDependency(std::initializer_list<int32_t> inputs) {
    AddDependent(op_type_, inputs, __builtin_return_address(0));
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::TilingInputsDataDependency(
    std::initializer_list<int32_t> inputs) {
    AddDependent(op_type_, inputs, __builtin_return_address(0));
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::TilingInputsDataDependency(
    std::initializer_list<int32_t> inputs, std::initializer_list<TilingPlacement>) {
    AddDependent(op_type_, inputs, __builtin_return_address(0));
    return *this;
}

OpImplRegisterV2 &OpImplRegisterV2::HostInputs(std::initializer_list<int32_t> inputs) {
    AddDependent(op_type_, inputs, __builtin_return_address(0));
    return *this;
}
}  // namespace gert

namespace ascendc_emu {
namespace {
std::string &Scope() {
    thread_local std::string scope;
    return scope;
}
}  // namespace

const std::string &CurrentScope() { return Scope(); }

std::string ScopedName(const std::string &op_type) {
    return Scope().empty() ? op_type : Scope() + "::" + op_type;
}
}  // namespace ascendc_emu

extern "C" void opgen_set_scope(const char *scope) {
    ascendc_emu::Scope() = scope == nullptr ? "" : scope;
}

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
