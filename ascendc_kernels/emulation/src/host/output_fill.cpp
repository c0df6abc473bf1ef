// SPDX-License-Identifier: Apache-2.0
#include "host/output_fill.h"

#include <cstring>

#include "ascendc_emu/types.h"

namespace ascendc_emu {
namespace {
template <typename T>
void Fill(void *data, int64_t count, T value) {
    for (int64_t i = 0; i < count; ++i) {
        std::memcpy(static_cast<uint8_t *>(data) + i * static_cast<int64_t>(sizeof(T)), &value,
                    sizeof(T));
    }
}

void FillOne(const OpgenTensor &tensor, int64_t count, double value) {
    switch (tensor.dtype) {
        case ge::DT_FLOAT:
            return Fill(tensor.data, count, static_cast<float>(value));
        case ge::DT_FLOAT16:
            return Fill(tensor.data, count, half(static_cast<float>(value)));
        case ge::DT_BF16:
            return Fill(tensor.data, count, bfloat16_t(static_cast<float>(value)));
        case ge::DT_DOUBLE:
            return Fill(tensor.data, count, value);
        case ge::DT_INT8:
            return Fill(tensor.data, count, static_cast<int8_t>(value));
        case ge::DT_UINT8:
            return Fill(tensor.data, count, static_cast<uint8_t>(value));
        case ge::DT_BOOL:
            return Fill(tensor.data, count, static_cast<uint8_t>(value != 0));
        case ge::DT_INT16:
            return Fill(tensor.data, count, static_cast<int16_t>(value));
        case ge::DT_UINT16:
            return Fill(tensor.data, count, static_cast<uint16_t>(value));
        case ge::DT_INT32:
            return Fill(tensor.data, count, static_cast<int32_t>(value));
        case ge::DT_UINT32:
            return Fill(tensor.data, count, static_cast<uint32_t>(value));
        case ge::DT_INT64:
            return Fill(tensor.data, count, static_cast<int64_t>(value));
        case ge::DT_UINT64:
            return Fill(tensor.data, count, static_cast<uint64_t>(value));
        default:
            throw OpError("InitValue: no conversion to ge::DataType " +
                          std::to_string(tensor.dtype));
    }
}
}  // namespace

void FillOutput(const OpCall::Param &param, double value) {
    for (size_t i = 0; i < param.tensors.size(); ++i) {
        int64_t count = 1;
        for (const int64_t dim : param.shapes[i]) {
            count *= dim;
        }
        FillOne(param.tensors[i], count, value);
    }
}
}  // namespace ascendc_emu
