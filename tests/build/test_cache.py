"""The build cache: what is reused, what is not, and what interrupted builds leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

from msopgen_wrap.build import cache
from msopgen_wrap.build.cache import MANIFEST, read_manifest
from msopgen_wrap.cli import doctor_command


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(text: str = "compiled", key: str = "k1") -> tuple[Path, bool]:
    def build(stage: Path) -> list[Path]:
        (stage / "sub").mkdir()
        (stage / "out.o").write_text(text)
        (stage / "sub" / "list").write_text(text)
        return []

    return cache.cached("object", key, "label", build)


def test_an_entry_is_reused():
    assert make()[1] and not make()[1]


def test_without_building_entries_are_only_looked_up():
    with cache.without_building(), pytest.raises(cache.NotCached):
        make()
    entry, _ = make()
    with cache.without_building():
        assert make() == (entry, False)
        (entry / "out.o").write_text("COMPILED")
        with pytest.raises(cache.NotCached):
            make()
    assert make()[1]


DAMAGE = {
    "truncated": lambda entry: (entry / "out.o").write_text("comp"),
    "altered, same size": lambda entry: (entry / "out.o").write_text("COMPILED"),
    "altered below a folder": lambda entry: (entry / "sub/list").write_text("COMPILED"),
    "removed": lambda entry: (entry / "out.o").unlink(),
    "no manifest": lambda entry: (entry / MANIFEST).unlink(),
}
MANIFESTS = [
    "[]",
    "{}",
    "null",
    "3",
    '"text"',
    "{",
    "",
    "\x00",
    '{"label": 1, "deps": {}, "outputs": {}}',
    '{"label": "l", "deps": [], "outputs": {}}',
    '{"label": "l", "deps": {"a": 1}, "outputs": {}}',
    '{"label": "l", "deps": {}, "outputs": ["out.o"]}',
    '{"label": "l", "deps": {}, "outputs": {"out.o": []}}',
    '{"label": "l", "deps": {}, "outputs": {"out.o": [null, 1, 2]}}',
    "[" * 100_000,
]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_entry_is_built_again(damage):
    entry, _ = make()
    damage(entry)
    again, built = make()
    assert built
    assert (again / "out.o").read_text() == "compiled"


@pytest.mark.parametrize("text", MANIFESTS)
def test_a_manifest_of_another_form_is_no_entry(text):
    entry, _ = make()
    (entry / MANIFEST).write_text(text)
    assert read_manifest(entry) is None
    assert [e.label for e in cache.entries()] == ["unreadable"]
    assert make()[1]


def test_a_copied_entry_is_reused(folder):
    entry, _ = make()
    os.utime(entry / "out.o", (1, 1))
    assert not make()[1]


def test_clear_leaves_nothing(folder):
    make()
    (folder / "object" / ".stage-k2-abc").mkdir()
    (folder / "object" / "k3.lock").touch()
    (folder / "object" / "k4").mkdir()
    count, size = cache.clear()
    assert count == 1 and size > 0
    assert not list(folder.rglob("*"))


def test_clear_leaves_running_builds_alone(folder):
    make()
    stage = folder / "object" / ".stage-busy-abc"
    stage.mkdir()
    with FileLock(str(folder / "object" / "busy.lock")):
        cache.clear()
        assert stage.is_dir()
    cache.clear()
    assert not stage.exists()


def test_a_killed_build_is_swept_by_the_next(folder):
    stage = folder / "object" / ".stage-k1-abc"
    stage.mkdir(parents=True)
    make()
    assert not stage.exists()


@pytest.mark.parametrize(("mode", "state"), [(0o700, "ok"), (0o755, "ok"), (0o777, "problem")])
def test_doctor_on_a_cache_that_others_can_write(folder, mode, state):
    make()
    folder.chmod(mode)
    (check,) = doctor_command.cache_checks()
    assert check.status == state


SLEEPER = """#!/bin/sh
case "$1" in
    --version) echo "g++ (fake) 12.2.0"; exit 0 ;;
    -dumpmachine) echo "$(uname -m)-linux-gnu"; exit 0 ;;
esac
sleep 600 &
echo $! >"$SLEEPER_PID"
wait
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_compilers_and_removes_stages(tmp_path, folder, number):
    compiler = tmp_path / "slow-g++"
    compiler.write_text(SLEEPER)
    compiler.chmod(0o755)
    pid_file = tmp_path / "pid"
    (tmp_path / "a.asc").write_text("int main() { return 0; }\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "msopgen_wrap.cli", "run", str(tmp_path / "a.asc")],
        env={**os.environ, "OPGEN_CXX": str(compiler), "SLEEPER_PID": str(pid_file)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A suite in the background of a shell has SIGINT ignored, and its children inherit that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    deadline = time.time() + 60
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert time.time() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=90) == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert not _runs(int(pid_file.read_text()))
    assert not list(folder.rglob(".stage-*"))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_entries_are_json_serialisable():
    make()
    assert json.dumps([e.key for e in cache.entries()]) == '["k1"]'


def test_entries_that_vanish_while_they_are_listed(folder):
    """Other processes build, prune and clear while one lists."""
    make()
    make(key="k2")
    (folder / "object" / ".stage-k3-abc" / "sub").mkdir(parents=True)
    listed = cache.entries()
    assert next(listed).key == "k1"
    cache.clear()
    assert list(listed) == [] and list(cache.entries()) == []
