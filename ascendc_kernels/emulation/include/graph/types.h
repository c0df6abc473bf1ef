// SPDX-License-Identifier: Apache-2.0
// Status codes, data types, formats and strings of graphs, with CANN's numeric values.
#ifndef OPGEN_EMULATION_GRAPH_TYPES_H
#define OPGEN_EMULATION_GRAPH_TYPES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#ifndef GE_FUNC_HOST_VISIBILITY
#define GE_FUNC_HOST_VISIBILITY
#endif
#ifndef GE_FUNC_DEV_VISIBILITY
#define GE_FUNC_DEV_VISIBILITY
#endif

#ifndef WEAK_SYMBOL
#define WEAK_SYMBOL __attribute__((weak))
#endif
#ifndef FORMAT_PRINTF
#define FORMAT_PRINTF(format_idx, first_arg) \
    __attribute__((format(printf, (format_idx), (first_arg))))
#endif

namespace ge {
// Status codes of graph and op-host functions, with CANN's values.
using graphStatus = uint32_t;
const graphStatus GRAPH_SUCCESS = 0U;
const graphStatus GRAPH_FAILED = 0xFFFFFFFFU;
const graphStatus GRAPH_NOT_CHANGED = 1343242304U;
const graphStatus GRAPH_INVALID_IR_DEF = 50331646U;
const graphStatus GRAPH_NODE_NEED_REPASS = 50331647U;
const graphStatus GRAPH_NODE_WITHOUT_CONST_INPUT = 50331648U;
const graphStatus GRAPH_PARAM_INVALID = 50331649U;
const graphStatus GRAPH_PARAM_OUT_OF_RANGE = 50331650U;
const graphStatus GRAPH_MEM_OPERATE_FAILED = 50331651U;
const graphStatus GRAPH_NULL_PTR = 50331652U;
const graphStatus GRAPH_ADD_OVERFLOW = 50331656U;
const graphStatus GRAPH_MUL_OVERFLOW = 50331657U;

using Status = uint32_t;
const Status SUCCESS = 0U;
const Status FAILED = 0xFFFFFFFFU;

using char_t = char;
using float32_t = float;
using float64_t = double;

// A dimension, and a shape of unknown rank, as InferShape sees them at graph-compile time.
static const int64_t UNKNOWN_DIM = -1;
static const int64_t UNKNOWN_DIM_NUM = -2;
static const std::vector<int64_t> UNKNOWN_SHAPE = {-1};
static const std::vector<int64_t> UNKNOWN_RANK = {-2};
static const std::vector<int64_t> DUMMY_SHAPE = {-3};
static const int64_t SHAPE_RANGE_LOWER_LIMIT = 0;

// Added to the bit count of a type smaller than one byte, see GetSizeByDataType.
static constexpr int32_t kDataTypeSizeBitOffset = 1000;

enum DataType {
    DT_FLOAT = 0,
    DT_FLOAT16 = 1,
    DT_INT8 = 2,
    DT_INT32 = 3,
    DT_UINT8 = 4,
    DT_INT16 = 6,
    DT_UINT16 = 7,
    DT_UINT32 = 8,
    DT_INT64 = 9,
    DT_UINT64 = 10,
    DT_DOUBLE = 11,
    DT_BOOL = 12,
    DT_STRING = 13,
    DT_DUAL_SUB_INT8 = 14,
    DT_DUAL_SUB_UINT8 = 15,
    DT_COMPLEX64 = 16,
    DT_COMPLEX128 = 17,
    DT_QINT8 = 18,
    DT_QINT16 = 19,
    DT_QINT32 = 20,
    DT_QUINT8 = 21,
    DT_QUINT16 = 22,
    DT_RESOURCE = 23,
    DT_STRING_REF = 24,
    DT_DUAL = 25,
    DT_VARIANT = 26,
    DT_BF16 = 27,
    DT_UNDEFINED = 28,
    DT_INT4 = 29,
    DT_UINT1 = 30,
    DT_INT2 = 31,
    DT_UINT2 = 32,
    DT_COMPLEX32 = 33,
    DT_HIFLOAT8 = 34,
    DT_FLOAT8_E5M2 = 35,
    DT_FLOAT8_E4M3FN = 36,
    DT_FLOAT8_E8M0 = 37,
    DT_FLOAT6_E3M2 = 38,
    DT_FLOAT6_E2M3 = 39,
    DT_FLOAT4_E2M1 = 40,
    DT_FLOAT4_E1M2 = 41,
    DT_MAX = 42
};

// Bytes of one element; 1000 + bits for sub-byte types; -1 when the type has no fixed size.
int GetSizeByDataType(DataType data_type);

// Bytes that `element_count` elements take (sub-byte types rounded up); -1 when unknown.
int64_t GetSizeInBytes(int64_t element_count, DataType data_type);

enum Format {
    FORMAT_NCHW = 0,
    FORMAT_NHWC = 1,
    FORMAT_ND = 2,
    FORMAT_NC1HWC0 = 3,
    FORMAT_FRACTAL_Z = 4,
    FORMAT_NC1C0HWPAD = 5,
    FORMAT_NHWC1C0 = 6,
    FORMAT_FSR_NCHW = 7,
    FORMAT_FRACTAL_DECONV = 8,
    FORMAT_C1HWNC0 = 9,
    FORMAT_FRACTAL_DECONV_TRANSPOSE = 10,
    FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS = 11,
    FORMAT_NC1HWC0_C04 = 12,
    FORMAT_FRACTAL_Z_C04 = 13,
    FORMAT_CHWN = 14,
    FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS = 15,
    FORMAT_HWCN = 16,
    FORMAT_NC1KHKWHWC0 = 17,
    FORMAT_BN_WEIGHT = 18,
    FORMAT_FILTER_HWCK = 19,
    FORMAT_HASHTABLE_LOOKUP_LOOKUPS = 20,
    FORMAT_HASHTABLE_LOOKUP_KEYS = 21,
    FORMAT_HASHTABLE_LOOKUP_VALUE = 22,
    FORMAT_HASHTABLE_LOOKUP_OUTPUT = 23,
    FORMAT_HASHTABLE_LOOKUP_HITS = 24,
    FORMAT_C1HWNCoC0 = 25,
    FORMAT_MD = 26,
    FORMAT_NDHWC = 27,
    FORMAT_FRACTAL_ZZ = 28,
    FORMAT_FRACTAL_NZ = 29,
    FORMAT_NCDHW = 30,
    FORMAT_DHWCN = 31,
    FORMAT_NDC1HWC0 = 32,
    FORMAT_FRACTAL_Z_3D = 33,
    FORMAT_CN = 34,
    FORMAT_NC = 35,
    FORMAT_DHWNC = 36,
    FORMAT_FRACTAL_Z_3D_TRANSPOSE = 37,
    FORMAT_FRACTAL_ZN_LSTM = 38,
    FORMAT_FRACTAL_Z_G = 39,
    FORMAT_RESERVED = 40,
    FORMAT_ALL = 41,
    FORMAT_NULL = 42,
    FORMAT_ND_RNN_BIAS = 43,
    FORMAT_FRACTAL_ZN_RNN = 44,
    FORMAT_NYUV = 45,
    FORMAT_NYUV_A = 46,
    FORMAT_NCL = 47,
    FORMAT_FRACTAL_Z_WINO = 48,
    FORMAT_C1HWC0 = 49,
    FORMAT_FRACTAL_NZ_C0_16 = 50,
    FORMAT_FRACTAL_NZ_C0_32 = 51,
    FORMAT_FRACTAL_NZ_C0_2 = 52,
    FORMAT_FRACTAL_NZ_C0_4 = 53,
    FORMAT_FRACTAL_NZ_C0_8 = 54,
    FORMAT_END = 55,
    FORMAT_MAX = 0xff
};

// A format word packs the primary format (8 bits), a sub format (16) and log2(C0) + 1 (4).
inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xff; }
inline int32_t GetSubFormat(int32_t format) { return (format >> 8) & 0xffff; }
inline int32_t GetC0Format(int32_t format) { return (format >> 24) & 0xf; }
inline bool HasSubFormat(int32_t format) { return GetSubFormat(format) != 0; }
inline bool HasC0Format(int32_t format) { return GetC0Format(format) != 0; }
inline int64_t GetC0Value(int32_t format) {
    return HasC0Format(format) ? int64_t{1} << (GetC0Format(format) - 1) : -1;
}
inline int32_t GetFormatFromSub(int32_t primary_format, int32_t sub_format) {
    return (primary_format & 0xff) | ((sub_format & 0xffff) << 8);
}
inline int32_t GetFormatFromC0(int32_t format, int32_t c0_format) {
    return (format & 0xffffff) | ((c0_format & 0xf) << 24);
}
inline int32_t GetFormatFromSubAndC0(int32_t primary_format, int32_t sub_format, int32_t c0) {
    return GetFormatFromC0(GetFormatFromSub(primary_format, sub_format), c0);
}

