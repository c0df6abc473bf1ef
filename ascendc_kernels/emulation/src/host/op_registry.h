// SPDX-License-Identifier: Apache-2.0
// What host libraries register: ops, tiling structs, template parameters; and its text as JSON.
#ifndef OPGEN_HOST_OP_REGISTRY_H
#define OPGEN_HOST_OP_REGISTRY_H

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "register/op_def.h"
#include "register/op_impl_registry.h"
#include "register/tilingdata_base.h"

namespace ascendc_emu {
// Loads the library in a child process and returns how its static objects crashed, "" if they did
// not or no child could be made. The loader holds its lock while they are made: had it been given
// up in this process, every thread that loads, or first uses a thread_local, would wait for ever.
// The report of the crash is LastCrash() then.
std::string CrashOfLoading(const char *path);

// Scope of registrations and look-ups on this thread (opgen_set_scope); "" is the common one.
const std::string &CurrentScope();

// Name under which an op of the current scope is kept: "scope::Op", or "Op" in the common scope.
std::string ScopedName(const std::string &op_type);

struct OpEntry {
    // Null when only functions were registered (IMPL_OP without OP_ADD).
    std::shared_ptr<ops::OpDef> def;
    // Base address of the library that declared `def`.
    const void *library = nullptr;
    std::string place;                    // file and line of the declaration
    std::vector<std::string> duplicates;  // problems noticed while registering

    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
    gert::OpImplRegisterV2::InferShapeRangeKernelFunc infer_shape_range = nullptr;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_data_type = nullptr;
    bool data_type_as_first_input = false;
    gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
    gert::OpImplRegisterV2::KernelFunc tiling_parse = nullptr;
    gert::OpImplRegisterV2::CompileInfoCreatorFunc create_compile_info = nullptr;
    gert::OpImplRegisterV2::CompileInfoDeleterFunc delete_compile_info = nullptr;
    size_t max_tiling_data_size = 0;
    gert::OpImplRegisterV2::GenSimplifiedKeyKernelFunc gen_simplified_key = nullptr;
    std::map<int32_t, const void *> value_dependent;  // parameter positions, and who told them
};

// Copies; entries stay as they are while a later library replaces them.
std::shared_ptr<const OpEntry> FindOp(const std::string &op_type);
std::vector<std::string> OpTypes();

// Name as registered ("Add", "Add_11", or a nested struct's own name) and constructor.
std::vector<std::pair<std::string, optiling::TilingDataConstructor>> TilingClasses();

// Array of ops; see opgen_op_defs_json() in op_runtime.h for the members.
std::string OpDefsJson();
// Array of tiling structs; see opgen_tiling_defs_json().
std::string TilingDefsJson();

// JSON object of what a key stands for; see opgen_template_json() in op_runtime.h. "" when the op
// declares no template.
std::string TemplateJson(const std::string &op_type, uint64_t key);

// JSON array with one valid key per combination that the op selects (ASCENDC_TPL_ARGS_SEL), made of
// the first value of every parameter.
std::string TemplateKeysJson(const std::string &op_type);

// Parts of these texts; JsonString is core/crash.h's.
// "[" + parts joined by commas + "]"; the parts are JSON already.
inline std::string JsonArray(const std::vector<std::string> &parts) {
    std::string text = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
        text += (i == 0 ? "" : ",") + parts[i];
    }
    return text + "]";
}

template <typename Values, typename ToJson>
std::string JsonArrayOf(const Values &values, ToJson to_json) {
    std::vector<std::string> parts;
    for (const auto &value : values) {
        parts.push_back(to_json(value));
    }
    return JsonArray(parts);
}

inline const char *JsonBool(bool value) { return value ? "true" : "false"; }
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OP_REGISTRY_H
