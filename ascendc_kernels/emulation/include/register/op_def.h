// SPDX-License-Identifier: Apache-2.0
// ops::OpDef: the declaration of an op (parameters, attributes, SoC configurations, functions).
#ifndef OPGEN_EMULATION_REGISTER_OP_DEF_H
#define OPGEN_EMULATION_REGISTER_OP_DEF_H

#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/operator.h"
#include "register/op_impl_registry.h"

namespace optiling {
using OP_CHECK_FUNC = ge::graphStatus (*)(const ge::Operator &op, ge::AscendString &result);
using PARAM_GENERALIZE_FUNC = ge::graphStatus (*)(const ge::Operator &op,
                                                  const ge::AscendString &generalize_config,
                                                  ge::AscendString &generalized_op_params);
#define FUNC_CHECK_SUPPORTED "check_supported"
#define FUNC_OP_SELECT_FORMAT "op_select_format"
#define FUNC_GET_OP_SUPPORT_INFO "get_op_support_info"
#define FUNC_GET_SPECIFIC_INFO "get_op_specific_info"

// Registers a function by which the graph engine asks about a node (SetCheckSupport and the like).
// Nothing here asks: an op runs as it is called.
class OpCheckFuncHelper {
 public:
    OpCheckFuncHelper(const ge::AscendString &, const ge::AscendString &, OP_CHECK_FUNC) {}
    OpCheckFuncHelper(const ge::AscendString &, PARAM_GENERALIZE_FUNC) {}
};
}  // namespace optiling

// Constructors, destructors and what adds to a list are in the library: every op_host file uses
// them, and took a third of its compile time for them.
namespace ops {
enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class FormatCheckOption : uint32_t { DEFAULT = 0, STRICT = 1, MAX };
enum class DependScope : uint32_t { ALL = 0, TILING = 1, INVALID_SCOPE };
enum class FollowType : uint32_t { ALL = 0, DTYPE = 1, FORMAT = 2, SHAPE = 3, INVALID_TYPE };
enum class CommentSection : uint32_t {
    CATEGORY = 0,
    BRIEF = 1,
    CONSTRAINTS = 2,
    RESTRICTIONS = 3,
    SEE = 4,
    THIRDPARTYFWKCOMPAT = 5,
    SECTION_MAX
};
enum class HcclServerType : uint32_t { AICPU = 0, AICORE = 1, CCU = 2, MAX };
enum class ScalarType : uint32_t {
    UINT64 = 0,
    INT64 = 1,
    UINT32 = 2,
    INT32 = 3,
    UINT16 = 4,
    INT16 = 5,
    UINT8 = 6,
    INT8 = 7,
    FLOAT32 = 8,
    FLOAT16 = 9,
    INVALID_DTYPE = 0xffffffffU
};
// A typed constant an output is filled with before the kernel runs.
struct ScalarVar {
    ScalarType scalar_type = ScalarType::INVALID_DTYPE;
    double value = 0;
    ScalarVar() = default;
    template <typename T>
    ScalarVar(ScalarType type, T number) : scalar_type(type), value(static_cast<double>(number)) {}
};

// An input or output tensor parameter.
class OpParamDef {
 public:
    explicit OpParamDef(const char *name);
    OpParamDef(const OpParamDef &other);
    OpParamDef(OpParamDef &&other);
    OpParamDef &operator=(const OpParamDef &other);
    OpParamDef &operator=(OpParamDef &&other);
    ~OpParamDef();

