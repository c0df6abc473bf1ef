"""Mistakes in the files of a project: verify finds each one, or lists it as out of reach.

The table in CONTRIBUTING.md ("What opgen verify finds") has the same classes. No CANN is needed:
what only its headers tell is in ``test_verify.py``.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from msopgen_wrap.cann.verify import verify_project
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.manifest import read_project

SPEC = """
op: ScaledAdd
doc: alpha * x + y
inputs:
  x: {dtype: float32}
  y: {dtype: x}
outputs:
  z: {dtype: x, shape: "broadcast(x, y)"}
attrs:
  alpha: 1.5
compute: alpha * x + y
soc: [ascend910b]
"""

KERNEL = "op_kernel/scaled_add.cpp"
HOST = "op_host/scaled_add.cpp"
STRUCT = "op_host/scaled_add_tiling.h"
PROTO = "op_proto/scaled_add_proto.h"
PLUGIN = "framework/onnx_plugin/scaled_add_plugin.cpp"
TF_PLUGIN = "framework/tf_plugin/tensorflow_scaled_add_plugin.cpp"

# Prototypes are opbuild's to write; projects made by hand bring some along.
PROTO_TEXT = """#include "graph/operator_reg.h"
namespace ge {
REG_OP(ScaledAdd)
    .INPUT(x, TensorType({DT_FLOAT}))
    .INPUT(y, TensorType({DT_FLOAT}))
    .OUTPUT(z, TensorType({DT_FLOAT}))
    .ATTR(alpha, Float, 1.5)
    .OP_END_FACTORY_REG(ScaledAdd)
}
"""

NOTHING = CannTree(Path("none"), None, (), (), (), None, None, None, None, None)

ENTRY = 'extern "C" __global__ __aicore__ void scaled_add('
FIRST = "    AscendC::TPipe pipe;\n"


@dataclass(frozen=True)
class Mutant:
    """Text to replace in a file, and what verify says then.

    ``before`` goes in front of the kernel's entry.
    """

    name: str
    file: str
    old: str
    new: str
    kind: str = ""
    message: str = ""
    before: str = ""
    includes: str = ""


def in_kernel(name: str, statement: str, message: str, before: str = "", includes: str = ""):
    """A statement at the start of the kernel's body."""
    return Mutant(name, KERNEL, FIRST, FIRST + statement, "device", message, before, includes)


