// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// One call of an op on memory of this CPU, for any framework: what is generated per op reads its
// inputs and attrs from here, and a framework implements Frame and AttrSource.
#ifndef OPGEN_BINDING_OP_CALL_H
#define OPGEN_BINDING_OP_CALL_H

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "arguments.h"
#include "checks.h"
#include "dtypes.h"
#include "opapi_library.h"
#include "shapes.h"

namespace opgen_binding __attribute__((visibility("hidden"))) {

    // A contiguous tensor in the framework's memory.
    struct Array {
        void* data = nullptr;
        Dtype dtype = Dtype::kUnknown;
        Sizes sizes;
    };
    using OptionalArray = std::optional<Array>;
    using ArrayList = std::vector<Array>;

    // Shapes as the spec's rules read them. Absent optional inputs count as scalars, which
    // broadcast to anything.
    inline Sizes Shape(const Array& a) { return a.sizes; }
    inline Sizes Shape(const OptionalArray& a) { return a.has_value() ? a->sizes : Sizes(); }
    inline Sizes Like(const Array& a) { return a.sizes; }
    inline Sizes Like(const OptionalArray& a) {
        OPGEN_CHECK(a.has_value(),
                    "an output has the shape of an optional input that was not given");
        return a->sizes;
    }

    // int, bool, float, str, list_int, list_float and dtype of a spec, in this order.
    using AttrValue =
        std::variant<int64_t, bool, double, std::string, Sizes, std::vector<double>, Dtype>;
    using AttrValues = std::vector<AttrValue>;  // one per attr of the op

    enum class Kind { kRequired, kOptional, kList };

    struct TensorParam {
        const char* name;
        Kind kind;
        int min_rank;
        int max_rank;
        int inplace;  // of an output: the input whose values it begins with, else -1
    };

    struct AttrParam {
        const char* name;
        bool required;
        AttrValue value;                 // the default; of a required attr its type
        std::vector<AttrValue> allowed;  // empty: all
    };

    class Frame;

    // What a door knows about an op.
    struct OpInfo {
        const char* type;   // FusedAddRelu
        const char* name;   // fused_add_relu
        const char* aclnn;  // phase-2 function
        const char* doc;
        std::vector<TensorParam> inputs;
        std::vector<TensorParam> outputs;
        std::vector<AttrParam> attrs;
        std::vector<std::vector<Dtype>> dtypes;  // a row per combination: inputs, outputs
        void (*call)(const OpInfo&, const AttrValues&, Frame&);
    };

    // Where a framework has the attrs of a node. Each method is false where the node has none of
    // that name, and throws where it has one of another type.
    class AttrSource {
     public:
        virtual ~AttrSource() = default;
        virtual bool Get(const char* name, int64_t* value) = 0;
        virtual bool Get(const char* name, bool* value) = 0;
        virtual bool Get(const char* name, double* value) = 0;
        virtual bool Get(const char* name, std::string* value) = 0;
        virtual bool Get(const char* name, Sizes* value) = 0;
        virtual bool Get(const char* name, std::vector<double>* value) = 0;
        virtual bool Get(const char* name, Dtype* value) = 0;
    };

    // Frameworks hand floats over in float32, as CANN takes them.
    inline bool SameValue(const AttrValue& a, const AttrValue& b) {
        const double* x = std::get_if<double>(&a);
        const double* y = std::get_if<double>(&b);
        return x != nullptr && y != nullptr ? static_cast<float>(*x) == static_cast<float>(*y)
                                            : a == b;
    }

    // The attrs of a node, defaults filled in; throws on a missing or unlisted value.
    inline AttrValues ReadAttrs(const OpInfo& info, AttrSource& source) {
        AttrValues values;
        for (const AttrParam& attr : info.attrs) {
            AttrValue value = attr.value;
            const bool found =
                std::visit([&](auto& typed) { return source.Get(attr.name, &typed); }, value);
            OPGEN_CHECK(found || !attr.required,
                        std::string(info.type) + ": attribute '" + attr.name + "' is missing");
            bool listed = attr.allowed.empty();
            for (const AttrValue& one : attr.allowed) {
                listed = listed || SameValue(one, value);
            }
            OPGEN_CHECK(listed, std::string(info.type) + ": attribute '" + attr.name +
                                    "' has a value that the op does not take");
            values.push_back(std::move(value));
        }
        return values;
    }

    // Inputs and outputs of one call, in the framework's memory. Indices are those of OpInfo.
    class Frame {
     public:
        virtual ~Frame() = default;
        virtual Array Required(size_t input) = 0;
        virtual OptionalArray Optional(size_t input) = 0;
        virtual ArrayList List(size_t input) = 0;
        // Contiguous memory for an output (its `item`, for a list).
        virtual void* Output(size_t output, size_t item, const Sizes& sizes, Dtype dtype) = 0;
        // False: only the shapes and dtypes of the outputs are asked for; data may be null.
        virtual bool Runs() const { return true; }
    };

    inline TensorView ViewOf(const Array& a) {
        TensorView view;
        view.data = a.data;
        view.dtype = static_cast<int>(a.dtype);
        view.sizes = a.sizes;
        view.strides.assign(a.sizes.size(), 1);
        for (size_t i = a.sizes.size(); i > 1; --i) {
            view.strides[i - 2] = view.strides[i - 1] * a.sizes[i - 1];
        }
        view.storage_elements = Numel(a.sizes);
        return view;
    }

    // The acl objects of a call on arrays.
    class ArrayArguments : public Arguments {
     public:
        using Arguments::Arguments;
        using Arguments::Convert;
        const aclTensor* Convert(const Array& a) { return Convert(ViewOf(a)); }
        const aclTensor* Convert(const OptionalArray& a) {
            return a.has_value() ? Convert(ViewOf(*a)) : nullptr;
        }
        const aclTensorList* Convert(const ArrayList& list) {
            std::vector<TensorView> views;
            for (const Array& a : list) {
                views.push_back(ViewOf(a));
            }
            return Convert(views);
        }
    };

