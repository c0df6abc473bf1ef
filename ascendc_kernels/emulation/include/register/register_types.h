// SPDX-License-Identifier: Apache-2.0
// Attributes of registration interfaces.
#ifndef OPGEN_EMULATION_REGISTER_REGISTER_TYPES_H
#define OPGEN_EMULATION_REGISTER_REGISTER_TYPES_H

#define FMK_FUNC_HOST_VISIBILITY
#define FMK_FUNC_DEV_VISIBILITY
#define ATTRIBUTED_DEPRECATED(replacement) \
    __attribute__((deprecated("Please use " #replacement " instead.")))

#endif  // OPGEN_EMULATION_REGISTER_REGISTER_TYPES_H
