"""A tiny CANN look-alike: enough headers and tools that verify and the doctor have work to do.

The declarations are made up for the tests; they say nothing about the real headers.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from msopgen_wrap.cann_discovery import CannTree, find_cann
from msopgen_wrap.spec.model import Attr, Code, OpSpec, ParamKind, ShapeLike, TensorParam

HEADERS = {
    "aarch64-linux/include/register/op_def_registry.h": """
        #pragma once
        #include <cstdint>
        #include <vector>
        namespace ge {
        enum DataType { DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT32 = 3, DT_BF16 = 27 };
        enum Format { FORMAT_ND = 2 };
        }
        enum Option { REQUIRED, OPTIONAL, DYNAMIC };
        struct Chain {
            Chain& ParamType(Option) { return *this; }
            Chain& DataType(std::vector<ge::DataType>) { return *this; }
            Chain& Format(std::vector<ge::Format>) { return *this; }
            Chain& AddConfig(const char*) { return *this; }
            Chain& AttrType(Option) { return *this; }
            Chain& ListInt(std::vector<int64_t>) { return *this; }
            Chain& Float(float) { return *this; }
            Chain& String(const char*) { return *this; }
        };
        struct OpDef {
            explicit OpDef(const char*) {}
            Chain Input(const char*) { return {}; }
            Chain Output(const char*) { return {}; }
            Chain Attr(const char*) { return {}; }
            Chain AICore() { return {}; }
        };
        #define OP_ADD(type) static type g_##type(#type)
        #ifdef OP_TILING_LIB
        struct OnlyInTilingLib {};
        #endif
        """,
    "aarch64-linux/include/register/tilingdata_base.h": """
        #pragma once
        #include <cstdint>
        #define BEGIN_TILING_DATA_DEF(name) struct name {
        #define TILING_DATA_FIELD_DEF(type, name) type name
        #define TILING_DATA_FIELD_DEF_ARR(type, size, name) type name[size]
        #define END_TILING_DATA_DEF }
        #define REGISTER_TILING_DATA_CLASS(op, name)
        """,
    "aarch64-linux/include/register/register.h": """
        #pragma once
        #include <functional>
        #include <vector>
        #include "graph/operator.h"
        namespace domi {
        using Status = uint32_t;
        constexpr Status SUCCESS = 0, FAILED = 1;
        enum FrameworkType { TENSORFLOW = 3, ONNX = 5 };
        enum DynamicType { kInvalid, kInput, kOutput };
        struct DynamicInputOutputInfo {
            DynamicInputOutputInfo(DynamicType t, const char* p, int64_t pn, const char* a,
                                   int64_t an)
                : type(t), port(p, pn), attr(a, an) {}
            DynamicType type;
            std::string port, attr;
        };
        inline Status AutoMappingByOpFn(const ge::Operator& from, ge::Operator& to) {
            for (const auto& a : from.attrs) ++to.attrs[a.first];
            return SUCCESS;
        }
        inline Status AutoMappingByOpFnDynamic(const ge::Operator& from, ge::Operator& to,
                                               const std::vector<DynamicInputOutputInfo>& lists) {
            for (const auto& l : lists) to.dynamic[l.port] = from.attrs.at(l.attr);
            return AutoMappingByOpFn(from, to);
        }
        enum class ImplyType { TVM = 1 };
        struct Registration {
            explicit Registration(const char*) {}
            Registration& FrameworkType(const enum FrameworkType&) { return *this; }
            Registration& OriginOpType(const std::vector<ge::AscendString>&) { return *this; }
            Registration& ParseParamsByOperatorFn(
                const std::function<Status(const ge::Operator&, ge::Operator&)>&) { return *this; }
            Registration& ImplyType(const enum ImplyType&) { return *this; }
        };
        }
        #define REGISTER_CUSTOM_OP(name) static Registration g_registration = Registration(name)
        """,
    "aarch64-linux/include/graph/operator.h": """
        #pragma once
        #include <cstdint>
        #include <map>
        #include <string>
        #include <vector>
        #include "graph/ascend_string.h"
        #include "graph/types.h"
        namespace ge {
        constexpr uint32_t GRAPH_SUCCESS = 0, GRAPH_FAILED = 1;
        class Operator {
        public:
            uint32_t GetAttr(const char*, AscendString& value) const {
                if (json.empty()) return GRAPH_FAILED;
                value = AscendString(json.c_str());
                return GRAPH_SUCCESS;
            }
            uint32_t GetAttr(const char* name, int64_t& value) const {
                if (attrs.count(name) == 0) return GRAPH_FAILED;
                value = attrs.at(name);
                return GRAPH_SUCCESS;
            }
            uint32_t GetAttr(const char* name, DataType& value) const {
                int64_t number = 0;
                if (GetAttr(name, number) != GRAPH_SUCCESS) return GRAPH_FAILED;
                value = static_cast<DataType>(number);
                return GRAPH_SUCCESS;
            }
            template <typename T> Operator& SetAttr(const char* name, const T&) {
                ++attrs[name];
                return *this;
            }
            size_t GetInputsSize() const { return inputs; }
            size_t GetOutputsSize() const { return outputs; }
            std::string json;
            size_t inputs = 0, outputs = 0;
            std::map<std::string, int> attrs;
            std::map<std::string, uint32_t> dynamic;
        protected:
            void DynamicInputRegister(const std::string& n, const uint32_t c, bool) {
                dynamic[n] = c;
            }
            void DynamicInputRegister(const char* n, const uint32_t c, bool) { dynamic[n] = c; }
            void DynamicOutputRegister(const char* n, const uint32_t c, bool) { dynamic[n] = c; }
        };
        }
        """,
    "aarch64-linux/include/graph/ascend_string.h": """
        #pragma once
        #include <string>
        namespace ge {
        class AscendString {
        public:
            AscendString() = default;
            explicit AscendString(const char* s) : text_(s) {}
            const char* GetString() const { return text_.c_str(); }
        private:
            std::string text_;
        };
        }
        """,
    "aarch64-linux/include/graph/types.h": """
        #pragma once
        namespace ge {
        enum DataType { DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4,
                        DT_INT16 = 6, DT_INT64 = 9, DT_BOOL = 12, DT_BF16 = 27,
                        DT_UNDEFINED = 28 };
        }
        """,
    "aarch64-linux/ascendc/include/basic_api/kernel_operator.h": """
        #pragma once
        #include "stub_def.h"
        #define __global__
        #define __aicore__
        #define GM_ADDR unsigned char*
        #define DT_FLOAT 0
        #define DT_FLOAT16 1
        #define DT_BF16 27
        #ifndef ASCENDC_CPU_DEBUG
        #error "not the CPU-debug macros"
        #endif
        #if __CCE_AICORE__ == 220 && !defined(__DAV_C220__)
        #error "arch macros do not agree"
        #endif
        namespace AscendC {
        template <typename T> void Add(T*, T*, T*) {
            static_assert(sizeof(T) != 0 && !IsBf16<T>::value, "Add has no bfloat16_t here");
        }
        }
        """,
    "tools/tikicpulib/lib/include/stub_def.h": """
        #pragma once
        struct half { unsigned short bits; };
        struct bfloat16_t { unsigned short bits; };
        template <typename T> struct IsBf16 { static constexpr bool value = false; };
        template <> struct IsBf16<bfloat16_t> { static constexpr bool value = true; };
        """,
    "compiler/version.info": """
        Version=7.7.0.1.238
        version_dir=8.1.RC1
        """,
}

HOST = """
    #include "sample_add_tiling.h"
    #include "register/op_def_registry.h"
    namespace ops {
    class SampleAdd : public OpDef {
    public:
        explicit SampleAdd(const char* name) : OpDef(name) {
            this->Input("x").ParamType(REQUIRED)
                .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, %(third)s})
                .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
            this->Output("y").ParamType(REQUIRED)  // DataType({ge::DT_BOOL}) in a comment
                .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, %(third)s})
                .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
            this->AICore().AddConfig("ascend910b").AddConfig("ascend910_93");
        }
    };
    OP_ADD(SampleAdd);
    }
    %(more)s
    """

TILING = """
    #include "register/tilingdata_base.h"
    namespace optiling {
    constexpr uint32_t kDims = 4;
    BEGIN_TILING_DATA_DEF(SampleAddTilingData)
    TILING_DATA_FIELD_DEF(uint32_t, length);
    TILING_DATA_FIELD_DEF_ARR(int64_t, kDims, shape);  // a comment
    END_TILING_DATA_DEF;
    REGISTER_TILING_DATA_CLASS(SampleAdd, SampleAddTilingData)
    }
    """

KERNEL = """
    #include "kernel_operator.h"
    extern "C" __global__ __aicore__ void sample_add(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
        GET_TILING_DATA(data, tiling);
        static_assert(sizeof(data.shape) == 32, "");
    #if ORIG_DTYPE_X == DT_FLOAT16
        static_assert(sizeof(DTYPE_X) == 2, "");
    #endif
        AscendC::Add((DTYPE_X*)x, (DTYPE_X*)x, (DTYPE_Y*)y);
        (void)data.length;
    }
    """

# Knows one op per call, like the real one; "reject" in an attr name makes it fail.
MSOPGEN = """
import json, os, pathlib, sys
args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert os.environ["ASCEND_HOME_PATH"] and oct(os.stat(args["-i"]).st_mode)[-2:] == "00"
(op,) = json.load(open(args["-i"]))
out = pathlib.Path(args["-out"])
if any(a["name"] == "reject" for a in op["attr"]):
    print("2026-01-01 00:00:00 (1) - [ERROR] The reject attr is wrong.")
    sys.exit(112)
