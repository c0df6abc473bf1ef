"""The ops in TensorFlow without TensorFlow: arguments, attrs, shapes of graphs, the module."""

from __future__ import annotations

import ast
import json
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build.toolchain import base_flags, find_toolchain, warnings_as_errors
from msopgen_wrap.diagnostics import Location, OpgenError
from msopgen_wrap.doors.ops_render import render_door_sources
from msopgen_wrap.doors.tensorflow_install import find_tensorflow
from msopgen_wrap.doors.tensorflow_render import PartialShapes, render_library, render_module
from msopgen_wrap.doors.tensorflow_signature import attr_text, signature
from msopgen_wrap.doors.tflite_build import render_tflite, render_tflite_module
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.spec.model import Attr, OpSpec
from msopgen_wrap.spec.shape_parser import ShapeNames, parse_shape
from msopgen_wrap.spec.shapes import ShapeError, evaluate


def spec_of(text: str) -> OpSpec:
    parsed = parse_spec(text, "test.yaml")
    assert parsed.spec, [str(d) for d in parsed.diagnostics]
    return parsed.spec


MIXED = """
op: Mixed
inputs:
  x: [float16, float32]
  w: {dtype: x, optional: true, shape: like x}
  i: {dtype: int32, rank: [1, 2]}
outputs:
  y: {dtype: [int8, int32], shape: like x}
  z: {dtype: x, shape: "[x[0], n]"}
attrs: {n: {type: int, default: 2}}
compute: |
  y = x.to(torch.int8)
  z = x
backward: none
"""
STEP = """
op: EachStep
inputs: {var: {dtype: float32, list: true}, grad: {dtype: float32, list: true}}
outputs: {var: {inplace: var, list: true}, c: {shape: like grad, list: true}}
compute: |
  var = [v - g for v, g in zip(var, grad)]
  c = [g * 2 for g in grad]
backward: none
"""


def test_arguments():
    sign = signature(spec_of(MIXED))
    assert [a.declaration for a in sign.inputs] == ["x: T", "w: N_w * T", "i: int32"]
    assert [a.declaration for a in sign.outputs] == ["y: T_y", "z: T"]
    assert sign.chosen == ("T_y",)
    assert sign.attrs == (
        "T: {half, float} = DT_FLOAT",
        "T_y: {int8, int32} = DT_INT8",
        "N_w: int >= 0",
        "n: int = 2",
    )
    step = signature(spec_of(STEP))
    assert [a.declaration for a in step.inputs] == ["var: N_var * float", "grad: N_grad * float"]
    assert [a.declaration for a in step.outputs] == [
        "var_out: N_var * float",
        "c: N_var * float",
    ]


@pytest.mark.parametrize(
    ("attr", "text"),
    [
        (Attr("a", "float", float("-inf")), "a: float = -inf"),
        (Attr("a", "float", 1e-5), "a: float = 1e-05"),
        (Attr("a", "int"), "a: int"),
        (Attr("a", "bool", True), "a: bool = true"),
        (Attr("a", "str", "it's \\ é"), "a: string = 'it\\047s \\134 \\303\\251'"),
        (Attr("a", "list_int", (1, -2)), "a: list(int) = [1, -2]"),
        (Attr("a", "list_float", ()), "a: list(float) = []"),
        (Attr("a", "dtype", "float16", allowed=("float16", "bfloat16")),
         "a: {half, bfloat16} = DT_HALF"),
    ],
)  # fmt: skip
def test_attrs(attr, text):
    assert attr_text(attr) == text


# ---- shapes that are known in part ---------------------------------------------------------------

RULES = [
    "like x",
    "broadcast(x, y)",
    "[*x[:-1], n, 4]",
    "[x[0] * 2 + y[-1], rank(x), numel(y) // 3, numel(x) % 4]",
    "[max(x[0], y[0]), min(x[-1], 7), x[-1] - 1]",
    "[dims[0], dims[-1], -x[0] // 2 + 9]",
    "reduce(x, dims, keep)",
    "reduce(x, [0], true)",
    "reduce(x, [], false)",
    "[*y[1:], *x[-1:]]",
    "like x if keep else []",
    "[floor(x[0] * factors[0]), ceil(y[-1] * alpha), max(floor(alpha * x[-1]), n)]",
    "permute(x, perm)",
    "strided_slice(x, first, last, steps)",
    "strided_slice(x, first, last, steps, two, one, none, two, one)",
    "strided_slice(x, first, last, steps, none, two, one)",
]
CASES = [([2, 3], [3]), ([4, 1, 5], [4, 6, 1]), ([0, 7], [1]), ([3], [3]), ([2, 3], [4])]
ATTRS = {
    "n": 6,
    "dims": [0],
    "keep": True,
    "factors": [0.7],
    "alpha": 1.5,
    "perm": [1, 0],
    "first": [-2, 0],
    "last": [9, -5],
    "steps": [1, -1],
    "none": 0,
    "one": 1,
    "two": 2,
}


