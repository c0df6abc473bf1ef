"""Finding CANN, and what doctor says about what was found."""

from __future__ import annotations

import json
import shutil

import pytest

from msopgen_wrap.cann.doctor import check_cann, check_variables, check_vendors
from msopgen_wrap.cann_discovery import find_cann, require_cann, version_key
from msopgen_wrap.diagnostics import OpgenError

from .conftest import HEADERS, write_tree

# ---- Finding CANN: from any folder a user may name, in whole and in broken installs --------------


@pytest.mark.parametrize("start", ["", "../..", "../../..", "aarch64-linux"])
def test_every_folder_around_the_root_leads_to_it(cann, start):
    tree = find_cann(cann.root / start)
    assert tree.root.resolve() == cann.root.resolve()
    assert (tree.version, tree.style) == ("8.1.RC1", "8.1")


def test_newest_version_wins_and_environment_decides(cann, tmp_path, monkeypatch):
    newer = tmp_path / "Ascend/ascend-toolkit/9.0.0"
    write_tree(newer, HEADERS)
    (newer / "compiler/version.info").write_text("version_dir=9.0.0\n")
    assert find_cann(tmp_path / "Ascend").version == "9.0.0"
    assert find_cann(tmp_path / "Ascend").style == "9.x"
    env = {"ASCEND_HOME_PATH": str(cann.root)}
    assert find_cann(environ=env).root == cann.root


def test_a_link_named_include_counts(cann):
    include = cann.root / "include"
    include.symlink_to("aarch64-linux/include")
    assert find_cann(cann.root).host_includes[0] == include


def test_missing_parts_are_named(cann):
    assert not [m for m in cann.missing if "header" in m]
    shutil.rmtree(cann.root / "tools")
    shutil.rmtree(cann.root / "python")
    missing = " ".join(find_cann(cann.root).missing)
    assert "CPU-debug headers" in missing and "msopgen" in missing
    assert not find_cann(cann.root).can_build


def test_nothing_there(tmp_path):
    assert find_cann(tmp_path) is None
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(OpgenError) as caught:
            require_cann(folder)
        assert caught.value.diagnostics[0].code == "OPG601"


def test_version_order():
    names = ["8.0.RC2", "8.1.RC1", "8.5.0", "9.0.0", "10.0.0"]
    assert sorted(names, key=version_key) == names
    assert version_key("unknown") == (0, 0, "")


# ---- Doctor checks: each problem is seen, and its cure names what to do --------------------------


def package(path, ops=("AddX",), info="opgen_version=1\ntarget=cpu\n", complete=True):
    """A vendor folder as the doctor reads it (the library is no library)."""
    config = path / "op_impl/ai_core/tbe/config/ascend910b"
    config.mkdir(parents=True)
    (config / "aic-ascend910b-ops-info.json").write_text(json.dumps({o: {} for o in ops}))
    (path / "version.info").write_text(info)
    (path / "op_api/lib").mkdir(parents=True)
    if complete:
        (path / "op_impl/ai_core/tbe/op_tiling").mkdir()
        (path / "op_impl/ai_core/tbe/op_tiling/liboptiling.so").write_text("")
    return path


def problems(findings):
    return [
        (f.name, f.status, f.detail, f.cure) for f in findings if f.status in ("problem", "warning")
    ]


def test_nothing_there_is_no_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    env: dict[str, str] = {}
    findings = [*check_variables(env), *check_vendors(env)]
    assert {f.status for f in findings} == {"absent"}


def test_cann_without_compiler_is_a_warning_with_version(cann):
    findings = check_cann({"ASCEND_HOME_PATH": str(cann.root)})
    (finding,) = [f for f in findings if f.name == "CANN"]
    assert finding.status == "warning"
    assert "8.1.RC1" in finding.detail
    assert "bisheng" in finding.detail


