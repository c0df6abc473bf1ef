// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Data buffers, tensor descriptors, operator attributes, half conversion. torch_npu builds these
// for its older operator path even when the operator is then refused, so they hold real values.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "state.h"

struct aclDataBuffer {
    void* data;
    size_t size;
};

struct aclTensorDesc {
    aclDataType type;
    std::vector<int64_t> dims;
    aclFormat format;
    aclFormat storage_format;
    std::vector<int64_t> storage_dims;
    aclMemType placement;
    std::string name;
};

// Of the attributes only strings keep their value: the operators of operator.cpp need no others.
struct aclopAttr {
    std::map<std::string, std::string> values;
};

using opgen_runtime::Fail;

namespace opgen_runtime {

const char* StringAttr(const aclopAttr* attr, const char* name) {
    if (attr == nullptr) return "";
    auto found = attr->values.find(name);
    return found != attr->values.end() ? found->second.c_str() : "";
}

}  // namespace opgen_runtime

namespace {

aclError SetAttr(aclopAttr* attr, const char* name, const char* value = "") {
    if (attr == nullptr || name == nullptr || value == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttr: null attr, name or value");
    }
    attr->values[name] = value;
    return ACL_SUCCESS;
}

std::mutex options_mutex;
std::map<int, std::string>& Options() {
    static auto* options = new std::map<int, std::string>;
    return *options;
}

}  // namespace

extern "C" {

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
    if (value == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclSetCompileopt: null value");
    std::lock_guard<std::mutex> lock(options_mutex);
    Options()[opt] = value;
    return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
    std::lock_guard<std::mutex> lock(options_mutex);
    return Options()[opt].size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
    std::lock_guard<std::mutex> lock(options_mutex);
    const std::string& stored = Options()[opt];
    if (value == nullptr || length < stored.size() + 1) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: %zu bytes are too few", length);
    }
    std::memcpy(value, stored.c_str(), stored.size() + 1);
    return ACL_SUCCESS;
}

aclError aclopSetCompileFlag(aclOpCompileFlag) { return ACL_SUCCESS; }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
    return new aclDataBuffer{data, size};
}

aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
    delete buffer;
    return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer* buffer, void* data, size_t size) {
    if (buffer == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclUpdateDataBuffer: null buffer");
    buffer->data = data;
    buffer->size = size;
    return ACL_SUCCESS;
}

void* aclGetDataBufferAddr(const aclDataBuffer* buffer) {
    return buffer != nullptr ? buffer->data : nullptr;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* buffer) {
    return buffer != nullptr ? static_cast<uint32_t>(buffer->size) : 0;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* buffer) {
    return buffer != nullptr ? buffer->size : 0;
}

size_t aclDataTypeSize(aclDataType type) {
    switch (type) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
        case ACL_COMPLEX32:
            return 4;
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_DOUBLE:
        case ACL_COMPLEX64:
            return 8;
        case ACL_COMPLEX128:
        case ACL_STRING:
            return 16;
        default:
            return 0;
    }
}

float aclFloat16ToFloat(aclFloat16 value) {
    uint32_t sign = static_cast<uint32_t>(value & 0x8000U) << 16;
    uint32_t exponent = (value >> 10) & 0x1FU;
    uint32_t mantissa = value & 0x3FFU;
    uint32_t bits;
    if (exponent == 0x1F) {
        bits = sign | 0x7F800000U | (mantissa << 13);
    } else if (exponent != 0) {
        bits = sign | ((exponent + 112U) << 23) | (mantissa << 13);
    } else {
        // Subnormals (and zero) are exact multiples of 2^-24.
        float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8F;
        return sign != 0 ? -magnitude : magnitude;
    }
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

aclFloat16 aclFloatToFloat16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000U;
    uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude >= 0x7F800000U) {  // inf or nan; a nan keeps a non-zero mantissa
        uint32_t mantissa = magnitude > 0x7F800000U ? 0x200U | ((magnitude >> 13) & 0x3FFU) : 0;
        return static_cast<aclFloat16>(sign | 0x7C00U | mantissa);
    }
    if (magnitude >= 0x477FF000U) return static_cast<aclFloat16>(sign | 0x7C00U);  // rounds to inf
    if (magnitude < 0x33000001U) return static_cast<aclFloat16>(sign);             // rounds to 0
    uint32_t exponent = magnitude >> 23;
    uint32_t mantissa = magnitude & 0x7FFFFFU;
    uint32_t half;
    uint32_t rest;
    uint32_t halfway;
    if (exponent >= 113) {
        half = ((exponent - 112) << 10) | (mantissa >> 13);
        rest = mantissa & 0x1FFFU;
        halfway = 0x1000U;
    } else {
        uint32_t shift = 126 - exponent;  // 14..24
        mantissa |= 0x800000U;
        half = mantissa >> shift;
        rest = mantissa & ((1U << shift) - 1);
        halfway = 1U << (shift - 1);
    }
    if (rest > halfway || (rest == halfway && (half & 1U) != 0)) ++half;
    return static_cast<aclFloat16>(sign | half);
}

