// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Calls aclnn functions in two phases for torch tensors. The same code serves the CPU emulation
// and an NPU: which one runs is a matter of the device of the tensors and of the library found.
#ifndef OPGEN_BINDING_ACLNN_CALL_H
#define OPGEN_BINDING_ACLNN_CALL_H

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "allocation.h"
#include "device_launch.h"
#include "opapi_library.h"
#include "shapes.h"
#include "torch_api.h"

namespace opgen_torch __attribute__((visibility("hidden"))) {

    // torch dtype -> (name, aclDataType); the dtypes a spec can use.
    struct DtypeInfo {
        ScalarType type;
        const char* name;
        int acl;
    };

    inline const DtypeInfo* FindDtype(ScalarType dtype) {
        static const DtypeInfo table[] = {
            {ScalarType::Float, "float32", 0},      {ScalarType::Half, "float16", 1},
            {ScalarType::Char, "int8", 2},          {ScalarType::Int, "int32", 3},
            {ScalarType::Byte, "uint8", 4},         {ScalarType::Short, "int16", 6},
            {ScalarType::Long, "int64", 9},         {ScalarType::Bool, "bool", 12},
            {ScalarType::BFloat16, "bfloat16", 27}, {ScalarType::Double, "float64", 11},
        };
        for (const DtypeInfo& info : table) {
            if (info.type == dtype) {
                return &info;
            }
        }
        return nullptr;
    }

    inline std::string DtypeName(ScalarType dtype) {
        const DtypeInfo* info = FindDtype(dtype);
        return info != nullptr ? info->name
                               : "torch dtype number " + std::to_string(static_cast<int>(dtype));
    }

    inline int AclDtype(ScalarType dtype) {
        const DtypeInfo* info = FindDtype(dtype);
        OPGEN_CHECK(info != nullptr, "no aclDataType for " + DtypeName(dtype));
        return info->acl;
    }

    // Owns the acl objects of one call. They live until phase 2 has run, which on an NPU is later,
    // on torch_npu's task queue.
    class Arguments {
     public:
        explicit Arguments(const OpApi* api) : api_(api) {}
        ~Arguments() {
            for (const aclTensor* t : tensors_) api_->destroy_tensor(t);
            for (const aclTensorList* t : lists_) api_->destroy_tensor_list(t);
            for (const aclIntArray* t : ints_) api_->destroy_int_array(t);
            for (const aclFloatArray* t : floats_) api_->destroy_float_array(t);
        }
        Arguments(const Arguments&) = delete;
        Arguments& operator=(const Arguments&) = delete;

        const aclTensor* Convert(const Tensor& t) {
            tensors_.push_back(Create(t));
            return tensors_.back();
        }
        const aclTensor* Convert(const OptionalTensor& t) {
            return t.has_value() ? Convert(*t) : nullptr;
        }
        const aclTensorList* Convert(const TensorList& list) {
            std::vector<const aclTensor*> items;
            for (const Tensor& t : list) {
                items.push_back(Create(t));  // destroyed with the list
            }
            lists_.push_back(api_->create_tensor_list(items.data(), items.size()));
            return lists_.back();
        }
        const aclIntArray* Convert(const std::vector<int64_t>& values) {
            ints_.push_back(api_->create_int_array(values.data(), values.size()));
            return ints_.back();
        }
        const aclFloatArray* Convert(const std::vector<double>& values) {
            const std::vector<float> floats(values.begin(), values.end());
            floats_.push_back(api_->create_float_array(floats.data(), floats.size()));
            return floats_.back();
        }
        char* Convert(const std::string& text) {
            strings_.push_back(std::make_unique<std::string>(text));
            return &(*strings_.back())[0];
        }
        int64_t Convert(int64_t value) { return value; }
        double Convert(double value) { return value; }
        bool Convert(bool value) { return value; }
        // aclnn takes a dtype attr as the number of an aclDataType.
        int64_t Convert(ScalarType dtype) { return AclDtype(dtype); }

