// SPDX-License-Identifier: Apache-2.0
// Contexts that unit tests of op_host build themselves (base/context_builder).
#include <deque>
#include <initializer_list>
#include <numeric>
#include <string>

#include "ascendc_emu/host_log.h"
#include "base/context_builder/op_context_builder_base.h"
#include "host/context_block.h"

namespace gert {
// What a context points to.
class ContextHolderImpl {
 public:
    std::string op_type, op_name;
    std::deque<std::vector<uint8_t>> attr_bytes;
    std::vector<const void *> attr_values;
    std::unique_ptr<RuntimeAttrs> attrs;
    std::vector<AnchorInstanceInfo> input_instances, output_instances;
    std::vector<CompileTimeTensorDesc> inputs, outputs;
    ComputeNodeInfo node;
    KernelExtendInfo extend;
    std::unique_ptr<ascendc_emu::ContextBlock> context;

    // What a builder makes for outputs.
    std::deque<Shape> shapes;
    std::deque<Range<Shape>> ranges;
    void *owned = nullptr;
    void (*deleter)(void *) = nullptr;

    ~ContextHolderImpl() {
        if (owned != nullptr && deleter != nullptr) {
            deleter(owned);
        }
    }
};

ContextHolderVoid::ContextHolderVoid() = default;
ContextHolderVoid::ContextHolderVoid(std::unique_ptr<ContextHolderImpl> impl)
    : impl_(std::move(impl)) {}
ContextHolderVoid::~ContextHolderVoid() = default;
ContextHolderVoid::ContextHolderVoid(ContextHolderVoid &&other) noexcept = default;
ContextHolderVoid &ContextHolderVoid::operator=(ContextHolderVoid &&other) noexcept = default;

void *ContextHolderVoid::GetContext() const {
    return impl_ == nullptr ? nullptr : impl_->context->As<void>();
}

namespace {
struct Description {
    ge::DataType dtype = ge::DT_UNDEFINED;
    ge::Format origin = ge::FORMAT_ND;
    ge::Format storage = ge::FORMAT_ND;
    ExpandDimsType expand;

    CompileTimeTensorDesc Desc() const {
        CompileTimeTensorDesc desc;
        desc.SetDataType(dtype);
        desc.SetOriginFormat(origin);
        desc.SetStorageFormat(storage);
        desc.SetExpandDimsType(expand);
        return desc;
    }
    void Take(const Tensor &tensor) {
        dtype = tensor.GetDataType();
        origin = tensor.GetOriginFormat();
        storage = tensor.GetStorageFormat();
        expand = tensor.GetExpandDimsType();
    }
};

template <typename T>
T &At(std::deque<T> &list, size_t index) {
    if (list.size() <= index) {
        list.resize(index + 1);
    }
    return list[index];
}

void *Mutable(const void *pointer) { return const_cast<void *>(pointer); }

// Flat start and count of each parameter.
std::vector<AnchorInstanceInfo> Instances(const std::vector<uint32_t> &counts) {
    std::vector<AnchorInstanceInfo> result;
    uint32_t start = 0;
    for (const uint32_t count : counts) {
        result.emplace_back(start, count);
        start += count;
    }
    return result;
}
}  // namespace

class ContextBuilderImpl {
 public:
    ContextBuilderImpl() : holder(new ContextHolderImpl) {}

    std::unique_ptr<ContextHolderImpl> holder;
    std::vector<uint32_t> input_counts, output_counts;
    std::deque<Description> inputs, outputs;  // grow while references to them are held
    std::vector<void *> input_values, output_values;
    const void *compile_info = nullptr;
    const void *platform_info = nullptr;
    const char *compiled_json = nullptr;
    const void *tiling_data = nullptr;
    const void *workspace = nullptr;
    int32_t deterministic = 0;
    int32_t deterministic_level = 0;

    static size_t Sum(const std::vector<uint32_t> &counts) {
        return std::accumulate(counts.begin(), counts.end(), size_t{0});
    }
    size_t InputCount() const { return Sum(input_counts); }
    size_t OutputCount() const { return Sum(output_counts); }

