"""Children that are started while the process is told to end."""

from __future__ import annotations

import signal
import subprocess
import threading
import time

import pytest

from msopgen_wrap.build import child_processes
from msopgen_wrap.build.child_processes import Interrupted, run_child


@pytest.fixture
def started(monkeypatch) -> list[subprocess.Popen]:
    """Let the signal come when a child runs that nobody knows yet; return the children."""
    monkeypatch.setattr(child_processes, "_stopping", False)
    monkeypatch.setattr(child_processes, "_delayed", None)
    children: list[subprocess.Popen] = []
    start = subprocess.Popen

    def interrupted(*args, **kwargs):
        children.append(start(*args, **kwargs))
        child_processes._end(signal.SIGINT, None)
        return children[-1]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    return children


def test_the_main_thread_unwinds_when_the_child_has_ended(started) -> None:
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_child(["sleep", "60"])
    assert time.monotonic() - before < 30
    assert started[0].returncode == -signal.SIGKILL


def test_a_thread_ends_its_child(started, monkeypatch) -> None:
    # The handler runs in the main thread: here it only ends the children.
    monkeypatch.setattr(child_processes, "_end", lambda *_: child_processes.stop_children())
    ended: list[BaseException] = []

    def run() -> None:
        try:
            run_child(["sleep", "60"])
        except Interrupted as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive() and len(ended) == 1
    assert started[0].returncode == -signal.SIGKILL


def test_a_command_that_cannot_start_does_not_hide_the_signal(monkeypatch) -> None:
    monkeypatch.setattr(child_processes, "_stopping", False)
    monkeypatch.setattr(child_processes, "_delayed", None)

    def fails(*args, **kwargs):
        child_processes._end(signal.SIGTERM, None)
        raise FileNotFoundError("no compiler")

    monkeypatch.setattr(subprocess, "Popen", fails)
    with pytest.raises(SystemExit) as caught:
        run_child(["no-compiler"])
    assert caught.value.code == 128 + signal.SIGTERM
