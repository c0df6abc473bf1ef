// SPDX-License-Identifier: Apache-2.0
// Declarations of ops: construction, copies, and what adds parameters, attributes and SoCs.
#include "register/op_def.h"

namespace ops {
OpParamDef::OpParamDef(const char *name) : name(name) {}
OpParamDef::OpParamDef(const OpParamDef &other) = default;
OpParamDef::OpParamDef(OpParamDef &&other) = default;
OpParamDef &OpParamDef::operator=(const OpParamDef &other) = default;
OpParamDef &OpParamDef::operator=(OpParamDef &&other) = default;
OpParamDef::~OpParamDef() = default;

OpAttrDef::OpAttrDef(const char *name) : name(name) {}
OpAttrDef::OpAttrDef(const OpAttrDef &other) = default;
OpAttrDef::OpAttrDef(OpAttrDef &&other) = default;
OpAttrDef &OpAttrDef::operator=(const OpAttrDef &other) = default;
OpAttrDef &OpAttrDef::operator=(OpAttrDef &&other) = default;
OpAttrDef::~OpAttrDef() = default;

OpAICoreConfig::OpAICoreConfig() = default;
OpAICoreConfig::OpAICoreConfig(const char *) {}
OpAICoreConfig::OpAICoreConfig(const OpAICoreConfig &other) = default;
OpAICoreConfig::OpAICoreConfig(OpAICoreConfig &&other) = default;
OpAICoreConfig &OpAICoreConfig::operator=(const OpAICoreConfig &other) = default;
OpAICoreConfig &OpAICoreConfig::operator=(OpAICoreConfig &&other) = default;
OpAICoreConfig::~OpAICoreConfig() = default;

OpParamDef &OpAICoreConfig::Input(const char *name) { return inputs.emplace_back(name); }

OpParamDef &OpAICoreConfig::Output(const char *name) { return outputs.emplace_back(name); }

OpAICoreConfig &OpAICoreConfig::ExtendCfgInfo(const char *key, const char *value) {
    config[key] = value;
    return *this;
}

OpAICoreDef &OpAICoreDef::AddConfig(const char *soc) {
    configs.emplace_back(soc, OpAICoreConfig());
    return *this;
}

OpAICoreDef &OpAICoreDef::AddConfig(const char *soc, OpAICoreConfig &config) {
    configs.emplace_back(soc, config);
    return *this;
}

OpDef::OpDef(const char *type) : op_type(type) {}
OpDef::OpDef(const OpDef &other) = default;
OpDef::OpDef(OpDef &&other) = default;
OpDef &OpDef::operator=(const OpDef &other) = default;
OpDef &OpDef::operator=(OpDef &&other) = default;
OpDef::~OpDef() = default;

OpParamDef &OpDef::Input(const char *name) { return inputs.emplace_back(name); }

OpParamDef &OpDef::Output(const char *name) { return outputs.emplace_back(name); }

OpAttrDef &OpDef::Attr(const char *name) {
    for (OpAttrDef &attr : attrs) {
        if (attr.name == name) {
            return attr;
        }
    }
    return attrs.emplace_back(name);
}
}  // namespace ops