    void AddAttr(std::vector<uint8_t> bytes) { holder->attr_bytes.push_back(std::move(bytes)); }
    void TakeTensors(const std::vector<Tensor *> &tensors, std::deque<Description> &into,
                     std::vector<void *> &values) {
        values.clear();
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i] != nullptr) {
                At(into, i).Take(*tensors[i]);
            }
            values.push_back(tensors[i]);
        }
    }

    // Null with a logged reason when the op was not described.
    template <typename Context>
    ContextHolder<Context> Build(const char *what, const std::vector<void *> &input_slots,
                                 const std::vector<void *> &output_slots) {
        if (holder == nullptr || holder->op_type.empty() || holder->op_name.empty()) {
            OPGEN_HOST_LOG_AT(kError, "%s: OpType and OpName are needed, and it builds once", what);
            return ContextHolder<Context>();
        }
        ContextHolderImpl &h = *holder;
        for (const auto &bytes : h.attr_bytes) {
            h.attr_values.push_back(bytes.data());
        }
        h.attrs.reset(new RuntimeAttrs(h.attr_values.data(), h.attr_values.size()));
        h.input_instances = Instances(input_counts);
        h.output_instances = Instances(output_counts);
        for (size_t i = 0; i < InputCount(); ++i) {
            h.inputs.push_back(At(inputs, i).Desc());
        }
        for (size_t i = 0; i < OutputCount(); ++i) {
            h.outputs.push_back(At(outputs, i).Desc());
        }
        ComputeNodeInfo::Parts parts;
        parts.node_type = h.op_type.c_str();
        parts.node_name = h.op_name.c_str();
        parts.num_ir_inputs = input_counts.size();
        parts.num_ir_outputs = output_counts.size();
        parts.num_inputs = h.inputs.size();
        parts.num_outputs = h.outputs.size();
        parts.input_instances = h.input_instances.data();
        parts.output_instances = h.output_instances.data();
        parts.inputs = h.inputs.data();
        parts.outputs = h.outputs.data();
        parts.attrs = h.attrs.get();
        h.node = ComputeNodeInfo(parts);
        h.extend = {h.op_name.c_str(), h.op_type.c_str()};
        h.context.reset(
            new ascendc_emu::ContextBlock(input_slots, output_slots, &h.node, h.extend));
        return ContextHolder<Context>(ContextHolderVoid(std::move(holder)));
    }

    // The tensors of one side, null where fewer were given than there are.
    std::vector<void *> Padded(std::vector<void *> values, size_t count) const {
        values.resize(count, nullptr);
        return values;
    }
};

template <typename T>
OpContextBuilderBase<T>::OpContextBuilderBase() : impl_(new ContextBuilderImpl) {}
template <typename T>
OpContextBuilderBase<T>::~OpContextBuilderBase() = default;

template <typename T>
T &OpContextBuilderBase<T>::OpType(const ge::AscendString &op_type) {
    if (impl_->holder != nullptr && op_type.GetString() != nullptr) {
        impl_->holder->op_type = op_type.GetString();
    }
    return static_cast<T &>(*this);
}

template <typename T>
T &OpContextBuilderBase<T>::OpName(const ge::AscendString &op_name) {
    if (impl_->holder != nullptr && op_name.GetString() != nullptr) {
        impl_->holder->op_name = op_name.GetString();
    }
    return static_cast<T &>(*this);
}

template <typename T>
T &OpContextBuilderBase<T>::IONum(size_t input_ir_num, size_t output_ir_num) {
    impl_->input_counts.assign(input_ir_num, 1);
    impl_->output_counts.assign(output_ir_num, 1);
    return static_cast<T &>(*this);
}

template <typename T>
T &OpContextBuilderBase<T>::IOInstanceNum(const std::vector<uint32_t> &input_instance_num,
                                          const std::vector<uint32_t> &output_instance_num) {
    impl_->input_counts = input_instance_num;
    impl_->output_counts = output_instance_num;
    return static_cast<T &>(*this);
}

#define OPGEN_APPEND_ATTR(type, bytes)                       \
    template <typename T>                                    \
    T &OpContextBuilderBase<T>::AppendAttr(type attr) {      \
        if (impl_->holder != nullptr) impl_->AddAttr(bytes); \
        return static_cast<T &>(*this);                      \
    }
