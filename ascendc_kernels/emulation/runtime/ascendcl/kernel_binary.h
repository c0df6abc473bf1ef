// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Libraries of kernels that were compiled at run time, and their functions.
#ifndef OPGEN_RUNTIME_ASCENDCL_KERNEL_BINARY_H
#define OPGEN_RUNTIME_ASCENDCL_KERNEL_BINARY_H

#include <string>

#include "ascendc_emu/runtime_kernel.h"

namespace opgen_runtime {

// What an aclrtFuncHandle points to.
struct Function {
    std::string name;
    const OpgenRuntimeKernel* kernel;
    void* binary;
};

// The function of a handle; null, with the error stored, when it is not one of a loaded binary.
const Function* ResolveFunction(const void* handle, const char* api);

// The table of a library; null, with the error stored, when it is no such library. It stays loaded:
// launches that are still kept (a captured stream) may need it.
const OpgenRuntimeKernel* OpenKernels(const std::string& path, const char* api);

// The name of the kernel's function as the linker has it; its own name when it has C linkage.
std::string LinkName(const OpgenRuntimeKernel& kernel);

// Where a temporary file or folder goes, as mkstemp and mkdtemp take it.
std::string TemporaryPattern(const char* name);
// The bytes of a file; false: it cannot be read.
bool ReadFile(const std::string& path, std::string* content);

// Remembers where a library with this content lies, so that loading it needs no copy.
void RememberBinary(const std::string& content, const std::string& path);

}  // namespace opgen_runtime

#endif  // OPGEN_RUNTIME_ASCENDCL_KERNEL_BINARY_H
