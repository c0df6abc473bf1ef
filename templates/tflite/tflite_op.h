// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The ops of a package as custom ops of TensorFlow Lite: options, tensors and shapes of a node as
// the calls of ops.h read them.
#ifndef OPGEN_DOOR_TFLITE_OP_H
#define OPGEN_DOOR_TFLITE_OP_H

#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flexbuffer.h"
#include "op_call.h"
#include "tflite_abi.h"

namespace opgen_tflite __attribute__((visibility("hidden"))) {

    using namespace opgen_binding;

    // TfLiteType, and the number of the same dtype in a model's file (schema.fbs, TensorType),
    // which attrs that hold a dtype have.
    struct TypeRow {
        int type;
        int in_files;
        Dtype dtype;
    };

    inline const std::vector<TypeRow>& TypeRows() {
        static const std::vector<TypeRow> rows = {
            {1, 0, Dtype::kFloat32}, {10, 1, Dtype::kFloat16}, {2, 2, Dtype::kInt32},
            {3, 3, Dtype::kUint8},   {4, 4, Dtype::kInt64},    {6, 6, Dtype::kBool},
            {7, 7, Dtype::kInt16},   {9, 9, Dtype::kInt8},     {19, 18, Dtype::kBfloat16},
        };
        return rows;
    }

    inline Dtype DtypeOf(int type) {
        for (const TypeRow& row : TypeRows()) {
            if (row.type == type) {
                return row.dtype;
            }
        }
        return Dtype::kUnknown;
    }

    // The attrs of a node: values of the map that the converter writes.
    class OptionAttrs : public AttrSource {
     public:
        OptionAttrs(const char* op, const FlexValue& options) : op_(op), options_(options) {}

        bool Get(const char* name, int64_t* value) override {
            const FlexValue found = Number(name);
            if (found.IsNull()) return false;
            OPGEN_CHECK(!found.IsFloat(), Complaint(name, "a whole number"));
            *value = found.Int();
            return true;
        }
        bool Get(const char* name, bool* value) override {
            const FlexValue found = Number(name);
            if (found.IsNull()) return false;
            *value = found.Int() != 0;
            return true;
        }
        bool Get(const char* name, double* value) override {
            const FlexValue found = Number(name);
            if (found.IsNull()) return false;
            *value = found.Float();
            return true;
        }
        bool Get(const char* name, std::string* value) override {
            const FlexValue found = options_[name];
            if (found.IsNull()) return false;
            OPGEN_CHECK(found.IsText(), Complaint(name, "a text"));
            *value = found.Text();
            return true;
        }
        bool Get(const char* name, Sizes* value) override {
            return List(name, value, [](const FlexValue& one) { return one.Int(); });
        }
        bool Get(const char* name, std::vector<double>* value) override {
            return List(name, value, [](const FlexValue& one) { return one.Float(); });
        }
        bool Get(const char* name, Dtype* value) override {
            int64_t number = 0;
            if (!Get(name, &number)) return false;
            *value = Dtype::kUnknown;
            for (const TypeRow& row : TypeRows()) {
                if (row.in_files == number) *value = row.dtype;
            }
            return true;
        }

     private:
        FlexValue Number(const char* name) const {
            const FlexValue found = options_[name];
            OPGEN_CHECK(found.IsNull() || found.IsNumber(), Complaint(name, "a number"));
            return found;
        }
        template <typename Value, typename Read>
        bool List(const char* name, Value* value, Read read) const {
            const FlexValue found = options_[name];
            if (found.IsNull()) return false;
            OPGEN_CHECK(found.IsList(), Complaint(name, "a list"));
            value->clear();
            for (size_t i = 0; i < found.Count(); ++i) {
                const FlexValue one = found.At(i);
                OPGEN_CHECK(one.IsNumber(), Complaint(name, "a list of numbers"));
                value->push_back(read(one));
            }
            return true;
        }
        std::string Complaint(const char* name, const char* expected) const {
            return std::string(op_) + ": attribute '" + name + "' is not " + expected;
        }

        const char* op_;
        const FlexValue& options_;
    };

    // A node as it was read once: its op, attrs, and the tensors of each parameter.
    struct NodeState {
        const OpInfo* op = nullptr;
        AttrValues attrs;
        std::vector<int64_t> lengths;  // of inputs that are lists or optional; -1: not said
        std::string problem;           // found while reading; told when the node is prepared
        // Of a node in a delegate: the tensors of the node that it replaced.
        bool owns_tensors = false;
        std::vector<int> inputs;
        std::vector<int> outputs;
    };

