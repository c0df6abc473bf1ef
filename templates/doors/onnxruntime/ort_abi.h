// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The part of ONNX Runtime's C interface that custom ops need. Its headers come with no Python
// package, but its binary interface is stable: the table of functions only grows at its end, so a
// function is known by its place in it, and a custom op says which version of its struct it is.
// Names, order and signatures are those of the public documentation of onnxruntime_c_api.h.
#ifndef OPGEN_DOOR_ORT_ABI_H
#define OPGEN_DOOR_ORT_ABI_H

#include <cstddef>
#include <cstdint>

extern "C" {

struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;
struct OrtShapeInferContext;
struct OrtOpAttr;

// A table of functions; read through ort_abi::Functions only.
struct OrtApi {
    void* functions[1];
};

struct OrtApiBase {
    const OrtApi* (*GetApi)(uint32_t version);
    const char* (*GetVersionString)();
};

// Version 17 of the struct; a runtime reads no member that this version lacks.
struct OrtCustomOp {
    uint32_t version;
    void* (*CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*);
    const char* (*GetName)(const OrtCustomOp*);
    const char* (*GetExecutionProviderType)(const OrtCustomOp*);
    int (*GetInputType)(const OrtCustomOp*, size_t);
    size_t (*GetInputTypeCount)(const OrtCustomOp*);
    int (*GetOutputType)(const OrtCustomOp*, size_t);
    size_t (*GetOutputTypeCount)(const OrtCustomOp*);
    void (*KernelCompute)(void*, OrtKernelContext*);
    void (*KernelDestroy)(void*);
    int (*GetInputCharacteristic)(const OrtCustomOp*, size_t);
    int (*GetOutputCharacteristic)(const OrtCustomOp*, size_t);
    int (*GetInputMemoryType)(const OrtCustomOp*, size_t);
    int (*GetVariadicInputMinArity)(const OrtCustomOp*);
    int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
    int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
    int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
    OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void**);
    OrtStatus* (*KernelComputeV2)(void*, OrtKernelContext*);
    OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*);
    int (*GetStartVersion)(const OrtCustomOp*);
    int (*GetEndVersion)(const OrtCustomOp*);
};

}  // extern "C"

namespace ort_abi __attribute__((visibility("hidden"))) {

    constexpr uint32_t kCustomOpVersion = 17;
    // The first whose schema takes several kernels of one name, one per row of dtypes.
    constexpr uint32_t kOldestApi = 17;
    constexpr const char* kOldestRuntime = "1.17";
    // The oldest seen to infer shapes of nodes without an optional input; 1.23.2 reads a null
    // there.
    constexpr int kMinorOfAbsentInputs = 26;

    constexpr int kFail = 1;             // ORT_FAIL
    constexpr int kInvalidArgument = 2;  // ORT_INVALID_ARGUMENT
    constexpr int kRequired = 0;         // INPUT_OUTPUT_REQUIRED
    constexpr int kOptional = 1;         // INPUT_OUTPUT_OPTIONAL
    constexpr int kVariadic = 2;         // INPUT_OUTPUT_VARIADIC

    // OrtOpAttrType
    constexpr int kInt = 1;
    constexpr int kInts = 2;
    constexpr int kFloat = 3;
    constexpr int kFloats = 4;
    constexpr int kString = 5;

    // The functions used here, by their places in OrtApi.
    class Functions {
     public:
        explicit Functions(const OrtApi* api) : api_(api) {}

