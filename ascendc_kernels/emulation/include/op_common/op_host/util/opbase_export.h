// SPDX-License-Identifier: Apache-2.0
// Visibility of CANN 9's op base library; its functions are inline here.
#ifndef OPGEN_EMULATION_OP_COMMON_OPBASE_EXPORT_H
#define OPGEN_EMULATION_OP_COMMON_OPBASE_EXPORT_H

#define OPBASE_API
#define OPBASE_FUNC_VISIBILITY

#endif  // OPGEN_EMULATION_OP_COMMON_OPBASE_EXPORT_H
