// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The body of every generated aclnn function: aclTensors -> OpgenCall -> opgen_prepare, and back.
#include "aclnn/opgen_call.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "ascendc_emu/op_runtime.h"
#include "objects.h"
#include "package.h"
#include "strided_copy.h"

namespace opgen_aclnn {
namespace {

using opgen_nnopbase::ElementBytes;
using opgen_nnopbase::Fail;

constexpr int kMaxRank = 8;

const char* DtypeName(int32_t dtype) {
    switch (dtype) {
        case ACL_FLOAT:
            return "float32";
        case ACL_FLOAT16:
            return "float16";
        case ACL_BF16:
            return "bfloat16";
        case ACL_INT8:
            return "int8";
        case ACL_INT16:
            return "int16";
        case ACL_INT32:
            return "int32";
        case ACL_INT64:
            return "int64";
        case ACL_UINT8:
            return "uint8";
        case ACL_BOOL:
            return "bool";
        case ACL_DOUBLE:
            return "float64";
        default:
            return "another dtype";
    }
}

std::string ShapeText(const int64_t* dims, size_t rank) {
    std::string text = "[";
    for (size_t i = 0; i < rank; ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
    }
    return text + "]";
}

int64_t NumElements(const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t dim : shape) {
        count *= dim;
    }
    return count;
}

// One tensor of the call: where the user's data is, and the dense copy the kernel sees instead
// when the view is strided.
struct Slot {
    const aclTensor* source = nullptr;  // identity only; dead after phase 1
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    int64_t offset = 0;
    int32_t dtype = -1;
    int32_t format = 2;
    int64_t behind = 0;  // bytes of the storage behind the view
    char* data = nullptr;
    std::shared_ptr<std::vector<uint64_t>> dense;  // 8-byte words keep any dtype aligned
    char* dense_data = nullptr;

    char* First() const { return data == nullptr ? nullptr : data + offset * Bytes(); }
    int64_t Bytes() const { return static_cast<int64_t>(ElementBytes(dtype)); }
    void* KernelData() const { return dense ? dense_data : First(); }
};

struct Parameter {
    const char* name;
    bool is_list = false;
    std::vector<Slot> slots;
    std::vector<OpgenTensor> tensors;
};

}  // namespace

class CallExecutor : public aclOpExecutor {
 public:
    CallExecutor(const char* type, const char* api_name) : aclOpExecutor(api_name), op_type(type) {
        constexpr size_t kUsual = 4;
        inputs.reserve(kUsual);
        outputs.reserve(kUsual);
    }

    ~CallExecutor() override {
        if (exec_ != nullptr) {
            opgen_exec_free(exec_);
        }
    }

    size_t NumInputs() const override { return inputs.size(); }
    uint64_t WorkspaceSize() const override { return workspace_size_; }

    aclnnStatus SetAddress(bool output, size_t index, size_t relative, void* data) override {
        std::vector<Parameter>& parameters = output ? outputs : inputs;
        if (index >= parameters.size() || relative >= parameters[index].slots.size()) {
            return Fail(ACLNN_ERR_PARAM_INVALID, "%s has no %s %zu, tensor %zu", api.c_str(),
                        output ? "output" : "input", index, relative);
        }
        parameters[index].slots[relative].data = static_cast<char*>(data);
        stale_ = true;
        return ACLNN_SUCCESS;
    }

    aclnnStatus Run(void* workspace) override {
        const PackageScope scope;
        if (stale_) {
            const aclnnStatus status = PrepareCall();
            if (status != ACLNN_SUCCESS) {
                return status;
            }
        }
        for (Parameter& parameter : inputs) {
            for (Slot& slot : parameter.slots) {
                if (slot.dense) {
                    GatherView(slot.dense_data, slot.First(), slot.shape, slot.strides,
                               slot.Bytes());
                }
            }
        }
        if (opgen_launch(exec_, workspace) != 0) {
            return Fail(ACLNN_ERR_INNER, "%s: %s", api.c_str(), opgen_last_error());
        }
        for (Parameter& parameter : outputs) {
            for (Slot& slot : parameter.slots) {
                if (slot.dense) {
                    ScatterView(slot.First(), slot.dense_data, slot.shape, slot.strides,
                                slot.Bytes());
                }
            }
        }
        return ACLNN_SUCCESS;
    }