@pytest.fixture(scope="module")
def inferred(tmp_path_factory):
    """Compile all rules; return a function that evaluates one on sizes, -1 standing for unknown."""
    folder = tmp_path_factory.mktemp("partial")
    spec = spec_of(
        "op: Any\ninputs: {x: float32, y: float32}\n"
        "attrs: {n: 1, dims: {type: list_int, default: [0]}, keep: true, factors: [0.7],"
        " alpha: 1.5, perm: [1, 0], first: [0, 0], last: [0, 0], steps: [1, 1],"
        " none: 0, one: 1, two: 2}\n"
        "outputs: {z: {shape: like x}}\ncompute: x\nbackward: none\n"
    )
    names = ShapeNames(("x", "y"), {a.name: a.type for a in spec.attrs})
    rules = [parse_shape(text, names, Location(), Findings()) for text in RULES]
    assert None not in rules
    texts = "\n".join(
        f"    if (rule == {i}) return {PartialShapes(spec).rule(rule)};"
        for i, rule in enumerate(rules)
    )
    program = folder / "rules.cpp"
    program.write_text(PROGRAM.replace("RULES", texts))
    headers = [data_dir("templates") / "doors/csrc", data_dir("templates") / "tensorflow"]
    tool = find_toolchain()
    command = [tool.cxx, *base_flags(tool.family), *warnings_as_errors(tool.family)]
    command += [*(f"-I{h}" for h in headers), str(program), "-o", str(folder / "rules")]
    subprocess.run(command, check=True)

    def run(rule: int, x: list[int] | None, y: list[int] | None) -> str:
        given = ["?" if s is None else ",".join(map(str, s)) for s in (x, y)]
        command = [folder / "rules", str(rule), *given]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return run, rules


PROGRAM = r"""
#include "partial_shapes.h"
#include <cstdio>
#include <cstdlib>
#include <sstream>
using namespace opgen_partial;
static const Sizes& Shape(const Sizes& s) { return s; }
static const Sizes& Like(const Sizes& s) { return s; }
static Sizes Rule(int rule, const Sizes& x, const Sizes& y) {
    const int64_t n = 6;
    const std::vector<int64_t> dims = {0};
    const bool keep = true;
    const std::vector<float> factors = {0.7f};
    const double alpha = 1.5;
    const std::vector<int64_t> perm = {1, 0};
    const std::vector<int64_t> first = {-2, 0};
    const std::vector<int64_t> last = {9, -5};
    const std::vector<int64_t> steps = {1, -1};
    const int64_t none = 0, one = 1, two = 2;
RULES
    const Size scaled = ScaledDown(2, factors[0] * alpha);
    const Sizes sliced = Sliced(x, first, last, steps, {none, one, two});
    return Broadcast("any", {x, y, sliced, Sizes{n, dims[0], keep, perm[0], scaled}});
}
static Sizes Parse(const std::string& text) {
    if (text == "?") return Sizes::Unknown();
    Sizes sizes;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        const int64_t value = std::atoll(part.c_str());
        sizes.push_back(value < 0 ? Size::Unknown() : Size(value));
    }
    return sizes;
}
int main(int, char** arguments) {
    try {
        std::printf("%s", Text(Rule(std::atoi(arguments[1]), Parse(arguments[2]),
                                    Parse(arguments[3]))).c_str());
    } catch (const std::exception& error) {
        std::printf("error: %s", error.what());
    }
}
"""


@pytest.mark.parametrize("rule", range(len(RULES)), ids=RULES)
def test_known_sizes_give_what_the_spec_says(inferred, rule):
    run, rules = inferred
    for x, y in CASES:
        try:
            expected = str(list(evaluate(rules[rule], {"x": x, "y": y}, ATTRS)))
        except ShapeError:
            expected = "error"
        assert run(rule, x, y).startswith(expected), (x, y)


