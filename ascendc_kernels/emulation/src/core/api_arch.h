// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which APIs, data types and rounding modes an architecture has: api_arch.csv, taken from the
// product support lists and data type tables of the API pages. Architectures with a column
// `types_<arch>` there are checked.
#ifndef OPGEN_CORE_API_ARCH_H
#define OPGEN_CORE_API_ARCH_H

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "ascendc_emu/record.h"

namespace ascendc_emu {

struct ApiFacts {
    std::set<int32_t> archs;  // that have the API
    // By architecture, space separated; of Cast: source>destination:MODE/MODE; empty: all.
    std::map<int32_t, std::string> types;
    std::string page;
};

// Null: the table does not know the API. Some names carry a path or form: "DataCopy L1>GM".
const ApiFacts* FindApi(const std::string& name);

// Whether the architecture's list of types, which is not empty, has the type.
bool HasType(const ApiFacts& facts, int32_t arch, const std::string& type);

// Whether the table has the data types of an architecture's APIs.
bool ListsApisOf(int32_t arch);

// Why an architecture does not have this instruction, as a sentence; empty: it has. `page`: where
// it says so.
std::string MissingOn(int32_t arch, const Record& record, std::string* page);

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_API_ARCH_H