MUTANTS = (
    # the kernel's entry
    Mutant("entry renamed", KERNEL, ENTRY, ENTRY.replace("scaled_add", "scale_add"), "device",
           "has no kernel entry scaled_add"),
    Mutant("entry with C++ linkage", KERNEL, 'extern "C" __global__', "__global__", "device",
           "has no C linkage"),
    Mutant("parameter too many", KERNEL, ENTRY + "GM_ADDR x, GM_ADDR y, GM_ADDR z,",
           ENTRY + "GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR more,", "device",
           "has 6 parameters, not 5"),
    Mutant("parameters swapped", KERNEL, ENTRY + "GM_ADDR x, GM_ADDR y,",
           ENTRY + "GM_ADDR y, GM_ADDR x,", "device", "has parameter y where CANN passes x"),
    # what the device's C++ lacks
    in_kernel("std::vector", "    std::vector<int> v(3); v.push_back(1);\n", "std::vector",
              includes="#include <vector>\n"),
    in_kernel("std::vector in a template", "    Helper<int>();\n", "dynamic memory",
              before="template <typename T> __aicore__ inline void Helper() "
              "{ std::vector<T> v(3); }\n", includes="#include <vector>\n"),
    in_kernel("std::string", '    std::string s("a long text, longer than the object itself");\n',
              "std::", includes="#include <string>\n"),
    in_kernel("std::function", "    std::function<int(int)> f = [](int i) { return i; }; f(1);\n",
              "std::function", includes="#include <functional>\n"),
    in_kernel("std::sort", "    int a[2] = {2, 1}; std::sort(a, a + 2);\n", "std::sort",
              includes="#include <algorithm>\n"),
    in_kernel("throw", "    if (x == nullptr) throw 1;\n", "exception"),
    in_kernel("typeid", "    (void)typeid(pipe).name();\n", "typeid",
              includes="#include <typeinfo>\n"),
    in_kernel("new", "    int* p = new int[4]; p[0] = 1; delete[] p;\n", "dynamic memory"),
    in_kernel("malloc", "    (void)malloc(4);\n", "dynamic memory",
              includes="#include <cstdlib>\n"),
    in_kernel("static local", "    static Counter counter; counter.n++;\n",
              "a static local that is initialised at run time",
              before="struct Counter { __aicore__ inline Counter() : n(Start()) {} "
              "static __aicore__ inline int Start() { return 3; } int n; };\n"),
    in_kernel("thread_local", "    thread_local int calls = 0; calls++;\n", "thread_local"),
    in_kernel("virtual function", "    Derived d; static_cast<Base&>(d).Go();\n",
              "virtual functions (Derived)",
              before="struct Base { __aicore__ virtual void Go() {} };\n"
              "struct Derived : Base { __aicore__ void Go() override {} };\n"),
    in_kernel("recursion", "    (void)Twice(GetBlockIdx());\n", "recursion",
              before="__aicore__ inline int64_t Twice(int64_t n) "
              "{ return n <= 0 ? 0 : 2 + Twice(n - 1); }\n"),
    in_kernel("mutual recursion", "    (void)Even(GetBlockIdx());\n", "recursion",
              before="__aicore__ int64_t Odd(int64_t n);\n__aicore__ int64_t Even(int64_t n) "
              "{ return n == 0 ? 1 : Odd(n - 1); }\n__aicore__ int64_t Odd(int64_t n) "
              "{ return n == 0 ? 0 : Even(n - 1); }\n"),
    in_kernel("function of the host", "    (void)Half(GetBlockIdx());\n",
              "Half, a function of the host",
              before="inline int64_t Half(int64_t n) { return n / 2; }\n"),
    in_kernel("function of the C library", '    (void)getenv("HOME");\n',
              "getenv, a function of the host", includes="#include <cstdlib>\n"),
    in_kernel("global with a constructor", "    (void)g_limit.n;\n", "a global that code",
              before="struct Limit { __aicore__ Limit(); int n; };\n"
              "__aicore__ Limit::Limit() { n = 4; }\nstatic Limit g_limit;\n"),
    # tiling struct
    Mutant("field renamed", STRUCT, "uint32_t, tileLength", "uint32_t, tileLenght", "device",
           "tileLength"),
    Mutant("struct of another op", STRUCT, "DATA_CLASS(ScaledAdd,", "DATA_CLASS(ScaledMul,",
           "opdef", "names ScaledMul, which is no op"),
    # op_host
    Mutant("Format list too long", HOST, ".Format({ge::FORMAT_ND})",
           ".Format({ge::FORMAT_ND, ge::FORMAT_ND})", "opdef", "1 data types and 2 in Format"),
    Mutant("UnknownShapeFormat too long", HOST, ".UnknownShapeFormat({ge::FORMAT_ND})",
           ".UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND})", "opdef", "UnknownShapeFormat"),
    Mutant("DataType lists of two lengths", HOST, ".DataType({ge::DT_FLOAT})",
           ".DataType({ge::DT_FLOAT, ge::DT_FLOAT16})", "opdef", "data types"),
    Mutant("no OP_ADD", HOST, "OP_ADD(ScaledAdd);", "", "opdef", "no OP_ADD"),
    Mutant("OP_ADD in a comment", HOST, "OP_ADD(ScaledAdd);", "// OP_ADD(ScaledAdd);", "opdef",
           "no OP_ADD"),
    Mutant("no SetTiling", HOST, "this->AICore().SetTiling(optiling::TilingFunc);", "", "opdef",
           "no SetTiling"),
    Mutant("no SetInferShape", HOST, "this->SetInferShape(ge::InferShapeOfScaledAdd);", "",
           "opdef", "no SetInferShape"),
    Mutant("no AddConfig", HOST, 'this->AICore().AddConfig("ascend910b");', "", "opdef",
           "no AddConfig"),
    Mutant("unknown SoC", HOST, 'AddConfig("ascend910b")', 'AddConfig("ascend910d")', "opdef",
           "names no known SoC"),
    Mutant("input renamed", HOST, 'Input("y")', 'Input("w")', "opdef", "inputs are x, w, not x, y"),
    Mutant("two inputs of one name", HOST, 'Input("y")', 'Input("x")', "opdef",
           "two of Input are called x"),
    Mutant("other data type", HOST, ".DataType({ge::DT_FLOAT})", ".DataType({ge::DT_FLOAT16})",
           "opdef", "has data types DT_FLOAT16, not DT_FLOAT"),
    Mutant("other ParamType", HOST, ".ParamType(REQUIRED)", ".ParamType(OPTIONAL)", "opdef",
           "is optional, not required"),
    Mutant("other default", HOST, ".Float(1.5", ".Float(2.5", "opdef", "has default 2.5"),
    Mutant("other attr type", HOST, ".Float(1.5", ".Int(1.5", "opdef", "is not of type Float"),
    # op_proto
    Mutant("prototype of another input", PROTO, "INPUT(y,", "INPUT(w,", "op_proto", "INPUT(w)"),
    Mutant("prototype without an attr", PROTO, "    .ATTR(alpha, Float, 1.5)\n", "", "op_proto",
           "has none, the OpDef ATTR(alpha)"),
    Mutant("factory of another op", PROTO, "FACTORY_REG(ScaledAdd)", "FACTORY_REG(ScaledMul)",
           "op_proto", "ends with OP_END_FACTORY_REG(ScaledMul)"),
    # msopgen's JSON
    Mutant("JSON with another input", "msopgen.json", '"name": "y"', '"name": "w"', "msopgen",
           "its inputs are x, w"),
    Mutant("JSON with an unknown type", "msopgen.json", '"float"', '"flaot"', "msopgen",
           "unknown type 'flaot'"),
    Mutant("JSON with a format too many", "msopgen.json", '"ND"', '"ND", "ND"', "msopgen",
           "1 types and 2 formats"),
    Mutant("JSON with an unknown format", "msopgen.json", '"ND"', '"NDD"', "msopgen",
           "unknown format 'NDD'"),
    Mutant("no JSON", "msopgen.json", "[\n", "[,\n", "msopgen", "not JSON"),
    # build files
    Mutant("bracket left open", "CMakeLists.txt", "endforeach()", "endforeach(", "build", "no ')'"),
    Mutant("command misspelled", "op_kernel/CMakeLists.txt", "add_kernels_compile()",
           "add_kernel_compiles()", "build", "no command add_kernel_compiles"),
    Mutant("no kernel compiled", "op_kernel/CMakeLists.txt", "add_kernels_compile()", "", "build",
           "no kernel is compiled"),
    Mutant("op_kernel left out", "CMakeLists.txt", "framework op_host op_kernel",
           "framework op_host", "build", "op_kernel is not part of the build"),
    Mutant("folder that is not there", "CMakeLists.txt", "include(cmake/package.cmake)",
           "add_subdirectory(op_kernels)", "build", "it has no CMakeLists.txt"),
    Mutant("compute unit left out", "CMakePresets.json", '"value": "ascend910b"',
           '"value": "ascend310p"', "build", "ASCEND_COMPUTE_UNIT leaves out ascend910b"),
    Mutant("other vendor", "CMakePresets.json", '"value": "acme"', '"value": "acne"', "build",
           "vendor_name is acne, not acme"),
    # ONNX plugin
    Mutant("plugin of another op", PLUGIN, 'CUSTOM_OP("ScaledAdd")', 'CUSTOM_OP("ScaledMul")',
           "onnx_plugin", "names no op"),
    Mutant("plugin without a parser", PLUGIN,
           "    .ParseParamsByOperatorFn(ParseScaledAdd)\n", "", "onnx_plugin", "no ParseParams"),
    Mutant("plugin without a node", PLUGIN, 'ge::AscendString("acme::1::ScaledAdd"),', "",
           "onnx_plugin", "does not know nodes acme::1::ScaledAdd"),
    Mutant("plugin with a bad key", PLUGIN, "npu::1::ScaledAdd", "npu::ScaledAdd", "onnx_plugin",
           "is no key"),
    # TensorFlow plugin
    Mutant("TensorFlow plugin of another op", TF_PLUGIN, 'CUSTOM_OP("ScaledAdd")',
           'CUSTOM_OP("ScaledMul")', "tf_plugin", "names no op"),
    Mutant("TensorFlow plugin for ONNX", TF_PLUGIN, "(TENSORFLOW)", "(ONNX)", "tf_plugin",
           "is not for TensorFlow"),
    Mutant("TensorFlow plugin without a node", TF_PLUGIN, 'ge::AscendString("ScaledAdd"),', "",
           "tf_plugin", "does not know nodes ScaledAdd"),
    Mutant("TensorFlow plugin without a parser", TF_PLUGIN,
           "    .ParseParamsByOperatorFn(AutoMappingByOpFn)\n", "", "tf_plugin", "no ParseParams"),
)  # fmt: skip

