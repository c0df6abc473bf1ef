"""Tasks in the workers of a Ray cluster.

The kit, torch and a compiler must be installed on every node. Paths in tasks must name the same
files there.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.engines.engine import RETRIES, Engine, Outcome, Task, execute, outcome

# Where the address of a cluster is, as Ray itself reads it.
_ADDRESS = "RAY_ADDRESS"


class RayEngine(Engine):
    """A cluster: that of ``$RAY_ADDRESS``, or one on this machine that ends with the engine.

    Args:
        jobs: tasks at once; None: as many as the cluster has cores.
    """

    def __init__(self, jobs: int | None) -> None:
        import ray

        self._ray: Any = ray
        self._jobs = jobs
        self._own = not ray.is_initialized()
        if not self._own:
            return
        address = os.environ.get(_ADDRESS)
        # Ray otherwise starts a dashboard and reports its use to its makers.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if not address:
            options |= {"include_dashboard": False, "num_cpus": jobs or os.cpu_count() or 1}
        try:
            ray.init(address=address, **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise OpgenError(
                Diagnostic(
                    "OPG381",
                    "the Ray cluster cannot be used",
                    why=str(error).splitlines()[0][:300] if str(error) else type(error).__name__,
                    fix=f"`ray status` shows a cluster; without {_ADDRESS} one is started on this "
                    "machine",
                )
            ) from error

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Yield the outcome of every task, in the order in which they end."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_answer)
        waiting = deque(range(len(tasks)))
        most = self._jobs or int(ray.cluster_resources().get("CPU", 1)) or 1
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    index = waiting.popleft()
                    task = tasks[index]
                    row = json.dumps(task.arguments)
                    running[remote.remote(task.function, row)] = index
                done, _ = ray.wait(list(running), num_returns=1)
                for reference in done:
                    index = running.pop(reference)
                    yield self._outcome(index, reference)
        finally:
            for reference in running:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)

    def _outcome(self, index: int, reference: Any) -> Outcome:
        try:
            return outcome(index, json.loads(self._ray.get(reference)))
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else ""
            text = f"its Ray worker failed {RETRIES + 1} times: {type(error).__name__} {first}"
            return Outcome(index, failure=text[:400])

    def close(self) -> None:
        """Leave the cluster; one that the engine has started ends."""
        if self._own:
            self._ray.shutdown()


def _answer(function: str, arguments: str) -> str:
    """Make the call of a task in a Ray worker."""
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    return json.dumps(execute(function, json.loads(arguments)))
