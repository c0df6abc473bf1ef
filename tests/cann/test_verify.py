"""verify on the look-alike tree; on a real one where OPGEN_CANN_DIR names it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from msopgen_wrap.cann.kernel_prelude import kernel_prelude, may_precompile, tiling_structs
from msopgen_wrap.cann.op_sources import read_op_sources
from msopgen_wrap.cann.verify import verify_project
from msopgen_wrap.cann_discovery import combine, find_cann
from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError

from .conftest import ATTRS, KERNEL, TILING, make_spec, write_tree


def by_kind(report):
    found = {}
    for check in report.checks:
        # What needs no CANN is test_verify_mutants.py's; the emulation has no look-alike of Add.
        if check.kind in ("opdef", "build", "device"):
            continue
        found.setdefault((check.kind, check.status), []).append(check.variant)
    return found


def test_sound_project_passes(cann, sample):
    report = verify_project(sample(), cann)
    assert report.ok
    assert by_kind(report) == {
        ("op_host", "passed"): ["OP_PROTO_LIB", "OP_TILING_LIB", "no library macro"],
        # both SoCs are one arch, the third dtype repeats the second: two compiles
        ("kernel", "passed"): [
            "ascend910b+ascend910_93 float16",
            "ascend910b+ascend910_93 float32",
        ],
    }


BROKEN = [
    ("host, everywhere", {"more": "void f() { no_such(); }"}, "op_host", 3, "no_such"),
    (
        "host, not in the tiling library",
        {"more": "OnlyInTilingLib g_only;"},
        "op_host",
        2,
        "OnlyInTilingLib",
    ),
    ("dtype the arch has not", {"third": "ge::DT_BF16"}, "kernel", 1, "Add has no bfloat16_t"),
    (
        "kernel",
        {"kernel": KERNEL.replace("data.length", "data.lenght")},
        "kernel",
        2,
        "lenght",
    ),
]


@pytest.mark.parametrize(
    ("change", "kind", "count", "message"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN]
)
def test_each_fault_is_found_with_its_first_error(cann, sample, change, kind, count, message):
    project = sample(**change)
    report = verify_project(project, cann)
    failed = [c for c in report.checks if c.status == "failed"]
    assert [c.kind for c in failed] == [kind] * count
    for check in failed:
        assert message in check.error.what
        assert check.error.location.line > 0
        # an error inside a header is reported at the line of the project that led there
        assert Path(check.error.location.file).is_relative_to(project)


@pytest.mark.parametrize(
    ("gone", "kind", "note"),
    [
        ("tools/tikicpulib", "kernel", "CPU-debug headers"),
        ("aarch64-linux/ascendc", "kernel", "no AscendC headers"),
    ],
)
def test_incomplete_tree_skips_and_says_why(cann, sample, gone, kind, note):
    shutil.rmtree(cann.root / gone)
    report = verify_project(sample(), find_cann(cann.root))
    skipped = [c for c in report.checks if c.status == "skipped" and c.kind != "device"]
    assert {c.kind for c in skipped} == {kind}
    assert all(note in c.note for c in skipped)
    assert report.count("failed") == 0


def test_specs_add_msopgen_and_proto_checks(cann, sample):
    # the look-alike has no operator_reg.h: the op-proto check must say so
    report = verify_project(sample(), cann, specs=[make_spec(attrs=ATTRS)])
    found = by_kind(report)
    assert found[("msopgen", "passed")] == ["", "its op_host stub"]
    assert ("op_proto", "skipped") in found
    rejected = verify_project(
        sample(), cann, specs=[make_spec(attrs=(ATTRS[0].__class__("reject", "float", 1.0),))]
    )
    (check,) = [c for c in rejected.checks if c.kind == "msopgen"]
    assert check.status == "failed"
    assert "The reject attr is wrong" in check.error.what


def test_a_second_tree_fills_in_what_the_first_lacks(cann, sample, tmp_path):
    """A 9.x source checkout has kernel headers only; the rest comes from an older toolkit."""
    basic = cann.root / "aarch64-linux/ascendc/include/basic_api/kernel_operator.h"
    tiling = cann.root / "aarch64-linux/ascendc/include/highlevel_api/kernel_tiling"
    write_tree(
        tmp_path / "devkit",
        {
            "version.cmake": 'set_package(x VERSION "9.1.0")\n',
            "impl/x.h": "",
            # names that only the shim and only 9.x sources have
            "include/kernel_operator.h": "#pragma once\n"
            "#include <simt_stub.h>\n#include <kernel_tiling/kernel_tiling.h>\n"
            "__simd_callee__ inline int f(fp8_e5m2_t, AscendC::tiling::LogSoftMaxTiling)"
            " { return __NPU_ARCH__; }\n" + basic.read_text(),
        },
    )
    write_tree(tiling, {"kernel_tiling.h": "#pragma once\nstruct LogSoftMaxTiling {};\n"})
    devkit = find_cann(tmp_path / "devkit")
    assert (devkit.style, devkit.version) == ("9.x", "9.1.0")
    alone = verify_project(sample(), devkit)
    assert {c.status for c in alone.checks if c.kind not in ("opdef", "device")} == {"skipped"}
    assert not alone.ok and alone.compared == 0
    both = combine([devkit, find_cann(cann.root)])
    report = verify_project(sample(), both)
    assert (report.count("failed"), both.style) == (0, "9.x"), [c.as_dict() for c in report.checks]
    kinds = {c.kind for c in report.checks if c.status == "passed"}
    assert kinds == {"op_host", "kernel", "opdef"}


def test_each_part_says_which_tree_it_was_held_against(cann, sample, tmp_path, capsys):
    basic = cann.root / "aarch64-linux/ascendc/include/basic_api/kernel_operator.h"
    devkit = tmp_path / "devkit"
    write_tree(
        devkit,
        {
            "version.cmake": 'set_package(x VERSION "9.1.0")\n',
            "impl/x.h": "",
            "include/kernel_operator.h": "#pragma once\n" + basic.read_text(),
        },
    )
    both = combine([find_cann(devkit), find_cann(cann.root)])
    versions = {p: both.origin(p).version for p in ("op_host", "kernel", "debug", "msopgen")}
    old = "8.1.RC1"
    assert versions == {"op_host": old, "kernel": "9.1.0", "debug": old, "msopgen": old}
    project = str(sample())
    opgen(["verify", "--cann", str(devkit), "--cann", str(cann.root), project])
    said = capsys.readouterr().out
    assert f"against kernels: CANN 9.1.0 ({devkit})" in said
    assert f"CPU-debug headers of kernels, msopgen: CANN {old}" in said
    opgen(["verify", "--cann", str(devkit), "--cann", str(cann.root), project, "--json"])
    trees = json.loads(capsys.readouterr().out)["cann"]["trees"]
    assert (trees["kernel"]["version"], trees["op_host"]["version"]) == ("9.1.0", old)
    # alone it proves nothing, whatever needs no CANN says
    assert opgen(["verify", "--cann", str(devkit), project]) == 3
    assert "against op_host, plugins and prototypes" in capsys.readouterr().out


def test_no_op_and_no_tree(cann, tmp_path):
    with pytest.raises(OpgenError) as caught:
        verify_project(tmp_path, cann)
    assert caught.value.diagnostics[0].code == "OPG610"


def test_op_sources(sample):
    (op,) = read_op_sources(sample("ge::DT_BF16"))
    assert (op.op, op.kernel.name, op.params) == ("SampleAdd", "sample_add.cpp", ("x", "y"))
    assert op.combos == (
        ("DT_FLOAT16", "DT_FLOAT16"),
        ("DT_FLOAT", "DT_FLOAT"),
        ("DT_BF16", "DT_BF16"),
    )
    assert op.units == ("ascend910b", "ascend910_93")
    assert "ORIG_DTYPE_X=DT_BF16" in op.kernel_defines(2)


def test_tiling_structs_resolve_constants():
    (struct,), registered = tiling_structs([TILING])
    assert struct.fields == ("uint32_t length;", "int64_t shape[(4)];")
    assert registered == {"SampleAdd": "SampleAddTilingData"}


PRECOMPILED = [
    ('#include "kernel_operator.h"\n#define A 1\n', "", True),
    ('#ifndef G\n#define G\n#include "kernel_operator.h"\n', "", True),
    ('#define K_MAX_SHAPE_DIM 0\n#include "kernel_operator.h"\n', "", False),
    ("// #define A 1\n#include <basic_api/kernel_operator.h>\n", "", True),
    ('#include "own.h"\n', "#define A 1\n", False),
    ('#include "own.h"\n#define A 1\n', '#include "kernel_operator.h"\n', True),
]


@pytest.mark.parametrize(("kernel", "own", "allowed"), PRECOMPILED)
def test_macros_before_the_device_header_forbid_precompiling_it(tmp_path, kernel, own, allowed):
    (tmp_path / "own.h").write_text(own)
    (tmp_path / "k.cpp").write_text(kernel)
    assert may_precompile(tmp_path / "k.cpp", [tmp_path]) is allowed


def test_precompiled_header_gives_the_same_verdicts(cann, sample, monkeypatch):
    """The faulty dtype is found and the sound ones pass, with and without it."""
    import msopgen_wrap.cann.kernel_checks as module

    project = sample("ge::DT_BF16")

    def verdicts():
        return [(c.variant, c.status) for c in verify_project(project, cann).checks]

    with_header = verdicts()
    assert list(project.parent.rglob("*.gch")) == []
    monkeypatch.setattr(module, "may_precompile", lambda *_: False)
    assert with_header == verdicts()
    assert ("ascend910b+ascend910_93 bfloat16", "failed") in with_header


# ---- command line --------------------------------------------------------------------------------


def test_command(cann, sample, capsys):
    project = str(sample("ge::DT_BF16"))
    assert opgen(["verify", "--cann", str(cann.root), project, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["passed"], report["failed"]) == (False, 6, 1)
    assert report["cann"]["version"] == "8.1.RC1"
    assert opgen(["verify", "--cann", str(cann.root), project]) == 1
    text = capsys.readouterr().out
    assert "Add has no bfloat16_t here" in text
    assert "6 passed, 1 failed, 3 skipped" in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--cann", "{tmp}/nothing"], 3, "is not a folder"),
        (["--cann", "{tmp}"], 3, "holds no CANN headers"),
        (["--cann", "{cann}", "{tmp}/missing.yaml"], 1, "neither a project nor a spec"),
    ],
)
def test_command_errors(cann, tmp_path_factory, capsys, arguments, code, message):
    empty = tmp_path_factory.mktemp("empty")
    filled = [a.format(tmp=empty, cann=cann.root) for a in arguments]
    assert opgen(["verify", *filled]) == code
    assert message in capsys.readouterr().err


# ---- a real tree ---------------------------------------------------------------------------------

real = pytest.mark.skipif(
    not os.environ.get("OPGEN_CANN_DIR"), reason="OPGEN_CANN_DIR names no CANN install or tree"
)


@pytest.fixture
def real_tree():
    tree = find_cann(os.environ["OPGEN_CANN_DIR"])
    assert tree is not None, "OPGEN_CANN_DIR holds no CANN headers"
    return tree


@pytest.mark.cann
@real
def test_real_msopgen_and_headers_take_our_attrs_lists_and_plugins(real_tree, tmp_path):
    """Everything this package generates by itself; op_host and kernels are the next test's."""
    from msopgen_wrap.project.cann_project import CannOptions, render_cann_project
    from msopgen_wrap.spec.model import Attr

    attrs = (
        *ATTRS,
        Attr("kind", "dtype", "float32"),
        Attr("flag", "bool", True),
        Attr("scales", "list_float", (1.0, 0.5)),
        Attr("count", "int"),
    )
    specs = [make_spec(attrs=attrs), make_spec("SampleLists", "sample_lists", lists=True)]
    for file in render_cann_project(specs, CannOptions(style=real_tree.style)):
        path = tmp_path / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
    (tmp_path / "op_host/sample_add.cpp").write_text(
        '#include "register/op_def_registry.h"\nnamespace ops {\n'
        "class SampleAdd : public OpDef {\npublic:\n"
        "    explicit SampleAdd(const char* name) : OpDef(name) {}\n};\nOP_ADD(SampleAdd);\n}\n"
    )
    report = verify_project(tmp_path, real_tree, specs=specs)
    assert report.count("failed") == 0, [c.as_dict() for c in report.checks]
    kinds = {c.kind for c in report.checks if c.status == "passed"}
    assert kinds == {"op_host", "onnx_plugin", "tf_plugin", "op_proto", "msopgen"}


