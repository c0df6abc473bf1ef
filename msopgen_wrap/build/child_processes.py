"""Compilers that this process runs, and how they end with it.

A compiler driver starts processes of its own, and compilers run in threads that a signal does not
reach. Each therefore gets a process group, and SIGTERM or SIGINT ends all groups before the program
unwinds: nothing goes on compiling, and the builds remove their staging folders.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from types import FrameType

_lock = threading.Lock()
_running: set[int] = set()
_stopping = False


class Interrupted(BaseException):
    """The process was told to end while it compiled. Not an Exception: no build handles it."""


def run_child(
    command: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with captured text output; it ends when this process is told to.

    Raises:
        OSError: the command cannot be started.
        Interrupted: the process is ending.
    """
    with _lock:
        if _stopping:
            raise Interrupted
        process = subprocess.Popen(
            list(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=None if env is None else dict(env),
            start_new_session=True,
        )
        _running.add(process.pid)
    try:
        out, err = process.communicate()
    except BaseException:
        _kill(process.pid)
        process.wait()
        raise
    finally:
        with _lock:
            _running.discard(process.pid)
    if _stopping:
        raise Interrupted
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def stop_children() -> None:
    """End every running command and start no other one."""
    global _stopping
    _stopping = True
    for pid in list(_running):
        _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _end(number: int, frame: FrameType | None) -> None:
    stop_children()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def end_children_on_signals() -> None:
    """Make SIGTERM, SIGHUP and SIGINT end the children and unwind; for a program's main thread."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # nohup and shells' background jobs ignore a signal on purpose.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
