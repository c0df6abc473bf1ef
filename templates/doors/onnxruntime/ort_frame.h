// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Inputs, outputs and attributes of a node in ONNX Runtime's memory.
#ifndef OPGEN_DOOR_ORT_FRAME_H
#define OPGEN_DOOR_ORT_FRAME_H

#include <memory>
#include <string>
#include <vector>

#include "op_call.h"
#include "ort_abi.h"

namespace opgen_ort __attribute__((visibility("hidden"))) {

    using namespace opgen_binding;

    // A dtype and its TensorProto.DataType, which is also ONNX Runtime's number of it.
    struct ElementType {
        Dtype dtype;
        int number;
    };

    inline const std::vector<ElementType>& ElementTypes() {
        static const std::vector<ElementType> types = {
            {Dtype::kFloat32, 1},  {Dtype::kUint8, 2},     {Dtype::kInt8, 3}, {Dtype::kInt16, 5},
            {Dtype::kInt32, 6},    {Dtype::kInt64, 7},     {Dtype::kBool, 9}, {Dtype::kFloat16, 10},
            {Dtype::kFloat64, 11}, {Dtype::kBfloat16, 16},
        };
        return types;
    }

    inline int NumberOf(Dtype dtype) {
        for (const ElementType& type : ElementTypes()) {
            if (type.dtype == dtype) {
                return type.number;
            }
        }
        return 0;  // undefined: any type
    }

    inline Dtype DtypeOf(int number) {
        for (const ElementType& type : ElementTypes()) {
            if (type.number == number) {
                return type.dtype;
            }
        }
        return Dtype::kUnknown;
    }

    // Throws the text of a failed call of the runtime.
    inline void Check(const ort_abi::Functions& ort, OrtStatus* status) {
        if (status != nullptr) {
            const std::string text = ort.GetErrorMessage(status);
            ort.ReleaseStatus(status);
            throw std::runtime_error(text);
        }
    }

    // Whether a call of the runtime succeeded; its text is dropped.
    inline bool Succeeds(const ort_abi::Functions& ort, OrtStatus* status) {
        if (status != nullptr) {
            ort.ReleaseStatus(status);
        }
        return status == nullptr;
    }

    // The attributes of a node. The interface does not tell a missing attribute from one of another
    // type: what is there as no type at all is missing.
    class NodeAttrs : public AttrSource {
     public:
        NodeAttrs(const ort_abi::Functions& ort, const char* op, const OrtKernelInfo* info)
            : ort_(ort), op_(op), info_(info) {}

        bool Get(const char* name, int64_t* value) override {
            return Succeeds(ort_, ort_.GetAttribute(info_, name, value)) || Missing(name, "an int");
        }
        bool Get(const char* name, bool* value) override {
            int64_t number = 0;
            if (!Get(name, &number)) {
                return false;
            }
            *value = number != 0;
            return true;
        }
        bool Get(const char* name, double* value) override {
            float number = 0;
            if (!Succeeds(ort_, ort_.GetAttribute(info_, name, &number))) {
                return Missing(name, "a float");
            }
            *value = number;
            return true;
        }
        bool Get(const char* name, std::string* value) override {
            return Text(name, value) || Missing(name, "a string");
        }
        bool Get(const char* name, Sizes* value) override {
            const Found found = Look(name);
            Expect(name, found.nothing || found.is_ints, "a list of ints");
            *value = found.nothing ? *value : found.ints;
            return !found.nothing;
        }
        bool Get(const char* name, std::vector<double>* value) override {
            const Found found = Look(name);
            // An exporter cannot tell what an empty list would hold.
            const bool empty = found.is_ints && found.ints.empty();
            Expect(name, found.nothing || found.is_floats || empty, "a list of floats");
            if (!found.nothing) {
                value->assign(found.floats.begin(), found.floats.end());
            }
            return !found.nothing;
        }
        bool Get(const char* name, Dtype* value) override {
            int64_t number = 0;
            if (!Get(name, &number)) {
                return false;
            }
            *value = DtypeOf(static_cast<int>(number));
            OPGEN_CHECK(*value != Dtype::kUnknown,
                        std::string(op_) + ": attribute '" + name + "' is " +
                            std::to_string(number) +
                            ", expected the TensorProto.DataType of a dtype of the op");
            return true;
        }