     private:
        // A view is passed with its strides: making it contiguous is the op library's job.
        aclTensor* Create(const Tensor& t) {
            const Sizes sizes = SizesOf(t);
            const Sizes strides = StridesOf(t);
            int64_t extent = 1;  // elements from the first to the last one addressed
            for (size_t i = 0; i < sizes.size(); ++i) {
                extent =
                    sizes[i] == 0 ? 0 : extent + (extent > 0 ? (sizes[i] - 1) * strides[i] : 0);
            }
            // The storage goes on behind a slice: whoever writes past the view destroys other data.
            if (extent > 0) extent = std::max(extent, StorageElements(t));
            constexpr int kFormatNd = 2;
            aclTensor* created =
                api_->create_tensor(sizes.data(), sizes.size(), AclDtype(DtypeOf(t)),
                                    strides.data(), 0, kFormatNd, &extent, 1, DataOf(t));
            OPGEN_CHECK(created != nullptr, "aclCreateTensor failed for shape " + Text(sizes));
            return created;
        }

        const OpApi* api_;
        std::vector<const aclTensor*> tensors_;
        std::vector<const aclTensorList*> lists_;
        std::vector<const aclIntArray*> ints_;
        std::vector<const aclFloatArray*> floats_;
        std::vector<std::unique_ptr<std::string>> strings_;
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

        // Choose the dtype combination by the inputs and, where the same inputs allow several
        // outputs, by the dtype attrs.
        void MatchDtypes(const std::vector<ScalarType>& dtype_attrs = {}) {
            std::optional<size_t> first;
            for (size_t row = 0; row < info_.dtypes.size(); ++row) {
                if (!InputsMatch(row)) {
                    continue;
                }
                if (!first.has_value()) {
                    first = row;
                }
                if (OutputsMatch(row, dtype_attrs)) {
                    row_ = row;
                    return;
                }
            }
            if (first.has_value() && dtype_attrs.empty()) {
                row_ = *first;
                return;
            }
            FailDtypes(dtype_attrs);
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
            auto arguments = std::make_shared<Arguments>(functions.api);
            const auto converted = std::make_tuple(arguments->Convert(args)...);
            uint64_t workspace = 0;
            aclOpExecutor* executor = nullptr;
            const int status = std::apply(
                [&](auto... values) {
                    using Phase1 = int (*)(decltype(values)..., uint64_t*, aclOpExecutor**);
                    return reinterpret_cast<Phase1>(functions.workspace_size)(values..., &workspace,
                                                                              &executor);
                },
                converted);
            if (status != 0 || executor == nullptr) {
                FailPhase(info_.op, info_.aclnn, *functions.api, 1, status);
            }
            RunLaunch(info_.op, info_.aclnn, functions, workspace, executor, Any(), arguments);
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

        bool InputsMatch(size_t row) const {
            for (size_t i = 0; i < given_.size(); ++i) {
                if (given_[i].has_value() && *given_[i] != info_.dtypes[row][i]) {
                    return false;
                }
            }
            return true;
        }

        bool OutputsMatch(size_t row, const std::vector<ScalarType>& dtype_attrs) const {
            for (const ScalarType wanted : dtype_attrs) {
                bool some = false;
                for (size_t i = info_.inputs; i < info_.names.size(); ++i) {
                    some = some || info_.dtypes[row][i] == wanted;
                }
                if (!some) {
                    return false;
                }
            }
            return true;
        }

        [[noreturn]] void FailDtypes(const std::vector<ScalarType>& dtype_attrs) const {
            std::string given;
            for (size_t i = 0; i < given_.size(); ++i) {
                given += (i == 0 ? "'" : ", '") + std::string(info_.names[i]) + "' " +
                         (given_[i].has_value() ? DtypeName(*given_[i]) : "absent");
            }
            for (const ScalarType wanted : dtype_attrs) {
                given += ", output " + DtypeName(wanted);
            }
            std::string allowed;
            for (const auto& row : info_.dtypes) {
                allowed += "\n  ";
                for (size_t i = 0; i < row.size(); ++i) {
                    allowed += (i == 0              ? ""
                                : i == info_.inputs ? " -> "
                                                    : ", ") +
                               std::string(info_.names[i]) + " " + DtypeName(row[i]);
                }
            }
            OPGEN_CHECK(false, std::string(info_.op) + ": unsupported dtypes " + given +
                                   "; allowed are:" + allowed);
            std::abort();  // not reached
        }

        const OpInfo& info_;
        std::string first_name_;
        std::vector<std::optional<ScalarType>> given_;
        std::vector<Tensor> tensors_;
        size_t row_ = 0;
    };

}  // namespace opgen_torch

#endif  // OPGEN_BINDING_ACLNN_CALL_H