    void Reject(aclnnStatus status, std::string text) {
        if (problem.empty()) {
            problem_status = status;
            problem = std::move(text);
        }
    }

    void AddTensor(Parameter* parameter, const aclTensor* tensor, bool output) {
        const auto what = [&] {
            return std::string(output ? "output '" : "input '") + parameter->name + "'";
        };
        if (tensor == nullptr) {
            return Reject(ACLNN_ERR_PARAM_NULLPTR, what() + " is null");
        }
        if (tensor->tag != opgen_nnopbase::kTensorTag) {
            return Reject(ACLNN_ERR_PARAM_INVALID,
                          what() + " is not a live aclTensor of this opgen runtime");
        }
        if (tensor->shape.size() > kMaxRank) {
            return Reject(ACLNN_ERR_PARAM_INVALID, what() + " has rank " +
                                                       std::to_string(tensor->shape.size()) +
                                                       ", at most 8 is supported");
        }
        if (ElementBytes(tensor->dtype) == 0) {
            return Reject(ACLNN_ERR_PARAM_INVALID, what() + " has an unsupported dtype");
        }
        Slot slot;
        slot.source = tensor;
        slot.shape = tensor->shape;
        slot.strides = tensor->strides;
        slot.offset = tensor->offset;
        slot.dtype = tensor->dtype;
        slot.format = tensor->format;
        slot.data = static_cast<char*>(tensor->data);
        const int64_t count = NumElements(slot.shape);
        if (slot.data == nullptr && count > 0) {
            return Reject(ACLNN_ERR_PARAM_NULLPTR, what() + " has no data");
        }
        if (!IsContiguous(slot.shape, slot.strides)) {
            if (output && MayOverlap(slot.shape, slot.strides)) {
                return Reject(ACLNN_ERR_PARAM_INVALID,
                              what() + " has overlapping elements: shape " +
                                  ShapeText(slot.shape.data(), slot.shape.size()) + ", strides " +
                                  ShapeText(slot.strides.data(), slot.strides.size()));
            }
            try {
                UseDenseCopy(&slot, count * slot.Bytes());
            } catch (const std::bad_alloc&) {
                return Reject(
                    ACLNN_ERR_RUNTIME_ERROR,
                    what() + " is not contiguous, and the host has no memory left for a copy of " +
                        std::to_string(count * slot.Bytes()) + " bytes");
            }
        }
        if (!tensor->storage.empty()) {
            const int64_t left = NumElements(tensor->storage) - slot.offset - count;
            slot.behind = std::max<int64_t>(0, left) * slot.Bytes();
        }
        parameter->slots.push_back(std::move(slot));
    }

    aclnnStatus CheckDtypes(const int32_t* table, size_t rows) {
        const size_t columns = inputs.size() + outputs.size();
        std::vector<const Parameter*> parameters;
        for (const Parameter& p : inputs) {
            parameters.push_back(&p);
        }
        for (const Parameter& p : outputs) {
            parameters.push_back(&p);
        }
        for (size_t row = 0; row < rows; ++row) {
            bool match = true;
            for (size_t i = 0; i < columns && match; ++i) {
                for (const Slot& slot : parameters[i]->slots) {
                    match = match && slot.dtype == table[row * columns + i];
                }
            }
            if (match) {
                return ACLNN_SUCCESS;
            }
        }
        std::string given;
        std::string allowed;
        for (size_t i = 0; i < columns; ++i) {
            given += std::string(i == 0 ? "" : ", ") + parameters[i]->name + " " +
                     (parameters[i]->slots.empty() ? "absent"
                                                   : DtypeName(parameters[i]->slots[0].dtype));
        }
        for (size_t row = 0; row < rows; ++row) {
            allowed += row == 0 ? "(" : ", (";
            for (size_t i = 0; i < columns; ++i) {
                allowed += std::string(i == 0 ? "" : ", ") + DtypeName(table[row * columns + i]);
            }
            allowed += ")";
        }
        return Fail(ACLNN_ERR_PARAM_INVALID, "%s: dtypes %s are not supported; supported: %s",
                    api.c_str(), given.c_str(), allowed.c_str());
    }

