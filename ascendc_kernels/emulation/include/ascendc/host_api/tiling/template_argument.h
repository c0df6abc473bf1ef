// SPDX-License-Identifier: Apache-2.0
// Template parameters of kernels and the tiling keys that stand for them (ASCENDC_TPL_*). The host
// encodes the parameters into a key; the op runtime decodes it and instantiates the kernel.
#ifndef OPGEN_EMULATION_TILING_TEMPLATE_ARGUMENT_H
#define OPGEN_EMULATION_TILING_TEMPLATE_ARGUMENT_H

#include <stdint.h>

// Kernel kinds, in CANN's numbers.
#define ASCENDC_TPL_AIV_ONLY 0
#define ASCENDC_TPL_AIC_ONLY 1
#define ASCENDC_TPL_MIX_AIV_1_0 4
#define ASCENDC_TPL_MIX_AIC_1_0 5
#define ASCENDC_TPL_MIX_AIC_1_1 6
#define ASCENDC_TPL_MIX_AIC_1_2 7
#define ASCENDC_TPL_AICORE 8
#define ASCENDC_TPL_VECTORCORE 9
#define ASCENDC_TPL_MIX_AICORE 10
#define ASCENDC_TPL_MIX_VECTOR_CORE 11

// Bits that a parameter takes in the key.
#define ASCENDC_TPL_1_BW 1
#define ASCENDC_TPL_2_BW 2
#define ASCENDC_TPL_4_BW 4
#define ASCENDC_TPL_8_BW 8

// How the values of a UINT parameter are written: ranges, a list, ranges then a list.
#define ASCENDC_TPL_UI_RANGE 0
#define ASCENDC_TPL_UI_LIST 1
#define ASCENDC_TPL_UI_MIX 2

// A dtype or format parameter that follows an input or output.
#define ASCENDC_TPL_INPUT_BIAS 100000000
#define ASCENDC_TPL_OUTPUT_BIAS 900000000
#define ASCENDC_TPL_INPUT(x) (ASCENDC_TPL_INPUT_BIAS + (x))
#define ASCENDC_TPL_OUTPUT(x) (ASCENDC_TPL_OUTPUT_BIAS + (x))

#define C_DT_FLOAT 0
#define C_DT_FLOAT16 1
#define C_DT_INT8 2
#define C_DT_INT32 3
#define C_DT_UINT8 4
#define C_DT_INT16 6
#define C_DT_UINT16 7
#define C_DT_UINT32 8
#define C_DT_INT64 9
#define C_DT_UINT64 10
#define C_DT_DOUBLE 11
#define C_DT_BOOL 12
#define C_DT_COMPLEX64 16
#define C_DT_BF16 27
#define C_DT_INT4 29
#define C_DT_UINT1 30
#define C_DT_INT2 31
#define C_DT_COMPLEX32 33
#define C_DT_HIFLOAT8 34
#define C_DT_FLOAT8_E5M2 35
#define C_DT_FLOAT8_E4M3FN 36
#define C_DT_FLOAT4_E2M1 40
#define C_DT_FLOAT4_E1M2 41
#define C_FORMAT_NCHW 0
#define C_FORMAT_NHWC 1
#define C_FORMAT_ND 2
#define C_FORMAT_NC1HWC0 3
#define C_FORMAT_FRACTAL_Z 4
#define C_FORMAT_NC1C0HWPAD 5
#define C_FORMAT_NHWC1C0 6
#define C_FORMAT_CHWN 14
#define C_FORMAT_HWCN 16
#define C_FORMAT_NDHWC 27
#define C_FORMAT_FRACTAL_ZZ 28
#define C_FORMAT_FRACTAL_NZ 29
#define C_FORMAT_NCDHW 30
#define C_FORMAT_DHWCN 31
#define C_FORMAT_NDC1HWC0 32
#define C_FORMAT_FRACTAL_Z_3D 33
#define C_FORMAT_CN 34
#define C_FORMAT_NC 35
#define C_FORMAT_DHWNC 36
#define C_FORMAT_FRACTAL_Z_3D_TRANSPOSE 37
#define C_FORMAT_FRACTAL_ZN_LSTM 38
#define C_FORMAT_FRACTAL_Z_G 39
#define C_FORMAT_ND_RNN_BIAS 43
#define C_FORMAT_FRACTAL_ZN_RNN 44
#define C_FORMAT_NCL 47
#define C_FORMAT_C1HWC0 49
#define C_FORMAT_FRACTAL_NZ_C0_16 50
#define C_FORMAT_FRACTAL_NZ_C0_32 51
#define C_FORMAT_FRACTAL_NZ_C0_2 52
#define C_FORMAT_FRACTAL_NZ_C0_4 53
#define C_FORMAT_FRACTAL_NZ_C0_8 54

#if defined(__CCE_AICORE__) && !defined(OPGEN_PROGRAM)
// A kernel is instantiated by the runtime; its declarations are for the host.
#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)

#else
#include <initializer_list>
#include <string>
#include <vector>

