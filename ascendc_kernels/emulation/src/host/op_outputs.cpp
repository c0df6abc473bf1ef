// SPDX-License-Identifier: Apache-2.0
// The outputs of a call: their shapes and dtypes as the op infers them, the values they are filled
// with, and the shapes that its kernel tells.
#include <algorithm>
#include <cstring>

#include "ascendc_emu/host_log.h"
#include "ascendc_emu/types.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "host/op_call.h"
#include "host/platform_instance.h"

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

constexpr size_t kSlotWords = 9;
constexpr size_t kMaxRank = 8;
constexpr size_t kWordsPerBlock = 4;  // 32 bytes
// Kernels set it to say that the dims are 64-bit, which all of this layout are.
constexpr uint64_t kWideFlag = 0x80000000U;
// No kernel means this as a rank: it was not written.
constexpr uint64_t kUnwritten = 0xfafafafafafafafaU;

int64_t Product(const int64_t *dims, size_t rank) {
    int64_t count = 1;
    for (size_t d = 0; d < rank; ++d) {
        count *= dims[d];
    }
    return count;
}
}  // namespace

size_t OpCall::OutputCount() const {
    return outputs_.empty() && entry_->def != nullptr ? entry_->def->outputs.size()
                                                      : output_tensors_.size();
}

void OpCall::AssumeOutputs() {
    if (!outputs_.empty() || entry_->def == nullptr || !output_descs_.empty()) {
        return;
    }
    const uint32_t count = static_cast<uint32_t>(entry_->def->outputs.size());
    for (uint32_t i = 0; i < count; ++i) {
        output_instances_.emplace_back(i, 1);
        output_descs_.emplace_back();
        output_descs_.back().SetDataType(ge::DT_UNDEFINED);
    }
    BuildNode();
}

std::vector<size_t> OpCall::ComputedShapes() const {
    std::vector<size_t> positions;
    for (size_t i = 0; entry_->def != nullptr && i < entry_->def->outputs.size(); ++i) {
        if (entry_->def->outputs[i].shape_depends_on_compute) {
            positions.push_back(i);
        }
    }
    return positions;
}

std::vector<gert::Shape> OpCall::InferShape() {
    std::vector<gert::Shape> shapes;
    if (entry_->infer_shape == nullptr) {
        throw OpError("op " + op_type_ + " has no InferShape");
    }
    AssumeOutputs();
    const size_t count = OutputCount();
    shapes.resize(std::max<size_t>(count, 1));
    std::vector<void *> in;
    std::vector<void *> out;
    for (gert::Tensor &tensor : input_tensors_) {
        in.push_back(&tensor);
    }
    for (gert::Shape &shape : shapes) {
        out.push_back(&shape);
    }
    ContextBlock block = Context(in, out);
    auto *const context = block.As<gert::InferShapeContext>();
    const PlatformScope scope(platform_);
    (void)TakeHostLog();
    const uint32_t status = CallOp("InferShape", [&] { return entry_->infer_shape(context); });
    const std::string log = TakeHostLog();
    if (status != ge::GRAPH_SUCCESS) {
        Fail("InferShape", status, log);
    }
    shapes.resize(count);
    return shapes;
}

std::vector<gert::Shape> OpCall::LargestShapes() {
    AssumeOutputs();
    std::vector<gert::Shape> shapes(OutputCount());
    bool known = entry_->infer_shape != nullptr;
    if (known) {
        shapes = InferShape();
        for (const gert::Shape &shape : shapes) {
            for (size_t d = 0; d < shape.GetDimNum(); ++d) {
                known = known && shape.GetDim(d) >= 0;
            }
        }
    }
    if (known || entry_->infer_shape_range == nullptr) {
        return shapes;
    }
    // A range of tensors starts like a range of shapes: functions read either from it.
    std::vector<gert::TensorRange> inputs;
    inputs.reserve(input_tensors_.size());
    std::vector<void *> in;
    for (gert::Tensor &tensor : input_tensors_) {
        inputs.emplace_back(&tensor);
        in.push_back(&inputs.back());
    }
    std::vector<gert::Shape> smallest(shapes.size());
    std::vector<gert::Range<gert::Shape>> outputs;
    outputs.reserve(shapes.size());
    std::vector<void *> out;
    for (size_t i = 0; i < shapes.size(); ++i) {
        outputs.emplace_back(&smallest[i], &shapes[i]);
        out.push_back(&outputs.back());
    }
    ContextBlock block = Context(in, out);
    auto *const context = block.As<gert::InferShapeRangeContext>();
    const PlatformScope scope(platform_);
    (void)TakeHostLog();
    const uint32_t status =
        CallOp("InferShapeRange", [&] { return entry_->infer_shape_range(context); });
    const std::string log = TakeHostLog();
    if (status != ge::GRAPH_SUCCESS) {
        Fail("InferShapeRange", status, log);
    }
    return shapes;
}

