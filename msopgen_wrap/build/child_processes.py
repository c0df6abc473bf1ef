"""Processes that this one starts, and how they and it end.

A compiler driver starts processes of its own, and compilers run in threads that a signal does not
reach. Each therefore gets a process group, and SIGTERM or SIGINT ends all groups before the program
unwinds: nothing goes on compiling, and the builds remove their staging folders.

A program of the user's may stop itself. It is watched and killed then, so that its parent does not
wait for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_lock = threading.Lock()
_running: set[int] = set()
_stopping = False
# A signal that comes while the main thread starts a child would leave a child that nobody knows:
# what its handler raises waits here until the child is known.
_starting = False
_delayed: BaseException | None = None


class Interrupted(BaseException):
    """The process was told to end while it compiled. Not an Exception: no build handles it."""


def signal_text(exit_code: int) -> str:
    """Name the signal that a negative exit code of a process stands for."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"


def run_child(
    command: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with captured text output; it ends when this process is told to.

    Raises:
        OSError: the command cannot be started.
        Interrupted: the process is ending.
    """
    global _starting
    in_main = threading.current_thread() is threading.main_thread()
    with _lock:
        if _stopping:
            raise Interrupted
        _starting = in_main or _starting
        try:
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
        except OSError:
            if in_main and _delayed is not None:
                raise _delayed from None
            raise
        finally:
            _starting = _starting and not in_main
    if _stopping:  # since the child was started: the handler may not have seen it
        _kill(process.pid)
    if in_main and _delayed is not None:
        process.wait()
        raise _delayed
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
    global _delayed
    stop_children()
    error = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
    if _starting:
        _delayed = error
        return
    raise error


def end_children_on_signals() -> None:
    """Make SIGTERM, SIGHUP and SIGINT end the children and unwind; for a program's main thread."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # nohup and shells' background jobs ignore a signal on purpose.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


# SIGTSTP, SIGTTIN and SIGTTOU come from the terminal and its user.
_OWN_DOING = {signal.SIGSTOP}


class StopWatch:
    """Kills a process that stops itself with SIGSTOP.

    Args:
        process: a running child of this process.

    Attributes:
        stopped: whether that happened; valid once the process has been waited for.
    """

    def __init__(self, process: subprocess.Popen[str]):
        self.stopped = False
        self._process = process
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        # The child stays to be waited for by whoever started it (WNOWAIT).
        wanted = os.WEXITED | os.WSTOPPED | os.WNOWAIT
        while True:
            try:
                state = os.waitid(os.P_PID, self._process.pid, wanted)
            except ChildProcessError:
                return
            if state is None or state.si_code != os.CLD_STOPPED:
                return
            if state.si_status in _OWN_DOING:
                self.stopped = True
                os.kill(self._process.pid, signal.SIGKILL)
                return
            try:
                # Takes the news of this stop; the next one is another.
                os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG)
            except ChildProcessError:
                return


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (negative: signal, 124: timeout), output, and whether it
    had stopped itself and was killed for that."""

    code: int
    output: str
    stopped: bool


def run_watched(
    command: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str],
    timeout: float | None,
    captured: bool,
) -> Ended:
    """Run a command to its end; one that stops itself (SIGSTOP) is killed.

    Args:
        timeout: seconds after which it is killed; None: never.
        captured: whether to return its output instead of letting it go to ours.
    """
    process = subprocess.Popen(
        list(command),
        cwd=cwd,
        env=dict(env),
        stdout=subprocess.PIPE if captured else None,
        stderr=subprocess.STDOUT if captured else None,
        text=True,
        errors="replace",
    )
    watch = StopWatch(process)
    try:
        output, _ = process.communicate(timeout=timeout)
        return Ended(process.returncode, output or "", watch.stopped)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return Ended(124, output or "", watch.stopped)
    except BaseException:
        process.kill()
        process.wait()
        raise
