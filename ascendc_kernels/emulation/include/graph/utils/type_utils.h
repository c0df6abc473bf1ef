// SPDX-License-Identifier: Apache-2.0
// Names of ge::DataType and ge::Format values.
#ifndef OPGEN_EMULATION_GRAPH_UTILS_TYPE_UTILS_H
#define OPGEN_EMULATION_GRAPH_UTILS_TYPE_UTILS_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "graph/ascend_string.h"
#include "graph/types.h"

namespace ge {
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

#endif  // OPGEN_EMULATION_GRAPH_UTILS_TYPE_UTILS_H
