"""Finding CANN: from any folder a user may name, in whole and in broken installs."""

from __future__ import annotations

import shutil

import pytest

from msopgen_wrap.cann_discovery import find_cann, require_cann, version_key
from msopgen_wrap.diagnostics import OpgenError

from .conftest import HEADERS, write_tree


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