    inline std::unique_ptr<NodeState> ReadNode(const OpInfo& info, const char* data, size_t size) {
        auto state = std::make_unique<NodeState>();
        state->op = &info;
        try {
            const FlexValue options = FlexValue::Root(data, size);
            OptionAttrs source(info.type, options);
            state->attrs = ReadAttrs(info, source);
            for (const TensorParam& param : info.inputs) {
                int64_t length = -1;
                source.Get((std::string("N_") + param.name).c_str(), &length);
                state->lengths.push_back(length);
            }
        } catch (const std::exception& error) {
            state->problem = error.what();
        }
        return state;
    }

    // Inputs and outputs of one call.
    class LiteFrame : public Frame {
     public:
        LiteFrame(const NodeState& state, Context* context, const std::vector<int>& inputs,
                  const std::vector<int>& outputs, bool runs)
            : state_(state), context_(context), outputs_(outputs), runs_(runs) {
            Share(inputs);
        }

        bool Runs() const override { return runs_; }
        Array Required(size_t input) override { return Read(inputs_[input].at(0), input); }
        OptionalArray Optional(size_t input) override {
            const std::vector<int>& tensors = inputs_[input];
            return tensors.empty() || tensors[0] == kAbsentTensor ? OptionalArray()
                                                                  : Read(tensors[0], input);
        }
        ArrayList List(size_t input) override {
            ArrayList list;
            for (const int tensor : inputs_[input]) {
                list.push_back(Read(tensor, input));
            }
            return list;
        }
        void* Output(size_t output, size_t item, const Sizes& sizes, Dtype dtype) override {
            const OpInfo& info = *state_.op;
            // Lists are the outputs of an op whose outputs are all lists, or the last one.
            size_t place = output + item;
            for (size_t i = 0; i < output; ++i) {
                if (info.outputs[i].kind == Kind::kList) place += ListLength() - 1;
            }
            OPGEN_CHECK(place < outputs_.size(), std::string(info.type) + ": the node has " +
                                                     std::to_string(outputs_.size()) +
                                                     " outputs, too few");
            Tensor& tensor = context_->tensors[outputs_[place]];
            OPGEN_CHECK(DtypeOf(tensor.type) == dtype,
                        std::string(info.type) + ": output '" + info.outputs[output].name +
                            "' is " + DtypeName(dtype) + " for these inputs, the model says " +
                            DtypeName(DtypeOf(tensor.type)));
            if (!runs_ || tensor.allocation_type == kDynamicMemory) {
                Resize(&tensor, sizes);
            } else {
                OPGEN_CHECK(SizesOf(tensor) == sizes,
                            std::string(info.type) + ": output '" + info.outputs[output].name +
                                "' has room for " + Text(SizesOf(tensor)) + ", not " + Text(sizes));
            }
            return tensor.data;
        }

        static Sizes SizesOf(const Tensor& tensor) {
            const int rank = tensor.dims == nullptr ? 0 : tensor.dims->size;
            const int* data = rank == 0 ? nullptr : tensor.dims->data;
            return Sizes(data, data + rank);
        }

