// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef ACL_ACL_OP_COMPILER_H
#define ACL_ACL_OP_COMPILER_H

#include "acl/acl_base.h"
#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aclCompileType { ACL_COMPILE_SYS, ACL_COMPILE_UNREGISTERED } aclopCompileType;

/* Always fails in the emulation, naming opType: CANN's operator compiler is not emulated. */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(
    const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
    const aclDataBuffer* const inputs[], int numOutputs, const aclTensorDesc* const outputDesc[],
    aclDataBuffer* const outputs[], const aclopAttr* attr, aclopEngineType engineType,
    aclopCompileType compileFlag, const char* opPath, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif  // ACL_ACL_OP_COMPILER_H