    OpParamDef &ParamType(Option option) {
        param_type = option;
        return *this;
    }
    OpParamDef &DataType(std::vector<ge::DataType> types) {
        data_types = std::move(types);
        return *this;
    }
    // Every value is combined with every combination of the other parameters.
    OpParamDef &DataTypeList(std::vector<ge::DataType> types) {
        data_type_list = std::move(types);
        return *this;
    }
    OpParamDef &Format(std::vector<ge::Format> values) {
        formats = std::move(values);
        return *this;
    }
    OpParamDef &FormatList(std::vector<ge::Format> values) {
        format_list = std::move(values);
        return *this;
    }
    OpParamDef &DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }
    OpParamDef &FormatForBinQuery(std::vector<ge::Format>) { return *this; }
    OpParamDef &UnknownShapeFormat(std::vector<ge::Format> values) {
        unknown_shape_formats = std::move(values);
        return *this;
    }
    OpParamDef &ValueDepend(Option value_depend) {
        return ValueDepend(value_depend, DependScope::ALL);
    }
    OpParamDef &ValueDepend(Option option, DependScope) {
        value_depend = option;
        return *this;
    }
    OpParamDef &IgnoreContiguous(void) {
        ignore_contiguous = true;
        return *this;
    }
    OpParamDef &AutoContiguous() {
        auto_contiguous = true;
        return *this;
    }
    OpParamDef &Scalar() {
        is_scalar = true;
        return *this;
    }
    OpParamDef &ScalarList() {
        is_scalar_list = true;
        return *this;
    }
    OpParamDef &To(const ge::DataType type) {
        scalar_to_type = type;
        return *this;
    }
    OpParamDef &To(const char *param) {
        scalar_to_param = param;
        return *this;
    }
    OpParamDef &Version(uint32_t) { return *this; }
    OpParamDef &InitValue(uint64_t value) {
        init_values.assign(1, ScalarVar(ScalarType::UINT64, value));
        return *this;
    }
    OpParamDef &InitValue(const ScalarVar &value) {
        init_values.assign(1, value);
        return *this;
    }
    // One value per dtype combination.
    OpParamDef &InitValue(const std::vector<ScalarVar> &values) {
        init_values = values;
        return *this;
    }
    OpParamDef &OutputShapeDependOnCompute() {
        shape_depends_on_compute = true;
        return *this;
    }
    OpParamDef &Follow(const char *param) { return Follow(param, FollowType::ALL); }
    OpParamDef &Follow(const char *param, FollowType type) {
        follow = param;
        follow_type = type;
        return *this;
    }
    OpParamDef &Comment(const char *) { return *this; }

    // What was declared; read by the op runtime.
    std::string name;
    Option param_type = OPTIONAL;
    std::vector<ge::DataType> data_types;
    std::vector<ge::DataType> data_type_list;
    std::vector<ge::Format> formats;
    std::vector<ge::Format> format_list;
    std::vector<ge::Format> unknown_shape_formats;
    Option value_depend = IGNORE;
    bool ignore_contiguous = false;
    bool auto_contiguous = false;
    bool is_scalar = false;
    bool is_scalar_list = false;
    ge::DataType scalar_to_type = ge::DT_UNDEFINED;
    std::string scalar_to_param;
    std::vector<ScalarVar> init_values;
    bool shape_depends_on_compute = false;
    std::string follow;
    FollowType follow_type = FollowType::ALL;
};

// An attribute; the no-argument setters declare the type without a default value.
class OpAttrDef {
 public:
    enum class Kind {
        kNone,
        kBool,
        kFloat,
        kInt,
        kStr,
        kListBool,
        kListFloat,
        kListInt,
        kListListInt
    };

    explicit OpAttrDef(const char *name);
    OpAttrDef(const OpAttrDef &other);
    OpAttrDef(OpAttrDef &&other);
    OpAttrDef &operator=(const OpAttrDef &other);
    OpAttrDef &operator=(OpAttrDef &&other);
    ~OpAttrDef();

    ge::AscendString GetName(void) const { return ge::AscendString(name.c_str()); }
    OpAttrDef &AttrType(Option option) {
        attr_type = option;
        return *this;
    }
    OpAttrDef &Bool(void) { return Declare(Kind::kBool); }
    OpAttrDef &Bool(bool value) {
        int_value = value;
        return DeclareWithDefault(Kind::kBool);
    }
    OpAttrDef &Float(void) { return Declare(Kind::kFloat); }
    OpAttrDef &Float(float value) {
        float_value = value;
        return DeclareWithDefault(Kind::kFloat);
    }
    OpAttrDef &Int(void) { return Declare(Kind::kInt); }
    OpAttrDef &Int(int64_t value) {
        int_value = value;
        return DeclareWithDefault(Kind::kInt);
    }
    OpAttrDef &String(void) { return Declare(Kind::kStr); }
    OpAttrDef &String(const char *value) {
        str_value = value;
        return DeclareWithDefault(Kind::kStr);
    }
    OpAttrDef &ListBool(void) { return Declare(Kind::kListBool); }
    OpAttrDef &ListBool(std::vector<bool> value) {
        list_int_value.assign(value.begin(), value.end());
        return DeclareWithDefault(Kind::kListBool);
    }
    OpAttrDef &ListFloat(void) { return Declare(Kind::kListFloat); }
    OpAttrDef &ListFloat(std::vector<float> value) {
        list_float_value = std::move(value);
        return DeclareWithDefault(Kind::kListFloat);
    }
    OpAttrDef &ListInt(void) { return Declare(Kind::kListInt); }
    OpAttrDef &ListInt(std::vector<int64_t> value) {
        list_int_value = std::move(value);
        return DeclareWithDefault(Kind::kListInt);
    }
    OpAttrDef &ListListInt(void) { return Declare(Kind::kListListInt); }
    OpAttrDef &ListListInt(std::vector<std::vector<int64_t>> value) {
        list_list_int_value = std::move(value);
        return DeclareWithDefault(Kind::kListListInt);
    }
    OpAttrDef &Version(uint32_t) { return *this; }
    OpAttrDef &Comment(const char *) { return *this; }
    bool IsRequired(void) const { return attr_type == REQUIRED; }

