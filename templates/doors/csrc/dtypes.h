// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Dtypes by the numbers of CANN, and the rows of an op's dtype table that a call fits.
#ifndef OPGEN_BINDING_DTYPES_H
#define OPGEN_BINDING_DTYPES_H

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "checks.h"

namespace opgen_binding __attribute__((visibility("hidden"))) {

    // Values are those of aclDataType; the dtypes a spec can use.
    enum class Dtype : int {
        kFloat32 = 0,
        kFloat16 = 1,
        kInt8 = 2,
        kInt32 = 3,
        kUint8 = 4,
        kInt16 = 6,
        kInt64 = 9,
        kFloat64 = 11,
        kBool = 12,
        kBfloat16 = 27,
        kUnknown = -1,
    };

    struct DtypeInfo {
        Dtype dtype;
        const char* name;  // torch's, as in the spec
        size_t bytes;
    };

    inline const DtypeInfo* FindDtype(Dtype dtype) {
        static const DtypeInfo table[] = {
            {Dtype::kFloat32, "float32", 4}, {Dtype::kFloat16, "float16", 2},
            {Dtype::kInt8, "int8", 1},       {Dtype::kInt32, "int32", 4},
            {Dtype::kUint8, "uint8", 1},     {Dtype::kInt16, "int16", 2},
            {Dtype::kInt64, "int64", 8},     {Dtype::kFloat64, "float64", 8},
            {Dtype::kBool, "bool", 1},       {Dtype::kBfloat16, "bfloat16", 2},
        };
        for (const DtypeInfo& info : table) {
            if (info.dtype == dtype) {
                return &info;
            }
        }
        return nullptr;
    }

    inline std::string DtypeName(Dtype dtype) {
        const DtypeInfo* info = FindDtype(dtype);
        return info != nullptr ? info->name : "a dtype without an aclDataType";
    }

    // The rows of an op's dtype table: one per combination, a column per input, then per output.
    // D is the framework's dtype, `name_of` its name.
    template <typename D>
    struct DtypeTable {
        const char* op;
        const std::vector<const char*>& names;  // of the columns
        size_t inputs;
        const std::vector<std::vector<D>>& rows;
        std::string (*name_of)(D);

        // The combination that the given inputs (absent ones match all) have, and, where the same
        // inputs allow several outputs, the dtype attrs.
        size_t Match(const std::vector<std::optional<D>>& given,
                     const std::vector<D>& dtype_attrs) const {
            std::optional<size_t> first;
            for (size_t row = 0; row < rows.size(); ++row) {
                if (!InputsMatch(given, row)) {
                    continue;
                }
                if (!first.has_value()) {
                    first = row;
                }
                if (OutputsMatch(row, dtype_attrs)) {
                    return row;
                }
            }
            if (first.has_value() && dtype_attrs.empty()) {
                return *first;
            }
            Fail(given, dtype_attrs);
        }

     private:
        bool InputsMatch(const std::vector<std::optional<D>>& given, size_t row) const {
            for (size_t i = 0; i < given.size(); ++i) {
                if (given[i].has_value() && *given[i] != rows[row][i]) {
                    return false;
                }
            }
            return true;
        }

        bool OutputsMatch(size_t row, const std::vector<D>& dtype_attrs) const {
            for (const D wanted : dtype_attrs) {
                bool some = false;
                for (size_t i = inputs; i < names.size(); ++i) {
                    some = some || rows[row][i] == wanted;
                }
                if (!some) {
                    return false;
                }
            }
            return true;
        }

        [[noreturn]] void Fail(const std::vector<std::optional<D>>& given,
                               const std::vector<D>& dtype_attrs) const {
            std::string text;
            for (size_t i = 0; i < given.size(); ++i) {
                text += (i == 0 ? "'" : ", '") + std::string(names[i]) + "' " +
                        (given[i].has_value() ? name_of(*given[i]) : "absent");
            }
            for (const D wanted : dtype_attrs) {
                text += ", output " + name_of(wanted);
            }
            std::string allowed;
            for (const auto& row : rows) {
                allowed += "\n  ";
                for (size_t i = 0; i < row.size(); ++i) {
                    allowed += (i == 0        ? ""
                                : i == inputs ? " -> "
                                              : ", ") +
                               std::string(names[i]) + " " + name_of(row[i]);
                }
            }
            OPGEN_CHECK(false, std::string(op) + ": unsupported dtypes " + text +
                                   "; allowed are:" + allowed);
            std::abort();  // not reached
        }
    };

}  // namespace opgen_binding

#endif  // OPGEN_BINDING_DTYPES_H
