// Checks of what an op is called with.
#ifndef ARGUMENT_CHECKS_H
#define ARGUMENT_CHECKS_H

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include "shapes.h"

namespace opgen_torch {

using namespace opgen_binding;
using OptionalTensor = std::optional<at::Tensor>;

// What shape rules read of a tensor. Absent optional inputs count as scalars, which broadcast to
// anything.
inline Sizes Shape(const at::Tensor& tensor) { return tensor.sizes().vec(); }
inline Sizes Shape(const OptionalTensor& tensor) {
    return tensor.has_value() ? tensor->sizes().vec() : Sizes();
}
inline Sizes Like(const at::Tensor& tensor) { return tensor.sizes().vec(); }
inline Sizes Like(const OptionalTensor& tensor) {
    OPGEN_CHECK(tensor.has_value(),
                "an output has the shape of an optional input that was not given");
    return tensor->sizes().vec();
}

inline void CheckRank(const char* op, const char* name, const OptionalTensor& tensor, int64_t least,
                      int64_t most) {
    if (tensor.has_value()) {
        TORCH_CHECK(tensor->dim() >= least && tensor->dim() <= most, op, ": '", name, "' has ",
                    tensor->dim(), " dims, expected ", least, " to ", most);
    }
}

inline void CheckShape(const char* op, const char* name, const OptionalTensor& tensor,
                       const Sizes& expected) {
    if (tensor.has_value()) {
        TORCH_CHECK(tensor->sizes().equals(expected), op, ": '", name, "' has shape ",
                    tensor->sizes(), ", expected ", Text(expected));
    }
}

// Optional inputs that are absent have no dtype.
using OptionalTensors = std::initializer_list<OptionalTensor>;

inline bool HaveDtypes(OptionalTensors tensors, std::initializer_list<at::ScalarType> dtypes) {
    return std::equal(tensors.begin(), tensors.end(), dtypes.begin(),
                      [](const OptionalTensor& tensor, at::ScalarType dtype) {
                          return tensor->scalar_type() == dtype;
                      });
}

// Of dtypes or values of attrs that the op does not take.
[[noreturn]] inline void RefuseCall(const char* op, OptionalTensors tensors, const char* accepted) {
    std::string given;
    for (const OptionalTensor& tensor : tensors) {
        given += given.empty() ? "" : ", ";
        given += tensor.has_value() ? c10::toString(tensor->scalar_type()) : "none";
    }
    TORCH_CHECK(false, op, ": no kernel for inputs of (", given,
                ") with these attrs; accepted dtypes: ", accepted);
}

}  // namespace opgen_torch

#endif  // ARGUMENT_CHECKS_H
