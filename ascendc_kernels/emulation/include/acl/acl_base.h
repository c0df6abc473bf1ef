// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef ACL_ACL_BASE_H
#define ACL_ACL_BASE_H
#include "acl/acl_base_mdl.h"
#include "acl/acl_base_rt.h"
#endif  // ACL_ACL_BASE_H
