"""The vendor tree of a CPU package, filled from small libraries instead of compiled ops."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build import shared_object
from msopgen_wrap.build.toolchain import find_toolchain, machine_name
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.package import layout
from msopgen_wrap.package.builder import build_cpu_package, run_name
from msopgen_wrap.package.ops_info import (
    binary_info_config,
    binary_name,
    op_proto_header,
    ops_info,
)
from msopgen_wrap.package.vendors import VendorPackage
from msopgen_wrap.spec.model import Attr, ParamKind, TensorParam

from .conftest import op

ARCH = machine_name()
TBE = "op_impl/ai_core/tbe"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A runtime in a cache folder and libraries linked to it by that path, as the build does."""
    cache = tmp_path_factory.mktemp("a_cache_folder_with_a_long_name_as_real_ones_have")
    source = cache / "lib.c"
    tool = find_toolchain().cxx

    def link(name, text, *flags):
        source.write_text(text)
        out = cache / name
        subprocess.run(
            [
                tool,
                "-x",
                "c",
                "-shared",
                "-fPIC",
                str(source),
                "-x",
                "none",
                "-o",
                str(out),
                *flags,
            ],
            check=True,
        )
        return out

    runtime = link(
        "libascendc_emulation-1234.so",
        "int emu(void) { return 7; }",
        "-Wl,-soname,libascendc_emulation-1234.so",
    )
    use = [str(runtime), f"-Wl,-rpath,{cache}"]
    text = "int emu(void); int call(void) { return emu(); }"
    return {name: link(f"{name}.so", text, *use) for name in ("host", "opapi", "kernel")}


@pytest.fixture
def project(tmp_path, libraries, monkeypatch):
    """A project tree whose compilation yields ``libraries``."""
    import msopgen_wrap.build.operators as operators

    specs = (op("AddX", "add_x", ("ascend910b", "ascend910_93", "ascend310p")), op("SubX", "sub_x"))
    root = tmp_path / "project"
    for spec in specs:
        for name in (f"op_api/aclnn_{spec.name}.h", f"op_kernel/{spec.name}.cpp"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"// {name}\n")
    (root / "op_kernel/opgen").mkdir()
    (root / "op_kernel/opgen/blocks.h").write_text("// blocks\n")
    archs = []

    def build(specs, project, *, progress, portable, arch=2201):
        assert portable, "a package must not name the builder's folders"
        archs.append((arch, [s.op for s in specs]))
        kernels = {
            s.op: {operators.dtype_key(s, i): libraries["kernel"] for i in range(s.combos)}
            for s in specs
        }
        return operators.BuiltOperators(libraries["host"], kernels)

    monkeypatch.setattr(operators, "build_operators", build)
    monkeypatch.setattr(layout, "_build_opapi", lambda project: libraries["opapi"])
    tree = ProjectTree(root, "acme", "8.1", (), specs)
    return tree, archs


@pytest.fixture
def vendor(project, tmp_path):
    tree, archs = project
    filled = layout.fill_vendor_tree(tree, tmp_path / "vendors/acme")
    return filled, archs


def test_files(vendor):
    filled, archs = vendor
    add = [binary_name(op("AddX", "add_x"), i) for i in range(2)]
    sub = [binary_name(op("SubX", "sub_x"), i) for i in range(2)]
    expected = [
        "framework/onnx/npu_supported_ops.json",
        "op_api/include/aclnn_add_x.h",
        "op_api/include/aclnn_sub_x.h",
        "op_api/lib/libcust_opapi.so",
        f"{TBE}/acme_impl/dynamic/add_x.cpp",
        f"{TBE}/acme_impl/dynamic/opgen/blocks.h",
        f"{TBE}/acme_impl/dynamic/sub_x.cpp",
        *(
            f"{TBE}/config/{u}/aic-{u}-ops-info.json"
            for u in ("ascend310p", "ascend910_93", "ascend910b")
        ),
        *(
            f"{TBE}/kernel/{u}/add_x/{name}{suffix}"
            for u in ("ascend310p", "ascend910_93", "ascend910b")
            for name in add
            for suffix in (".json", ".so")
        ),
        *(f"{TBE}/kernel/ascend910b/sub_x/{n}{s}" for n in sub for s in (".json", ".so")),
        *(
            f"{TBE}/kernel/config/{u}/binary_info_config.json"
            for u in ("ascend310p", "ascend910_93", "ascend910b")
        ),
        f"{TBE}/kernel/opgen_kernels.txt",
        f"{TBE}/op_tiling/lib/linux/{ARCH}/libcust_opmaster_rt2.0.so",
        f"{TBE}/op_tiling/liboptiling.so",
        "op_proto/inc/op_proto.h",
        f"op_proto/lib/linux/{ARCH}/libcust_opsproto_rt2.0.so",
        "opgen_runtime/libascendc_emulation-1234.so",
        "version.info",
    ]
    assert sorted(filled.files) == sorted(expected)
    assert all((filled.path / name).is_file() for name in filled.files), "no dangling link"
    # ascend910_93 shares ascend910b's kernels; ascend310p is another arch: 2 + 2 + 2 compiled
    assert filled.kernels == 6
    assert archs == [(2201, ["AddX", "SubX"]), (2002, ["AddX"])]
    assert not VendorPackage(filled.path, "test").missing_files()
    assert VendorPackage(filled.path, "test").ops == ["AddX", "SubX"]


