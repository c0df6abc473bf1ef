// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// aclScalar and the int, float and bool arrays.
#include <cstring>
#include <new>

#include "executor.h"
#include "objects.h"

using opgen_nnopbase::ElementBytes;
using opgen_nnopbase::Fail;
using opgen_nnopbase::kFreedTag;
using opgen_nnopbase::Valid;

namespace {

template <typename Array, typename T>
Array* CreateArray(const T* value, uint64_t size, const char* api) {
    if (value == nullptr && size > 0) {
        Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: value is null but size is not 0", api);
        return nullptr;
    }
    Array* array = new (std::nothrow) Array;
    if (array != nullptr) {
        array->values.assign(value, value + size);
    }
    return array;
}

template <typename Object>
aclnnStatus Destroy(const Object* object, uint32_t tag, const char* api) {
    if (!Valid(object, tag)) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: null, or destroyed before", api);
    }
    const_cast<Object*>(object)->tag = kFreedTag;
    delete object;
    return ACLNN_SUCCESS;
}

template <typename Array>
aclnnStatus Size(const Array* array, uint32_t tag, uint64_t* size, const char* api) {
    if (!Valid(array, tag) || size == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: null argument", api);
    }
    *size = array->values.size();
    return ACLNN_SUCCESS;
}

}  // namespace

extern "C" {

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    const uint64_t bytes = ElementBytes(dataType);
    if (value == nullptr || bytes == 0) {
        Fail(ACLNN_ERR_PARAM_INVALID, "aclCreateScalar: null value or unknown dtype %d",
             static_cast<int>(dataType));
        return nullptr;
    }
    aclScalar* scalar = new (std::nothrow) aclScalar;
    if (scalar != nullptr) {
        scalar->dtype = dataType;
        scalar->bytes = bytes;
        std::memcpy(scalar->value, value, bytes);
    }
    return scalar;
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return CreateArray<aclIntArray>(value, size, "aclCreateIntArray");
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return CreateArray<aclFloatArray>(value, size, "aclCreateFloatArray");
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return CreateArray<aclBoolArray>(value, size, "aclCreateBoolArray");
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    if (value == nullptr && size > 0) {
        Fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateScalarList: value is null but size is not 0");
        return nullptr;
    }
    aclScalarList* list = new (std::nothrow) aclScalarList;
    if (list != nullptr) {
        list->scalars.assign(value, value + size);
    }
    return list;
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
    return Destroy(scalar, opgen_nnopbase::kScalarTag, "aclDestroyScalar");
}

aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
    return Destroy(array, opgen_nnopbase::kIntArrayTag, "aclDestroyIntArray");
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
    return Destroy(array, opgen_nnopbase::kFloatArrayTag, "aclDestroyFloatArray");
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
    return Destroy(array, opgen_nnopbase::kBoolArrayTag, "aclDestroyBoolArray");
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
    if (Valid(array, opgen_nnopbase::kScalarListTag)) {
        for (const aclScalar* scalar : array->scalars) {
            if (scalar != nullptr) {
                aclDestroyScalar(scalar);
            }
        }
    }
    return Destroy(array, opgen_nnopbase::kScalarListTag, "aclDestroyScalarList");
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return Size(array, opgen_nnopbase::kIntArrayTag, size, "aclGetIntArraySize");
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return Size(array, opgen_nnopbase::kFloatArrayTag, size, "aclGetFloatArraySize");
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return Size(array, opgen_nnopbase::kBoolArrayTag, size, "aclGetBoolArraySize");
}

aclnnStatus aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
    if (!Valid(list, opgen_nnopbase::kScalarListTag) || size == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetScalarListSize: null argument");
    }
    *size = list->scalars.size();
    return ACLNN_SUCCESS;
}

}  // extern "C"
