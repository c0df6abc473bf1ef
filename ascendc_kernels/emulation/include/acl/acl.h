// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef ACL_ACL_H
#define ACL_ACL_H
#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"
#endif  // ACL_ACL_H
