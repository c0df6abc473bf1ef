// SPDX-License-Identifier: Apache-2.0
// gert::StorageFormat: the format the user sees and the one in memory.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STORAGE_FORMAT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STORAGE_FORMAT_H

#include <memory>

#include "exe_graph/runtime/expand_dims_type.h"
#include "graph/types.h"

namespace gert {
struct StorageFormat {
 public:
    StorageFormat() : origin_(ge::FORMAT_ND), storage_(ge::FORMAT_ND) {}
    StorageFormat(const ge::Format origin_format, const ge::Format storage_format,
                  const ExpandDimsType &expand_dims_type)
        : origin_(origin_format), storage_(storage_format), expand_(expand_dims_type) {}
    ge::Format GetOriginFormat() const { return origin_; }
    void SetOriginFormat(const ge::Format format) { origin_ = format; }
    ge::Format GetStorageFormat() const { return storage_; }
    void SetStorageFormat(const ge::Format format) { storage_ = format; }
    ExpandDimsType GetExpandDimsType() const { return expand_; }
    void SetExpandDimsType(const ExpandDimsType &expand_dims_type) { expand_ = expand_dims_type; }
    ExpandDimsType &MutableExpandDimsType() { return expand_; }
    bool operator==(const StorageFormat &other) const {
        return origin_ == other.origin_ && storage_ == other.storage_ && expand_ == other.expand_;
    }
    bool operator!=(const StorageFormat &other) const { return !(*this == other); }

 private:
    ge::Format origin_;
    ge::Format storage_;
    ExpandDimsType expand_;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STORAGE_FORMAT_H