OPGEN_APPEND_ATTR(bool, ascendc_emu::Bytes(attr))
OPGEN_APPEND_ATTR(int64_t, ascendc_emu::Bytes(attr))
OPGEN_APPEND_ATTR(float, ascendc_emu::Bytes(attr))
OPGEN_APPEND_ATTR(const ge::AscendString &,
                  ascendc_emu::Bytes(std::string(attr.GetString() ? attr.GetString() : "")))
OPGEN_APPEND_ATTR(const std::vector<bool> &,
                  ascendc_emu::ListBytes(std::vector<uint8_t>(attr.begin(), attr.end())))
OPGEN_APPEND_ATTR(const std::vector<int64_t> &, ascendc_emu::ListBytes(attr))
OPGEN_APPEND_ATTR(const std::vector<float> &, ascendc_emu::ListBytes(attr))
OPGEN_APPEND_ATTR(const std::vector<std::vector<int64_t>> &, ascendc_emu::ListListBytes(attr))
#undef OPGEN_APPEND_ATTR

template <typename T>
T &OpContextBuilderBase<T>::AppendAttr(const std::vector<ge::AscendString> &attr) {
    std::vector<std::string> texts;
    for (const ge::AscendString &text : attr) {
        texts.emplace_back(text.GetString() ? text.GetString() : "");
    }
    if (impl_->holder != nullptr) impl_->AddAttr(ascendc_emu::ListTextBytes(texts));
    return static_cast<T &>(*this);
}

#define OPGEN_MUTABLE(name, type, list, field)                   \
    template <typename T>                                        \
    type &OpContextBuilderBase<T>::Mutable##name(size_t index) { \
        return At(impl_->list, index).field;                     \
    }
OPGEN_MUTABLE(InputDataType, ge::DataType, inputs, dtype)
OPGEN_MUTABLE(InputOriginalFormat, ge::Format, inputs, origin)
OPGEN_MUTABLE(InputStorageFormat, ge::Format, inputs, storage)
OPGEN_MUTABLE(InputExpandDimsType, ExpandDimsType, inputs, expand)
OPGEN_MUTABLE(OutputDataType, ge::DataType, outputs, dtype)
OPGEN_MUTABLE(OutputOriginalFormat, ge::Format, outputs, origin)
OPGEN_MUTABLE(OutputStorageFormat, ge::Format, outputs, storage)
OPGEN_MUTABLE(OutputExpandDimsType, ExpandDimsType, outputs, expand)
#undef OPGEN_MUTABLE

template <typename T>
T &OpContextBuilderBase<T>::Describe(bool input, size_t index, ge::DataType dtype,
                                     ge::Format origin_format, ge::Format storage_format,
                                     const ExpandDimsType &expand_dims_type) {
    Description &d = At(input ? impl_->inputs : impl_->outputs, index);
    d.dtype = dtype;
    d.origin = origin_format;
    d.storage = storage_format;
    d.expand = expand_dims_type;
    return static_cast<T &>(*this);
}

template class OpContextBuilderBase<OpTilingContextBuilder>;
template class OpContextBuilderBase<OpInferShapeContextBuilder>;
template class OpContextBuilderBase<OpInferShapeRangeContextBuilder>;
template class OpContextBuilderBase<OpInferDataTypeContextBuilder>;
template class OpContextBuilderBase<OpKernelContextBuilder>;
template class OpContextBuilderBase<OpTilingParseContextBuilder>;

// Setters that several builders share.
#define OPGEN_TENSOR_DESC(Builder, side, input)                                             \
    Builder &Builder::side##TensorDesc(size_t index, ge::DataType dtype, ge::Format origin, \
                                       ge::Format storage, const ExpandDimsType &expand) {  \
        return Describe(input, index, dtype, origin, storage, expand);                      \
    }
#define OPGEN_LIFE(Builder)       \
    Builder::Builder() = default; \
    Builder::~Builder() = default;

// ---- tiling --------------------------------------------------------------------------------------

OPGEN_LIFE(OpTilingContextBuilder)

