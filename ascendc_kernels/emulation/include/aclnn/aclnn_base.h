// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What every aclnn caller includes; see acl_meta.h.
#ifndef OPGEN_ACLNN_ACLNN_BASE_H
#define OPGEN_ACLNN_ACLNN_BASE_H

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

// Optional in the emulation: there is nothing to initialise. `configPath` is accepted and ignored.
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize();

#ifdef __cplusplus
}
#endif

#endif  // OPGEN_ACLNN_ACLNN_BASE_H
