// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The shapes of a node's outputs before a session runs, as far as the model tells those of its
// inputs. A dim of the model is a number or has a name, and the rules of an op read numbers: they
// are evaluated several times, each time with other numbers in place of the names. A dim of an
// output that is the same each time is that number; one that is the number of a name each time has
// that name; any other is unknown.
#ifndef OPGEN_DOOR_ORT_SHAPES_H
#define OPGEN_DOOR_ORT_SHAPES_H

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "op_call.h"
#include "ort_abi.h"
#include "ort_frame.h"

namespace opgen_ort __attribute__((visibility("hidden"))) {

    // The attributes of a node, as the inference of shapes has them.
    class InferredAttrs : public AttrSource {
     public:
        InferredAttrs(const ort_abi::Functions& ort, const OrtShapeInferContext* context)
            : ort_(ort), context_(context) {}

        bool Get(const char* name, int64_t* value) override {
            return Read(name, ort_abi::kInt, value, sizeof(*value));
        }
        bool Get(const char* name, bool* value) override {
            int64_t number = 0;
            const bool found = Get(name, &number);
            *value = found ? number != 0 : *value;
            return found;
        }
        bool Get(const char* name, double* value) override {
            float number = 0;
            const bool found = Read(name, ort_abi::kFloat, &number, sizeof(number));
            *value = found ? number : *value;
            return found;
        }
        bool Get(const char* name, std::string* value) override {
            std::vector<char> text;
            if (!ReadAll(name, ort_abi::kString, &text)) {
                return false;
            }
            value->assign(text.data(), text.empty() ? 0 : text.size() - 1);  // ends with a zero
            return true;
        }
        bool Get(const char* name, Sizes* value) override {
            std::vector<int64_t> numbers;
            const bool found = ReadAll(name, ort_abi::kInts, &numbers);
            *value = found ? Sizes(numbers.begin(), numbers.end()) : *value;
            return found;
        }
        bool Get(const char* name, std::vector<double>* value) override {
            std::vector<float> numbers;
            const bool found = ReadAll(name, ort_abi::kFloats, &numbers);
            if (found) {
                value->assign(numbers.begin(), numbers.end());
            }
            return found;
        }
        bool Get(const char* name, Dtype* value) override {
            int64_t number = 0;
            const bool found = Get(name, &number);
            *value = found ? DtypeOf(static_cast<int>(number)) : *value;
            return found;
        }

     private:
        const OrtOpAttr* Find(const char* name) const {
            const OrtOpAttr* attr = nullptr;
            return Succeeds(ort_, ort_.GetAttribute(context_, name, &attr)) ? attr : nullptr;
        }
        bool Read(const char* name, int type, void* value, size_t size) const {
            const OrtOpAttr* attr = Find(name);
            size_t needed = 0;
            if (attr != nullptr) {
                Check(ort_, ort_.ReadOpAttr(attr, type, value, size, &needed));
            }
            return attr != nullptr;
        }
        template <typename Value>
        bool ReadAll(const char* name, int type, std::vector<Value>* values) const {
            const OrtOpAttr* attr = Find(name);
            if (attr == nullptr) {
                return false;
            }
            size_t needed = 0;
            if (!Succeeds(ort_, ort_.ReadOpAttr(attr, type, values->data(), 0, &needed))) {
                values->resize((needed + sizeof(Value) - 1) / sizeof(Value));
                Check(ort_, ort_.ReadOpAttr(attr, type, values->data(), needed, &needed));
            }
            return true;
        }

        const ort_abi::Functions& ort_;
        const OrtShapeInferContext* context_;
    };

    // Numbers that stand for the names of dims.
    using Numbers = std::map<std::string, int64_t>;

    // A tensor that a model describes: dims without a number have a name.
    struct Described {
        Array array;
        std::vector<std::string> names;
    };

    // The inputs of a node with numbers in place of names, and the outputs that follow from them.
    class ShapeFrame : public FlatFrame {
     public:
        ShapeFrame(const OpInfo& info, const std::vector<std::optional<Described>>& inputs,
                   const Numbers& numbers)
            : FlatFrame(info, inputs.size()) {
            for (const std::optional<Described>& input : inputs) {
                arrays_.emplace_back();
                if (!input.has_value()) {
                    continue;
                }
                arrays_.back() = input->array;
                for (size_t i = 0; i < input->names.size(); ++i) {
                    if (!input->names[i].empty()) {
                        arrays_.back()->sizes[i] = numbers.at(input->names[i]);
                    }
                }
            }
        }

