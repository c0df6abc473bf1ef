// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The single-operator path (aclop). Operators of it need CANN's compiler; the three below are the
// ones torch_npu calls around PyTorch's dispatcher to manage memory (padding for collectives,
// copies between equal layouts), and are plain memory operations. All others fail by name.
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "state.h"

using opgen_runtime::Fail;

namespace {

size_t OutputBytes(const aclTensorDesc* desc) { return aclGetTensorDescSize(desc); }

// Fill(dims, value) -> y: y has y's shape, every element is value.
aclError RunFill(int num_inputs, const aclTensorDesc* const input_desc[],
                 const aclDataBuffer* const inputs[], const aclTensorDesc* output_desc,
                 aclDataBuffer* output) {
    if (num_inputs != 2) return Fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "Fill wants dims and value");
    size_t bytes = aclDataTypeSize(aclGetTensorDescType(output_desc));
    const void* value = aclGetDataBufferAddr(inputs[1]);
    auto* target = static_cast<char*>(aclGetDataBufferAddr(output));
    size_t total = OutputBytes(output_desc);
    if (aclGetTensorDescType(input_desc[1]) != aclGetTensorDescType(output_desc) || bytes == 0 ||
        value == nullptr || aclGetDataBufferSizeV2(inputs[1]) < bytes ||
        (target == nullptr && total != 0) || aclGetDataBufferSizeV2(output) < total) {
        return Fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                    "Fill: value and output differ in dtype, or a buffer is too small");
    }
    for (size_t at = 0; at < total; at += bytes) std::memcpy(target + at, value, bytes);
    return ACL_SUCCESS;
}

// PadV3(x, paddings, value) -> y, mode "constant": paddings holds (before, after) per dimension.
aclError RunPad(int num_inputs, const aclTensorDesc* const input_desc[],
                const aclDataBuffer* const inputs[], const aclTensorDesc* output_desc,
                aclDataBuffer* output, const aclopAttr* attr) {
    std::string mode = opgen_runtime::StringAttr(attr, "mode");
    size_t rank = aclGetTensorDescNumDims(output_desc);
    size_t bytes = aclDataTypeSize(aclGetTensorDescType(output_desc));
    if (num_inputs != 3 || (mode != "constant" && !mode.empty()) || rank == 0 || bytes == 0 ||
        aclGetTensorDescNumDims(input_desc[0]) != rank ||
        aclGetTensorDescType(input_desc[0]) != aclGetTensorDescType(output_desc) ||
        aclGetTensorDescType(input_desc[2]) != aclGetTensorDescType(output_desc) ||
        aclGetTensorDescElementCount(input_desc[1]) != 2 * rank) {
        return Fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                    "PadV3 is emulated in constant mode with one dtype only");
    }
    size_t width = aclDataTypeSize(aclGetTensorDescType(input_desc[1]));
    const auto* pads = static_cast<const char*>(aclGetDataBufferAddr(inputs[1]));
    std::vector<int64_t> shape(rank);
    std::vector<int64_t> stride(rank, 1);
    int64_t first = 0;
    int64_t out_stride = 1;
    for (size_t k = rank; k-- > 0;) {
        int64_t pad[2] = {0, 0};
        for (int side = 0; side < 2; ++side) {
            const char* at = pads + (2 * k + side) * width;
            if (width == 8) {
                std::memcpy(&pad[side], at, 8);
            } else {
                int32_t narrow = 0;
                std::memcpy(&narrow, at, 4);
                pad[side] = narrow;
            }
        }
        shape[k] = aclGetTensorDescDim(input_desc[0], k);
        if (pad[0] < 0 || pad[1] < 0 ||
            shape[k] + pad[0] + pad[1] != aclGetTensorDescDim(output_desc, k)) {
            return Fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "PadV3: paddings and shapes do not agree");
        }
        stride[k] = out_stride;
        first += pad[0] * out_stride;
        out_stride *= aclGetTensorDescDim(output_desc, k);
    }
    const aclTensorDesc* const fill_desc[] = {input_desc[1], input_desc[2]};
    const aclDataBuffer* const fill_inputs[] = {inputs[1], inputs[2]};
    if (aclError code = RunFill(2, fill_desc, fill_inputs, output_desc, output)) return code;
    const auto* from = static_cast<const char*>(aclGetDataBufferAddr(inputs[0]));
    auto* to = static_cast<char*>(aclGetDataBufferAddr(output));
    size_t count = aclGetTensorDescElementCount(input_desc[0]);
    if (aclGetDataBufferSizeV2(inputs[0]) < count * bytes) {
        return Fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "PadV3: the input buffer is too small");
    }
    size_t row = static_cast<size_t>(shape[rank - 1]);
    for (size_t begin = 0; row != 0 && begin < count; begin += row) {
        size_t rest = begin / row;
        int64_t target = first;
        for (size_t k = rank - 1; k-- > 0;) {
            target += static_cast<int64_t>(rest % shape[k]) * stride[k];
            rest /= shape[k];
        }
        std::memcpy(to + target * bytes, from + begin * bytes, row * bytes);
    }
    return ACL_SUCCESS;
}

// Identity(x) -> y, both dense, of one dtype, format and size.
aclError RunIdentity(int num_inputs, const aclTensorDesc* const input_desc[],
                     const aclDataBuffer* const inputs[], const aclTensorDesc* output_desc,
                     aclDataBuffer* output) {
    size_t total = OutputBytes(output_desc);
    if (num_inputs != 1 || OutputBytes(input_desc[0]) != total ||
        aclGetTensorDescType(input_desc[0]) != aclGetTensorDescType(output_desc) ||
        aclGetTensorDescFormat(input_desc[0]) != aclGetTensorDescFormat(output_desc) ||
        aclGetDataBufferSizeV2(inputs[0]) < total || aclGetDataBufferSizeV2(output) < total) {
        return Fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                    "Identity is emulated between tensors of one dtype, format and size only");
    }
    if (total != 0) {
        std::memmove(aclGetDataBufferAddr(output), aclGetDataBufferAddr(inputs[0]), total);
    }
    return ACL_SUCCESS;
}

}  // namespace

extern "C" aclError aclopCompileAndExecute(const char* type, int num_inputs,
                                           const aclTensorDesc* const input_desc[],
                                           const aclDataBuffer* const inputs[], int num_outputs,
                                           const aclTensorDesc* const output_desc[],
                                           aclDataBuffer* const outputs[], const aclopAttr* attr,
                                           aclopEngineType, aclopCompileType, const char*,
                                           aclrtStream) {
    std::string name = type != nullptr ? type : "(null)";
    if (num_outputs == 1 && name == "Fill") {
        return RunFill(num_inputs, input_desc, inputs, output_desc[0], outputs[0]);
    }
    if (num_outputs == 1 && name == "PadV3") {
        return RunPad(num_inputs, input_desc, inputs, output_desc[0], outputs[0], attr);
    }
    if (num_outputs == 1 && name == "Identity") {
        return RunIdentity(num_inputs, input_desc, inputs, output_desc[0], outputs[0]);
    }
    return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "operator %s is not emulated: it wants CANN's operator compiler "
                "(aclopCompileAndExecute)",
                name.c_str());
}
