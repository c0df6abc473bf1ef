// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_NNOPBASE_PACKAGE_H
#define OPGEN_NNOPBASE_PACKAGE_H

#include <string>

namespace opgen_aclnn {

// While it lives, the op runtime sees this package's ops before those of other vendors.
class PackageScope {
 public:
    PackageScope();
    ~PackageScope();
    PackageScope(const PackageScope&) = delete;
    PackageScope& operator=(const PackageScope&) = delete;
};

// Register the host library and the kernels of the vendor package this code is linked into, found
// relative to the shared object itself. Done once; returns "" or why it failed.
const std::string& LoadPackage();

}  // namespace opgen_aclnn

#endif  // OPGEN_NNOPBASE_PACKAGE_H