        OrtStatus* CreateStatus(int code, const char* message) const {
            return At<OrtStatus* (*)(int, const char*)>(0)(code, message);
        }
        const char* GetErrorMessage(const OrtStatus* status) const {
            return At<const char* (*)(const OrtStatus*)>(2)(status);
        }
        OrtStatus* CreateCustomOpDomain(const char* name, OrtCustomOpDomain** domain) const {
            return At<OrtStatus* (*)(const char*, OrtCustomOpDomain**)>(26)(name, domain);
        }
        OrtStatus* CustomOpDomainAdd(OrtCustomOpDomain* domain, const OrtCustomOp* op) const {
            return At<OrtStatus* (*)(OrtCustomOpDomain*, const OrtCustomOp*)>(27)(domain, op);
        }
        OrtStatus* AddCustomOpDomain(OrtSessionOptions* options, OrtCustomOpDomain* domain) const {
            return At<OrtStatus* (*)(OrtSessionOptions*, OrtCustomOpDomain*)>(28)(options, domain);
        }
        OrtStatus* GetTensorMutableData(OrtValue* value, void** data) const {
            return At<OrtStatus* (*)(OrtValue*, void**)>(51)(value, data);
        }
        OrtStatus* CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo** info) const {
            return At<OrtStatus* (*)(OrtTensorTypeAndShapeInfo**)>(57)(info);
        }
        OrtStatus* SetTensorElementType(OrtTensorTypeAndShapeInfo* info, int type) const {
            return At<OrtStatus* (*)(OrtTensorTypeAndShapeInfo*, int)>(58)(info, type);
        }
        OrtStatus* SetDimensions(OrtTensorTypeAndShapeInfo* info, const int64_t* dims,
                                 size_t count) const {
            using Function = OrtStatus* (*)(OrtTensorTypeAndShapeInfo*, const int64_t*, size_t);
            return At<Function>(59)(info, dims, count);
        }
        OrtStatus* GetTensorElementType(const OrtTensorTypeAndShapeInfo* info, int* type) const {
            return At<OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, int*)>(60)(info, type);
        }
        OrtStatus* GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, size_t* count) const {
            return At<OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, size_t*)>(61)(info, count);
        }
        OrtStatus* GetDimensions(const OrtTensorTypeAndShapeInfo* info, int64_t* dims,
                                 size_t count) const {
            using Function = OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t);
            return At<Function>(62)(info, dims, count);
        }
        // Names of the dims, "" where a number is known; they belong to `info`.
        OrtStatus* GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo* info, const char** names,
                                         size_t count) const {
            using Function = OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, const char**, size_t);
            return At<Function>(63)(info, names, count);
        }
        OrtStatus* GetTensorTypeAndShape(const OrtValue* value,
                                         OrtTensorTypeAndShapeInfo** info) const {
            return At<OrtStatus* (*)(const OrtValue*, OrtTensorTypeAndShapeInfo**)>(65)(value,
                                                                                        info);
        }
        OrtStatus* GetAttribute(const OrtKernelInfo* info, const char* name, float* value) const {
            return At<OrtStatus* (*)(const OrtKernelInfo*, const char*, float*)>(85)(info, name,
                                                                                     value);
        }
        OrtStatus* GetAttribute(const OrtKernelInfo* info, const char* name, int64_t* value) const {
            return At<OrtStatus* (*)(const OrtKernelInfo*, const char*, int64_t*)>(86)(info, name,
                                                                                       value);
        }
        // A null `text` asks for the size, which counts the terminating zero.
        OrtStatus* GetAttribute(const OrtKernelInfo* info, const char* name, char* text,
                                size_t* size) const {
            return Array<char>(87, info, name, text, size);
        }
        OrtStatus* GetInputCount(const OrtKernelContext* context, size_t* count) const {
            return At<OrtStatus* (*)(const OrtKernelContext*, size_t*)>(88)(context, count);
        }
        OrtStatus* GetOutputCount(const OrtKernelContext* context, size_t* count) const {
            return At<OrtStatus* (*)(const OrtKernelContext*, size_t*)>(89)(context, count);
        }
        OrtStatus* GetInput(const OrtKernelContext* context, size_t index,
                            const OrtValue** value) const {
            using Function = OrtStatus* (*)(const OrtKernelContext*, size_t, const OrtValue**);
            return At<Function>(90)(context, index, value);
        }
        OrtStatus* GetOutput(OrtKernelContext* context, size_t index, const int64_t* dims,
                             size_t count, OrtValue** value) const {
            using Function =
                OrtStatus* (*)(OrtKernelContext*, size_t, const int64_t*, size_t, OrtValue**);
            return At<Function>(91)(context, index, dims, count, value);
        }
        void ReleaseStatus(OrtStatus* status) const { At<void (*)(OrtStatus*)>(93)(status); }
        void ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* info) const {
            At<void (*)(OrtTensorTypeAndShapeInfo*)>(99)(info);
        }
        OrtStatus* GetAttributes(const OrtKernelInfo* info, const char* name, float* values,
                                 size_t* size) const {
            return Array<float>(kArraysOfFloat, info, name, values, size);
        }
        OrtStatus* GetAttributes(const OrtKernelInfo* info, const char* name, int64_t* values,
                                 size_t* size) const {
            return Array<int64_t>(kArraysOfFloat + 1, info, name, values, size);
        }
        // Of version 17, for the shapes of a node before it runs.
        OrtStatus* GetInputCount(const OrtShapeInferContext* context, size_t* count) const {
            return At<OrtStatus* (*)(const OrtShapeInferContext*, size_t*)>(267)(context, count);
        }
        // The context keeps what it gives.
        OrtStatus* GetInputTypeShape(const OrtShapeInferContext* context, size_t index,
                                     OrtTensorTypeAndShapeInfo** info) const {
            using Function =
                OrtStatus* (*)(const OrtShapeInferContext*, size_t, OrtTensorTypeAndShapeInfo**);
            return At<Function>(268)(context, index, info);
        }
        OrtStatus* GetAttribute(const OrtShapeInferContext* context, const char* name,
                                const OrtOpAttr** attr) const {
            using Function =
                OrtStatus* (*)(const OrtShapeInferContext*, const char*, const OrtOpAttr**);
            return At<Function>(269)(context, name, attr);
        }
        OrtStatus* SetOutputTypeShape(const OrtShapeInferContext* context, size_t index,
                                      const OrtTensorTypeAndShapeInfo* info) const {
            using Function = OrtStatus* (*)(const OrtShapeInferContext*, size_t,
                                            const OrtTensorTypeAndShapeInfo*);
            return At<Function>(270)(context, index, info);
        }
        OrtStatus* SetSymbolicDimensions(OrtTensorTypeAndShapeInfo* info, const char** names,
                                         size_t count) const {
            using Function = OrtStatus* (*)(OrtTensorTypeAndShapeInfo*, const char**, size_t);
            return At<Function>(271)(info, names, count);
        }
        // Fails where `size` bytes do not hold the value; `needed` is what would.
        OrtStatus* ReadOpAttr(const OrtOpAttr* attr, int type, void* value, size_t size,
                              size_t* needed) const {
            using Function = OrtStatus* (*)(const OrtOpAttr*, int, void*, size_t, size_t*);
            return At<Function>(272)(attr, type, value, size, needed);
        }

     private:
        // The first function of version 8 of the table.
        static constexpr size_t kArraysOfFloat = 162;

        template <typename Function>
        Function At(size_t place) const {
            return reinterpret_cast<Function>(api_->functions[place]);
        }
        template <typename Value>
        OrtStatus* Array(size_t place, const OrtKernelInfo* info, const char* name, Value* values,
                         size_t* size) const {
            using Function = OrtStatus* (*)(const OrtKernelInfo*, const char*, Value*, size_t*);
            return At<Function>(place)(info, name, values, size);
        }

        const OrtApi* api_;
    };

}  // namespace ort_abi

#endif  // OPGEN_DOOR_ORT_ABI_H