    // What was declared; read by the op runtime.
    std::string name;
    Option attr_type = OPTIONAL;
    Kind kind = Kind::kNone;
    bool has_default = false;
    int64_t int_value = 0;  // also bool
    float float_value = 0;
    std::string str_value;
    std::vector<int64_t> list_int_value;  // also list of bool
    std::vector<float> list_float_value;
    std::vector<std::vector<int64_t>> list_list_int_value;

 private:
    OpAttrDef &Declare(Kind declared) {
        kind = declared;
        return *this;
    }
    OpAttrDef &DeclareWithDefault(Kind declared) {
        has_default = true;
        return Declare(declared);
    }
};

// What differs on one SoC: parameters that replace the op's and flags for the compiler.
class OpAICoreConfig {
 public:
    OpAICoreConfig();
    explicit OpAICoreConfig(const char *);
    OpAICoreConfig(const OpAICoreConfig &other);
    OpAICoreConfig(OpAICoreConfig &&other);
    OpAICoreConfig &operator=(const OpAICoreConfig &other);
    OpAICoreConfig &operator=(OpAICoreConfig &&other);
    ~OpAICoreConfig();

    OpParamDef &Input(const char *name);
    OpParamDef &Output(const char *name);
    OpAICoreConfig &DynamicCompileStaticFlag(bool flag) {
        return SetFlag("dynamicCompileStatic.flag", flag);
    }
    OpAICoreConfig &DynamicFormatFlag(bool flag) { return SetFlag("dynamicFormat.flag", flag); }
    OpAICoreConfig &DynamicRankSupportFlag(bool flag) {
        return SetFlag("dynamicRankSupport.flag", flag);
    }
    OpAICoreConfig &DynamicShapeSupportFlag(bool flag) {
        return SetFlag("dynamicShapeSupport.flag", flag);
    }
    OpAICoreConfig &NeedCheckSupportFlag(bool flag) {
        return SetFlag("needCheckSupport.flag", flag);
    }
    OpAICoreConfig &PrecisionReduceFlag(bool flag) {
        return SetFlag("precision_reduce.flag", flag);
    }
    OpAICoreConfig &ExtendCfgInfo(const char *key, const char *value);

    // What was declared; read by the op runtime. Deques keep references from chained calls valid.
    std::deque<OpParamDef> inputs;
    std::deque<OpParamDef> outputs;
    std::map<std::string, std::string> config;

 private:
    OpAICoreConfig &SetFlag(const char *key, bool flag) {
        return ExtendCfgInfo(key, flag ? "true" : "false");
    }
};

// The AI-core side: tiling and the SoCs the op supports.
class OpAICoreDef {
 public:
    OpAICoreDef &SetTiling(gert::OpImplRegisterV2::TilingKernelFunc func) {
        tiling = func;
        return *this;
    }
    // Functions of CANN's graph compiler: kept for those who ask for them, never called here.
    OpAICoreDef &SetCheckSupport(optiling::OP_CHECK_FUNC func) {
        check_support = func;
        return *this;
    }
    optiling::OP_CHECK_FUNC &GetCheckSupport(void) { return check_support; }
    OpAICoreDef &SetOpSelectFormat(optiling::OP_CHECK_FUNC func) {
        op_select_format = func;
        return *this;
    }
    optiling::OP_CHECK_FUNC &GetOpSelectFormat(void) { return op_select_format; }
    OpAICoreDef &SetOpSupportInfo(optiling::OP_CHECK_FUNC func) {
        op_support_info = func;
        return *this;
    }
    optiling::OP_CHECK_FUNC &GetOpSupportInfo(void) { return op_support_info; }
    OpAICoreDef &SetOpSpecInfo(optiling::OP_CHECK_FUNC func) {
        op_spec_info = func;
        return *this;
    }
    optiling::OP_CHECK_FUNC &GetOpSpecInfo(void) { return op_spec_info; }
    OpAICoreDef &SetParamGeneralize(optiling::PARAM_GENERALIZE_FUNC func) {
        param_generalize = func;
        return *this;
    }
    optiling::PARAM_GENERALIZE_FUNC &GetParamGeneralize(void) { return param_generalize; }
    gert::OpImplRegisterV2::TilingKernelFunc &GetTiling(void) { return tiling; }
    // Whether kernels run that have empty outputs only: the emulation always runs what tiling asks
    // for.
    OpAICoreDef &LaunchWithZeroEleOutputTensors(bool) { return *this; }
    OpAICoreDef &AddConfig(const char *soc);
    OpAICoreDef &AddConfig(const char *soc, OpAICoreConfig &config);

    gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
    optiling::OP_CHECK_FUNC check_support = nullptr, op_select_format = nullptr;
    optiling::OP_CHECK_FUNC op_support_info = nullptr, op_spec_info = nullptr;
    optiling::PARAM_GENERALIZE_FUNC param_generalize = nullptr;
    std::vector<std::pair<std::string, OpAICoreConfig>> configs;
};

// What an op's AI CPU or host CPU implementation is called; kept, not emulated.
class OpCpuDef {
 public:
    OpCpuDef &OpKernelLib(const char *value) { return ExtendCfgInfo("opInfo.opKernelLib", value); }
    OpCpuDef &KernelSo(const char *value) { return ExtendCfgInfo("opInfo.kernelSo", value); }
    OpCpuDef &FunctionName(const char *value) {
        return ExtendCfgInfo("opInfo.functionName", value);
    }
    OpCpuDef &Engine(const char *value) { return ExtendCfgInfo("opInfo.engine", value); }
    OpCpuDef &UserDefined(bool value) {
        return ExtendCfgInfo("opInfo.userDefined", value ? "True" : "False");
    }
    OpCpuDef &ExtendCfgInfo(const char *key, const char *value) {
        settings.emplace_back(key, value);
        return *this;
    }
    std::vector<std::pair<std::string, std::string>> settings;
};
using OpAICPUDef = OpCpuDef;
using OpHostCPUDef = OpCpuDef;

// Communication ops; kept, not emulated.
class OpMC2Def {
 public:
    OpMC2Def &HcclGroup(const char *value) {
        groups.assign(1, value);
        return *this;
    }
    OpMC2Def &HcclGroup(std::vector<const char *> values) {
        groups.assign(values.begin(), values.end());
        return *this;
    }
    OpMC2Def &HcclServerType(enum HcclServerType, const char * = nullptr) { return *this; }
    std::vector<std::string> groups;
};

class OpDef {
 public:
    explicit OpDef(const char *type);
    OpDef(const OpDef &other);
    OpDef(OpDef &&other);
    OpDef &operator=(const OpDef &other);
    OpDef &operator=(OpDef &&other);
    ~OpDef();

    OpParamDef &Input(const char *name);
    OpParamDef &Output(const char *name);
    // Returns the attribute already declared under this name, or a new one.
    OpAttrDef &Attr(const char *name);
    OpDef &Comment(CommentSection, const char *) { return *this; }
    OpDef &SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc func) {
        infer_shape = func;
        return *this;
    }
    OpDef &SetInferShapeRange(gert::OpImplRegisterV2::InferShapeRangeKernelFunc func) {
        infer_shape_range = func;
        return *this;
    }
    OpDef &SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc func) {
        infer_data_type = func;
        return *this;
    }
    gert::OpImplRegisterV2::InferShapeKernelFunc &GetInferShape(void) { return infer_shape; }
    gert::OpImplRegisterV2::InferShapeRangeKernelFunc &GetInferShapeRange(void) {
        return infer_shape_range;
    }
    gert::OpImplRegisterV2::InferDataTypeKernelFunc &GetInferDataType(void) {
        return infer_data_type;
    }
    OpAICPUDef &AICPU(void) { return aicpu; }
    OpHostCPUDef &HostCPU(void) { return host_cpu; }
    OpAICoreDef &AICore(void) { return ai_core; }
    OpMC2Def &MC2(void) { return mc2; }
    OpDef &FormatMatchMode(FormatCheckOption) { return *this; }
    OpDef &EnableFallBack(void) { return *this; }

    // What was declared; read by the op runtime.
    std::string op_type;
    std::deque<OpParamDef> inputs;
    std::deque<OpParamDef> outputs;
    std::deque<OpAttrDef> attrs;
    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
    gert::OpImplRegisterV2::InferShapeRangeKernelFunc infer_shape_range = nullptr;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_data_type = nullptr;
    OpAICoreDef ai_core;
    OpCpuDef aicpu, host_cpu;
    OpMC2Def mc2;
};
}  // namespace ops

#endif  // OPGEN_EMULATION_REGISTER_OP_DEF_H
