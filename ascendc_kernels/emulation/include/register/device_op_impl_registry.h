// SPDX-License-Identifier: Apache-2.0
// DEVICE_IMPL_OP_OPTILING: tiling on the device's AI CPU; here it runs on the host like any other.
#ifndef OPGEN_EMULATION_REGISTER_DEVICE_OP_IMPL_REGISTRY_H
#define OPGEN_EMULATION_REGISTER_DEVICE_OP_IMPL_REGISTRY_H

#include "register/op_impl_registry.h"

#define DEVICE_IMPL_OP_OPTILING(op_type) \
    OPGEN_IMPL_OP(op_type, op_impl_register_device_optiling_##op_type, __COUNTER__)

#endif  // OPGEN_EMULATION_REGISTER_DEVICE_OP_IMPL_REGISTRY_H
