// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The acl objects of one call, and phase 1 of an aclnn function.
#ifndef OPGEN_BINDING_ARGUMENTS_H
#define OPGEN_BINDING_ARGUMENTS_H

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "checks.h"
#include "dtypes.h"
#include "opapi_library.h"

namespace opgen_binding __attribute__((visibility("hidden"))) {

    // Memory as aclCreateTensor takes it.
    struct TensorView {
        void* data = nullptr;
        int dtype = 0;  // an aclDataType
        Sizes sizes;
        Sizes strides;                 // in elements
        int64_t storage_elements = 0;  // from the first element to the end of the memory
    };

    // Owns the acl objects of one call. They live until phase 2 has run.
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

        const aclTensor* Convert(const TensorView& view) {
            tensors_.push_back(Create(view));
            return tensors_.back();
        }
        const aclTensorList* Convert(const std::vector<TensorView>& views) {
            std::vector<const aclTensor*> items;
            for (const TensorView& view : views) {
                items.push_back(Create(view));  // destroyed with the list
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
        int64_t Convert(Dtype dtype) { return static_cast<int64_t>(dtype); }

     private:
        // A view is passed with its strides: making it contiguous is the op library's job.
        aclTensor* Create(const TensorView& view) {
            const Sizes& sizes = view.sizes;
            int64_t extent = 1;  // elements from the first to the last one addressed
            for (size_t i = 0; i < sizes.size(); ++i) {
                extent = sizes[i] == 0
                             ? 0
                             : extent + (extent > 0 ? (sizes[i] - 1) * view.strides[i] : 0);
            }
            // The storage goes on behind a slice: whoever writes past the view destroys other data.
            if (extent > 0) extent = std::max(extent, view.storage_elements);
            constexpr int kFormatNd = 2;
            aclTensor* created =
                api_->create_tensor(sizes.data(), sizes.size(), view.dtype, view.strides.data(), 0,
                                    kFormatNd, &extent, 1, view.data);
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

    // What phase 1 leaves for phase 2.
    struct Prepared {
        aclOpExecutor* executor = nullptr;
        uint64_t workspace_bytes = 0;
    };

    // Phase 1 over converted arguments; throws with the library's own text.
    template <typename... Values>
    Prepared PrepareCall(const char* op, const char* aclnn, const OpFunctions& functions,
                         const std::tuple<Values...>& converted) {
        Prepared prepared;
        const int status = std::apply(
            [&](auto... values) {
                using Phase1 = int (*)(decltype(values)..., uint64_t*, aclOpExecutor**);
                return reinterpret_cast<Phase1>(functions.workspace_size)(
                    values..., &prepared.workspace_bytes, &prepared.executor);
            },
            converted);
        if (status != 0 || prepared.executor == nullptr) {
            FailPhase(op, aclnn, *functions.api, 1, status);
        }
        return prepared;
    }

}  // namespace opgen_binding

#endif  // OPGEN_BINDING_ARGUMENTS_H