     private:
        // What a node has under a name.
        struct Found {
            bool nothing = false;
            bool is_ints = false;
            bool is_floats = false;
            Sizes ints;
            std::vector<float> floats;
        };

        // The runtime gives an attribute of any other type as an empty list, too.
        Found Look(const char* name) const {
            Found found;
            int64_t i = 0;
            float f = 0;
            std::string s;
            const bool scalar = Succeeds(ort_, ort_.GetAttribute(info_, name, &i)) ||
                                Succeeds(ort_, ort_.GetAttribute(info_, name, &f)) ||
                                Text(name, &s);
            const bool ints = List(name, &found.ints);
            const bool floats = List(name, &found.floats);
            found.nothing = !scalar && !ints && !floats;
            found.is_ints = !scalar && ints && found.floats.empty();
            found.is_floats = !scalar && floats && !found.floats.empty();
            return found;
        }
        bool Text(const char* name, std::string* value) const {
            size_t size = 0;
            if (!Succeeds(ort_, ort_.GetAttribute(info_, name, nullptr, &size))) {
                return false;
            }
            std::string text(size, '\0');
            Check(ort_, ort_.GetAttribute(info_, name, &text[0], &size));
            text.resize(size > 0 ? size - 1 : 0);
            *value = text;
            return true;
        }
        template <typename Value>
        bool List(const char* name, std::vector<Value>* values) const {
            size_t size = 0;
            Value* none = nullptr;
            if (!Succeeds(ort_, ort_.GetAttributes(info_, name, none, &size))) {
                return false;
            }
            values->resize(size);
            if (size > 0) {
                Check(ort_, ort_.GetAttributes(info_, name, values->data(), &size));
            }
            return true;
        }
        void Expect(const char* name, bool holds, const char* type) const {
            OPGEN_CHECK(holds, std::string(op_) + ": attribute '" + name +
                                   "' has another type than " + type);
        }
        // False: the default of the spec is taken.
        bool Missing(const char* name, const char* type) const {
            Expect(name, Look(name).nothing, type);
            return false;
        }

        const ort_abi::Functions& ort_;
        const char* op_;
        const OrtKernelInfo* info_;
    };

    // Tensors of a node. ONNX has flat lists of inputs and outputs: what is not a plain one is
    // shared evenly by the lists.
    class FlatFrame : public Frame {
     public:
        FlatFrame(const OpInfo& info, size_t inputs)
            : info_(info),
              inputs_(inputs),
              input_list_(ListLength(info.inputs, inputs, "inputs")) {}

        Array Required(size_t input) override {
            const OptionalArray array = At(Place(info_.inputs, input, input_list_));
            OPGEN_CHECK(array.has_value(), std::string(info_.type) + ": input '" +
                                               info_.inputs[input].name + "' is not given");
            return *array;
        }
        OptionalArray Optional(size_t input) override {
            return At(Place(info_.inputs, input, input_list_));
        }
        ArrayList List(size_t input) override {
            ArrayList list;
            const size_t first = Place(info_.inputs, input, input_list_);
            for (size_t i = 0; i < input_list_; ++i) {
                const OptionalArray array = At(first + i);
                OPGEN_CHECK(array.has_value(), std::string(info_.type) + ": item " +
                                                   std::to_string(i) + " of list '" +
                                                   info_.inputs[input].name + "' is not given");
                list.push_back(*array);
            }
            return list;
        }

     protected:
        // The tensor at a place of the flat list of inputs, of which there are `inputs_`.
        virtual OptionalArray At(size_t place) const = 0;