// Name of a format ("ND"); "UNDEFINED" for a value that is none.
const char_t *GetFormatName(Format format);

enum Placement { kPlacementHost = 0, kPlacementDevice = 1, kPlacementEnd };
enum DeviceType { NPU = 0, CPU = 1 };

// ge::AscendString: an immutable shared string that crosses CANN's C++ ABI boundaries.
class AscendString {
 public:
    AscendString() = default;
    AscendString(const char_t *text) {  // implicit, as in CANN
        if (text != nullptr) {
            text_ = std::make_shared<std::string>(text);
        }
    }
    AscendString(const char_t *text, size_t length) {
        if (text != nullptr) {
            text_ = std::make_shared<std::string>(text, length);
        }
    }

    // Never null: an empty AscendString gives "".
    const char_t *GetString() const { return text_ ? text_->c_str() : ""; }
    size_t GetLength() const { return text_ ? text_->size() : 0U; }
    size_t Find(const AscendString &part) const {
        return std::string(GetString()).find(part.GetString());
    }
    size_t Hash() const { return std::hash<std::string>()(GetString()); }
    bool operator<(const AscendString &other) const { return Compare(other) < 0; }
    bool operator>(const AscendString &other) const { return Compare(other) > 0; }
    bool operator<=(const AscendString &other) const { return Compare(other) <= 0; }
    bool operator>=(const AscendString &other) const { return Compare(other) >= 0; }
    bool operator==(const AscendString &other) const { return Compare(other) == 0; }
    bool operator!=(const AscendString &other) const { return Compare(other) != 0; }
    bool operator==(const char_t *other) const { return *this == AscendString(other); }
    bool operator!=(const char_t *other) const { return !(*this == other); }

