"""The modelled time of all kernels that a program launches, added up at its end."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.profile.launches import read_launches
from msopgen_wrap.profile.text_view import share_lines

#: The file that processes in profile mode append a line per launch to.
VARIABLE = "OPGEN_PROFILE"


@contextlib.contextmanager
def profiled_step(
    environment: MutableMapping[str, str], show: Callable[[str], None]
) -> Iterator[None]:
    """Collect the launches of processes that start meanwhile, then show what they add up to.

    Args:
        environment: of these processes. Where it names a file already, the launches go there, and
            only those that come meanwhile are added up.
        show: prints a text; a file that cannot be read is told there, too, because what the program
            did counts more than its profile.
    """
    with tempfile.TemporaryDirectory(prefix="opgen-step-") as scratch:
        path = Path(environment.setdefault(VARIABLE, str(Path(scratch) / "launches.jsonl")))
        before = _count(path)
        yield
        try:
            profiles = read_launches(path)[before:] if path.is_file() else []
        except OpgenError as error:
            show(f"no profile: {error}")
            return
        if not profiles:
            show("profile: no custom op was launched in the emulation")
            return
        show("\n".join(share_lines(profiles)))
        show("  custom ops only: the operators of torch itself are not modelled")


def _count(path: Path) -> int:
    """Return how many launches a file holds already."""
    try:
        return sum(1 for row in path.read_text(encoding="utf-8").split("\n") if row.strip())
    except OSError:
        return 0
