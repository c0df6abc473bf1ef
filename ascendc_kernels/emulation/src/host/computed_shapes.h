// SPDX-License-Identifier: Apache-2.0
// Shapes that a kernel tells: outputs with OutputShapeDependOnCompute.
#ifndef OPGEN_HOST_COMPUTED_SHAPES_H
#define OPGEN_HOST_COMPUTED_SHAPES_H

#include <cstdint>
#include <vector>

#include "host/op_call.h"

namespace ascendc_emu {
// The one GM argument between outputs and workspace, whatever the number of such outputs: nine
// uint64 for each, in OpDef order - the rank and eight dims.
// (Kernel侧输出shape依赖计算, OutputShapeDependOnCompute)
class ComputedShapes {
 public:
    explicit ComputedShapes(const OpCall &call);

    bool empty() const { return slots_ == 0; }
    void *data() { return words_.data(); }
    // Rounded up to 32 bytes, as the device's allocation is.
    uint64_t bytes() const { return words_.size() * sizeof(uint64_t); }
    // Fills what opgen_exec_output_shapes documents; throws OpError.
    void Read(const OpCall &call, int64_t *shapes, int32_t *ranks) const;

 private:
    size_t slots_ = 0;
    std::vector<uint64_t> words_;
};
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_COMPUTED_SHAPES_H