snake = pathlib.Path(args["-i"]).stem
def write(name, text):
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(text)
units = args["-c"].replace("ai_core-", "").replace(",", ";")
write("CMakePresets.json", json.dumps({"configurePresets": [{"cacheVariables": {
    "ASCEND_COMPUTE_UNIT": {"value": units}, "vendor_name": {"value": "customize"},
    "ASCEND_CANN_PACKAGE_PATH": {"value": "/x"}}}]}))
write("op_host/CMakeLists.txt", "# msopgen\\n")
write("cmake/func.cmake", "# msopgen\\n")
write(f"op_kernel/{snake}.cpp", "// TODO\\n")
defaults = "".join("Attr(\\"%s\\").AttrType(OPTIONAL).%s(%s);" % (
    a["name"], {"list_int": "ListInt", "float": "Float", "string": "String"}[a["type"]],
    ('"%s"' if a["type"] == "string" else "%s") % a["default_value"]) for a in op["attr"])
write(f"op_host/{snake}.cpp", '#include "register/op_def_registry.h"\\nstruct Stub : OpDef {'
      'Stub() : OpDef("") {' + defaults + "}};")
print("[INFO] Generation completed.")
"""


def write_tree(root: Path, files: dict[str, str]) -> None:
    """Write dedented texts below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())