    // InferShape against the given outputs, where every output is a single tensor.
    aclnnStatus CheckShapes() {
        for (const Parameter& parameter : outputs) {
            if (parameter.is_list) {
                return ACLNN_SUCCESS;  // opgen_prepare checks lists
            }
        }
        BuildCall();
        std::vector<int64_t> shapes(outputs.size() * kMaxRank);
        std::vector<int32_t> ranks(outputs.size());
        std::vector<int32_t> dtypes(outputs.size());
        if (opgen_infer(&call_, shapes.data(), ranks.data(), dtypes.data()) != 0) {
            return Fail(ACLNN_ERR_PARAM_INVALID, "%s: %s", api.c_str(), opgen_last_error());
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i].slots.empty() || ranks[i] < 0) {
                continue;
            }
            const std::vector<int64_t>& given = outputs[i].slots[0].shape;
            const int64_t* wanted = shapes.data() + i * kMaxRank;
            if (static_cast<size_t>(ranks[i]) != given.size() ||
                !std::equal(given.begin(), given.end(), wanted)) {
                return Fail(ACLNN_ERR_PARAM_INVALID, "%s: output '%s' has shape %s, expected %s",
                            api.c_str(), outputs[i].name,
                            ShapeText(given.data(), given.size()).c_str(),
                            ShapeText(wanted, ranks[i]).c_str());
            }
        }
        return ACLNN_SUCCESS;
    }

    // Takes the tiling of a call like this one, if there was one; false if there was none.
    bool Recall() {
        BuildCall();
        if (opgen_recall(&call_, &exec_, &workspace_size_) != 0) {
            exec_ = nullptr;
        }
        return exec_ != nullptr;
    }

    void Remember() { opgen_remember(exec_); }

    aclnnStatus PrepareCall() {
        BuildCall();
        if (exec_ != nullptr) {
            opgen_exec_free(exec_);
            exec_ = nullptr;
        }
        if (opgen_prepare(&call_, &exec_, &workspace_size_) != 0) {
            exec_ = nullptr;
            return Fail(ACLNN_ERR_INNER_TILING_ERROR, "%s: %s", api.c_str(), opgen_last_error());
        }
        stale_ = false;
        return ACLNN_SUCCESS;
    }

    const char* const op_type;
    std::vector<Parameter> inputs;
    std::vector<Parameter> outputs;
    std::vector<OpgenAttr> attrs;
    std::deque<std::string> strings;
    std::deque<std::vector<int64_t>> int_lists;
    std::deque<std::vector<float>> float_lists;
    const int32_t* dtype_table = nullptr;
    size_t dtype_rows = 0;
    aclnnStatus problem_status = ACLNN_SUCCESS;
    std::string problem;

 private:
    // An in-place parameter comes as input and as output: both must see one buffer.
    void UseDenseCopy(Slot* slot, int64_t bytes) {
        for (Parameter& parameter : inputs) {
            for (Slot& other : parameter.slots) {
                if (other.source == slot->source && other.dense) {
                    slot->dense = other.dense;
                    slot->dense_data = other.dense_data;
                    return;
                }
            }
        }
        // NPU allocations are 512-byte aligned; keep that for the kernel.
        slot->dense = std::make_shared<std::vector<uint64_t>>((bytes + 512 + 7) / 8);
        const uintptr_t address = reinterpret_cast<uintptr_t>(slot->dense->data());
        slot->dense_data = reinterpret_cast<char*>((address + 511) / 512 * 512);
    }

    static void Fill(std::vector<Parameter>* from, std::vector<OpgenParam>* to) {
        to->clear();
        to->reserve(from->size());
        for (Parameter& parameter : *from) {
            parameter.tensors.clear();
            parameter.tensors.reserve(parameter.slots.size());
            for (const Slot& slot : parameter.slots) {
                parameter.tensors.push_back(
                    {slot.KernelData(), slot.dtype, slot.format,
                     static_cast<int32_t>(slot.shape.size()), slot.shape.data(),
                     slot.dense ? 0 : static_cast<uint64_t>(slot.behind), 0});
            }
            to->push_back({parameter.is_list ? 1 : 0,
                           static_cast<int32_t>(parameter.tensors.size()),
                           parameter.tensors.data()});
        }
    }

    void BuildCall() {
        Fill(&inputs, &call_inputs_);
        Fill(&outputs, &call_outputs_);
        call_ = OpgenCall{};
        call_.op_type = op_type;
        call_.num_inputs = static_cast<int32_t>(call_inputs_.size());
        call_.inputs = call_inputs_.data();
        call_.num_outputs = static_cast<int32_t>(call_outputs_.size());
        call_.outputs = call_outputs_.data();
        call_.num_attrs = static_cast<int32_t>(attrs.size());
        call_.attrs = attrs.data();
    }

    std::vector<OpgenParam> call_inputs_;
    std::vector<OpgenParam> call_outputs_;
    OpgenCall call_ = {};
    OpgenExec* exec_ = nullptr;
    uint64_t workspace_size_ = 0;
    bool stale_ = false;
};

