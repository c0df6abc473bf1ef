// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which APIs, data types and rounding modes arch 2002 (Ascend310P) has: api_arch.csv, taken from the
// product support lists and data type tables of the API pages.
#ifndef OPGEN_CORE_API_ARCH_H
#define OPGEN_CORE_API_ARCH_H

#include <string>

#include "ascendc_emu/record.h"

namespace ascendc_emu {

struct ApiFacts {
    bool on2002 = true;
    std::string types;  // space separated; of Cast: source>destination:MODE/MODE; empty: all
    std::string page;
};

// Null: the table does not know the API. Some names carry a path or form: "DataCopy L1>GM".
const ApiFacts* FindApi(const std::string& name);

// Why arch 2002 does not have this instruction, as a sentence; empty: it has. `page`: where it says so.
std::string MissingOn2002(const Record& record, std::string* page);

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_API_ARCH_H
