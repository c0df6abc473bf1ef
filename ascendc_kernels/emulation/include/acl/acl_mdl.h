// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Offline models (.om) are not emulated: this header exists so that programs which include it
// without using it compile; using a model function is a compile error, not a silent success.
#ifndef ACL_ACL_MDL_H
#define ACL_ACL_MDL_H
#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#endif  // ACL_ACL_MDL_H