    // Device memory of a call: NPU allocations are 512-byte aligned, so the emulation's are.
    class Workspace {
     public:
        explicit Workspace(uint64_t bytes) {
            constexpr uint64_t kAlignment = 512;
            if (bytes > 0) {
                data_ = std::aligned_alloc(kAlignment,
                                           (bytes + kAlignment - 1) / kAlignment * kAlignment);
                OPGEN_CHECK(data_ != nullptr,
                            "no memory for a workspace of " + std::to_string(bytes) + " bytes");
            }
        }
        ~Workspace() { std::free(data_); }
        Workspace(const Workspace&) = delete;
        Workspace& operator=(const Workspace&) = delete;
        void* data() const { return data_; }

     private:
        void* data_ = nullptr;
    };

    // One call of an op: takes and checks the inputs, asks for the outputs, runs both phases.
    class Call {
     public:
        Call(const OpInfo& info, Frame& frame) : info_(info), frame_(frame) {}

        Array Required(size_t input) {
            const Array a = frame_.Required(input);
            Check(a, info_.inputs[input], info_.inputs[input].name);
            given_.push_back(a.dtype);
            return a;
        }
        OptionalArray Optional(size_t input) {
            const OptionalArray a = frame_.Optional(input);
            if (a.has_value()) {
                Check(*a, info_.inputs[input], info_.inputs[input].name);
            }
            given_.push_back(a.has_value() ? std::optional<Dtype>(a->dtype) : std::nullopt);
            return a;
        }
        ArrayList List(size_t input) {
            const ArrayList list = frame_.List(input);
            const std::string name = info_.inputs[input].name;
            for (size_t i = 0; i < list.size(); ++i) {
                const std::string item = name + "[" + std::to_string(i) + "]";
                Check(list[i], info_.inputs[input], item);
                OPGEN_CHECK(list[i].dtype == list[0].dtype,
                            std::string(info_.type) + ": " + item + " is " +
                                DtypeName(list[i].dtype) + ", but " + name + "[0] is " +
                                DtypeName(list[0].dtype) + "; a list has one dtype");
            }
            given_.push_back(list.empty() ? std::nullopt : std::optional<Dtype>(list[0].dtype));
            return list;
        }

        // Choose the dtype combination, once all inputs are taken.
        void MatchDtypes(const std::vector<Dtype>& dtype_attrs = {}) {
            std::vector<const char*> names;
            for (const TensorParam& p : info_.inputs) names.push_back(p.name);
            for (const TensorParam& p : info_.outputs) names.push_back(p.name);
            const DtypeTable<Dtype> table{info_.type, names, info_.inputs.size(), info_.dtypes,
                                          &DtypeName};
            row_ = table.Match(given_, dtype_attrs);
        }

        Array Output(size_t output, const Sizes& sizes, size_t item = 0) {
            for (const int64_t size : sizes) {
                OPGEN_CHECK(size >= 0, std::string(info_.type) + ": the shape of output '" +
                                           info_.outputs[output].name + "' would be " +
                                           Text(sizes));
            }
            Array a;
            a.dtype = info_.dtypes[row_][info_.inputs.size() + output];
            a.sizes = sizes;
            a.data = frame_.Output(output, item, sizes, a.dtype);
            return a;
        }

        // An output that the op writes in place of an input: it begins as a copy of that, since a
        // node of a graph must not change its inputs.
        Array InPlace(size_t output, const Array& input, size_t item = 0) {
            Array a = Output(output, input.sizes, item);
            if (frame_.Runs() && Numel(input.sizes) > 0) {
                std::memcpy(a.data, input.data, Numel(input.sizes) * FindDtype(a.dtype)->bytes);
            }
            return a;
        }
        ArrayList InPlace(size_t output, const ArrayList& inputs) {
            ArrayList list;
            for (size_t i = 0; i < inputs.size(); ++i) {
                list.push_back(InPlace(output, inputs[i], i));
            }
            return list;
        }

        // Arguments in the order of aclnn<Op>GetWorkspaceSize.
        template <typename... Args>
        void Run(const Args&... args) const {
            if (!frame_.Runs()) {
                return;
            }
            const OpFunctions functions = FindOp(info_.name, info_.aclnn, true);
            ArrayArguments arguments(functions.api);
            const Prepared prepared = PrepareCall(info_.name, info_.aclnn, functions,
                                                  std::make_tuple(arguments.Convert(args)...));
            const Workspace workspace(prepared.workspace_bytes);
            const int status = functions.launch(workspace.data(), prepared.workspace_bytes,
                                                prepared.executor, nullptr);
            if (status != 0) {
                FailPhase(info_.name, info_.aclnn, *functions.api, 2, status);
            }
            CountCall(info_.name, "emulated");
        }

     private:
        void Check(const Array& a, const TensorParam& param, const std::string& name) const {
            const int rank = static_cast<int>(a.sizes.size());
            OPGEN_CHECK(
                rank >= param.min_rank && rank <= param.max_rank,
                std::string(info_.type) + ": '" + name + "' has " + std::to_string(rank) +
                    " dims " + Text(a.sizes) + ", expected " + std::to_string(param.min_rank) +
                    (param.min_rank == param.max_rank ? ""
                                                      : " to " + std::to_string(param.max_rank)));
        }

        const OpInfo& info_;
        Frame& frame_;
        std::vector<std::optional<Dtype>> given_;
        size_t row_ = 0;
    };

}  // namespace opgen_binding

#endif  // OPGEN_BINDING_OP_CALL_H