 private:
    int Compare(const AscendString &other) const {
        return std::string(GetString()).compare(other.GetString());
    }

    std::shared_ptr<std::string> text_;
};
}  // namespace ge

namespace std {
template <>
struct hash<ge::AscendString> {
    size_t operator()(const ge::AscendString &text) const { return text.Hash(); }
};
}  // namespace std

namespace ge {
// Names of ge::DataType and ge::Format values.
class TypeUtils {
 public:
    // "DT_FLOAT16" and back; an unknown value gives "UNDEFINED" / DT_UNDEFINED.
    static std::string DataTypeToSerialString(const DataType data_type);
    static DataType SerialStringToDataType(const std::string &text);
    // "ND" and back; an unknown value gives "RESERVED" / FORMAT_RESERVED.
    static std::string FormatToSerialString(const Format format);
    static Format SerialStringToFormat(const std::string &text);
    static Format DataFormatToFormat(const std::string &text);
    // Bytes of one element; false when the type has no fixed size.
    static bool GetDataTypeLength(const ge::DataType data_type, uint32_t &length);

    static AscendString DataTypeToAscendString(const DataType &data_type);
    static DataType AscendStringToDataType(const AscendString &text);
    static AscendString FormatToAscendString(const Format &format);
    static Format AscendStringToFormat(const AscendString &text);
    static Format DataFormatToFormat(const AscendString &text);
};
}  // namespace ge

#endif  // OPGEN_EMULATION_GRAPH_TYPES_H
