// SPDX-License-Identifier: Apache-2.0
// Names and sizes of ge::DataType and ge::Format.
#include "graph/types.h"

namespace ge {
namespace {
struct TypeRow {
    DataType type;
    const char *name;
    int size;  // as GetSizeByDataType
};

constexpr int Bits(int bits) { return kDataTypeSizeBitOffset + bits; }

const TypeRow kTypes[] = {
    {DT_FLOAT, "DT_FLOAT", 4},
    {DT_FLOAT16, "DT_FLOAT16", 2},
    {DT_INT8, "DT_INT8", 1},
    {DT_INT32, "DT_INT32", 4},
    {DT_UINT8, "DT_UINT8", 1},
    {DT_INT16, "DT_INT16", 2},
    {DT_UINT16, "DT_UINT16", 2},
    {DT_UINT32, "DT_UINT32", 4},
    {DT_INT64, "DT_INT64", 8},
    {DT_UINT64, "DT_UINT64", 8},
    {DT_DOUBLE, "DT_DOUBLE", 8},
    {DT_BOOL, "DT_BOOL", 1},
    {DT_STRING, "DT_STRING", -1},
    {DT_DUAL_SUB_INT8, "DT_DUAL_SUB_INT8", 1},
    {DT_DUAL_SUB_UINT8, "DT_DUAL_SUB_UINT8", 1},
    {DT_COMPLEX64, "DT_COMPLEX64", 8},
    {DT_COMPLEX128, "DT_COMPLEX128", 16},
    {DT_QINT8, "DT_QINT8", 1},
    {DT_QINT16, "DT_QINT16", 2},
    {DT_QINT32, "DT_QINT32", 4},
    {DT_QUINT8, "DT_QUINT8", 1},
    {DT_QUINT16, "DT_QUINT16", 2},
    {DT_RESOURCE, "DT_RESOURCE", 8},
    {DT_STRING_REF, "DT_STRING_REF", -1},
    {DT_DUAL, "DT_DUAL", 5},
    {DT_VARIANT, "DT_VARIANT", 8},
    {DT_BF16, "DT_BF16", 2},
    {DT_UNDEFINED, "UNDEFINED", -1},
    {DT_INT4, "DT_INT4", Bits(4)},
    {DT_UINT1, "DT_UINT1", Bits(1)},
    {DT_INT2, "DT_INT2", Bits(2)},
    {DT_UINT2, "DT_UINT2", Bits(2)},
    {DT_COMPLEX32, "DT_COMPLEX32", 4},
    {DT_HIFLOAT8, "DT_HIFLOAT8", 1},
    {DT_FLOAT8_E5M2, "DT_FLOAT8_E5M2", 1},
    {DT_FLOAT8_E4M3FN, "DT_FLOAT8_E4M3FN", 1},
    {DT_FLOAT8_E8M0, "DT_FLOAT8_E8M0", 1},
    {DT_FLOAT6_E3M2, "DT_FLOAT6_E3M2", Bits(6)},
    {DT_FLOAT6_E2M3, "DT_FLOAT6_E2M3", Bits(6)},
    {DT_FLOAT4_E2M1, "DT_FLOAT4_E2M1", Bits(4)},
    {DT_FLOAT4_E1M2, "DT_FLOAT4_E1M2", Bits(4)},
};

struct FormatRow {
    Format format;
    const char *name;
};

#define OPGEN_FORMAT(name) {FORMAT_##name, #name}
const FormatRow kFormats[] = {
    OPGEN_FORMAT(NCHW),
    OPGEN_FORMAT(NHWC),
    OPGEN_FORMAT(ND),
    OPGEN_FORMAT(NC1HWC0),
    OPGEN_FORMAT(FRACTAL_Z),
    OPGEN_FORMAT(NC1C0HWPAD),
    OPGEN_FORMAT(NHWC1C0),
    OPGEN_FORMAT(FSR_NCHW),
    OPGEN_FORMAT(FRACTAL_DECONV),
    OPGEN_FORMAT(C1HWNC0),
    OPGEN_FORMAT(NC1HWC0_C04),
    OPGEN_FORMAT(FRACTAL_Z_C04),
    OPGEN_FORMAT(CHWN),
    OPGEN_FORMAT(HWCN),
    OPGEN_FORMAT(NC1KHKWHWC0),
    OPGEN_FORMAT(BN_WEIGHT),
    OPGEN_FORMAT(C1HWNCoC0),
    OPGEN_FORMAT(MD),
    OPGEN_FORMAT(NDHWC),
    OPGEN_FORMAT(FRACTAL_ZZ),
    OPGEN_FORMAT(FRACTAL_NZ),
    OPGEN_FORMAT(NCDHW),
    OPGEN_FORMAT(DHWCN),
    OPGEN_FORMAT(NDC1HWC0),
    OPGEN_FORMAT(FRACTAL_Z_3D),
    OPGEN_FORMAT(CN),
    OPGEN_FORMAT(NC),
    OPGEN_FORMAT(DHWNC),
    OPGEN_FORMAT(FRACTAL_Z_3D_TRANSPOSE),
    OPGEN_FORMAT(FRACTAL_ZN_LSTM),
    OPGEN_FORMAT(FRACTAL_Z_G),
    OPGEN_FORMAT(RESERVED),
    OPGEN_FORMAT(ALL),
    OPGEN_FORMAT(NULL),
    OPGEN_FORMAT(ND_RNN_BIAS),
    OPGEN_FORMAT(FRACTAL_ZN_RNN),
    OPGEN_FORMAT(NCL),
    OPGEN_FORMAT(FRACTAL_Z_WINO),
    OPGEN_FORMAT(C1HWC0),
    OPGEN_FORMAT(FRACTAL_NZ_C0_16),
    OPGEN_FORMAT(FRACTAL_NZ_C0_32),
    OPGEN_FORMAT(FRACTAL_NZ_C0_2),
    OPGEN_FORMAT(FRACTAL_NZ_C0_4),
    OPGEN_FORMAT(FRACTAL_NZ_C0_8),
};
#undef OPGEN_FORMAT

const TypeRow *FindType(DataType type) {
    for (const TypeRow &row : kTypes) {
        if (row.type == type) {
            return &row;
        }
    }
    return nullptr;
}

const FormatRow *FindFormat(Format format) {
    const Format primary = static_cast<Format>(GetPrimaryFormat(format));
    for (const FormatRow &row : kFormats) {
        if (row.format == primary) {
            return &row;
        }
    }
    return nullptr;
}
}  // namespace

int GetSizeByDataType(DataType data_type) {
    const TypeRow *const row = FindType(data_type);
    return row == nullptr ? -1 : row->size;
}

int64_t GetSizeInBytes(int64_t element_count, DataType data_type) {
    const int size = GetSizeByDataType(data_type);
    int64_t total = 0;
    if (element_count < 0 || size < 0) {
        return -1;
    }
    if (size > kDataTypeSizeBitOffset) {
        if (__builtin_mul_overflow(element_count, int64_t{size - kDataTypeSizeBitOffset}, &total)) {
            return -1;
        }
        return total / 8 + (total % 8 != 0 ? 1 : 0);
    }
    return __builtin_mul_overflow(element_count, int64_t{size}, &total) ? -1 : total;
}

const char_t *GetFormatName(Format format) {
    const FormatRow *const row = FindFormat(format);
    return row == nullptr ? "UNDEFINED" : row->name;
}

std::string TypeUtils::DataTypeToSerialString(const DataType data_type) {
    const TypeRow *const row = FindType(data_type);
    return row == nullptr ? "UNDEFINED" : row->name;
}

DataType TypeUtils::SerialStringToDataType(const std::string &text) {
    for (const TypeRow &row : kTypes) {
        if (text == row.name) {
            return row.type;
        }
    }
    return DT_UNDEFINED;
}

std::string TypeUtils::FormatToSerialString(const Format format) {
    const FormatRow *const row = FindFormat(format);
    return row == nullptr ? "RESERVED" : row->name;
}

Format TypeUtils::SerialStringToFormat(const std::string &text) {
    for (const FormatRow &row : kFormats) {
        if (text == row.name) {
            return row.format;
        }
    }
    return FORMAT_RESERVED;
}

Format TypeUtils::DataFormatToFormat(const std::string &text) { return SerialStringToFormat(text); }

bool TypeUtils::GetDataTypeLength(const ge::DataType data_type, uint32_t &length) {
    const int size = GetSizeByDataType(data_type);
    if (size <= 0 || size > kDataTypeSizeBitOffset) {
        return false;
    }
    length = static_cast<uint32_t>(size);
    return true;
}

AscendString TypeUtils::DataTypeToAscendString(const DataType &data_type) {
    return DataTypeToSerialString(data_type).c_str();
}

DataType TypeUtils::AscendStringToDataType(const AscendString &text) {
    return SerialStringToDataType(text.GetString());
}

AscendString TypeUtils::FormatToAscendString(const Format &format) {
    return FormatToSerialString(format).c_str();
}

Format TypeUtils::AscendStringToFormat(const AscendString &text) {
    return SerialStringToFormat(text.GetString());
}

Format TypeUtils::DataFormatToFormat(const AscendString &text) {
    return SerialStringToFormat(text.GetString());
}
}  // namespace ge