        // A list of outputs is as long as the lists of inputs.
        void* Output(size_t output, size_t item, const Sizes& sizes, Dtype dtype) override {
            const size_t place = Place(info_.outputs, output, input_list_) + item;
            outputs.resize(std::max(outputs.size(), place + 1));
            outputs[place] = Array{nullptr, dtype, sizes};
            return nullptr;
        }
        bool Runs() const override { return false; }

        std::vector<Array> outputs;

     protected:
        OptionalArray At(size_t place) const override {
            return place < arrays_.size() ? arrays_[place] : OptionalArray();
        }

     private:
        std::vector<OptionalArray> arrays_;
    };

    constexpr size_t kMostAxes = 8;  // of a tensor of CANN

    // What the rules give for some numbers.
    struct Evaluation {
        Numbers numbers;
        std::vector<Array> outputs;
    };

    inline std::vector<Evaluation> Evaluate(const OpInfo& info, const AttrValues& attrs,
                                            const std::vector<std::optional<Described>>& inputs) {
        Numbers numbers;
        for (const std::optional<Described>& input : inputs) {
            for (const std::string& name :
                 input.has_value() ? input->names : std::vector<std::string>()) {
                if (!name.empty()) {
                    numbers[name] = 0;
                }
            }
        }
        std::vector<Evaluation> found;
        std::vector<std::optional<Described>> described = inputs;
        const auto evaluate = [&](int64_t first, int64_t step) {
            int64_t next = first;
            for (auto& entry : numbers) {
                entry.second = next;
                next += step;
            }
            ShapeFrame frame(info, described, numbers);
            info.call(info, attrs, frame);
            found.push_back({numbers, std::move(frame.outputs)});
        };
        // No sum and no multiple of one name is another one each time.
        evaluate(9, 2);
        if (!numbers.empty()) {
            evaluate(1009, 7);
            evaluate(100003, 31);
            try {
                evaluate(1, 0);  // shows a rule like min(n, 4)
            } catch (const std::runtime_error&) {
                // too small for the op
            }
        }
        // The interface does not tell a scalar from a tensor of unknown rank. With other ranks an
        // op either refuses the call, or shows which outputs depend on it.
        const auto may_have_axes = [](const std::optional<Described>& input) {
            return input.has_value() && input->names.empty();
        };
        if (std::any_of(inputs.begin(), inputs.end(), may_have_axes)) {
            for (size_t rank = 1; rank <= kMostAxes; ++rank) {
                for (size_t i = 0; i < inputs.size(); ++i) {
                    if (may_have_axes(inputs[i])) {
                        described[i]->array.sizes.assign(rank, 1);
                        described[i]->names.assign(rank, "");
                    }
                }
                try {
                    evaluate(9, 2);
                } catch (const std::runtime_error&) {
                    // not a rank of the op
                }
            }
        }
        return found;
    }

    // Names the dims of the first evaluation that vary: "" where the number is known, "?" where
    // neither is. An output whose rank varies has no description.
    inline std::vector<std::optional<Described>> Compare(const std::vector<Evaluation>& found) {
        std::vector<std::optional<Described>> outputs;
        for (size_t k = 0; k < found[0].outputs.size(); ++k) {
            const Array& first = found[0].outputs[k];
            Described output{first, std::vector<std::string>(first.sizes.size())};
            const auto same_rank = [&](const Evaluation& other) {
                return other.outputs[k].sizes.size() == first.sizes.size();
            };
            if (!std::all_of(found.begin(), found.end(), same_rank)) {
                outputs.emplace_back();
                continue;
            }
            for (size_t i = 0; i < first.sizes.size(); ++i) {
                // Whether a dim is `number(evaluation)` each time.
                const auto always = [&](const auto& number) {
                    return std::all_of(found.begin(), found.end(), [&](const Evaluation& one) {
                        return one.outputs[k].sizes[i] == number(one);
                    });
                };
                if (always([&](const Evaluation&) { return first.sizes[i]; })) {
                    continue;
                }
                output.names[i] = "?";
                for (const auto& entry : found[0].numbers) {
                    if (always(
                            [&](const Evaluation& one) { return one.numbers.at(entry.first); })) {
                        output.names[i] = entry.first;
                    }
                }
            }
            outputs.emplace_back(std::move(output));
        }
        return outputs;
    }

