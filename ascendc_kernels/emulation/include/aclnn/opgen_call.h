// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a generated aclnn function does on the CPU target: describe the call, prepare it (checks,
// InferShape, tiling), and launch it. Implemented in runtime/nnopbase, linked into
// libcust_opapi.so.
#ifndef OPGEN_ACLNN_OPGEN_CALL_H
#define OPGEN_ACLNN_OPGEN_CALL_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "aclnn/acl_meta.h"

namespace opgen_aclnn {

class CallExecutor;

// One aclnn call, filled in OpDef order. Problems are remembered and returned by Prepare.
class Call {
 public:
    // op_type: CamelCase op; api: phase-2 function name. Both must outlive the process.
    Call(const char* op_type, const char* api);
    ~Call();

    // A required tensor may not be null. A strided view is made contiguous at launch.
    Call& Input(const char* name, const aclTensor* tensor);
    Call& Input(const char* name, const aclTensorList* tensors);
    // Null means absent.
    Call& OptionalInput(const char* name, const aclTensor* tensor);
    // An in-place parameter is given both as input and as output. A strided output is computed
    // in a contiguous buffer and copied back.
    Call& Output(const char* name, const aclTensor* tensor);
    Call& Output(const char* name, const aclTensorList* tensors);

    Call& AttrInt(const char* name, int64_t value);
    Call& AttrFloat(const char* name, double value);
    Call& AttrBool(const char* name, bool value);
    Call& AttrStr(const char* name, const char* value);
    Call& AttrListInt(const char* name, const aclIntArray* value);
    Call& AttrListFloat(const char* name, const aclFloatArray* value);
    // value: an aclDataType
    Call& AttrDtype(const char* name, int64_t value);

    // Allowed dtype combinations: `rows` rows of one aclDataType per input, then per output.
    Call& Dtypes(const int32_t* table, size_t rows);

    // Phase 1. Returns 161001 for null parameters, 161002 for a bad dtype or shape, 561003 when the
    // package's kernels are not found, 561002 when tiling fails; aclGetRecentErrMsg() says why.
    aclnnStatus Prepare(uint64_t* workspace_size, aclOpExecutor** executor);

 private:
    std::unique_ptr<CallExecutor> state_;
};

// Phase 2.
aclnnStatus Launch(const char* api, void* workspace, uint64_t workspace_size,
                   aclOpExecutor* executor, void* stream);

}  // namespace opgen_aclnn

#endif  // OPGEN_ACLNN_OPGEN_CALL_H
