// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The ops of a package as kernels of TensorFlow: its tensors and attrs as the calls of ops.h read
// them, and shapes for graphs. What is generated per op is its registration.
#ifndef OPGEN_DOOR_TENSORFLOW_KERNEL_H
#define OPGEN_DOOR_TENSORFLOW_KERNEL_H

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "op_call.h"
#include "partial_shapes.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/types.h"

namespace opgen_tensorflow __attribute__((visibility("hidden"))) {

    using namespace opgen_binding;
    using Partial = opgen_partial::Sizes;
    using absl::Status;
    using tensorflow::DataType;

    // An error of TensorFlow on its way through code that knows exceptions only.
    class StatusError : public std::runtime_error {
     public:
        explicit StatusError(const Status& status)
            : std::runtime_error(std::string(status.message())), status_(status) {}
        const Status& status() const { return status_; }

     private:
        Status status_;
    };

    inline void Require(const Status& status) {
        if (!status.ok()) {
            throw StatusError(status);
        }
    }

    // Runs a function; what it throws becomes a status.
    template <typename Function>
    Status Guarded(Function function) {
        try {
            function();
        } catch (const StatusError& error) {
            return error.status();
        } catch (const std::exception& error) {
            return absl::InvalidArgumentError(error.what());
        }
        return Status();
    }

    struct TypePair {
        DataType theirs;
        Dtype ours;
    };

    inline const std::vector<TypePair>& Types() {
        static const std::vector<TypePair> types = {
            {tensorflow::DT_FLOAT, Dtype::kFloat32}, {tensorflow::DT_HALF, Dtype::kFloat16},
            {tensorflow::DT_INT8, Dtype::kInt8},     {tensorflow::DT_INT32, Dtype::kInt32},
            {tensorflow::DT_UINT8, Dtype::kUint8},   {tensorflow::DT_INT16, Dtype::kInt16},
            {tensorflow::DT_INT64, Dtype::kInt64},   {tensorflow::DT_DOUBLE, Dtype::kFloat64},
            {tensorflow::DT_BOOL, Dtype::kBool},     {tensorflow::DT_BFLOAT16, Dtype::kBfloat16},
        };
        return types;
    }

    inline Dtype DtypeOf(DataType type) {
        for (const TypePair& pair : Types()) {
            if (pair.theirs == type) {
                return pair.ours;
            }
        }
        return Dtype::kUnknown;
    }

    // What TensorFlow calls the arguments of an op, and how it infers their shapes.
    class Inference;
    struct OpNames {
        std::vector<const char*> inputs;
        std::vector<const char*> outputs;
        void (*shapes)(Inference&);
    };

    // Attrs of a node; Context is OpKernelConstruction or InferenceContext.
    template <typename Context>
    class NodeAttrs : public AttrSource {
     public:
        explicit NodeAttrs(Context* context) : context_(context) {}
        bool Get(const char* name, int64_t* value) override { return Read(name, value); }
        bool Get(const char* name, bool* value) override { return Read(name, value); }
        bool Get(const char* name, double* value) override {
            float number = 0;
            Read(name, &number);
            *value = number;
            return true;
        }
        bool Get(const char* name, std::string* value) override { return Read(name, value); }
        bool Get(const char* name, Sizes* value) override {
            value->clear();  // GetAttr appends to a vector, and the default is in it
            return Read(name, value);
        }
        bool Get(const char* name, std::vector<double>* value) override {
            std::vector<float> numbers;
            Read(name, &numbers);
            value->assign(numbers.begin(), numbers.end());
            return true;
        }
        bool Get(const char* name, Dtype* value) override {
            DataType type = tensorflow::DT_INVALID;
            Read(name, &type);
            *value = DtypeOf(type);
            return true;
        }

     private:
        template <typename Value>
        bool Read(const char* name, Value* value) {
            Require(context_->GetAttr(name, value));
            return true;
        }

        Context* context_;
    };

    // ---- shapes -----------------------------------------------------------------------------

    // A list of shapes; one that is not there is not known.
    class PartialList {
     public:
        explicit PartialList(std::vector<Partial> shapes) : shapes_(std::move(shapes)) {}
        Partial operator[](size_t i) const {
            return i < shapes_.size() ? shapes_[i] : Partial::Unknown();
        }
        size_t size() const { return shapes_.size(); }