    // An input as the model describes it: a scalar where its rank is unknown.
    inline std::optional<Described> DescribedInput(
        const ort_abi::Functions& ort, const OrtShapeInferContext* context, size_t index) {
        OrtTensorTypeAndShapeInfo* info = nullptr;
        if (!Succeeds(ort, ort.GetInputTypeShape(context, index, &info)) || info == nullptr) {
            return std::nullopt;
        }
        size_t rank = 0;
        int type = 0;
        Check(ort, ort.GetDimensionsCount(info, &rank));
        Check(ort, ort.GetTensorElementType(info, &type));
        if (type == 0) {  // of no dtype: an optional input that is not given
            return std::nullopt;
        }
        Described input;
        input.array.dtype = DtypeOf(type);
        input.array.sizes.resize(rank);
        Check(ort, ort.GetDimensions(info, input.array.sizes.data(), rank));
        std::vector<const char*> names(rank, "");
        Check(ort, ort.GetSymbolicDimensions(info, names.data(), rank));
        for (size_t i = 0; i < rank; ++i) {
            const bool known = input.array.sizes[i] >= 0;
            const std::string name = names[i] == nullptr ? "" : names[i];
            const std::string own = "?" + std::to_string(index) + "," + std::to_string(i);
            input.names.push_back(known ? "" : name.empty() ? own : name);
        }
        return input;
    }

    inline void SetOutput(const ort_abi::Functions& ort, OrtShapeInferContext* context,
                          size_t place, const Described& output) {
        static std::atomic<uint64_t> unknown{0};  // an unknown dim is equal to no other one
        std::vector<std::string> names = output.names;
        std::vector<const char*> texts;
        Sizes sizes = output.array.sizes;
        for (size_t i = 0; i < names.size(); ++i) {
            sizes[i] = names[i].empty() ? sizes[i] : -1;
            if (names[i].rfind("?", 0) == 0) {
                names[i] = std::string(OPGEN_BINDING_VENDOR) + "_dim_" + std::to_string(++unknown);
            }
        }
        for (const std::string& name : names) {
            texts.push_back(name.c_str());
        }
        OrtTensorTypeAndShapeInfo* info = nullptr;
        Check(ort, ort.CreateTensorTypeAndShapeInfo(&info));
        const auto release = [&ort](OrtTensorTypeAndShapeInfo* made) {
            ort.ReleaseTensorTypeAndShapeInfo(made);
        };
        const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(release)> owner(info, release);
        Check(ort, ort.SetTensorElementType(info, NumberOf(output.array.dtype)));
        Check(ort, ort.SetDimensions(info, sizes.data(), sizes.size()));
        Check(ort, ort.SetSymbolicDimensions(info, texts.data(), texts.size()));
        // An output that the node leaves out has no place: nothing is lost.
        Succeeds(ort, ort.SetOutputTypeShape(context, place, info));
    }

    // Tells the runtime the shapes of a node's outputs. What cannot be told is left unknown: a
    // wrong node is refused where its kernel is made or runs, with a text.
    inline void InferShapes(const ort_abi::Functions& ort, const OpInfo& info,
                            OrtShapeInferContext* context) {
        try {
            size_t count = 0;
            Check(ort, ort.GetInputCount(context, &count));
            std::vector<std::optional<Described>> inputs;
            for (size_t i = 0; i < count; ++i) {
                inputs.push_back(DescribedInput(ort, context, i));
            }
            InferredAttrs attrs(ort, context);
            const std::vector<std::optional<Described>> outputs =
                Compare(Evaluate(info, ReadAttrs(info, attrs), inputs));
            for (size_t k = 0; k < outputs.size(); ++k) {
                if (outputs[k].has_value()) {
                    SetOutput(ort, context, k, *outputs[k]);
                }
            }
        } catch (const std::exception&) {
        }
    }

}  // namespace opgen_ort

#endif  // OPGEN_DOOR_ORT_SHAPES_H
