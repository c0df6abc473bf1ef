// SPDX-License-Identifier: Apache-2.0
// Attribute values as the bytes that gert::RuntimeAttrs hands out.
#ifndef OPGEN_HOST_ATTR_BYTES_H
#define OPGEN_HOST_ATTR_BYTES_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "exe_graph/runtime/continuous_vector.h"

namespace ascendc_emu {
template <typename T>
std::vector<uint8_t> Bytes(T value) {
    std::vector<uint8_t> bytes(sizeof(T) < 8 ? 8 : sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

inline std::vector<uint8_t> Bytes(const std::string &text) {
    std::vector<uint8_t> bytes(text.begin(), text.end());
    bytes.push_back(0);
    return bytes;
}

template <typename T>
std::vector<uint8_t> ListBytes(const std::vector<T> &values) {
    std::vector<uint8_t> bytes(sizeof(gert::ContinuousVector) + values.size() * sizeof(T));
    auto *const vector = new (bytes.data()) gert::ContinuousVector();
    vector->Init(values.size());
    (void)vector->SetSize(values.size());
    if (!values.empty()) {
        std::memcpy(vector->MutableData(), values.data(), values.size() * sizeof(T));
    }
    return bytes;
}

inline std::vector<uint8_t> ListListBytes(const std::vector<std::vector<int64_t>> &values) {
    size_t size = gert::ContinuousVectorVector::GetOverHeadLength(values.size());
    for (const auto &inner : values) {
        size += sizeof(gert::ContinuousVector) + inner.size() * sizeof(int64_t) + 8;
    }
    std::vector<uint8_t> bytes(size);
    auto *const outer = new (bytes.data()) gert::ContinuousVectorVector();
    outer->Init(values.size());
    for (const auto &inner : values) {
        gert::ContinuousVector *const place = outer->Add<int64_t>(inner.size());
        if (!inner.empty()) {
            std::memcpy(place->MutableData(), inner.data(), inner.size() * sizeof(int64_t));
        }
    }
    return bytes;
}

// A list of texts: the texts one after the other, each with its end.
inline std::vector<uint8_t> ListTextBytes(const std::vector<std::string> &values) {
    size_t length = 0;
    for (const std::string &value : values) {
        length += value.size() + 1;
    }
    std::vector<uint8_t> bytes(sizeof(gert::ContinuousVector) + length);
    auto *const vector = new (bytes.data()) gert::ContinuousVector();
    vector->Init(values.size());
    (void)vector->SetSize(values.size());
    auto *place = static_cast<char *>(vector->MutableData());
    for (const std::string &value : values) {
        std::memcpy(place, value.c_str(), value.size() + 1);
        place += value.size() + 1;
    }
    return bytes;
}
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_ATTR_BYTES_H