namespace ascendc_emu {
enum class TemplateKind {
    kDtype,     // a number the kernel gives a meaning to
    kDataType,  // a ge::DataType, a type parameter of the kernel
    kFormat,
    kUint,
    kBool,
    kKernelType,        // of the combination, no parameter of the kernel
    kDeterministic,     // likewise
    kSharedKernelType,  // a kernel type that is also a parameter
    kStruct             // tiling struct of the combination, no parameter
};

struct TemplateParam {
    std::string name;
    TemplateKind kind;
    uint32_t bits;
    std::vector<uint64_t> values;
};
using TemplateParams = std::vector<TemplateParam>;

// Makes the declaration known under the op type; returns its argument.
TemplateParams DeclareTemplate(const char *op_type, const TemplateParams &params);
// Kernel kinds by combination; returns its argument.
std::vector<TemplateParams> SelectTemplates(const TemplateParams &declared,
                                            const std::vector<TemplateParams> &selected);
// The key for parameter values in declaration order. A value or combination that is not declared
// is logged and gives 0xffffffffffffffff.
uint64_t EncodeTilingKey(const TemplateParams &declared,
                         const std::vector<TemplateParams> &selected,
                         const std::vector<uint64_t> &values);
}  // namespace ascendc_emu

#define OPGEN_TPL(x, kind, bits, ...)                                                        \
    ::ascendc_emu::TemplateParam {                                                           \
        x, ::ascendc_emu::TemplateKind::kind, bits, std::vector<uint64_t>{__VA_ARGS__}       \
    }
#define ASCENDC_TPL_DTYPE_DECL(x, ...) OPGEN_TPL(#x, kDtype, 8, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_DECL(x, ...) OPGEN_TPL(#x, kDataType, 8, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_DECL(x, ...) OPGEN_TPL(#x, kFormat, 8, __VA_ARGS__)
#define ASCENDC_TPL_UINT_DECL(x, bw, ...) OPGEN_TPL(#x, kUint, bw, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_DECL(x, ...) OPGEN_TPL(#x, kBool, 1, __VA_ARGS__)
#define ASCENDC_TPL_KERNEL_TYPE_DECL(x, ...) OPGEN_TPL(#x, kSharedKernelType, 8, __VA_ARGS__)
#define ASCENDC_TPL_DTYPE_SEL(x, ...) OPGEN_TPL(#x, kDtype, 8, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_SEL(x, ...) OPGEN_TPL(#x, kDataType, 8, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_SEL(x, ...) OPGEN_TPL(#x, kFormat, 8, __VA_ARGS__)
#define ASCENDC_TPL_UINT_SEL(x, ...) OPGEN_TPL(#x, kUint, 0, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_SEL(x, ...) OPGEN_TPL(#x, kBool, 1, __VA_ARGS__)
#define ASCENDC_TPL_TILING_STRUCT_SEL(x, ...) OPGEN_TPL(#x, kStruct, 0, 0)
#define ASCENDC_TPL_KERNEL_TYPE_SEL(...) OPGEN_TPL("kernel_type", kKernelType, 8, __VA_ARGS__)
#define ASCENDC_TPL_DETERMINISTIC_SEL(...) \
    OPGEN_TPL("deterministic", kDeterministic, 1, __VA_ARGS__)
#define ASCENDC_TPL_SHARED_KERNEL_TYPE_SEL(x, ...) OPGEN_TPL(#x, kSharedKernelType, 8, __VA_ARGS__)
#define ASCENDC_TPL_ARGS_DECL(x, ...)                                             \
    static const ::ascendc_emu::TemplateParams g_tilingDeclareParams =            \
        ::ascendc_emu::DeclareTemplate(#x, ::ascendc_emu::TemplateParams{__VA_ARGS__})
#define ASCENDC_TPL_ARGS_SEL(...) \
    ::ascendc_emu::TemplateParams { __VA_ARGS__ }
#define ASCENDC_TPL_SEL(...)                                                             \
    static const std::vector<::ascendc_emu::TemplateParams> g_tilingSelectParams =       \
        ::ascendc_emu::SelectTemplates(g_tilingDeclareParams,                            \
                                       std::vector<::ascendc_emu::TemplateParams>{__VA_ARGS__})

template <typename... Values>
inline uint64_t OpgenTplKey(const ::ascendc_emu::TemplateParams &declared,
                            const std::vector<::ascendc_emu::TemplateParams> &selected,
                            Values... values) {
    return ::ascendc_emu::EncodeTilingKey(
        declared, selected, std::vector<uint64_t>{static_cast<uint64_t>(values)...});
}
#define GET_TPL_TILING_KEY(...) \
    OpgenTplKey(g_tilingDeclareParams, g_tilingSelectParams, __VA_ARGS__)
#define ASCENDC_TPL_SEL_PARAM(context, ...)                     \
    do {                                                        \
        context->SetTilingKey(GET_TPL_TILING_KEY(__VA_ARGS__)); \
    } while (0)
#endif

#endif  // OPGEN_EMULATION_TILING_TEMPLATE_ARGUMENT_H