     private:
        std::vector<Partial> shapes_;
    };
    using OptionalPartial = std::optional<Partial>;

    inline Partial Shape(const Partial& shape) { return shape; }
    inline Partial Shape(const OptionalPartial& shape) { return shape.value_or(Partial()); }
    inline Partial Like(const Partial& shape) { return shape; }
    inline Partial Like(const OptionalPartial& shape) {
        OPGEN_CHECK(shape.has_value(),
                    "an output has the shape of an optional input that was not given");
        return *shape;
    }

    // Inputs, attrs and outputs of a node of a graph that is not running.
    class Inference {
     public:
        using Context = tensorflow::shape_inference::InferenceContext;
        using Handle = tensorflow::shape_inference::ShapeHandle;

        Inference(const OpInfo& info, const OpNames& names, Context* context)
            : info_(info), names_(names), context_(context) {
            NodeAttrs<Context> source(context);
            attrs_ = ReadAttrs(info, source);
        }

        Partial Required(size_t input) const { return List(input)[0]; }
        OptionalPartial Optional(size_t input) const {
            const PartialList list = List(input);
            OPGEN_CHECK(list.size() <= 1, std::string(info_.type) + ": '" +
                                              info_.inputs[input].name +
                                              "' is an optional input: a list of at most 1");
            return list.size() == 0 ? OptionalPartial() : OptionalPartial(list[0]);
        }
        PartialList List(size_t input) const {
            std::vector<Handle> handles;
            Require(context_->input(names_.inputs[input], &handles));
            std::vector<Partial> shapes;
            for (const Handle& handle : handles) {
                shapes.push_back(Read(handle, info_.inputs[input]));
            }
            return PartialList(std::move(shapes));
        }
        const AttrValue& Attr(size_t attr) const { return attrs_[attr]; }

        void Check(size_t input, const Partial& given, const Partial& expected) const {
            opgen_partial::CheckShape(info_.type, info_.inputs[input].name, given, expected);
        }
        void Check(size_t input, const OptionalPartial& given, const Partial& expected) const {
            if (given.has_value()) {
                Check(input, *given, expected);
            }
        }

        void Output(size_t output, const Partial& shape) {
            Outputs(output, std::vector<Partial>{shape});
        }
        void Output(size_t output, const OptionalPartial& shape) { Output(output, Like(shape)); }
        void Output(size_t output, const PartialList& shapes) {
            std::vector<Partial> all;
            for (size_t i = 0; i < shapes.size(); ++i) {
                all.push_back(shapes[i]);
            }
            Outputs(output, all);
        }
        void Outputs(size_t output, const std::vector<Partial>& shapes) {
            std::vector<Handle> handles;
            for (const Partial& shape : shapes) {
                handles.push_back(Write(shape, output));
            }
            Require(context_->set_output(names_.outputs[output], handles));
        }

     private:
        Partial Read(const Handle& handle, const TensorParam& param) const {
            if (!context_->RankKnown(handle)) {
                return Partial::Unknown();
            }
            Partial shape;
            for (int i = 0; i < context_->Rank(handle); ++i) {
                const int64_t value = context_->Value(context_->Dim(handle, i));
                shape.push_back(value < 0 ? opgen_partial::Size::Unknown()
                                          : opgen_partial::Size(value));
            }
            OPGEN_CHECK(
                shape.rank() >= param.min_rank && shape.rank() <= param.max_rank,
                std::string(info_.type) + ": '" + param.name + "' has " +
                    std::to_string(shape.rank()) + " dims " + Text(shape) + ", expected " +
                    std::to_string(param.min_rank) +
                    (param.min_rank == param.max_rank ? ""
                                                      : " to " + std::to_string(param.max_rank)));
            return shape;
        }
        Handle Write(const Partial& shape, size_t output) const {
            if (!shape.ranked()) {
                return context_->UnknownShape();
            }
            std::vector<tensorflow::shape_inference::DimensionHandle> dims;
            for (const opgen_partial::Size& size : shape.sizes()) {
                OPGEN_CHECK(!size.known || size.value >= 0,
                            std::string(info_.type) + ": the shape of output '" +
                                info_.outputs[output].name + "' would be " + Text(shape));
                dims.push_back(size.known ? context_->MakeDim(size.value) : context_->UnknownDim());
            }
            return context_->MakeShape(dims);
        }

