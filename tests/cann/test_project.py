"""The generated CANN projects: golden files, msopgen's JSON, presets and vendor names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.platforms import soc_target
from msopgen_wrap.project.cann_project import (
    STYLES,
    CannOptions,
    compute_units,
    render_cann_project,
    write_msopgen_project,
)
from msopgen_wrap.project.msopgen_json import cpp_default, msopgen_entry, patch_presets
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import Attr
from msopgen_wrap.spec.names import check_vendor

from .conftest import ATTRS, make_spec

# ---- The generated CANN projects, file by file, as they are meant to look ------------------------

GOLDEN = Path(__file__).parent / "golden"
# Long files whose behaviour other tests exercise.
SKIPPED = ("scripts/install.sh", "framework/onnx_plugin/onnx_attributes.h")


@pytest.mark.parametrize("style", STYLES)
def test_project(style, golden):
    specs = [make_spec(attrs=ATTRS), make_spec("SampleLists", "sample_lists", lists=True)]
    files = render_cann_project(specs, CannOptions("acme", style))
    # The kit's version changes with every release.
    shown = {
        f.path: re.sub(r"^opgen_version=.*$", "opgen_version=*", f.text, flags=re.MULTILINE)
        for f in files
        if f.path not in SKIPPED
    }
    golden(GOLDEN / f"project-{style}.golden", shown)


# ---- msopgen JSON, presets, vendor names, and laying our sources over msopgen's tree -------------

DEFAULTS = [
    ("list_int", (1, 2), "{1,2}"),
    ("list_int", (), "{}"),
    ("list_float", (1.0, 1e-7), "{1.0,1e-07}"),
    ("int", -3, "-3"),
    ("float", 1, "1.0"),
    ("float", 1e20, "1e+20"),
    ("bool", True, "true"),
    ("str", 'say "hi"\\n', 'say \\"hi\\"\\\\n'),
    ("str", "", ""),
    ("dtype", "bfloat16", "27"),
]


@pytest.mark.parametrize(("kind", "value", "text"), DEFAULTS)
def test_attr_defaults_are_cpp(kind, value, text):
    assert cpp_default(Attr("a", kind, value)) == text


def test_attr_defaults_that_cannot_be():
    with pytest.raises(ValueError, match="required"):
        cpp_default(Attr("a", "int"))
    with pytest.raises(ValueError, match="inf"):
        cpp_default(Attr("a", "float", float("inf")))


def test_entry_has_one_format_per_type():
    entry = msopgen_entry(make_spec(attrs=(*ATTRS, Attr("n", "int")), lists=True))
    x = entry["input_desc"][0]
    assert x == {
        "name": "x",
        "param_type": "dynamic",
        "format": ["ND", "ND"],
        "type": ["fp16", "float"],
    }
    assert entry["attr"][-1] == {"name": "n", "param_type": "required", "type": "int"}
    assert entry["attr"][0]["default_value"] == "{1,-2}"


@pytest.mark.parametrize(
    ("name", "unit", "msopgen", "dav"),
    [
        ("ascend910b", "ascend910b", "ai_core-ascend910b1", "__DAV_C220__"),
        ("Ascend910B3", "ascend910b", "ai_core-ascend910b3", "__DAV_C220__"),
        ("ascend910_93", "ascend910_93", "ai_core-ascend910_9362", "__DAV_C220__"),
        ("ascend310p", "ascend310p", "ai_core-ascend310p1", "__DAV_M200__"),
    ],
)
def test_soc_names(name, unit, msopgen, dav):
    target = soc_target(name)
    # "ai_core-ascend910b" would mean the older ascend910 to msopgen
    assert (target.unit, target.msopgen, target.dav) == (unit, msopgen, dav)


def test_several_socs_are_mapped_in_the_presets():
    text = json.dumps(
        {
            "configurePresets": [
                {
                    "cacheVariables": {
                        "ASCEND_COMPUTE_UNIT": {"value": "ascend910b1;ascend310p3"},
                        "vendor_name": {"value": "customize"},
                    }
                }
            ]
        }
    )
    cache = json.loads(patch_presets(text, "acme", ["ascend910b", "ascend310p"]))
    cache = cache["configurePresets"][0]["cacheVariables"]
    assert cache["ASCEND_COMPUTE_UNIT"]["value"] == "ascend910b;ascend310p"
    assert cache["vendor_name"]["value"] == "acme"


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a b", "a/b", "x" * 65, "a;b", "ä"])
def test_bad_vendor(name):
    with pytest.raises(OpgenError) as caught:
        check_vendor(name)
    assert caught.value.diagnostics[0].code == "OPG603"


def test_unknown_soc():
    with pytest.raises(OpgenError) as caught:
        compute_units([make_spec(soc=("ascend777",))])
    assert "ascend777" in caught.value.diagnostics[0].what


@pytest.mark.parametrize("style", STYLES)
def test_project_is_deterministic_and_relative(style):
    specs = [make_spec(attrs=ATTRS), make_spec("SampleLists", "sample_lists", lists=True)]
    options = CannOptions("acme", style)
    files = render_cann_project(specs, options)
    assert files == render_cann_project(specs, options)
    assert len({f.path for f in files}) == len(files)
    for file in files:
        assert file.text.endswith("\n")
        assert "/work" not in file.text and "/tmp" not in file.text
        # msopgen.json is JSON for msopgen, which knows no comments
        if file.path not in ("msopgen.json",) and not file.path.endswith(".info"):
            assert "generated by opgen" in file.text.split("\n\n")[0] + file.text[:400], file.path
    assert all(f.executable == f.path.endswith(".sh") for f in files)


def test_msopgen_tree_with_our_sources_over_it(cann, tmp_path):
    spec = make_spec(attrs=ATTRS)
    ours = [
        *render_cann_project([spec], CannOptions("acme")),
        GeneratedFile("op_host/sample_add.cpp", "// ours\n"),
        GeneratedFile("op_kernel/sample_add.cpp", "// ours\n"),
    ]
    out = tmp_path / "project"
    run = write_msopgen_project(cann, [spec], ours, out, vendor="acme")
    assert run.returncode == 0
    assert (out / "op_host/sample_add.cpp").read_text() == "// ours\n"
    assert (out / "op_kernel/sample_add.cpp").read_text() == "// ours\n"
    assert (out / "op_host/CMakeLists.txt").read_text() == "# msopgen\n"
    assert (out / "cmake/func.cmake").read_text() == "# msopgen\n"
    cache = json.loads((out / "CMakePresets.json").read_text())
    cache = cache["configurePresets"][0]["cacheVariables"]
    assert cache["ASCEND_COMPUTE_UNIT"]["value"] == "ascend910b;ascend910_93"
    assert cache["ASCEND_CANN_PACKAGE_PATH"]["value"] == str(cann.root)
    assert (out / "build.sh").stat().st_mode & 0o100
    with pytest.raises(OpgenError) as caught:
        write_msopgen_project(cann, [spec], ours, out, vendor="acme")
    assert caught.value.diagnostics[0].code == "OPG606"


def test_failing_msopgen_leaves_nothing(cann, tmp_path):
    spec = make_spec(attrs=(Attr("reject", "float", 1.0),))
    with pytest.raises(OpgenError) as caught:
        write_msopgen_project(cann, [spec], [], tmp_path / "project", vendor="acme")
    assert "The reject attr is wrong." in caught.value.diagnostics[0].what
    assert not (tmp_path / "project").exists()
    assert not list(tmp_path.glob(".opgen_*"))
