// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Executors between the two phases of an aclnn call, and the error text of this thread.
#ifndef OPGEN_NNOPBASE_EXECUTOR_H
#define OPGEN_NNOPBASE_EXECUTOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "aclnn/acl_meta.h"

// A prepared op call. Subclasses own everything the launch needs: the caller may destroy its
// aclTensors as soon as phase 2 has returned, while the stream has not reached the call yet.
struct aclOpExecutor {
    explicit aclOpExecutor(std::string api_name) : api(std::move(api_name)) {}
    virtual ~aclOpExecutor() = default;

    virtual size_t NumInputs() const = 0;
    // Replace the data of tensor `relative` of parameter `index`; shape and dtype stay.
    virtual aclnnStatus SetAddress(bool output, size_t index, size_t relative, void* data) = 0;
    virtual uint64_t WorkspaceSize() const = 0;
    // Execute now, on the calling thread.
    virtual aclnnStatus Run(void* workspace) = 0;

    const std::string api;  // phase-2 function this belongs to, e.g. aclnnFusedAddRelu
    bool repeatable = false;
};

namespace opgen_nnopbase {

// Record a printf-style message for aclGetRecentErrMsg() and return `status`.
aclnnStatus Fail(aclnnStatus status, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Text of the last failure on this thread, "" when there was none.
const char* RecentError();

// Hand a prepared call to the caller.
void Publish(std::unique_ptr<aclOpExecutor> prepared, aclOpExecutor** executor);

// Phase 2: check the executor and the workspace, then run on the stream. Streams come from
// libascendcl; when it is not loaded, or stream is null, the call runs at once.
aclnnStatus Launch(const char* api, void* workspace, uint64_t workspace_size,
                   aclOpExecutor* executor, void* stream);

}  // namespace opgen_nnopbase

#endif  // OPGEN_NNOPBASE_EXECUTOR_H
