// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The descriptor objects behind acl_meta.h, executors between the two phases of an aclnn call, and
// the error text of this thread.
#ifndef OPGEN_NNOPBASE_OBJECTS_H
#define OPGEN_NNOPBASE_OBJECTS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aclnn/acl_meta.h"

namespace opgen_nnopbase {

// First word of every object. Two packages may each carry this library, so a descriptor made by
// one can reach the other: a different layout gets a different tag and is refused, not misread.
constexpr uint32_t kTensorTag = 0x6f705401;
constexpr uint32_t kTensorListTag = 0x6f705402;
constexpr uint32_t kScalarTag = 0x6f705403;
constexpr uint32_t kScalarListTag = 0x6f705404;
constexpr uint32_t kIntArrayTag = 0x6f705405;
constexpr uint32_t kFloatArrayTag = 0x6f705406;
constexpr uint32_t kBoolArrayTag = 0x6f705407;
constexpr uint32_t kFreedTag = 0x6f7054ff;

template <typename Object>
bool Valid(const Object* object, uint32_t tag) {
    return object != nullptr && object->tag == tag;
}

// Bytes of one element; 0 for dtypes without a whole number of bytes.
uint64_t ElementBytes(int32_t dtype);

}  // namespace opgen_nnopbase

struct aclTensor {
    uint32_t tag = opgen_nnopbase::kTensorTag;
    int32_t dtype = -1;
    int32_t format = 2;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    std::vector<int64_t> storage;
    int64_t offset = 0;
    void* data = nullptr;
};

struct aclTensorList {
    uint32_t tag = opgen_nnopbase::kTensorListTag;
    std::vector<const aclTensor*> tensors;
};

struct aclScalar {
    uint32_t tag = opgen_nnopbase::kScalarTag;
    int32_t dtype = -1;
    uint64_t bytes = 0;
    alignas(16) unsigned char value[16] = {};
};

struct aclScalarList {
    uint32_t tag = opgen_nnopbase::kScalarListTag;
    std::vector<const aclScalar*> scalars;
};

struct aclIntArray {
    uint32_t tag = opgen_nnopbase::kIntArrayTag;
    std::vector<int64_t> values;
};

struct aclFloatArray {
    uint32_t tag = opgen_nnopbase::kFloatArrayTag;
    std::vector<float> values;
};

struct aclBoolArray {
    uint32_t tag = opgen_nnopbase::kBoolArrayTag;
    std::vector<uint8_t> values;
};

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

#endif  // OPGEN_NNOPBASE_OBJECTS_H
