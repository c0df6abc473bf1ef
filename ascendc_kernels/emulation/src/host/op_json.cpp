// SPDX-License-Identifier: Apache-2.0
#include "host/op_registry.h"

#include "core/crash.h"
#include "graph/types.h"

namespace ascendc_emu {
namespace {
const char *OptionName(ops::Option option) {
    switch (option) {
        case ops::REQUIRED:
            return "required";
        case ops::OPTIONAL:
            return "optional";
        case ops::DYNAMIC:
            return "dynamic";
        default:
            return "ignore";
    }
}

std::string TypeNames(const std::vector<ge::DataType> &types) {
    return JsonArrayOf(types, [](ge::DataType type) {
        return JsonString(ge::TypeUtils::DataTypeToSerialString(type));
    });
}

std::string FormatNames(const std::vector<ge::Format> &formats) {
    return JsonArrayOf(formats, [](ge::Format format) {
        return JsonString(ge::TypeUtils::FormatToSerialString(format));
    });
}

std::string ParamJson(const ops::OpParamDef &param) {
    std::string text = "{\"name\":" + JsonString(param.name);
    text += ",\"param_type\":" + JsonString(OptionName(param.param_type));
    text += ",\"dtypes\":" + TypeNames(param.data_types);
    text += ",\"dtype_list\":" + TypeNames(param.data_type_list);
    text += ",\"formats\":" + FormatNames(param.formats);
    text += ",\"format_list\":" + FormatNames(param.format_list);
    text += ",\"follow\":" + JsonString(param.follow);
    text += ",\"follow_type\":" + std::to_string(static_cast<int>(param.follow_type));
    text += std::string(",\"value_depend\":") + JsonBool(param.value_depend != ops::IGNORE);
    text += std::string(",\"scalar\":") + JsonBool(param.is_scalar);
    text += std::string(",\"scalar_list\":") + JsonBool(param.is_scalar_list);
    text += std::string(",\"computed_shape\":") + JsonBool(param.shape_depends_on_compute);
    text += std::string(",\"init_value\":") + JsonBool(!param.init_values.empty());
    return text + "}";
}

const char *KindName(ops::OpAttrDef::Kind kind) {
    static const char *const names[] = {"none",       "bool",     "float",
                                        "int",        "str",      "list_bool",
                                        "list_float", "list_int", "list_list_int"};
    return names[static_cast<int>(kind)];
}

std::string Number(double value) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.9g", value);
    // Infinity and NaN are not JSON.
    return value - value == 0 ? text : JsonString(text);
}

std::string Integers(const std::vector<int64_t> &values) {
    return JsonArrayOf(values, [](int64_t value) { return std::to_string(value); });
}

std::string DefaultJson(const ops::OpAttrDef &attr) {
    using Kind = ops::OpAttrDef::Kind;
    if (!attr.has_default) {
        return "null";
    }
    switch (attr.kind) {
        case Kind::kBool:
            return JsonBool(attr.int_value != 0);
        case Kind::kInt:
            return std::to_string(attr.int_value);
        case Kind::kFloat:
            return Number(attr.float_value);
        case Kind::kStr:
            return JsonString(attr.str_value);
        case Kind::kListFloat:
            return JsonArrayOf(attr.list_float_value, [](float value) { return Number(value); });
        case Kind::kListBool:
            return JsonArrayOf(attr.list_int_value,
                               [](int64_t value) { return std::string(JsonBool(value != 0)); });
        case Kind::kListInt:
            return Integers(attr.list_int_value);
        case Kind::kListListInt:
            return JsonArrayOf(attr.list_list_int_value, Integers);
        default:
            return "null";
    }
}

std::string AttrJson(const ops::OpAttrDef &attr) {
    return "{\"name\":" + JsonString(attr.name) + ",\"type\":" + JsonString(KindName(attr.kind)) +
           ",\"required\":" + JsonBool(attr.IsRequired()) + ",\"default\":" + DefaultJson(attr) +
           "}";
}

template <typename Params>
std::string ParamsJson(const Params &params) {
    return JsonArrayOf(params, ParamJson);
}

std::string SocJson(const std::pair<std::string, ops::OpAICoreConfig> &item) {
    std::vector<std::string> config;
    for (const auto &entry : item.second.config) {
        config.push_back(JsonString(entry.first) + ":" + JsonString(entry.second));
    }
    std::string body = JsonArray(config);
    body.front() = '{';
    body.back() = '}';
    return "{\"soc\":" + JsonString(item.first) + ",\"inputs\":" + ParamsJson(item.second.inputs) +
           ",\"outputs\":" + ParamsJson(item.second.outputs) + ",\"config\":" + body + "}";
}

std::string OpJson(const std::string &op_type) {
    const std::shared_ptr<const OpEntry> entry = FindOp(op_type);
    std::string text = "{\"op\":" + JsonString(op_type);
    text += std::string(",\"declared\":") + JsonBool(entry->def != nullptr);
    text += std::string(",\"has_infer_shape\":") + JsonBool(entry->infer_shape != nullptr);
    text +=
        std::string(",\"has_infer_shape_range\":") + JsonBool(entry->infer_shape_range != nullptr);
    text += std::string(",\"has_infer_data_type\":") +
            JsonBool(entry->infer_data_type != nullptr || entry->data_type_as_first_input);
    text += std::string(",\"has_tiling\":") + JsonBool(entry->tiling != nullptr);
    text += ",\"problems\":" + JsonArrayOf(entry->duplicates, JsonString);
    const ops::OpDef empty(op_type.c_str());
    const ops::OpDef &def = entry->def != nullptr ? *entry->def : empty;
    text += ",\"inputs\":" + ParamsJson(def.inputs);
    text += ",\"outputs\":" + ParamsJson(def.outputs);
    text += ",\"attrs\":" + JsonArrayOf(def.attrs, AttrJson);
    text += ",\"socs\":" + JsonArrayOf(def.ai_core.configs, SocJson);
    return text + "}";
}

std::string FieldJson(const optiling::FieldInfo &field) {
    return "{\"type\":" + JsonString(field.type_) + ",\"name\":" + JsonString(field.name_) +
           ",\"offset\":" + std::to_string(field.offset_) +
           ",\"count\":" + std::to_string(field.count_) +
           ",\"struct\":" + JsonBool(field.is_struct_) +
           ",\"size\":" + std::to_string(field.size_) + "}";
}
}  // namespace

std::string OpDefsJson() { return JsonArrayOf(OpTypes(), OpJson); }

std::string TilingDefsJson() {
    std::vector<std::string> parts;
    for (const auto &item : TilingClasses()) {
        const std::shared_ptr<optiling::TilingDef> def = item.second();
        parts.push_back("{\"name\":" + JsonString(item.first) +
                        ",\"class\":" + JsonString(def->GetTilingClassName()) +
                        ",\"size\":" + std::to_string(def->GetDataSize()) +
                        ",\"fields\":" + JsonArrayOf(def->GetFieldInfo(), FieldJson) + "}");
    }
    return JsonArray(parts);
}
}  // namespace ascendc_emu