def test_home_that_is_not_there():
    (name, status, detail, cure), *_ = problems(check_cann({"ASCEND_HOME_PATH": "/no/such"}))
    assert (name, status) == ("ASCEND_HOME_PATH", "problem")
    assert "/no/such" in detail and "unset" in cure


VARIABLES = [
    ("{tmp}/gone", "is not a folder", "install the package there again"),
    ("{tmp}/root", "is the folder above the vendors", "export ASCEND_CUSTOM_OPP_PATH={vendor}"),
    ("{tmp}/empty", "holds no vendor package", "--install-path"),
    ("{vendor}:{vendor}", "names a folder twice", "export ASCEND_CUSTOM_OPP_PATH={vendor}"),
]


@pytest.mark.parametrize(("value", "detail", "cure"), VARIABLES)
def test_custom_opp_path(tmp_path, value, detail, cure):
    vendor = package(tmp_path / "root/vendors/acme")
    (tmp_path / "empty").mkdir()
    names = {"tmp": tmp_path, "vendor": vendor}
    found = problems(check_variables({"ASCEND_CUSTOM_OPP_PATH": value.format(**names)}))
    assert len(found) == 1
    assert detail in found[0][2]
    assert cure.format(**names) in found[0][3]


def test_mixed_cann_versions(tmp_path):
    for name in ("a", "b/opp"):
        (tmp_path / name).mkdir(parents=True)
    env = {"ASCEND_HOME_PATH": str(tmp_path / "a"), "ASCEND_OPP_PATH": str(tmp_path / "b/opp")}
    ((_, status, detail, cure),) = problems(check_variables(env))
    assert status == "warning" and "two CANN versions" in detail
    assert cure == f"export ASCEND_OPP_PATH={tmp_path / 'a'}/opp"


@pytest.fixture
def opp(tmp_path, monkeypatch):
    """An ASCEND_OPP_PATH with two vendors that share an op, and one CANN does not look at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    vendors = tmp_path / "opp/vendors"
    package(vendors / "first", ("AddX", "SubX"), complete=False)
    package(vendors / "second", ("AddX",), complete=False)
    package(vendors / "unlisted", ("MulX",), complete=False)
    (vendors / "config.ini").write_text("load_priority=first,second,gone\n")
    return {"ASCEND_OPP_PATH": str(tmp_path / "opp")}


def test_vendors(opp):
    findings = check_vendors(opp)
    order = [f.name for f in findings if f.status == "ok"]
    assert order == ["vendor first", "vendor second", "vendor unlisted"]
    found = problems(findings)
    text = "\n".join(f"{n}: {d} -> {c}" for n, _, d, c in found)
    assert "op AddX: is in" in text and "first one is used" in text
    assert "vendor unlisted: is not in load_priority" in text
    assert "load_priority=unlisted,first,second,gone" in text
    assert "names gone, which is not installed" in text
    assert text.count("lacks op_api/lib/libcust_opapi.so") == 3


@pytest.mark.parametrize(
    ("info", "detail"),
    [
        ("opgen_version=1\narch=sparc64\n", "is built for sparc64"),
        (
            "opgen_version=1\ncann_version=9.0.0\n",
            "was built with CANN 9.0.0, installed is 8.1.RC1",
        ),
    ],
)
def test_package_that_does_not_fit(cann, tmp_path, info, detail):
    vendor = package(tmp_path / "v/vendors/acme", info=info)
    env = {"ASCEND_CUSTOM_OPP_PATH": str(vendor), "ASCEND_HOME_PATH": str(cann.root)}
    assert any(detail in d for _, _, d, _ in problems(check_vendors(env)))


def test_library_that_cannot_load(tmp_path):
    vendor = package(tmp_path / "v/vendors/acme")
    vendor.joinpath("op_api/lib/libcust_opapi.so").write_text("not ELF")
    found = problems(check_vendors({"ASCEND_CUSTOM_OPP_PATH": str(vendor)}))
    assert any("not a shared library" in d for _, _, d, _ in found)
