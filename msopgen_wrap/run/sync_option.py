"""Whether check mode counts on the barriers and flags that the compiler inserts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def check_options(off: bool) -> str | None:
    """Return the value of ``OPGEN_CHECK`` for a run, None to leave it: the user's choice wins."""
    given = os.environ.get("OPGEN_CHECK", "")
    if not off or _decided(given.split(",")):
        return None
    return ",".join(item for item in (given, "auto-sync=project") if item)


@contextmanager
def synchronised_by_source(library: Any, off: bool) -> Iterator[None]:
    """Demand explicit synchronisation inside if ``off``, unless the user has chosen."""
    if check_options(off) is None:
        yield
        return
    library.opgen_sanitizer_option(b"auto-sync=project")
    try:
        yield
    finally:
        library.opgen_sanitizer_option(b"auto-sync=on")


def _decided(items: Iterable[str]) -> bool:
    return any(item.strip().startswith("auto-sync=") for item in items)
