"""Tasks in processes of this machine: one task at a time each, replaced when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Any

from msopgen_wrap.build.child_processes import signal_text
from msopgen_wrap.engines.engine import RETRIES, Engine, Outcome, Task, outcome

_WORKER = [sys.executable, "-m", "msopgen_wrap.engines.worker"]
# For a worker that is asked to end while it works.
_END_SECONDS = 3.0


class LocalEngine(Engine):
    """Worker processes that are started when there is work, and kept between calls of ``run``.

    Args:
        jobs: how many.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = max(1, jobs)
        self._workers: list[_Worker] = []

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Yield the outcome of every task, in the order in which they end."""
        waiting = deque((index, 0) for index in range(len(tasks)))
        with selectors.DefaultSelector() as selector:
            busy = 0
            idle = list(self._workers)
            while waiting or busy:
                while waiting and (idle or len(self._workers) < self.jobs):
                    worker = idle.pop() if idle else self._start()
                    index, tries = waiting.popleft()
                    worker.give(index, tries, tasks[index])
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
                    busy += 1
                for key, _ in selector.select():
                    worker = key.data
                    selector.unregister(worker.answers)
                    busy -= 1
                    answer = worker.take()
                    if answer is not None:
                        idle.append(worker)
                        yield outcome(worker.index, answer)
                        continue
                    self._workers.remove(worker)
                    how = worker.end()
                    if worker.tries < RETRIES:
                        waiting.appendleft((worker.index, worker.tries + 1))
                    else:
                        text = f"its worker {how}, {RETRIES + 1} times"
                        yield Outcome(worker.index, failure=text)

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def pids(self) -> list[int]:
        """Return the ids of the worker processes."""
        return [worker.process.pid for worker in self._workers]

    def _start(self) -> _Worker:
        worker = _Worker()
        self._workers.append(worker)
        return worker


class _Worker:
    """One process, and the task that it has."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            _WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        )
        self.index = self.tries = 0

    @property
    def answers(self) -> IO[str]:
        """What the worker writes."""
        assert self.process.stdout is not None
        return self.process.stdout

    def give(self, index: int, tries: int, task: Task) -> None:
        self.index, self.tries = index, tries
        assert self.process.stdin is not None
        row = json.dumps({"function": task.function, "arguments": task.arguments})
        with contextlib.suppress(OSError):  # a dead one is found where it does not answer
            self.process.stdin.write(row + "\n")
            self.process.stdin.flush()

    def take(self) -> dict[str, Any] | None:
        """Return the answer, None of a worker that died; a line of one that did is cut off."""
        try:
            answer: dict[str, Any] = json.loads(self.answers.readline())
        except ValueError:
            return None
        return answer

    def end(self) -> str:
        """End it; return how it ended, with the last line of what it printed."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            code = self.process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                code = self.process.wait(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
        self.answers.close()
        self._log.seek(0)
        lines = self._log.read().splitlines()
        self._log.close()
        how = f"died with {signal_text(code)}" if code < 0 else f"ended with exit code {code}"
        return f"{how} ({lines[-1][:200]})" if lines else how
