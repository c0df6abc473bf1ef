"""The parser plugin: its keys, and the compiled plugin parsing nodes."""

from __future__ import annotations

import json
import subprocess

import pytest

from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.project.onnx_plugin import onnx_keys, render_onnx_plugin
from msopgen_wrap.spec.model import Attr

from .conftest import make_spec


def test_keys_cover_exporters_and_atc():
    keys = onnx_keys("SampleAdd", "acme")
    assert keys[:2] == ["acme::1::SampleAdd", "npu::1::SampleAdd"]
    for opset in range(9, 21):
        assert f"ai.onnx::{opset}::SampleAdd" in keys
    assert len(set(keys)) == len(keys)
    assert onnx_keys("SampleAdd", "npu").count("npu::1::SampleAdd") == 1


MAIN = """
#include "{plugin}"
#include <cstdio>
#include <iostream>
#include <sstream>
int main() {{
    std::stringstream text;
    text << std::cin.rdbuf();
    ge::Operator from, to;
    from.json = text.str();
    from.inputs = 5;
    from.outputs = 2;
    std::printf("%u", domi::Parse{op}(from, to));
    for (const auto& a : to.attrs) std::printf(" %s", a.first.c_str());
    for (const auto& d : to.dynamic) std::printf(" %s=%u", d.first.c_str(), d.second);
    opgen_onnx::Attributes attributes;
    attributes.Load(from);
    int64_t i = -7; float f = -7; bool b = false; ge::AscendString s("-");
    std::vector<int64_t> li; std::vector<float> lf; ge::DataType t = ge::DT_BOOL;
    attributes.ReadInt("i", i); attributes.ReadFloat("f", f); attributes.ReadBool("b", b);
    attributes.ReadString("s", s); attributes.ReadInts("li", li); attributes.ReadFloats("lf", lf);
    attributes.ReadDataType("t", t);
    std::printf("|%lld %g %d %s %d [", (long long)i, f, b, s.GetString(), (int)t);
    for (int64_t v : li) std::printf("%lld,", (long long)v);
    for (float v : lf) std::printf("%g,", v);
    std::printf("]");
}}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Compile the plugin of an op with every attr type, and of one with tensor lists."""
    from .conftest import HEADERS, write_tree

    root = tmp_path_factory.mktemp("plugin")
    write_tree(root, HEADERS)
    attrs = (
        Attr("i", "int"),
        Attr("f", "float", 0.5),
        Attr("b", "bool", False),
        Attr("s", "str", "none"),
        Attr("li", "list_int", (1, 2)),
        Attr("lf", "list_float", ()),
        Attr("t", "dtype", "float16"),
    )
    specs = [
        make_spec("AllAttrs", "all_attrs", attrs=attrs),
        make_spec("Lists", "lists", lists=True),
    ]
    for file in render_onnx_plugin(specs):
        write_tree(root, {file.path: file.text})
    built = {}
    for spec in specs:
        main = root / f"{spec.name}.cpp"
        plugin = f"framework/onnx_plugin/{spec.name}_plugin.cpp"
        main.write_text(MAIN.format(plugin=plugin, op=spec.op))
        built[spec.op] = root / spec.name
        subprocess.run(
            [
                find_toolchain().cxx,
                *("-std=c++11", "-Wall", "-Wextra", "-Werror"),
                *("-o", str(built[spec.op]), str(main)),
                f"-I{root}",
                f"-I{root}/aarch64-linux/include",
                f"-I{root}/framework/onnx_plugin",
            ],
            check=True,
        )
    return built


def parse(program, attributes):
    text = attributes
    if not isinstance(attributes, str):
        text = json.dumps({"attribute": attributes}) if attributes is not None else ""
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return done.stdout.split("|")


ALL = [
    {"name": "i", "type": 2, "i": "41"},
    {"name": "f", "type": 1, "f": "0.25"},
    {"name": "b", "type": 2, "i": 1},
    {"name": "s", "type": 3, "s": 'q"\\\u00e9\n'},
    {"name": "li", "type": 7, "ints": ["3", -4]},
    {"name": "lf", "type": 6, "floats": [1.5, "2"]},
    {"name": "t", "type": 2, "i": 16},
    {"name": "ignored", "type": 4, "t": {"dims": [1, {"deep": []}]}},
]
SET = "b f i lf li s t"


@pytest.mark.parametrize(
    ("attributes", "result", "values"),
    [
        (ALL, f"0 {SET}", '41 0.25 1 q"\\é\n 27 [3,-4,1.5,2,]'),
        ([ALL[0]], f"0 {SET}", "41 -7 0 - 12 []"),
        ([], "1", "-7 -7 0 - 12 []"),  # the required attr is missing
        (None, "1", "-7 -7 0 - 12 []"),
        ([ALL[0], {"name": "f", "type": 2, "i": 3}], f"0 {SET}", "41 3 0 - 12 []"),
        ([ALL[0], {"name": "li", "type": 7}], f"0 {SET}", "41 -7 0 - 12 []"),
        ([ALL[0], {"name": "f", "type": 3, "s": "x"}], "1 i", None),
        ([ALL[0], {"name": "t", "type": 2, "i": 99}], None, None),
        ([{"name": "i", "type": 2, "i": "4x"}], "1", None),
        ('{"attribute": [', "1", None),
        ("[" * 5000, "1", None),
        ("", "1", None),
    ],
)
def test_attributes(programs, attributes, result, values):
    got, rest = parse(programs["AllAttrs"], attributes)
    if result is not None:
        assert got == result
    else:
        assert got.startswith("1")
    if values is not None:
        assert rest == values


def test_dynamic_lists_share_the_flat_inputs(programs):
    got, _ = parse(programs["Lists"], None)
    assert got == "0 x=2 y=2 z=2"
