"""The TensorFlow parser plugin: its node types, and the compiled plugin mapping nodes."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.project.tf_plugin import length_attr, node_types, render_tf_plugin
from msopgen_wrap.spec.model import Attr, ParamKind

from .conftest import HEADERS, make_spec, write_tree


def test_node_types_are_the_op_and_its_name_in_the_vendors_namespace():
    assert node_types("Softmax", "acme") == ["Softmax", "Acme>Softmax"]
    assert length_attr("x") == "N_x"


def test_an_op_of_plain_tensors_is_mapped_by_cann():
    text = render_tf_plugin([make_spec()], "acme")[0].text
    assert ".ParseParamsByOperatorFn(AutoMappingByOpFn)" in text
    assert ".FrameworkType(TENSORFLOW)" in text


MAIN = """
#include "{plugin}"
#include <cstdio>
#include <cstdlib>
int main(int count, char** arguments) {{
    ge::Operator from, to;
    for (int i = 1; i + 1 < count; i += 2) from.attrs[arguments[i]] = std::atoi(arguments[i + 1]);
    std::printf("%u", domi::Map{op}(from, to));
    for (const auto& a : to.attrs) std::printf(" %s", a.first.c_str());
    for (const auto& d : to.dynamic) std::printf(" %s=%u", d.first.c_str(), d.second);
}}
"""


def optional(spec, *names):
    inputs = [replace(p, kind=ParamKind.OPTIONAL) if p.name in names else p for p in spec.inputs]
    return replace(spec, inputs=tuple(inputs))


SPECS = {
    "Lists": make_spec("Lists", "lists", lists=True),
    "Typed": make_spec("Typed", "typed", attrs=(Attr("t", "dtype", "float16"),)),
    "Last": optional(make_spec("Last", "last"), "y"),
    "Middle": optional(make_spec("Middle", "middle"), "x"),
    "Both": optional(make_spec("Both", "both", lists=True), "x"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Compile the plugin of each spec with a main that maps a node with the attrs given to it."""
    root = tmp_path_factory.mktemp("tf_plugin")
    write_tree(root, HEADERS)
    for file in render_tf_plugin(list(SPECS.values())):
        write_tree(root, {file.path: file.text})
    built = {}
    for op, spec in SPECS.items():
        main = root / f"{spec.name}.cpp"
        plugin = f"framework/tf_plugin/tensorflow_{spec.name}_plugin.cpp"
        main.write_text(MAIN.format(plugin=plugin, op=op))
        built[op] = root / spec.name
        command = [find_toolchain().cxx, "-std=c++11", "-Wall", "-Wextra", "-Werror"]
        command += ["-o", str(built[op]), str(main), f"-I{root}"]
        subprocess.run([*command, f"-I{root}/aarch64-linux/include"], check=True)
    return built


@pytest.mark.parametrize(
    ("op", "attrs", "result"),
    [
        ("Lists", {"N_x": 2, "N_y": 3}, "0 N_x N_y x=2 y=3 z=2"),
        ("Typed", {"t": 27}, "0 t"),
        ("Typed", {}, "1"),
        ("Last", {"N_y": 0}, "0 N_y"),
        ("Last", {"N_y": 1}, "0 N_y"),
        ("Middle", {"N_x": 1}, "0 N_x"),
        ("Middle", {"N_x": 0}, "1"),
        ("Both", {"N_x": 1, "N_y": 2}, "1"),
    ],
)
def test_nodes_are_mapped(programs, op, attrs, result):
    arguments = [str(part) for item in attrs.items() for part in item]
    done = subprocess.run([programs[op], *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == result
