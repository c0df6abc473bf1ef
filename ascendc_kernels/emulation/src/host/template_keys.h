// SPDX-License-Identifier: Apache-2.0
// Template parameters of kernels by op type.
#ifndef OPGEN_HOST_TEMPLATE_KEYS_H
#define OPGEN_HOST_TEMPLATE_KEYS_H

#include <string>

namespace ascendc_emu {
// JSON object of what a key stands for; see opgen_template_json() in op_runtime.h. "" when the op
// declares no template.
std::string TemplateJson(const std::string &op_type, uint64_t key);

// JSON array with one valid key per combination that the op selects (ASCENDC_TPL_ARGS_SEL), made of
// the first value of every parameter.
std::string TemplateKeysJson(const std::string &op_type);
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_TEMPLATE_KEYS_H
