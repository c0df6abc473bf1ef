// SPDX-License-Identifier: Apache-2.0
// ge::AscendString: an immutable shared string that crosses CANN's C++ ABI boundaries.
#ifndef OPGEN_EMULATION_GRAPH_ASCEND_STRING_H
#define OPGEN_EMULATION_GRAPH_ASCEND_STRING_H

#include <functional>
#include <memory>
#include <string>

#include "graph/types.h"

namespace ge {
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

#endif  // OPGEN_EMULATION_GRAPH_ASCEND_STRING_H
