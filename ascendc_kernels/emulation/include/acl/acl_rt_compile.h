// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Compiling kernels at run time (aclrtc). Source: AscendC's API pages on RTC.
//
// The emulation compiles the source with the C++ compiler that `opgen run` uses. What
// aclrtcGetBinData returns is a library for this process (aclrtBinaryLoadFromData), not code for a
// device.
#ifndef ACL_ACL_RT_COMPILE_H
#define ACL_ACL_RT_COMPILE_H

#include <stddef.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_ERROR_RTC_INVALID_PROG 176000
#define ACL_ERROR_RTC_INVALID_INPUT 176001
#define ACL_ERROR_RTC_INVALID_OPTION 176002
#define ACL_ERROR_RTC_COMPILATION 176003
#define ACL_ERROR_RTC_LINKING 176004
#define ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION 176005
#define ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION 176006
#define ACL_ERROR_RTC_NAME_EXPR_NOT_VALID 176007
#define ACL_ERROR_RTC_PROG_CREATION_FAILURE 276000
#define ACL_ERROR_RTC_OUT_OF_MEMORY 276001
#define ACL_ERROR_RTC_FAILURE 576000

typedef void* aclrtcProg;

/* A program of the device code `src`, called `name` in messages (NULL: "default_program"), with
 * `numHeaders` headers: their texts and the names under which `src` includes them. */
ACL_FUNC_VISIBILITY aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name,
                                              int numHeaders, const char** headers,
                                              const char** includeNames);
ACL_FUNC_VISIBILITY aclError aclrtcDestroyProg(aclrtcProg* prog);
/* Before compiling: a kernel that is wanted, such as "ns::kernel<float>". Kernels outside
 * namespaces that are no templates need none. */
ACL_FUNC_VISIBILITY aclError aclrtcAddNameExpr(aclrtcProg prog, const char* const nameExpression);
/* Options that count here: --npu-arch, -D, -U, -I, -O, -include; the log names those that do not.
 */
ACL_FUNC_VISIBILITY aclError aclrtcCompileProg(aclrtcProg prog, int numOptions,
                                               const char** options);
/* After compiling: the mangled name for aclrtBinaryGetFunction; it lives as long as `prog`. */
ACL_FUNC_VISIBILITY aclError aclrtcGetLoweredName(aclrtcProg prog, const char* const nameExpression,
                                                  const char** loweredName);
ACL_FUNC_VISIBILITY aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* binDataSizeRet);
ACL_FUNC_VISIBILITY aclError aclrtcGetBinData(aclrtcProg prog, char* binData);
/* Bytes with the final 0. */
ACL_FUNC_VISIBILITY aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* logSizeRet);
ACL_FUNC_VISIBILITY aclError aclrtcGetCompileLog(aclrtcProg prog, char* log);

#ifdef __cplusplus
}
#endif
#endif  // ACL_ACL_RT_COMPILE_H