def test_libraries_find_the_runtime_relative_to_themselves(vendor, libraries, tmp_path):
    filled, _ = vendor
    cache = str(libraries["host"].parent).encode()
    for name in filled.files:
        path = filled.path / name
        assert cache not in path.read_bytes(), f"{name} names the build machine's cache"
        if path.suffix == ".so" and "opgen_runtime" not in name:
            folders = (
                shared_object.runpath(path)
                .replace("$ORIGIN", str(path.parent.absolute()))
                .split(":")
            )
            assert any((Path(f) / "libascendc_emulation-1234.so").is_file() for f in folders), name
    moved = tmp_path / "elsewhere"
    filled.path.rename(moved)
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).call())"
    for name in ("op_api/lib/libcust_opapi.so", f"{TBE}/op_tiling/liboptiling.so"):
        done = subprocess.run(
            ["python3", "-c", code, str(moved / name)],
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == "7", done.stderr


def test_kernel_list(vendor):
    filled, _ = vendor
    folder = filled.path / TBE / "kernel"
    lines = (folder / "opgen_kernels.txt").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    assert rows[0] == ["host", f"../op_tiling/lib/linux/{ARCH}/libcust_opmaster_rt2.0.so"]
    assert (folder / rows[0][1]).exists()
    assert {(r[0], r[1], r[2], r[4]) for r in rows[1:]} == {
        (o, u, f"{d},{d}", e)
        for o, e, units in (
            ("AddX", "add_x", ("ascend910b", "ascend910_93", "ascend310p")),
            ("SubX", "sub_x", ("ascend910b",)),
        )
        for u in units
        for d in ("float16", "float32")
    }
    assert all((folder / r[3]).is_file() for r in rows[1:])


def test_binary_info_names_existing_binaries(vendor):
    filled, _ = vendor
    kernel = filled.path / TBE / "kernel"
    for unit in filled.units:
        config = json.loads((kernel / f"config/{unit}/binary_info_config.json").read_text())
        assert set(config) == ({"AddX", "SubX"} if unit == "ascend910b" else {"AddX"})
        for info in config.values():
            for binary in info["binaryList"]:
                assert (kernel / binary["binPath"]).is_file()
                described = json.loads((kernel / binary["jsonPath"]).read_text())
                assert described["supportInfo"]["simplifiedKey"] == binary["simplifiedKey"]
                assert binary["binPath"].endswith(described["binFileName"] + ".so")


def test_build_is_stable_and_complete(project, tmp_path):
    tree, _ = project
    first = build_cpu_package(tree, tmp_path / "one")
    second = build_cpu_package(tree, tmp_path / "two")
    assert first.run.name == run_name()
    assert first.run.read_bytes() == second.run.read_bytes()
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == [run_name(), "vendors"]
    again = build_cpu_package(tree, tmp_path / "one")
    assert again.run.read_bytes() == first.run.read_bytes()
    done = subprocess.run(
        ["sh", str(first.run), f"--install-path={tmp_path / 'opp'}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    installed = VendorPackage(tmp_path / "opp/vendors/acme", "test")
    assert installed.info["target"] == "cpu"
    assert installed.info["arch"] == ARCH
    assert installed.info["ops"] == "AddX,SubX"
    assert not installed.missing_files()


def test_failing_build_leaves_the_old_package(project, tmp_path, monkeypatch):
    tree, _ = project
    old = build_cpu_package(tree, tmp_path / "out").run.read_bytes()

    def fail(project):
        raise RuntimeError("no aclnn")

    monkeypatch.setattr(layout, "_build_opapi", fail)
    with pytest.raises(RuntimeError):
        build_cpu_package(tree, tmp_path / "out")
    assert (tmp_path / "out" / run_name()).read_bytes() == old
    assert (tmp_path / "out/vendors/acme/version.info").is_file()
    assert not list((tmp_path / "out").glob(".opgen*"))


# ---- the JSON as CANN reads it -------------------------------------------------------------------


def full_spec():
    from dataclasses import replace

    dtypes = ("float16", "bfloat16")
    return replace(
        op("Mixed", "mixed"),
        inputs=(
            TensorParam("xs", dtypes, ParamKind.DYNAMIC),
            TensorParam("mask", ("uint8", "uint8"), ParamKind.OPTIONAL),
        ),
        outputs=(TensorParam("y", dtypes),),
        attrs=(
            Attr("dims", "list_int", (1, -2)),
            Attr("flag", "bool", False),
            Attr("kind", "dtype", "bfloat16"),
            Attr("n", "int"),
        ),
    )


def test_ops_info_entry():
    entry = json.loads(ops_info([full_spec()]))["Mixed"]
    assert entry["input0"] == {
        "name": "xs",
        "paramType": "dynamic",
        "dtype": "float16,bfloat16",
        "format": "ND,ND",
        "unknownshape_format": "ND,ND",
        "shape": "all",
    }
    assert entry["attr"] == {"list": "dims,flag,kind,n"}
    assert entry["attr_dims"]["defaultValue"] == "[1,-2]"
    assert entry["attr_flag"]["defaultValue"] == "false"
    assert entry["attr_kind"] == {
        "type": "int",
        "value": "all",
        "paramType": "optional",
        "defaultValue": "27",
    }
    assert "defaultValue" not in entry["attr_n"]
    # everything CANN reads here is text
    assert all(isinstance(v, str) for part in entry.values() for v in part.values())


def test_simplified_keys_and_dynamic_params():
    info = json.loads(binary_info_config([full_spec()], "ascend910b", ".o"))["Mixed"]
    assert info["params"]["inputs"][0] == [{"name": "xs", "index": 0, "paramType": "dynamic"}]
    assert info["params"]["inputs"][1] == {"name": "mask", "index": 1, "paramType": "optional"}
    assert info["binaryList"][1]["simplifiedKey"] == [
        f"Mixed/d={d},p={p}/27,2/4,2/27,2" for d in (0, 1) for p in (1, 0)
    ]


def test_op_proto_header():
    text = op_proto_header([full_spec()])
    assert "    .DYNAMIC_INPUT(xs, TensorType({DT_FLOAT16, DT_BF16}))" in text
    assert "    .OPTIONAL_INPUT(mask, TensorType({DT_UINT8}))" in text
    assert "    .ATTR(dims, ListInt, {1,-2})" in text
    assert "    .ATTR(kind, Int, 27)" in text
    assert "    .REQUIRED_ATTR(n, Int)" in text
    assert "    .OP_END_FACTORY_REG(Mixed)" in text


def test_elf_refuses_what_is_no_library(tmp_path):
    path = tmp_path / "x.so"
    path.write_bytes(b"\x7fELF")
    with pytest.raises(shared_object.ElfError):
        shared_object.runpath(path)


def test_elf_refuses_a_path_that_does_not_fit(libraries, tmp_path):
    path = tmp_path / "x.so"
    path.write_bytes(libraries["host"].read_bytes())
    with pytest.raises(shared_object.ElfError, match="does not fit"):
        shared_object.set_runpath(path, "x" * 5000)
    assert shared_object.needed(path)[0] == "libascendc_emulation-1234.so"


def test_libraries_of_two_emulation_builds_are_refused(libraries, tmp_path):
    other = tmp_path / "other.so"
    data = libraries["host"].read_bytes()
    other.write_bytes(data.replace(b"libascendc_emulation-1234", b"libascendc_emulation-9876"))
    layout.check_one_runtime([libraries["host"], libraries["opapi"]])
    with pytest.raises(OpgenError) as caught:
        layout.check_one_runtime([libraries["host"], other])
    assert caught.value.diagnostics[0].code == "OPG653"
    with pytest.raises(OpgenError) as caught:
        layout._runtime(layout.VendorTree(tmp_path / "v", []), [other])
    assert "not in the build cache" in caught.value.diagnostics[0].what
