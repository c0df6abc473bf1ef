"""What every engine does: run tasks in worker processes, and hand over each result once."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from msopgen_wrap.diagnostics import OpgenError

#: How often a task is started again whose worker died.
RETRIES = 2


@dataclass(frozen=True)
class Task:
    """A call that a worker makes.

    Attributes:
        function: ``package.module:name``; it takes the arguments as one dict and returns data.
        arguments: data that JSON can hold.
    """

    function: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How a task ended.

    Attributes:
        index: of the task among those that were given.
        value: what the function returned, None where it failed.
        failure: why it failed, "" for one that returned.
        diagnostics: the findings that it raised, as dicts.
    """

    index: int
    value: Any = None
    failure: str = ""
    diagnostics: list[dict[str, Any]] = field(default_factory=list)


class Engine(ABC):
    """Runs tasks; leaving its context ends its workers."""

    @abstractmethod
    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Yield the outcome of every task exactly once, in the order in which they end.

        A task whose worker dies is started again in another worker, ``RETRIES`` times; then its
        outcome is a failure. Other tasks do not notice.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers, and what they work on."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def execute(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make a call in this process; return ``value``, or ``failure`` and ``diagnostics``.

    Only a function of this package is called: a task is data that came from elsewhere.
    """
    module, _, name = function.partition(":")
    if module.partition(".")[0] != __name__.partition(".")[0]:
        return {"failure": f"{function} is no function of the kit"}
    called: Callable[[dict[str, Any]], Any] = getattr(importlib.import_module(module), name)
    try:
        return {"value": called(arguments)}
    except OpgenError as error:
        return {"failure": str(error), "diagnostics": [d.as_dict() for d in error.diagnostics]}
    except Exception as error:  # the caller goes on with the other tasks
        return {"failure": f"{type(error).__name__}: {error}"}


def outcome(index: int, answer: dict[str, Any]) -> Outcome:
    """Return the outcome that an answer of :func:`execute` stands for."""
    return Outcome(
        index, answer.get("value"), answer.get("failure", ""), answer.get("diagnostics", [])
    )
