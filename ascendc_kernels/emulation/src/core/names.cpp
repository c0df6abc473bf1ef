// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/record.h"

namespace ascendc_emu {

const char* Name(Pipe p) {
    static const char* const names[] = {"S",   "V",    "M",    "MTE1", "MTE2", "MTE3",
                                        "ALL", "MTE4", "MTE5", "V2",   "FIX"};
    return static_cast<int>(p) < static_cast<int>(Pipe::kCount) ? names[static_cast<int>(p)] : "?";
}

const char* Name(Mem m) {
    static const char* const names[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    return static_cast<int>(m) < static_cast<int>(Mem::kCount) ? names[static_cast<int>(m)] : "?";
}

const char* Name(DType t) {
    static const char* const names[] = {
        "bytes", "float16", "bfloat16", "float32", "float64", "int4",   "int8", "uint8",
        "int16", "uint16",  "int32",    "uint32",  "int64",   "uint64", "bool", "float8"};
    return static_cast<int>(t) < static_cast<int>(DType::kCount) ? names[static_cast<int>(t)] : "?";
}

}  // namespace ascendc_emu
