"""Run a function once a module is imported, without importing it for that."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any


def when_imported(name: str, action: Callable[[], None]) -> None:
    """Call ``action`` after the module ``name`` was imported; at once if it is already."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Watch(name, action))


class _Watch:
    """A finder that finds one module as the others do and adds ``action`` to its loading."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name = name
        self.action = action
        self.busy = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec that the other finders have for the module."""
        if name != self.name or getattr(self.busy, "value", False):
            return None
        self.busy.value = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy.value = False
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self.action()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
