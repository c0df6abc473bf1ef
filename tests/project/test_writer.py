"""Writing a project never loses an edit and never leaves half of a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.manifest import Manifest, read_manifest
from msopgen_wrap.project import writer
from msopgen_wrap.project.writer import (
    diff_project,
    plan_changes,
    write_project,
)
from msopgen_wrap.render.files import GeneratedFile

MANIFEST = Manifest("acme", "8.1", (), ("specs/a.yaml",), {})


def files(**texts: str) -> list[GeneratedFile]:
    return [GeneratedFile(name.replace("__", "/") + ".txt", text) for name, text in texts.items()]


def snapshot(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}


def test_a_new_project(tmp_path: Path) -> None:
    root = tmp_path / "p"
    items = [*files(a="1\n", d__b="2\n"), GeneratedFile("run.sh", "x\n", executable=True)]
    changes = write_project(items, root, MANIFEST)
    assert changes.created == ["a.txt", "d/b.txt", "run.sh"]
    assert os.access(root / "run.sh", os.X_OK) and not os.access(root / "a.txt", os.X_OK)
    record = read_manifest(root)
    assert record is not None
    assert (record.vendor, record.specs) == ("acme", ("specs/a.yaml",))
    assert set(record.files) == {"a.txt", "d/b.txt", "run.sh"}
    assert [p.name for p in tmp_path.iterdir()] == ["p"], "no stage is left behind"


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    write_project(files(a="1\n"), tmp_path / "p", MANIFEST)
    before = snapshot(tmp_path)
    changes = write_project(files(a="1\n"), tmp_path / "p", MANIFEST)
    assert (changes.unchanged, changes.created, changes.updated) == (1, [], [])
    assert snapshot(tmp_path) == before


# what the user did to a.txt (generated as "1"), what is generated now, options -> text afterwards
EDITS = [
    ("1\n", "2\n", {}, "2\n", "updated"),
    ("mine\n", "1\n", {}, "mine\n", "kept"),
    ("mine\n", "2\n", {}, "mine\n", "conflicts"),
    ("mine\n", "2\n", {"keep": True}, "mine\n", "conflicts"),
    ("mine\n", "2\n", {"force": True}, "2\n", "updated"),
    ("mine\n", "1\n", {"force": True}, "1\n", "updated"),
    ("2\n", "2\n", {}, "2\n", None),
    (None, "2\n", {}, "2\n", "created"),
]


@pytest.mark.parametrize(("edit", "new", "options", "after", "kind"), EDITS)
def test_edits(
    tmp_path: Path, edit: str | None, new: str, options: dict[str, bool], after: str, kind: str
) -> None:
    root = tmp_path / "p"
    write_project(files(a="1\n", b="1\n"), root, MANIFEST)
    (root / "a.txt").unlink() if edit is None else (root / "a.txt").write_text(edit)
    changes = write_project(files(a=new, b="2\n"), root, MANIFEST, **options)
    assert (root / "a.txt").read_text() == after
    if kind is not None:
        assert "a.txt" in getattr(changes, kind)
    blocked = kind == "conflicts" and not options
    assert (root / "b.txt").read_text() == ("1\n" if blocked else "2\n")


def test_an_edit_stays_protected_after_keep(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write_project(files(a="1\n"), root, MANIFEST)
    (root / "a.txt").write_text("mine\n")
    write_project(files(a="2\n"), root, MANIFEST, keep=True)
    changes = write_project(files(a="3\n"), root, MANIFEST)
    assert changes.conflicts == ["a.txt"]
    assert (root / "a.txt").read_text() == "mine\n"


def test_a_foreign_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("foreign\n")
    changes = write_project(files(a="1\n", b="2\n"), tmp_path, MANIFEST)
    assert changes.conflicts == ["a.txt"]
    assert snapshot(tmp_path) == {"a.txt": "foreign\n"}


def test_files_no_longer_generated_go_unless_edited(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write_project(files(a="1\n", d__b="1\n", d__c="1\n", e__f="1\n"), root, MANIFEST)
    (root / "d/c.txt").write_text("mine\n")
    changes = write_project(files(a="1\n"), root, MANIFEST)
    assert changes.removed == ["d/b.txt", "e/f.txt"]
    assert changes.kept == ["d/c.txt"]
    assert set(snapshot(root)) == {"a.txt", "d/c.txt", "opgen.json"}
    assert not (root / "e").exists()


def test_an_error_while_writing_leaves_the_project_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "p"
    write_project(files(a="1\n", b="1\n"), root, MANIFEST)
    before = snapshot(root)
    real, calls = writer._write, []

    def failing(path: Path, text: str, executable: bool) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device", str(path))
        real(path, text, executable)

    monkeypatch.setattr(writer, "_write", failing)
    with pytest.raises(OpgenError) as caught:
        write_project(files(a="2\n", b="2\n"), root, MANIFEST)
    assert caught.value.diagnostics[0].code == "OPG094"
    assert snapshot(root) == before
    with pytest.raises(OpgenError):
        calls.clear()
        write_project(files(a="2\n", b="2\n"), tmp_path / "fresh", MANIFEST)
    assert not (tmp_path / "fresh").exists()


def test_a_kill_between_two_files_is_repaired_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "p"
    write_project(files(a="1\n", b="1\n"), root, MANIFEST)
    real, moved = os.replace, []

    def dying(source: Path, target: Path) -> None:
        if moved:
            raise KeyboardInterrupt
        moved.append(target)
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            write_project(files(a="2\n", b="2\n"), root, MANIFEST)
    assert snapshot(root) | {"opgen.json": ""} == {"a.txt": "2\n", "b.txt": "1\n", "opgen.json": ""}
    changes = write_project(files(a="2\n", b="2\n"), root, MANIFEST)
    assert (changes.conflicts, changes.updated) == ([], ["b.txt"])
    assert (root / "b.txt").read_text() == "2\n"


ESCAPES = ["../x", "/tmp/x", "a/../../x", "link/x"]


@pytest.mark.parametrize("path", ESCAPES)
def test_nothing_is_written_outside(tmp_path: Path, path: str) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (tmp_path / "other").mkdir()
    (root / "link").symlink_to(tmp_path / "other")
    with pytest.raises(OpgenError) as caught:
        write_project([GeneratedFile(path, "x\n")], root, MANIFEST)
    assert caught.value.diagnostics[0].code == "OPG092"
    assert list((tmp_path / "other").iterdir()) == []


DAMAGED = ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "files": 3}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_manifest_is_a_diagnostic(tmp_path: Path, text: str) -> None:
    (tmp_path / "opgen.json").write_text(text)
    with pytest.raises(OpgenError) as caught:
        plan_changes([], tmp_path)
    assert caught.value.diagnostics[0].code == "OPG091"


def test_diff(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write_project(files(a="1\n", b="1\n", c="1\n"), root, MANIFEST)
    before = snapshot(root)
    text = diff_project(files(a="2\n", b="1\n", d="4"), root)
    assert "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n" in text
    assert "--- /dev/null\n+++ b/d.txt\n" in text
    assert "--- a/c.txt\n+++ /dev/null\n" in text
    assert "b/b.txt" not in text
    assert snapshot(root) == before


def test_the_manifest_is_stable_text(tmp_path: Path) -> None:
    texts = []
    for name in ("p", "q"):
        write_project(files(b="1\n", a="1\n"), tmp_path / name, MANIFEST)
        texts.append((tmp_path / name / "opgen.json").read_text())
    assert texts[0] == texts[1]
    assert list(json.loads(texts[0])["files"]) == ["a.txt", "b.txt"]
