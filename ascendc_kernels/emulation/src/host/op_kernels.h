// SPDX-License-Identifier: Apache-2.0
// Kernels by op, SoC and dtypes.
#ifndef OPGEN_HOST_OP_KERNELS_H
#define OPGEN_HOST_OP_KERNELS_H

#include <string>

#include "host/op_call.h"

namespace ascendc_emu {
void RegisterKernel(const std::string &op_type, const std::string &soc, const std::string &key,
                    const std::string &path, const std::string &entry);

// Entry of the kernel for this call; loads its library at first use. Throws OpError.
void *KernelEntry(const OpCall &call, std::string *name);
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OP_KERNELS_H
