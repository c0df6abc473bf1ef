// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The objects of aclnn calls: tensors, lists, scalars, arrays.
#include <algorithm>
#include <cstring>
#include <new>

#include "objects.h"

using opgen_nnopbase::ElementBytes;
using opgen_nnopbase::Fail;
using opgen_nnopbase::kFreedTag;
using opgen_nnopbase::kTensorListTag;
using opgen_nnopbase::kTensorTag;
using opgen_nnopbase::Valid;

namespace {

constexpr uint64_t kMaxRank = 32;

bool Fill(aclTensor* tensor, const int64_t* view_dims, uint64_t view_rank, int32_t dtype,
          const int64_t* stride, int64_t offset, int32_t format, const int64_t* storage_dims,
          uint64_t storage_rank, void* data) {
    if (view_rank > kMaxRank || storage_rank > kMaxRank) {
        Fail(ACLNN_ERR_PARAM_INVALID, "aclCreateTensor: rank above 32");
        return false;
    }
    if ((view_rank > 0 && view_dims == nullptr) || (storage_rank > 0 && storage_dims == nullptr)) {
        Fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensor: dims are null but their count is not 0");
        return false;
    }
    const auto negative = [](int64_t dim) { return dim < 0; };
    if (std::any_of(view_dims, view_dims + view_rank, negative) ||
        std::any_of(storage_dims, storage_dims + storage_rank, negative) || offset < 0) {
        Fail(ACLNN_ERR_PARAM_INVALID, "aclCreateTensor: a dim or the offset is negative");
        return false;
    }
    tensor->dtype = dtype;
    tensor->format = format;
    tensor->shape.assign(view_dims, view_dims + view_rank);
    tensor->storage.assign(storage_dims, storage_dims + storage_rank);
    tensor->offset = offset;
    tensor->data = data;
    if (stride != nullptr) {
        tensor->strides.assign(stride, stride + view_rank);
    } else {
        tensor->strides.assign(view_rank, 1);
        for (uint64_t i = view_rank; i-- > 1;) {
            tensor->strides[i - 1] = tensor->strides[i] * tensor->shape[i];
        }
    }
    return true;
}

aclnnStatus CopyOut(const aclTensor* tensor, const std::vector<int64_t> aclTensor::* member,
                    int64_t** values, uint64_t* count, const char* api) {
    if (!Valid(tensor, kTensorTag) || values == nullptr || count == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: null argument or not a live aclTensor", api);
    }
    const std::vector<int64_t>& source = tensor->*member;
    *values = new (std::nothrow) int64_t[source.empty() ? 1 : source.size()];
    if (*values == nullptr) {
        return Fail(ACLNN_ERR_INNER, "%s: out of memory", api);
    }
    std::copy(source.begin(), source.end(), *values);
    *count = source.size();
    return ACLNN_SUCCESS;
}

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

uint64_t opgen_nnopbase::ElementBytes(int32_t dtype) {
    switch (dtype) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
            return 4;
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_DOUBLE:
        case ACL_COMPLEX64:
            return 8;
        case ACL_COMPLEX128:
            return 16;
        default:
            return 0;
    }
}

extern "C" {

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
    aclTensor* tensor = new (std::nothrow) aclTensor;
    if (tensor != nullptr && !Fill(tensor, viewDims, viewDimsNum, dataType, stride, offset, format,
                                   storageDims, storageDimsNum, tensorData)) {
        delete tensor;
        tensor = nullptr;
    }
    return tensor;
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* tensorDataAddr) {
    if (!Valid(tensor, kTensorTag)) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclInitTensor: not a live aclTensor");
    }
    return Fill(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                storageDimsNum, tensorDataAddr)
               ? ACLNN_SUCCESS
               : ACLNN_ERR_PARAM_INVALID;
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
    if (!Valid(tensor, kTensorTag)) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclDestroyTensor: null, or destroyed before");
    }
    const_cast<aclTensor*>(tensor)->tag = kFreedTag;
    delete tensor;
    return ACLNN_SUCCESS;
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    if (value == nullptr && size > 0) {
        Fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensorList: value is null but size is not 0");
        return nullptr;
    }
    aclTensorList* list = new (std::nothrow) aclTensorList;
    if (list != nullptr) {
        list->tensors.assign(value, value + size);
    }
    return list;
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
    if (!Valid(array, kTensorListTag)) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclDestroyTensorList: null, or destroyed before");
    }
    for (const aclTensor* tensor : array->tensors) {
        if (tensor != nullptr) {
            aclDestroyTensor(tensor);
        }
    }
    const_cast<aclTensorList*>(array)->tag = kFreedTag;
    delete array;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
    if (!Valid(list, kTensorListTag) || size == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetTensorListSize: null argument");
    }
    *size = list->tensors.size();
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return CopyOut(tensor, &aclTensor::shape, viewDims, viewDimsNum, "aclGetViewShape");
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                               uint64_t* storageDimsNum) {
    return CopyOut(tensor, &aclTensor::storage, storageDims, storageDimsNum, "aclGetStorageShape");
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                              uint64_t* stridesNum) {
    return CopyOut(tensor, &aclTensor::strides, stridesValue, stridesNum, "aclGetViewStrides");
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    if (!Valid(tensor, kTensorTag) || offset == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetViewOffset: null argument");
    }
    *offset = tensor->offset;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    if (!Valid(tensor, kTensorTag) || format == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetFormat: null argument");
    }
    *format = static_cast<aclFormat>(tensor->format);
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    if (!Valid(tensor, kTensorTag) || dataType == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetDataType: null argument");
    }
    *dataType = static_cast<aclDataType>(tensor->dtype);
    return ACLNN_SUCCESS;
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
    if (!Valid(tensor, kTensorTag)) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclSetRawTensorAddr: not a live aclTensor");
    }
    tensor->data = addr;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
    if (!Valid(tensor, kTensorTag) || addr == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetRawTensorAddr: null argument");
    }
    *addr = tensor->data;
    return ACLNN_SUCCESS;
}

// Scalars and the int, float and bool arrays.

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