namespace {

void AddParameter(CallExecutor* state, const char* name, const aclTensor* tensor, bool output) {
    Parameter parameter;
    parameter.name = name;
    state->AddTensor(&parameter, tensor, output);
    (output ? state->outputs : state->inputs).push_back(std::move(parameter));
}

void AddParameter(CallExecutor* state, const char* name, const aclTensorList* list, bool output) {
    Parameter parameter;
    parameter.name = name;
    parameter.is_list = true;
    if (!opgen_nnopbase::Valid(list, opgen_nnopbase::kTensorListTag)) {
        state->Reject(ACLNN_ERR_PARAM_NULLPTR, std::string(output ? "output" : "input") +
                                                   " list '" + name +
                                                   "' is null or not a live aclTensorList");
    } else {
        for (const aclTensor* tensor : list->tensors) {
            state->AddTensor(&parameter, tensor, output);
        }
    }
    (output ? state->outputs : state->inputs).push_back(std::move(parameter));
}

OpgenAttr NewAttr(const char* name, OpgenAttrKind kind) {
    OpgenAttr attr = {};
    attr.name = name;
    attr.kind = kind;
    return attr;
}

}  // namespace

Call::Call(const char* op_type, const char* api) : state_(new CallExecutor(op_type, api)) {}

Call::~Call() = default;

Call& Call::Input(const char* name, const aclTensor* tensor) {
    AddParameter(state_.get(), name, tensor, false);
    return *this;
}

Call& Call::Input(const char* name, const aclTensorList* tensors) {
    AddParameter(state_.get(), name, tensors, false);
    return *this;
}

Call& Call::OptionalInput(const char* name, const aclTensor* tensor) {
    if (tensor != nullptr) {
        return Input(name, tensor);
    }
    Parameter absent;
    absent.name = name;
    state_->inputs.push_back(std::move(absent));
    return *this;
}

Call& Call::Output(const char* name, const aclTensor* tensor) {
    AddParameter(state_.get(), name, tensor, true);
    return *this;
}

Call& Call::Output(const char* name, const aclTensorList* tensors) {
    AddParameter(state_.get(), name, tensors, true);
    return *this;
}