@pytest.mark.parametrize(
    ("rule", "x", "y", "expected"),
    [
        ("broadcast(x, y)", [-1, 3], [3], "[?, 3]"),
        ("broadcast(x, y)", [-1, 3], [5, 1], "[5, 3]"),
        ("broadcast(x, y)", [1, 3], [-1, 1], "[?, 3]"),
        ("broadcast(x, y)", [2, -1], [4], "[2, 4]"),
        ("broadcast(x, y)", None, [4], "[...]"),
        ("broadcast(x, y)", [2, -1], [3, 4], "error: any: shapes [2, ?], [3, 4] do not broadcast"),
        ("[*x[:-1], n, 4]", [-1, 3], [1], "[?, 6, 4]"),
        ("[*x[:-1], n, 4]", None, [1], "[...]"),
        ("[max(x[0], y[0]), min(x[-1], 7), x[-1] - 1]", [-1, 3], [5], "[?, 3, 2]"),
        ("reduce(x, dims, keep)", [-1, 3], [5], "[1, 3]"),
        ("reduce(x, [], false)", None, [5], "[]"),
        ("like x if keep else []", [-1], [5], "[?]"),
        (RULES[11], [-1, 3], [4], "[?, 6, 6]"),
        ("permute(x, perm)", [-1, 3], [4], "[3, ?]"),
        ("permute(x, perm)", None, [4], "[...]"),
        ("strided_slice(x, first, last, steps)", [-1, 3], [4], "[?, 1]"),
        ("strided_slice(x, first, last, steps)", None, [4], "[...]"),
    ],
)
def test_unknown_sizes_stay_unknown(inferred, rule, x, y, expected):
    run, _ = inferred
    assert run(RULES.index(rule), x, y) == expected


# ---- the module ----------------------------------------------------------------------------------


def test_the_module_of_the_library_is_python_and_stable():
    specs = load_specs([data_dir("op_specs")])
    types = {spec.op: spec.op for spec in specs} | {"Softmax": "Acme>Softmax"}
    text = render_module(specs, "acme", types, "2.21.0").text
    assert text == render_module(specs, "acme", types, "2.21.0").text
    names = {n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)}
    assert {spec.name for spec in specs} <= names
    assert "_softmax.gradient = _softmax_grad" in text
    assert "MaskedScale has no" in text or "masked_scale.gradient" in text
    library = render_library(specs, "acme", types)
    assert 'REGISTER_OP("Acme>Softmax")' in library[0].text
    assert library == render_library(specs, "acme", types)


# ---- which TensorFlow ----------------------------------------------------------------------------


def python(folder: Path, script: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def answer(**values: object) -> str:
    return f"echo '{json.dumps(values)}'"


GOOD = {"version": "2.21.0", "compile": ["-I."], "link": [], "taken": []}


@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        (answer(missing=True, error="No module named 'tensorflow'"), "OPG550", "no TensorFlow"),
        (answer(missing=False, error="numpy is too new"), "OPG551", "numpy is too new"),
        (answer(**GOOD | {"version": "2.4.1"}), "OPG551", "older than 2.16"),
        (answer(**GOOD), "OPG551", "no C++ headers"),
        ("echo boom >&2; exit 1", "OPG551", "boom"),
        ("kill -9 $$", "OPG551", "exit code -9"),
    ],
)
def test_a_tensorflow_that_cannot_be_used(tmp_path, script, code, text):
    with pytest.raises(OpgenError, match=re.escape(text)) as caught:
        find_tensorflow(python(tmp_path, script))
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_a_python_that_is_not_there(tmp_path):
    with pytest.raises(OpgenError, match=r"OPG551: .* cannot be started"):
        find_tensorflow(tmp_path / "none")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    from msopgen_wrap.cli.app import run as opgen

    root = tmp_path_factory.mktemp("project")
    spec = "op: Twice\ninputs: {x: float32}\noutputs: {y: like x}\ncompute: x + x\n"
    (root / "twice.yaml").write_text(spec)
    assert opgen(["new", str(root / "twice.yaml"), "-o", str(root / "project")]) == 0
    return root / "project"


def test_without_tensorflow_nothing_is_written(project, tmp_path, capsys):
    from msopgen_wrap.cli.app import run as opgen

    program = python(tmp_path, answer(missing=True, error="No module named 'tensorflow'"))
    command = ["build", str(project), "--target", "tensorflow", "--tensorflow", str(program)]
    assert opgen([*command, "-o", str(tmp_path / "out")]) == 3
    assert "OPG550" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_option_is_for_tensorflow_only(project, tmp_path, capsys):
    from msopgen_wrap.cli.app import run as opgen

    command = ["build", str(project), "--target", "tflite", "--tensorflow", "python"]
    assert opgen([*command, "-o", str(tmp_path / "out")]) == 2
    assert "--tensorflow is for --target tensorflow" in capsys.readouterr().err


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_library_for_tensorflow_lite_compiles_without_a_warning(compiler, tmp_path):
    path = shutil.which(compiler)
    if path is None:
        pytest.skip(f"no {compiler} on this machine")
    specs = [spec_of(MIXED), spec_of(STEP)]
    for file in (*render_door_sources(specs, "acme"), *render_tflite(specs, "acme")):
        (tmp_path / file.path).write_text(file.text)
    assert render_tflite(specs, "acme") == render_tflite(specs, "acme")
    family = "clang" if "clang" in compiler else "gcc"
    flags = [*base_flags(family), *warnings_as_errors(family), "-fsyntax-only"]
    command = [path, *flags, str(tmp_path / "register_ops.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    ast.parse(render_tflite_module(specs, "acme").text)
