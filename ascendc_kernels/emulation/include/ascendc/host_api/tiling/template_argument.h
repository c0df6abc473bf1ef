// SPDX-License-Identifier: Apache-2.0
// Template parameters of kernels and the tiling keys that stand for them (ASCENDC_TPL_*). The host
// encodes the parameters into a key; the op runtime decodes it and instantiates the kernel.
#ifndef OPGEN_EMULATION_TILING_TEMPLATE_ARGUMENT_H
#define OPGEN_EMULATION_TILING_TEMPLATE_ARGUMENT_H

#include <stdint.h>

#include "graph/c_types.h"

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

#if defined(__CCE_AICORE__) && !defined(OPGEN_PROGRAM) && !defined(OPGEN_HOST_CODE)
// A kernel is instantiated by the runtime; its declarations are for the host (OPGEN_HOST_CODE: a
// unit test that may hold the kernel as well).
#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)

#else
#include <initializer_list>
#include <string>
#include <utility>
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
// Combinations may follow each other with a comma or without one: public headers have both.
struct TemplateSelection {
    std::vector<TemplateParams> combinations;
};
inline TemplateSelection operator+(TemplateParams one) {
    TemplateSelection selection;
    selection.combinations.push_back(std::move(one));
    return selection;
}
inline TemplateSelection operator+(TemplateSelection several, TemplateParams one) {
    several.combinations.push_back(std::move(one));
    return several;
}
inline std::vector<TemplateParams> Flat(const std::vector<TemplateSelection> &parts) {
    std::vector<TemplateParams> all;
    for (const TemplateSelection &part : parts) {
        all.insert(all.end(), part.combinations.begin(), part.combinations.end());
    }
    return all;
}
// The key for parameter values in declaration order. A value or combination that is not declared
// is logged and gives 0xffffffffffffffff.
uint64_t EncodeTilingKey(const TemplateParams &declared,
                         const std::vector<TemplateParams> &selected,
                         const std::vector<uint64_t> &values);
}  // namespace ascendc_emu

// Host sources say `using namespace AscendC` behind this header.
namespace AscendC {
using ::ascendc_emu::EncodeTilingKey;
}  // namespace AscendC

#define OPGEN_TPL(x, kind, bits, ...)                                                     \
    ::ascendc_emu::TemplateParam {                                                        \
        x, ::ascendc_emu::TemplateKind::kind, bits, std::vector<uint64_t> { __VA_ARGS__ } \
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
#define ASCENDC_TPL_ARGS_DECL(x, ...)                                  \
    static const ::ascendc_emu::TemplateParams g_tilingDeclareParams = \
        ::ascendc_emu::DeclareTemplate(#x, ::ascendc_emu::TemplateParams{__VA_ARGS__})
#define ASCENDC_TPL_ARGS_SEL(...)    \
    +::ascendc_emu::TemplateParams { \
        __VA_ARGS__                  \
    }
#define ASCENDC_TPL_SEL(...)                                                       \
    static const std::vector<::ascendc_emu::TemplateParams> g_tilingSelectParams = \
        ::ascendc_emu::SelectTemplates(                                            \
            g_tilingDeclareParams,                                                 \
            ::ascendc_emu::Flat(std::vector<::ascendc_emu::TemplateSelection>{__VA_ARGS__}))

// A value of any type; a list of them may end with a comma.
struct OpgenTplValue {
    template <typename T>
    OpgenTplValue(T given) : value(static_cast<uint64_t>(given)) {}
    uint64_t value;
};
inline uint64_t OpgenTplKey(const ::ascendc_emu::TemplateParams &declared,
                            const std::vector<::ascendc_emu::TemplateParams> &selected,
                            std::initializer_list<OpgenTplValue> values) {
    std::vector<uint64_t> numbers;
    for (const OpgenTplValue &each : values) {
        numbers.push_back(each.value);
    }
    return ::ascendc_emu::EncodeTilingKey(declared, selected, numbers);
}
#define GET_TPL_TILING_KEY(...) \
    OpgenTplKey(g_tilingDeclareParams, g_tilingSelectParams, {__VA_ARGS__})
#define ASCENDC_TPL_SEL_PARAM(context, ...)                     \
    do {                                                        \
        context->SetTilingKey(GET_TPL_TILING_KEY(__VA_ARGS__)); \
    } while (0)
#endif

#endif  // OPGEN_EMULATION_TILING_TEMPLATE_ARGUMENT_H