     private:
        // The tensors of a node are one flat list; lists and optional inputs say their length.
        void Share(const std::vector<int>& tensors) {
            const OpInfo& info = *state_.op;
            size_t fixed = 0;  // tensors of inputs whose length is known
            for (size_t i = 0; i < info.inputs.size(); ++i) {
                const bool list = info.inputs[i].kind == Kind::kList;
                const bool said = info.inputs[i].kind != Kind::kRequired && state_.lengths[i] >= 0;
                fixed += said ? static_cast<size_t>(state_.lengths[i]) : list ? 0 : 1;
            }
            size_t next = 0;
            for (size_t i = 0; i < info.inputs.size(); ++i) {
                const bool list = info.inputs[i].kind == Kind::kList;
                const bool said = info.inputs[i].kind != Kind::kRequired && state_.lengths[i] >= 0;
                const size_t rest = tensors.size() > fixed ? tensors.size() - fixed : 0;
                const size_t count = said   ? static_cast<size_t>(state_.lengths[i])
                                     : list ? rest
                                            : 1;
                OPGEN_CHECK(next + count <= tensors.size(),
                            std::string(info.type) + ": the node has " +
                                std::to_string(tensors.size()) + " inputs, too few");
                const auto begin = tensors.begin() + static_cast<std::ptrdiff_t>(next);
                inputs_.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
                next += count;
            }
            OPGEN_CHECK(next == tensors.size(), std::string(info.type) + ": the node has " +
                                                    std::to_string(tensors.size()) +
                                                    " inputs, too many");
        }
        size_t ListLength() const {
            for (size_t i = 0; i < inputs_.size(); ++i) {
                if (state_.op->inputs[i].kind == Kind::kList) return inputs_[i].size();
            }
            return 1;
        }
        Array Read(int place, size_t input) const {
            OPGEN_CHECK(place >= 0 && static_cast<size_t>(place) < context_->tensors_size,
                        std::string(state_.op->type) + ": '" + state_.op->inputs[input].name +
                            "' is not given");
            const Tensor& tensor = context_->tensors[place];
            OPGEN_CHECK(tensor.scale == 0, std::string(state_.op->type) + ": '" +
                                               state_.op->inputs[input].name +
                                               "' is quantized; the op takes plain numbers");
            Array array;
            array.data = tensor.data;
            array.dtype = DtypeOf(tensor.type);
            array.sizes = SizesOf(tensor);
            return array;
        }
        void Resize(Tensor* tensor, const Sizes& sizes) const {
            for (const int64_t size : sizes) {
                OPGEN_CHECK(size <= std::numeric_limits<int>::max(),
                            std::string(state_.op->type) + ": an output of shape " + Text(sizes) +
                                " is too large for TensorFlow Lite");
            }
            // The runtime takes the array over and frees it as C memory.
            auto* dims =
                static_cast<IntArray*>(std::malloc(sizeof(IntArray) + sizes.size() * sizeof(int)));
            OPGEN_CHECK(dims != nullptr, "no memory for the shape of an output");
            dims->size = static_cast<int>(sizes.size());
            for (size_t i = 0; i < sizes.size(); ++i) {
                dims->data[i] = static_cast<int>(sizes[i]);
            }
            const Status status = context_->ResizeTensor(context_, tensor, dims);
            OPGEN_CHECK(status == kOk,
                        std::string(state_.op->type) + ": no memory for " + Text(sizes));
        }

        const NodeState& state_;
        Context* context_;
        std::vector<std::vector<int>> inputs_;
        const std::vector<int>& outputs_;
        bool runs_;
    };

    inline std::vector<int> Indices(const IntArray* array) {
        return array == nullptr ? std::vector<int>()
                                : std::vector<int>(array->data, array->data + array->size);
    }

    template <typename Function>
    Status Guarded(Context * context, Function function) {
        try {
            function();
            return kOk;
        } catch (const std::exception& error) {
            context->ReportError(context, "%s", error.what());
            return kError;
        }
    }

    // ---- functions of a registration --------------------------------------------------------

    inline void Free(Context*, void* state) { delete static_cast<NodeState*>(state); }

    inline void CallNode(Context * context, Node * node, bool runs) {
        const NodeState& state = *static_cast<const NodeState*>(node->user_data);
        OPGEN_CHECK(state.problem.empty(), state.problem);
        const std::vector<int> inputs = state.owns_tensors ? state.inputs : Indices(node->inputs);
        const std::vector<int> outputs =
            state.owns_tensors ? state.outputs : Indices(node->outputs);
        bool dynamic = false;
        for (const int place : inputs) {
            dynamic = dynamic ||
                      (place >= 0 && context->tensors[place].allocation_type == kDynamicMemory);
        }
        if (dynamic && !runs) {
            // Shapes come with the data: outputs get their memory when the node runs.
            for (const int place : outputs) {
                Tensor& tensor = context->tensors[place];
                if (tensor.allocation_type != kDynamicMemory) {
                    tensor.allocation_type = kDynamicMemory;
                    tensor.data = nullptr;
                }
            }
            return;
        }
        LiteFrame frame(state, context, inputs, outputs, runs);
        state.op->call(*state.op, state.attrs, frame);
    }

    inline Status Prepare(Context * context, Node * node) {
        return Guarded(context, [&] { CallNode(context, node, false); });
    }
    inline Status Invoke(Context * context, Node * node) {
        return Guarded(context, [&] { CallNode(context, node, true); });
    }

}  // namespace opgen_tflite

#endif  // OPGEN_DOOR_TFLITE_OP_H
