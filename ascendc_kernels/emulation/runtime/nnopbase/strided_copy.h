// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_NNOPBASE_STRIDED_COPY_H
#define OPGEN_NNOPBASE_STRIDED_COPY_H

#include <cstdint>
#include <vector>

namespace opgen_aclnn {

// Whether elements of this shape lie back to back in row-major order (dims of 1 may have any
// stride; an empty tensor is contiguous).
bool IsContiguous(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);

// Whether two index tuples may address the same element: such a view cannot be written.
bool MayOverlap(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);

// Copy between a strided view (strides in elements) and a contiguous buffer.
void GatherView(void* dense, const void* view, const std::vector<int64_t>& shape,
                const std::vector<int64_t>& strides, uint64_t element_bytes);
void ScatterView(void* view, const void* dense, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& strides, uint64_t element_bytes);

}  // namespace opgen_aclnn

#endif  // OPGEN_NNOPBASE_STRIDED_COPY_H