        const OpInfo& info_;
        const OpNames& names_;
        Context* context_;
        AttrValues attrs_;
    };

    inline Status InferShapes(const OpInfo& info, const OpNames& names,
                              tensorflow::shape_inference::InferenceContext* context) {
        return Guarded([&] {
            Inference inference(info, names, context);
            names.shapes(inference);
        });
    }

    // ---- calls ------------------------------------------------------------------------------

    struct Range {
        int start = 0;
        int stop = 0;
    };

    // The tensors of one call. TensorFlow's are contiguous.
    class KernelFrame : public Frame {
     public:
        KernelFrame(const OpInfo& info, const std::vector<Range>& inputs,
                    const std::vector<Range>& outputs, tensorflow::OpKernelContext* context)
            : info_(info), inputs_(inputs), outputs_(outputs), context_(context) {}

        Array Required(size_t input) override { return Read(inputs_[input].start); }
        OptionalArray Optional(size_t input) override {
            const Range& range = inputs_[input];
            OPGEN_CHECK(range.stop - range.start <= 1,
                        std::string(info_.type) + ": '" + info_.inputs[input].name +
                            "' is an optional input: a list of at most 1");
            return range.start == range.stop ? OptionalArray() : Read(range.start);
        }
        ArrayList List(size_t input) override {
            ArrayList list;
            for (int i = inputs_[input].start; i < inputs_[input].stop; ++i) {
                list.push_back(Read(i));
            }
            return list;
        }
        void* Output(size_t output, size_t item, const Sizes& sizes, Dtype dtype) override {
            const Range& range = outputs_[output];
            const int place = range.start + static_cast<int>(item);
            const std::string name = info_.outputs[output].name;
            OPGEN_CHECK(place < range.stop, std::string(info_.type) + ": the node has " +
                                                std::to_string(range.stop - range.start) +
                                                " tensors of output '" + name + "'");
            const Dtype expected = DtypeOf(context_->expected_output_dtype(place));
            OPGEN_CHECK(expected == dtype,
                        std::string(info_.type) + ": output '" + name + "' is " + DtypeName(dtype) +
                            " for these inputs, the node says " + DtypeName(expected));
            tensorflow::Tensor* tensor = nullptr;
            Require(context_->allocate_output(place, tensorflow::TensorShape(sizes), &tensor));
            return tensor->data();
        }

     private:
        Array Read(int place) const {
            const tensorflow::Tensor& tensor = context_->input(place);
            Array array;
            array.data = tensor.data();
            array.dtype = DtypeOf(tensor.dtype());
            for (int i = 0; i < tensor.dims(); ++i) {
                array.sizes.push_back(tensor.dim_size(i));
            }
            return array;
        }

        const OpInfo& info_;
        const std::vector<Range>& inputs_;
        const std::vector<Range>& outputs_;
        tensorflow::OpKernelContext* context_;
    };

    class Kernel : public tensorflow::OpKernel {
     public:
        Kernel(const OpInfo& info, const OpNames& names, tensorflow::OpKernelConstruction* context)
            : OpKernel(context), info_(info) {
            const Status status = Guarded([&] {
                NodeAttrs<tensorflow::OpKernelConstruction> source(context);
                attrs_ = ReadAttrs(info, source);
                for (const char* name : names.inputs) {
                    Range range;
                    Require(InputRange(name, &range.start, &range.stop));
                    inputs_.push_back(range);
                }
                for (const char* name : names.outputs) {
                    Range range;
                    Require(OutputRange(name, &range.start, &range.stop));
                    outputs_.push_back(range);
                }
            });
            OP_REQUIRES_OK(context, status);
        }

        void Compute(tensorflow::OpKernelContext* context) override {
            const Status status = Guarded([&] {
                KernelFrame frame(info_, inputs_, outputs_, context);
                info_.call(info_, attrs_, frame);
            });
            OP_REQUIRES_OK(context, status);
        }

     private:
        const OpInfo& info_;
        AttrValues attrs_;
        std::vector<Range> inputs_;
        std::vector<Range> outputs_;
    };

}  // namespace opgen_tensorflow

#endif  // OPGEN_DOOR_TENSORFLOW_KERNEL_H