Call& Call::AttrInt(const char* name, int64_t value) {
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_INT);
    attr.i = value;
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::AttrFloat(const char* name, double value) {
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_FLOAT);
    attr.f = value;
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::AttrBool(const char* name, bool value) {
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_BOOL);
    attr.i = value ? 1 : 0;
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::AttrStr(const char* name, const char* value) {
    if (value == nullptr) {
        state_->Reject(ACLNN_ERR_PARAM_NULLPTR, std::string("attr '") + name + "' is null");
        return *this;
    }
    state_->strings.emplace_back(value);
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_STR);
    attr.s = state_->strings.back().c_str();
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::AttrListInt(const char* name, const aclIntArray* value) {
    if (!opgen_nnopbase::Valid(value, opgen_nnopbase::kIntArrayTag)) {
        state_->Reject(ACLNN_ERR_PARAM_NULLPTR, std::string("attr '") + name + "' is null");
        return *this;
    }
    state_->int_lists.push_back(value->values);
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_LIST_INT);
    attr.count = static_cast<int32_t>(value->values.size());
    attr.li = state_->int_lists.back().data();
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::AttrListFloat(const char* name, const aclFloatArray* value) {
    if (!opgen_nnopbase::Valid(value, opgen_nnopbase::kFloatArrayTag)) {
        state_->Reject(ACLNN_ERR_PARAM_NULLPTR, std::string("attr '") + name + "' is null");
        return *this;
    }
    state_->float_lists.push_back(value->values);
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_LIST_FLOAT);
    attr.count = static_cast<int32_t>(value->values.size());
    attr.lf = state_->float_lists.back().data();
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::AttrDtype(const char* name, int64_t value) {
    OpgenAttr attr = NewAttr(name, OPGEN_ATTR_DTYPE);
    attr.i = value;
    state_->attrs.push_back(attr);
    return *this;
}

Call& Call::Dtypes(const int32_t* table, size_t rows) {
    state_->dtype_table = table;
    state_->dtype_rows = rows;
    return *this;
}

aclnnStatus Call::Prepare(uint64_t* workspace_size, aclOpExecutor** executor) {
    const char* api = state_->api.c_str();
    if (workspace_size == nullptr || executor == nullptr) {
        return Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: workspaceSize or executor is null", api);
    }
    *executor = nullptr;
    *workspace_size = 0;
    if (!state_->problem.empty()) {
        return Fail(state_->problem_status, "%s: %s", api, state_->problem.c_str());
    }
    const PackageScope scope;
    const std::string& missing = LoadPackage();
    aclnnStatus status = ACLNN_SUCCESS;
    if (!missing.empty() || !state_->Recall()) {
        if (state_->dtype_rows > 0) {
            status = state_->CheckDtypes(state_->dtype_table, state_->dtype_rows);
        }
        if (status == ACLNN_SUCCESS && !missing.empty()) {
            status = Fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "%s: %s", api, missing.c_str());
        }
        if (status == ACLNN_SUCCESS) {
            status = state_->CheckShapes();
        }
        if (status == ACLNN_SUCCESS) {
            status = state_->PrepareCall();
        }
        if (status == ACLNN_SUCCESS) {
            state_->Remember();
        }
    }
    if (status == ACLNN_SUCCESS) {
        *workspace_size = state_->WorkspaceSize();
        opgen_nnopbase::Publish(std::move(state_), executor);
    }
    return status;
}

aclnnStatus Launch(const char* api, void* workspace, uint64_t workspace_size,
                   aclOpExecutor* executor, void* stream) {
    return opgen_nnopbase::Launch(api, workspace, workspace_size, executor, stream);
}

}  // namespace opgen_aclnn

// Message of the last failed call on this thread. Inside torch_npu the one of libascendcl is used.
extern "C" __attribute__((visibility("default"))) __attribute__((weak)) const char*
aclGetRecentErrMsg() {
    return opgen_nnopbase::RecentError();
}

// Marks this library as the CPU emulation: the torch binding refuses to hand it memory of a real
// NPU, and refuses to hand CPU memory to a library without the mark.
extern "C" __attribute__((visibility("default"))) const char* opgen_opapi_target() { return "cpu"; }