OpTilingContextBuilder &OpTilingContextBuilder::CompileInfo(const void *compile_info) {
    impl_->compile_info = compile_info;
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::PlatformInfo(const void *platform_info) {
    impl_->platform_info = platform_info;
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::Deterministic(int32_t deterministic) {
    if (deterministic == 0 || deterministic == 1) {
        impl_->deterministic = deterministic;
    }
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::DeterministicLevel(int32_t deterministic_level) {
    if (deterministic_level >= 0 && deterministic_level <= 3) {
        impl_->deterministic_level = deterministic_level;
    }
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::TilingData(const gert::TilingData *tiling_data,
                                                           void (*deleter)(void *)) {
    impl_->tiling_data = tiling_data;
    if (impl_->holder != nullptr) {
        impl_->holder->owned = deleter == nullptr ? nullptr : Mutable(tiling_data);
        impl_->holder->deleter = deleter;
    }
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::TilingDataSize(size_t tiling_data_size) {
    return TilingData(reinterpret_cast<const gert::TilingData *>(
                          gert::TilingData::CreateCap(tiling_data_size).release()),
                      [](void *block) { delete[] static_cast<uint8_t *>(block); });
}

OpTilingContextBuilder &OpTilingContextBuilder::Workspace(const ContinuousVector *workspace) {
    impl_->workspace = workspace;
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::InputTensors(const std::vector<Tensor *> &inputs) {
    impl_->TakeTensors(inputs, impl_->inputs, impl_->input_values);
    return *this;
}

OpTilingContextBuilder &OpTilingContextBuilder::OutputTensors(
    const std::vector<Tensor *> &outputs) {
    impl_->TakeTensors(outputs, impl_->outputs, impl_->output_values);
    return *this;
}

ContextHolder<TilingContext> OpTilingContextBuilder::Build() {
    if (impl_->compile_info == nullptr || impl_->platform_info == nullptr) {
        OPGEN_HOST_LOG_AT(kError, "a tiling context needs %s",
                          impl_->compile_info == nullptr ? "CompileInfo" : "PlatformInfo");
        return ContextHolder<TilingContext>();
    }
    std::vector<void *> in = impl_->Padded(impl_->input_values, impl_->InputCount());
    const std::vector<void *> out = impl_->Padded(impl_->output_values, impl_->OutputCount());
    in.insert(in.end(), out.begin(), out.end());
    in.push_back(Mutable(impl_->compile_info));
    in.push_back(Mutable(impl_->platform_info));
    in.push_back(nullptr);
    in.push_back(ascendc_emu::InPlace(impl_->deterministic));
    in.push_back(ascendc_emu::InPlace(impl_->deterministic_level));
    std::vector<void *> results(TilingContext::kOutputNum, nullptr);
    results[TilingContext::kOutputTilingData] = Mutable(impl_->tiling_data);
    results[TilingContext::kOutputWorkspace] = Mutable(impl_->workspace);
    return impl_->Build<TilingContext>("a tiling context", in, results);
}

// ---- InferShape, InferShapeRange, InferDataType --------------------------------------------------

OPGEN_LIFE(OpInferShapeContextBuilder)
OPGEN_TENSOR_DESC(OpInferShapeContextBuilder, Output, false)

OpInferShapeContextBuilder &OpInferShapeContextBuilder::InputTensors(
    const std::vector<Tensor *> &inputs) {
    impl_->TakeTensors(inputs, impl_->inputs, impl_->input_values);
    return *this;
}

ContextHolder<InferShapeContext> OpInferShapeContextBuilder::Build() {
    std::vector<void *> out;
    for (size_t i = 0; impl_->holder != nullptr && i < impl_->OutputCount(); ++i) {
        impl_->holder->shapes.emplace_back();
        out.push_back(&impl_->holder->shapes.back());
    }
    std::vector<void *> in = impl_->Padded(impl_->input_values, impl_->InputCount());
    return impl_->Build<InferShapeContext>("a context for InferShape", in, out);
}

OPGEN_LIFE(OpInferShapeRangeContextBuilder)
OPGEN_TENSOR_DESC(OpInferShapeRangeContextBuilder, Output, false)

OpInferShapeRangeContextBuilder &OpInferShapeRangeContextBuilder::InputTensorsRange(
    const std::vector<Range<Tensor> *> &inputs) {
    impl_->input_values.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] != nullptr && inputs[i]->GetMin() != nullptr) {
            At(impl_->inputs, i).Take(*inputs[i]->GetMin());
        }
        impl_->input_values.push_back(inputs[i]);
    }
    return *this;
}

ContextHolder<InferShapeRangeContext> OpInferShapeRangeContextBuilder::Build() {
    std::vector<void *> out;
    for (size_t i = 0; impl_->holder != nullptr && i < impl_->OutputCount(); ++i) {
        std::deque<Shape> &shapes = impl_->holder->shapes;
        shapes.emplace_back();
        Shape *const smallest = &shapes.back();
        shapes.emplace_back();
        impl_->holder->ranges.emplace_back(smallest, &shapes.back());
        out.push_back(&impl_->holder->ranges.back());
    }
    std::vector<void *> in = impl_->Padded(impl_->input_values, impl_->InputCount());
    return impl_->Build<InferShapeRangeContext>("a context for InferShapeRange", in, out);
}

OPGEN_LIFE(OpInferDataTypeContextBuilder)
OPGEN_TENSOR_DESC(OpInferDataTypeContextBuilder, Input, true)

OpInferDataTypeContextBuilder &OpInferDataTypeContextBuilder::OutputTensorDesc(
    size_t index, ge::Format origin_format, ge::Format storage_format,
    const ExpandDimsType &expand_dims_type) {
    return Describe(false, index, ge::DT_UNDEFINED, origin_format, storage_format,
                    expand_dims_type);
}

ContextHolder<InferDataTypeContext> OpInferDataTypeContextBuilder::Build() {
    std::vector<void *> in;
    for (size_t i = 0; i < impl_->InputCount(); ++i) {
        in.push_back(ascendc_emu::InPlace(At(impl_->inputs, i).dtype));
    }
    std::vector<void *> out(impl_->OutputCount(), ascendc_emu::InPlace(ge::DT_UNDEFINED));
    return impl_->Build<InferDataTypeContext>("a context for InferDataType", in, out);
}

// ---- TilingParse and plain values ----------------------------------------------------------------

OPGEN_LIFE(OpTilingParseContextBuilder)
OPGEN_TENSOR_DESC(OpTilingParseContextBuilder, Input, true)
OPGEN_TENSOR_DESC(OpTilingParseContextBuilder, Output, false)

OpTilingParseContextBuilder &OpTilingParseContextBuilder::CompiledJson(
    const ge::char_t *compiled_json) {
    impl_->compiled_json = compiled_json;
    return *this;
}

OpTilingParseContextBuilder &OpTilingParseContextBuilder::CompiledInfo(const void *compile_info) {
    impl_->compile_info = compile_info;
    return *this;
}

OpTilingParseContextBuilder &OpTilingParseContextBuilder::PlatformInfo(const void *platform_info) {
    impl_->platform_info = platform_info;
    return *this;
}

ContextHolder<TilingParseContext> OpTilingParseContextBuilder::Build() {
    for (const auto &[pointer, name] : {std::make_pair(impl_->compile_info, "CompiledInfo"),
                                        std::make_pair(impl_->platform_info, "PlatformInfo")}) {
        if (pointer == nullptr) {
            OPGEN_HOST_LOG_AT(kError, "a context for TilingParse needs %s", name);
            return ContextHolder<TilingParseContext>();
        }
    }
    std::vector<void *> in = {Mutable(impl_->compiled_json), Mutable(impl_->platform_info)};
    std::vector<void *> out = {Mutable(impl_->compile_info)};
    return impl_->Build<TilingParseContext>("a context for TilingParse", in, out);
}

OPGEN_LIFE(OpKernelContextBuilder)
OPGEN_TENSOR_DESC(OpKernelContextBuilder, Input, true)
OPGEN_TENSOR_DESC(OpKernelContextBuilder, Output, false)

OpKernelContextBuilder &OpKernelContextBuilder::Inputs(std::vector<void *> inputs) {
    impl_->input_values = std::move(inputs);
    return *this;
}

OpKernelContextBuilder &OpKernelContextBuilder::Outputs(std::vector<void *> outputs) {
    impl_->output_values = std::move(outputs);
    return *this;
}

ContextHolder<KernelContext> OpKernelContextBuilder::Build() {
    return impl_->Build<KernelContext>("a kernel context", impl_->input_values,
                                       impl_->output_values);
}
}  // namespace gert