@pytest.mark.cann
@pytest.mark.slow
@real
def test_the_whole_op_library_passes_on_real_headers(real_tree, capsys):
    from msopgen_wrap.resources import data_dir

    code = opgen(["verify", "--cann", str(real_tree.root), str(data_dir("op_specs")), "--json"])
    report = json.loads(capsys.readouterr().out)
    failed = [
        (c["subject"], c["variant"], c["error"]["what"])
        for t in report["targets"]
        for c in t["checks"]
        if c["status"] == "failed"
    ]
    assert (code, failed) == (0, [])


@pytest.mark.parametrize(("entry", "renamed"), [("asinh", True), ("asinh_custom", False)])
def test_entries_named_like_the_c_library_are_renamed(tmp_path, entry, renamed):
    kernel = tmp_path / f"{entry}.cpp"
    kernel.write_text(f'extern "C" __global__ __aicore__ void {entry}(GM_ADDR x) {{}}\n')
    prelude = kernel_prelude("Asinh", [], kernel)
    assert (f"#define {entry} {entry}_entry" in prelude) is renamed


def test_a_name_may_be_an_input_and_an_output(tmp_path):
    """The kernel gets both; a configuration of one SoC that names them again adds none."""
    text = 'this->Input("var").DataType({ge::DT_FLOAT});\n'
    text += 'this->Output("var").DataType({ge::DT_FLOAT});\n'
    text += 'config.Input("var").DataType({ge::DT_FLOAT});\n'
    body = "class Update : public OpDef {\nUpdate() {\n" + text + "}\n};\nOP_ADD(Update);\n"
    write_tree(tmp_path, {"op_host/update.cpp": body, "op_kernel/update.cpp": "\n"})
    (op,) = read_op_sources(tmp_path)
    assert op.passed == ("var", "var")
