// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The descriptor objects behind acl_meta.h.
#ifndef OPGEN_NNOPBASE_OBJECTS_H
#define OPGEN_NNOPBASE_OBJECTS_H

#include <cstdint>
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

#endif  // OPGEN_NNOPBASE_OBJECTS_H
