// SPDX-License-Identifier: Apache-2.0
// gert::StorageShape: the shape the user sees and the shape in memory (equal for FORMAT_ND).
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H

#include <type_traits>

#include "exe_graph/runtime/shape.h"

namespace gert {
struct StorageShape {
 public:
    StorageShape() {}
    StorageShape(const std::initializer_list<int64_t> &origin_shape,
                 const std::initializer_list<int64_t> &storage_shape)
        : origin_(origin_shape), storage_(storage_shape) {}
    const Shape &GetOriginShape() const { return origin_; }
    const Shape &GetStorageShape() const { return storage_; }
    Shape &MutableOriginShape() { return origin_; }
    // CANN 9's name of GetStorageShape().
    const Shape &GetShape() const { return storage_; }
    Shape &MutableStorageShape() { return storage_; }
    bool operator==(const StorageShape &other) const {
        return origin_ == other.origin_ && storage_ == other.storage_;
    }
    bool operator!=(const StorageShape &other) const { return !(*this == other); }

 private:
    // First member: a pointer to a StorageShape is also read as a pointer to its origin shape.
    Shape origin_;
    Shape storage_;
};
static_assert(std::is_standard_layout<StorageShape>::value, "crosses library boundaries");
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H