aclTensorDesc* aclCreateTensorDesc(aclDataType type, int num_dims, const int64_t* dims,
                                   aclFormat format) {
    if (num_dims < 0 || (num_dims > 0 && dims == nullptr)) {
        Fail(ACL_ERROR_INVALID_PARAM, "aclCreateTensorDesc: %d dims without values", num_dims);
        return nullptr;
    }
    auto* desc = new aclTensorDesc{};
    desc->type = type;
    if (num_dims > 0) desc->dims.assign(dims, dims + num_dims);
    desc->format = format;
    desc->storage_format = format;
    desc->placement = ACL_MEMTYPE_DEVICE;
    return desc;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
    return desc != nullptr ? desc->type : ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
    return desc != nullptr ? desc->format : ACL_FORMAT_UNDEFINED;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
    if (desc == nullptr) return 0;
    size_t count = 1;
    for (int64_t dim : desc->dims) count *= dim > 0 ? static_cast<size_t>(dim) : 0;
    return count;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
    return desc != nullptr ? aclGetTensorDescElementCount(desc) * aclDataTypeSize(desc->type) : 0;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
    return desc != nullptr ? desc->dims.size() : 0;
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
    return desc != nullptr && index < desc->dims.size() ? desc->dims[index] : -1;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dim) {
    if (desc == nullptr || dim == nullptr || index >= desc->dims.size()) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: no dimension %zu", index);
    }
    *dim = desc->dims[index];
    return ACL_SUCCESS;
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
    if (desc != nullptr) desc->name = name != nullptr ? name : "";
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
    return desc != nullptr ? desc->name.c_str() : "";
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
    if (desc == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorFormat: null desc");
    desc->storage_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorShape(aclTensorDesc* desc, int num_dims, const int64_t* dims) {
    if (desc == nullptr || num_dims < 0 || (num_dims > 0 && dims == nullptr)) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorShape: bad argument");
    }
    desc->storage_dims.assign(dims, dims + num_dims);
    return ACL_SUCCESS;
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType placement) {
    if (desc == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorPlaceMent: null desc");
    desc->placement = placement;
    return ACL_SUCCESS;
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
    if (desc == nullptr || dataBuffer == nullptr || length == 0) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorConst: null or empty argument");
    }
    return ACL_SUCCESS;
}

aclopAttr* aclopCreateAttr() { return new aclopAttr; }
void aclopDestroyAttr(const aclopAttr* attr) { delete attr; }

aclError aclopSetAttrBool(aclopAttr* attr, const char* name, uint8_t) {
    return SetAttr(attr, name);
}
aclError aclopSetAttrInt(aclopAttr* attr, const char* name, int64_t) { return SetAttr(attr, name); }
aclError aclopSetAttrFloat(aclopAttr* attr, const char* name, float) { return SetAttr(attr, name); }
aclError aclopSetAttrString(aclopAttr* attr, const char* name, const char* value) {
    return SetAttr(attr, name, value);
}
aclError aclopSetAttrDataType(aclopAttr* attr, const char* name, aclDataType) {
    return SetAttr(attr, name);
}
aclError aclopSetAttrListBool(aclopAttr* attr, const char* name, int, const uint8_t*) {
    return SetAttr(attr, name);
}
aclError aclopSetAttrListInt(aclopAttr* attr, const char* name, int, const int64_t*) {
    return SetAttr(attr, name);
}
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* name, int, const float*) {
    return SetAttr(attr, name);
}
aclError aclopSetAttrListListInt(aclopAttr* attr, const char* name, int, const int*,
                                 const int64_t* const[]) {
    return SetAttr(attr, name);
}

}  // extern "C"