        size_t ListLength(const std::vector<TensorParam>& params, size_t given,
                          const char* what) const {
            size_t lists = 0;
            for (const TensorParam& param : params) {
                lists += param.kind == Kind::kList ? 1 : 0;
            }
            const size_t plain = params.size() - lists;
            if (lists == 0) {
                return 0;
            }
            OPGEN_CHECK(given >= plain && (given - plain) % lists == 0,
                        std::string(info_.type) + ": " + std::to_string(given) + " " + what +
                            " do not share out to " + std::to_string(plain) + " plain ones and " +
                            std::to_string(lists) + " lists of one length");
            return (given - plain) / lists;
        }
        static size_t Place(const std::vector<TensorParam>& params, size_t index, size_t list) {
            size_t place = 0;
            for (size_t i = 0; i < index; ++i) {
                place += params[i].kind == Kind::kList ? list : 1;
            }
            return place;
        }

        const OpInfo& info_;
        size_t inputs_;
        size_t input_list_;  // items per list
    };

    // One run of a node.
    class NodeFrame : public FlatFrame {
     public:
        NodeFrame(const ort_abi::Functions& ort, const OpInfo& info, OrtKernelContext* context)
            : FlatFrame(info, CountInputs(ort, context)), ort_(ort), context_(context) {
            Check(ort_, ort_.GetOutputCount(context_, &outputs_));
            output_list_ = ListLength(info_.outputs, outputs_, "outputs");
        }

        void* Output(size_t output, size_t item, const Sizes& sizes, Dtype dtype) override {
            const size_t place = Place(info_.outputs, output, output_list_) + item;
            OrtValue* value = nullptr;
            if (place < outputs_) {
                Check(ort_, ort_.GetOutput(context_, place, sizes.data(), sizes.size(), &value));
            }
            if (value == nullptr) {  // nobody uses it, but the op writes it
                unused_.push_back(
                    std::make_unique<Workspace>(Numel(sizes) * FindDtype(dtype)->bytes));
                return unused_.back()->data();
            }
            const Array made = Describe(value);
            OPGEN_CHECK(made.dtype == dtype,
                        std::string(info_.type) + ": output '" + info_.outputs[output].name +
                            "' is " + DtypeName(made.dtype) + " in the model, but " +
                            DtypeName(dtype) + " for these inputs and attributes");
            return made.data;
        }

     private:
        static size_t CountInputs(const ort_abi::Functions& ort, OrtKernelContext* context) {
            size_t count = 0;
            Check(ort, ort.GetInputCount(context, &count));
            return count;
        }
        OptionalArray At(size_t place) const override {
            const OrtValue* value = nullptr;
            if (place < inputs_) {
                Check(ort_, ort_.GetInput(context_, place, &value));
            }
            return value == nullptr ? OptionalArray() : Describe(const_cast<OrtValue*>(value));
        }
        Array Describe(OrtValue* value) const {
            Array array;
            OrtTensorTypeAndShapeInfo* shape = nullptr;
            Check(ort_, ort_.GetTensorTypeAndShape(value, &shape));
            const auto release = [this](OrtTensorTypeAndShapeInfo* info) {
                ort_.ReleaseTensorTypeAndShapeInfo(info);
            };
            const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(release)> owner(shape,
                                                                                      release);
            int number = 0;
            size_t rank = 0;
            Check(ort_, ort_.GetTensorElementType(shape, &number));
            Check(ort_, ort_.GetDimensionsCount(shape, &rank));
            array.dtype = DtypeOf(number);
            array.sizes.resize(rank);
            Check(ort_, ort_.GetDimensions(shape, array.sizes.data(), rank));
            Check(ort_, ort_.GetTensorMutableData(value, &array.data));
            return array;
        }

        const ort_abi::Functions& ort_;
        OrtKernelContext* context_;
        size_t outputs_ = 0;
        size_t output_list_ = 0;  // items per list
        std::vector<std::unique_ptr<Workspace>> unused_;
    };

}  // namespace opgen_ort

#endif  // OPGEN_DOOR_ORT_FRAME_H
