"""Which versions of torch the kit is known to work with; the only place that says so in Python."""

from __future__ import annotations

import re

#: The kit's tests run with this version.
TESTED = "2.13.0"
#: Seen to work once, by hand: the tests, a package, its binding and torch.compile.
SEEN = ("2.14.0",)


def series(version: str) -> str:
    """Return ``2.13`` of ``2.13.0+cpu``."""
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version


def is_tested(version: str) -> bool:
    """Whether the version is of the series that the tests run with; its patches count as tested."""
    return series(version) == series(TESTED)


def remark(version: str) -> str:
    """Return what to say about a torch version, ``""`` for a tested one."""
    if is_tested(version):
        return ""
    if series(version) in map(series, SEEN):
        return f"seen to work, tested is {TESTED}"
    return f"not tried, tested is {TESTED}"


def is_known(version: str) -> bool:
    """Whether the kit was tried with a version of this series."""
    return any(series(version) == series(known) for known in (TESTED, *SEEN))