# Not found, with what finds them; the same list is in CONTRIBUTING.md.
OUT_OF_REACH = (
    # opgen test: the tiling key has no kernel
    Mutant("tiling key without a kernel", KERNEL, "TILING_KEY_IS(1)", "TILING_KEY_IS(7)"),
    # opgen test: wrong numbers
    Mutant("wrong formula", HOST, "tiling.set_total(static_cast<uint64_t>(chosen.total));", ""),
    # the device compiler alone: the kernel changes a variable that all cores share
    in_kernel("global variable", "    g_calls = 1;\n", "", before="static int g_calls;\n"),
    # the board alone
    in_kernel("array larger than the stack", "    int a[100000]; a[GetBlockIdx()] = 1;\n", ""),
)


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A project as ``opgen new`` writes it, with a prototype beside."""
    from msopgen_wrap.cli.app import run as opgen

    folder = tmp_path_factory.mktemp("mutants")
    (folder / "scaled_add.yaml").write_text(SPEC)
    root = folder / "project"
    made = opgen(["new", str(folder / "scaled_add.yaml"), "-o", str(root), "--vendor", "acme"])
    assert made == 0
    (root / PROTO).parent.mkdir()
    (root / PROTO).write_text(PROTO_TEXT)
    return root


def verified(root: Path):
    project = read_project(root)
    return verify_project(root, NOTHING, specs=project.specs, vendor=project.vendor)


def changed(generated: Path, to: Path, mutant: Mutant) -> Path:
    root = to / "project"
    shutil.copytree(generated, root)
    path = root / mutant.file
    text = path.read_text()
    assert mutant.old in text, f"{mutant.file} has no {mutant.old!r}"
    text = text.replace(mutant.old, mutant.new, 1).replace(ENTRY, mutant.before + ENTRY, 1)
    path.write_text(mutant.includes + text)
    return root


def test_the_project_itself_passes(generated):
    report = verified(generated)
    failed = [(c.kind, c.subject, c.error and c.error.what) for c in report.checks if c.error]
    assert failed == []
    passed = {c.kind for c in report.checks if c.status == "passed"}
    assert passed >= {"build", "opdef", "msopgen", "op_proto", "onnx_plugin", "tf_plugin", "device"}


# The default suite takes one mistake in five, some of each kind of file: a second for each.
@pytest.mark.parametrize(
    "mutant",
    [m if n % 5 == 0 else pytest.param(m, marks=pytest.mark.slow) for n, m in enumerate(MUTANTS)],
    ids=lambda m: m.name,
)
def test_each_mistake_is_found(generated, tmp_path, mutant):
    report = verified(changed(generated, tmp_path, mutant))
    failed = [c for c in report.checks if c.error is not None]
    said = [(c.kind, c.error.what) for c in failed]
    assert any(k == mutant.kind and mutant.message in what for k, what in said), said
    assert all(c.error.code and c.error.why for c in failed)
    found = next(c for c in failed if mutant.message in c.error.what)
    assert Path(found.error.location.file).is_relative_to(tmp_path)


@pytest.mark.parametrize("mutant", OUT_OF_REACH, ids=lambda m: m.name)
def test_what_is_out_of_reach_is_not_claimed(generated, tmp_path, mutant):
    assert verified(changed(generated, tmp_path, mutant)).count("failed") == 0


def test_the_table_is_long_enough():
    assert len({m.name for m in MUTANTS}) == len(MUTANTS) >= 20
