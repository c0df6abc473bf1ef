// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "host/op_scope.h"

#include "ascendc_emu/op_runtime.h"

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
