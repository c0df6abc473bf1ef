// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Calls aclnn functions in two phases for torch tensors. The same code serves the CPU emulation
// and an NPU: which one runs is a matter of the device of the tensors and of the library found.
#ifndef OPGEN_BINDING_ACLNN_CALL_H
#define OPGEN_BINDING_ACLNN_CALL_H

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "allocation.h"
#include "arguments.h"
#include "device_launch.h"
#include "dtypes.h"
#include "opapi_library.h"
#include "shapes.h"
#include "torch_api.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

    // The dtype a spec can use of a torch dtype; kUnknown for any other.
    inline Dtype SpecDtype(ScalarType dtype) {
        switch (dtype) {
            case ScalarType::Float:
                return Dtype::kFloat32;
            case ScalarType::Half:
                return Dtype::kFloat16;
            case ScalarType::Char:
                return Dtype::kInt8;
            case ScalarType::Int:
                return Dtype::kInt32;
            case ScalarType::Byte:
                return Dtype::kUint8;
            case ScalarType::Short:
                return Dtype::kInt16;
            case ScalarType::Long:
                return Dtype::kInt64;
            case ScalarType::Bool:
                return Dtype::kBool;
            case ScalarType::BFloat16:
                return Dtype::kBfloat16;
            case ScalarType::Double:
                return Dtype::kFloat64;
            default:
                return Dtype::kUnknown;
        }
    }

    inline std::string DtypeName(ScalarType dtype) {
        const DtypeInfo* info = FindDtype(SpecDtype(dtype));
        return info != nullptr ? info->name
                               : "torch dtype number " + std::to_string(static_cast<int>(dtype));
    }

    inline int AclDtype(ScalarType dtype) {
        const Dtype known = SpecDtype(dtype);
        OPGEN_CHECK(known != Dtype::kUnknown, "no aclDataType for " + DtypeName(dtype));
        return static_cast<int>(known);
    }

    inline TensorView ViewOf(const Tensor& t) {
        TensorView view;
        view.data = DataOf(t);
        view.dtype = AclDtype(DtypeOf(t));
        view.sizes = SizesOf(t);
        view.strides = StridesOf(t);
        view.storage_elements = StorageElements(t);
        return view;
    }

    // The acl objects of a call on tensors. They live until phase 2 has run, which on an NPU is
    // later, on torch_npu's task queue.
    class TensorArguments : public Arguments {
     public:
        using Arguments::Arguments;
        using Arguments::Convert;
        const aclTensor* Convert(const Tensor& t) { return Convert(ViewOf(t)); }
        const aclTensor* Convert(const OptionalTensor& t) {
            return t.has_value() ? Convert(ViewOf(*t)) : nullptr;
        }
        const aclTensorList* Convert(const TensorList& list) {
            std::vector<TensorView> views;
            for (const Tensor& t : list) {
                views.push_back(ViewOf(t));
            }
            return Convert(views);
        }
        int64_t Convert(ScalarType dtype) { return AclDtype(dtype); }
    };

    // What the binding knows about an op.
    struct OpInfo {
        const char* op;                  // torch name
        const char* aclnn;               // phase-2 function
        std::vector<const char*> names;  // inputs, then outputs
        size_t inputs;
        std::vector<std::vector<ScalarType>> dtypes;  // one row per combination, columns as names
    };

    // One call of an op: checks tensors, allocates outputs, converts arguments, runs.
    class Call {
     public:
        explicit Call(const OpInfo& info) : info_(info) {}

        // Take the next input; every tensor must be on one device and within the rank limits.
        void Input(const Tensor& t, int min_rank, int max_rank) {
            Take(t, info_.names[given_.size()], min_rank, max_rank);
            given_.push_back(DtypeOf(t));
        }
        void Input(const OptionalTensor& t, int min_rank, int max_rank) {
            if (t.has_value()) {
                Input(*t, min_rank, max_rank);
            } else {
                given_.push_back(std::nullopt);
            }
        }
        void Input(const TensorList& list, int min_rank, int max_rank) {
            const std::string name = info_.names[given_.size()];
            std::optional<ScalarType> dtype;
            for (size_t i = 0; i < list.size(); ++i) {
                const std::string item = name + "[" + std::to_string(i) + "]";
                Take(list[i], item, min_rank, max_rank);
                OPGEN_CHECK(!dtype.has_value() || *dtype == DtypeOf(list[i]),
                            std::string(info_.op) + ": " + item + " is " +
                                DtypeName(DtypeOf(list[i])) + ", but " + name + "[0] is " +
                                DtypeName(*dtype) + "; a list has one dtype");
                dtype = DtypeOf(list[i]);
            }
            given_.push_back(dtype);
        }

        // Choose the dtype combination, once all inputs are taken.
        void MatchDtypes(const std::vector<ScalarType>& dtype_attrs = {}) {
            const DtypeTable<ScalarType> table{info_.op, info_.names, info_.inputs, info_.dtypes,
                                               &DtypeName};
            row_ = table.Match(given_, dtype_attrs);
        }

        // A new contiguous tensor for column `column` of the dtype table.
        Tensor Output(const Sizes& sizes, size_t column) const {
            return NewTensor(sizes, info_.dtypes[row_][column], Any());
        }

        // Arguments in the order of aclnn<Op>GetWorkspaceSize.
        template <typename... Args>
        void Run(const Args&... args) const {
            std::optional<NpuGuard> guard;
            if (!OnCpu(Any())) {
                guard.emplace(DeviceIndex(Any()));
            }
            const OpFunctions functions = FindOp(info_.op, info_.aclnn, OnCpu(Any()));
            auto arguments = std::make_shared<TensorArguments>(functions.api);
            const Prepared prepared = PrepareCall(info_.op, info_.aclnn, functions,
                                                  std::make_tuple(arguments->Convert(args)...));
            RunLaunch(info_.op, info_.aclnn, functions, prepared.workspace_bytes, prepared.executor,
                      Any(), arguments);
        }

     private:
        void Take(const Tensor& t, const std::string& name, int min_rank, int max_rank) {
            if (!tensors_.empty()) {
                const Tensor& first = tensors_.front();
                OPGEN_CHECK(DeviceType(t) == DeviceType(first) &&
                                (OnCpu(t) || DeviceIndex(t) == DeviceIndex(first)),
                            std::string(info_.op) + ": '" + name + "' is on " + DeviceText(t) +
                                ", but '" + first_name_ + "' is on " + DeviceText(first) +
                                "; all tensors must be on one device");
            } else {
                first_name_ = name;
            }
            const int rank = static_cast<int>(SizesOf(t).size());
            OPGEN_CHECK(rank >= min_rank && rank <= max_rank,
                        std::string(info_.op) + ": '" + name + "' has " + std::to_string(rank) +
                            " dims " + Text(SizesOf(t)) + ", expected " + std::to_string(min_rank) +
                            (min_rank == max_rank ? "" : " to " + std::to_string(max_rank)));
            tensors_.push_back(t);
        }

        static std::string DeviceText(const Tensor& t) {
            return OnCpu(t) ? "cpu" : "device " + std::to_string(DeviceIndex(t));
        }

        const Tensor& Any() const {
            OPGEN_CHECK(!tensors_.empty(),
                        std::string(info_.op) + ": needs at least one tensor to know its device");
            return tensors_.front();
        }

        const OpInfo& info_;
        std::string first_name_;
        std::vector<std::optional<ScalarType>> given_;
        std::vector<Tensor> tensors_;
        size_t row_ = 0;
    };

}  // namespace opgen_torch

#endif  // OPGEN_BINDING_ACLNN_CALL_H
