"""A child process that may stop itself, which must not make its parent wait for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def run_child(
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
