// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How the emulated runtime libraries report an error: the code is returned to the caller and the
// text is kept for aclGetRecentErrMsg() of the same thread.
#ifndef ASCENDC_EMU_ACL_ERROR_H
#define ASCENDC_EMU_ACL_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Defined in libascendcl.so. Stores `message` (copied; several are joined by newlines until they
 * are read) for the calling thread and returns `code`. */
int opgen_acl_set_error(int code, const char* message);

#ifdef __cplusplus
}
#endif
#endif  // ASCENDC_EMU_ACL_ERROR_H
