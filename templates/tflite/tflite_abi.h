// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The part of TensorFlow Lite's C interface that a custom op and a delegate need. No wheel carries
// its headers, so the layout of the structs is declared here: names and order are those of the
// public header (common.h), the fields behind the last one used are left out. Structs that are
// passed to the runtime have all fields; a newer runtime reads zeros in what it added.
#ifndef OPGEN_DOOR_TFLITE_ABI_H
#define OPGEN_DOOR_TFLITE_ABI_H

#include <cstddef>
#include <cstdint>

namespace opgen_tflite __attribute__((visibility("hidden"))) {

    enum Status : int { kOk = 0, kError = 1 };

    constexpr int kCustomOp = 32;         // BuiltinOperator_CUSTOM
    constexpr int kDynamicMemory = 4;     // kTfLiteDynamic
    constexpr int kAbsentTensor = -1;     // kTfLiteOptionalTensor
    constexpr int64_t kTakesDynamic = 1;  // kTfLiteDelegateFlagsAllowDynamicTensors

    struct Delegate;

    struct IntArray {
        int size;
        int data[1];  // `size` of them
    };

    struct Tensor {
        int type;  // a TfLiteType
        void* data;
        IntArray* dims;
        float scale;  // of a quantized tensor; else 0
        int32_t zero_point;
        int allocation_type;
        size_t bytes;
        const void* allocation;
        const char* name;
        Delegate* delegate;
        int buffer_handle;
        bool data_is_stale;
        bool is_variable;
        int quantization_type;
        void* quantization_params;
        void* sparsity;
        const IntArray* dims_signature;
    };

    struct Node {
        IntArray* inputs;
        IntArray* outputs;
        IntArray* intermediates;
        IntArray* temporaries;
        void* user_data;
        void* builtin_data;
        const void* custom_initial_data;
        int custom_initial_data_size;
    };

    struct Context;

    struct Registration {
        void* (*init)(Context*, const char*, size_t);
        void (*free)(Context*, void*);
        Status (*prepare)(Context*, Node*);
        Status (*invoke)(Context*, Node*);
        const char* (*profiling_string)(const Context*, const Node*);
        int32_t builtin_code;
        const char* custom_name;
        int version;
        void* registration_external;
        void* async_kernel;
        uint64_t inplace_operator;
    };

    struct DelegateParams {
        Delegate* delegate;
        IntArray* nodes_to_replace;
        IntArray* input_tensors;
        IntArray* output_tensors;
    };

    struct Context {
        size_t tensors_size;
        Status (*GetExecutionPlan)(Context*, IntArray**);
        Tensor* tensors;
        void* impl;
        Status (*ResizeTensor)(Context*, Tensor*, IntArray*);
        void (*ReportError)(Context*, const char*, ...);
        Status (*AddTensors)(Context*, int, int*);
        Status (*GetNodeAndRegistration)(Context*, int, Node**, Registration**);
        Status (*ReplaceNodeSubsetsWithDelegateKernels)(Context*, Registration, const IntArray*,
                                                        Delegate*);
    };

    struct Delegate {
        void* data;
        Status (*Prepare)(Context*, Delegate*);
        Status (*CopyFromBufferHandle)(Context*, Delegate*, int, Tensor*);
        Status (*CopyToBufferHandle)(Context*, Delegate*, int, Tensor*);
        void (*FreeBufferHandle)(Context*, Delegate*, int*);
        int64_t flags;
        void* opaque_delegate_builder;
    };

}  // namespace opgen_tflite

#endif  // OPGEN_DOOR_TFLITE_ABI_H