std::vector<ge::DataType> OpCall::InferDataType() {
    AssumeOutputs();
    const size_t count = OutputCount();
    std::vector<ge::DataType> in_types;
    for (const gert::CompileTimeTensorDesc &desc : input_descs_) {
        in_types.push_back(desc.GetDataType());
    }
    std::vector<ge::DataType> types(std::max<size_t>(count, 1), ge::DT_UNDEFINED);
    if (entry_->data_type_as_first_input && entry_->infer_data_type == nullptr) {
        std::fill(types.begin(), types.end(), in_types.empty() ? ge::DT_UNDEFINED : in_types[0]);
        types.resize(count);
        return types;
    }
    if (entry_->infer_data_type == nullptr) {
        throw OpError("op " + op_type_ + " has no InferDataType");
    }
    std::vector<void *> in;
    std::vector<void *> out;
    for (const ge::DataType type : in_types) {
        in.push_back(InPlace(type));
    }
    for (const ge::DataType type : types) {
        out.push_back(InPlace(type));
    }
    ContextBlock block = Context(in, out);
    auto *const context = block.As<gert::InferDataTypeContext>();
    (void)TakeHostLog();
    const uint32_t status =
        CallOp("InferDataType", [&] { return entry_->infer_data_type(context); });
    const std::string log = TakeHostLog();
    if (status != ge::GRAPH_SUCCESS) {
        Fail("InferDataType", status, log);
    }
    types.resize(count);
    for (size_t i = 0; i < count; ++i) {
        types[i] = context->GetOutputDataType(i);
    }
    return types;
}

void OpCall::CheckOutputs() {
    if (entry_->infer_shape == nullptr || outputs_.empty()) {
        return;
    }
    if (!ComputedShapes().empty()) {
        return;  // given are buffers that are large enough, not results
    }
    const std::vector<gert::Shape> want = InferShape();
    for (size_t i = 0; i < want.size(); ++i) {
        const gert::Shape &given = output_tensors_[i].GetOriginShape();
        // A scalar may be given as one element, as aclnn does.
        const bool one = given.GetShapeSize() == 1 && want[i].GetShapeSize() == 1 &&
                         given.GetDimNum() <= 1 && want[i].GetDimNum() <= 1;
        if (given != want[i] && !one) {
            size_t param = 0;
            while (param + 1 < output_instances_.size() &&
                   output_instances_[param + 1].GetInstanceStart() <= i) {
                ++param;
            }
            throw OpError(Describe() + ": output " + OutputName(param) + " is given as " +
                          ShapeText(given) + ", InferShape says " + ShapeText(want[i]));
        }
    }
}

void FillOutput(const OpCall::Param &param, double value) {
    for (size_t i = 0; i < param.tensors.size(); ++i) {
        int64_t count = 1;
        for (const int64_t dim : param.shapes[i]) {
            count *= dim;
        }
        FillOne(param.tensors[i], count, value);
    }
}

ComputedShapes::ComputedShapes(const OpCall &call) {
    for (const size_t position : call.ComputedShapes()) {
        slots_ += position < call.outputs().size() ? call.outputs()[position].tensors.size() : 0;
    }
    const size_t blocks = (slots_ * kSlotWords + kWordsPerBlock - 1) / kWordsPerBlock;
    words_.assign(blocks * kWordsPerBlock, kUnwritten);
}

void ComputedShapes::Read(const OpCall &call, int64_t *shapes, int32_t *ranks) const {
    const std::vector<size_t> marked = call.ComputedShapes();
    const uint64_t *word = words_.data();
    size_t place = 0;
    for (size_t i = 0; i < call.outputs().size(); ++i) {
        const bool computed = std::find(marked.begin(), marked.end(), i) != marked.end();
        for (const std::vector<int64_t> &buffer : call.outputs()[i].shapes) {
            int64_t *const dims = shapes + kMaxRank * place;
            int32_t &rank = ranks[place++];
            rank = -1;
            if (!computed) {
                continue;
            }
            const std::string what = call.Describe() + ": the kernel wrote ";
            const std::string name = " of output " + call.OutputName(i);
            if (word[0] == kUnwritten) {
                throw OpError(what + "no shape" + name);
            }
            const uint64_t given = word[0] & ~kWideFlag;
            if (given > kMaxRank) {
                throw OpError(what + "rank " + std::to_string(given) + " as shape" + name);
            }
            rank = static_cast<int32_t>(given);
            gert::Shape shape;
            for (size_t d = 0; d < given; ++d) {
                dims[d] = static_cast<int64_t>(word[1 + d]);
                shape.AppendDim(dims[d]);
            }
            const bool negative = std::any_of(dims, dims + given, [](int64_t d) { return d < 0; });
            if (negative || Product(dims, given) > Product(buffer.data(), buffer.size())) {
                throw OpError(what + "shape " + ShapeText(shape) + name + ", whose buffer has " +
                              std::to_string(Product(buffer.data(), buffer.size())) + " elements");
            }
            word += kSlotWords;
        }
    }
}
}  // namespace ascendc_emu