@pytest.fixture
def cann(tmp_path: Path) -> CannTree:
    """The look-alike tree, found as a user would have it found."""
    root = tmp_path / "Ascend/ascend-toolkit/8.1.RC1"
    write_tree(root, {**HEADERS, "python/site-packages/bin/msopgen": MSOPGEN})
    tree = find_cann(tmp_path / "Ascend")
    assert tree is not None
    return tree


@pytest.fixture
def sample(tmp_path: Path):
    """Return ``make(third, more, kernel) -> project``: a foreign project in msopgen layout."""

    def make(third: str = "ge::DT_FLOAT", more: str = "", kernel: str = KERNEL) -> Path:
        root = tmp_path / "sample"
        write_tree(
            root,
            {
                "op_host/sample_add.cpp": HOST % {"third": third, "more": more},
                "op_host/sample_add_tiling.h": TILING,
                "op_kernel/sample_add.cpp": kernel,
            },
        )
        return root

    return make


def make_spec(
    op: str = "SampleAdd",
    name: str = "sample_add",
    attrs: tuple[Attr, ...] = (),
    soc: tuple[str, ...] = ("ascend910b", "ascend910_93"),
    lists: bool = False,
) -> OpSpec:
    """A two-dtype spec; with ``lists``, of tensor lists."""
    dtypes = ("float16", "float32")
    kind = ParamKind.DYNAMIC if lists else ParamKind.REQUIRED
    inputs = [TensorParam("x", dtypes, kind), TensorParam("y", dtypes, kind)]
    if lists:
        inputs.append(TensorParam("scale", dtypes))
    return OpSpec(
        op=op,
        name=name,
        doc="",
        inputs=tuple(inputs),
        outputs=(TensorParam("z", dtypes, kind, shape=ShapeLike("x")),),
        attrs=attrs,
        compute=Code("x"),
        kernel=None,
        tiling=None,
        backward="none",
        cases=(),
        tolerance={},
        soc=soc,
        path=f"{name}.yaml",
    )


ATTRS = (
    Attr("dims", "list_int", (1, -2)),
    Attr("mode", "str", 'a"b\\c'),
    Attr("eps", "float", 1e-5),
)
