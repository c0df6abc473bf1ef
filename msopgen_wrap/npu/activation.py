"""Put the emulated runtime under ``torch_npu`` when that package is imported.

Nothing heavy happens before: :func:`activate` only installs an import hook. The hook builds (or
finds) and preloads the runtime libraries, lets torch_npu's own import run unchanged, then overrides
its built-in operator kernels.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import TextIO

from ..diagnostics import Diagnostic, OpgenError, render
from ..platforms import platform
from .check_mode import report_at_exit
from .selection import WISH, RuntimeChoice, choose

_state: dict[str, object] = {}
_lock = threading.RLock()


class _WithoutCannWarning(io.TextIOBase):
    """Standard output during torch_npu's import, less its line about a missing CANN install.

    It is printed, not warned, and would end up in the output of every program.
    """

    _LINE = "ASCEND_HOME_PATH environment variable is not set"

    def __init__(self, target: TextIO):
        self._target = target
        self._dropped = False

    def write(self, text: str) -> int:
        if self._LINE in text:
            self._dropped = True
        elif self._dropped and text == "\n":
            self._dropped = False
        else:
            self._target.write(text)
        return len(text)

    def flush(self) -> None:
        self._target.flush()


class _Loader(importlib.abc.Loader):
    """Wraps torch_npu's loader: prepare, run it, then take over the operators."""

    def __init__(self, inner: importlib.abc.Loader, choice: RuntimeChoice):
        self._inner = inner
        self._choice = choice

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        try:
            preload()
        except OpgenError as error:
            text = "\n".join(render(d) for d in error.diagnostics)
            raise ImportError(f"the emulated NPU runtime cannot start:\n{text}") from error
        with contextlib.redirect_stdout(_WithoutCannWarning(sys.stdout)):
            self._inner.exec_module(module)
        from .fallback import register_operators

        try:
            _state["operators"] = register_operators()
        except OpgenError as error:
            text = "\n".join(render(d) for d in error.diagnostics)
            raise ImportError(f"the emulated NPU has no operators:\n{text}") from error
        _state["active"] = True
        report_at_exit()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds only ``torch_npu``, and only when the emulation is chosen."""

    def __init__(self) -> None:
        self._busy = threading.local()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch_npu" or getattr(self._busy, "value", False):
            return None
        self._busy.value = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.value = False
        if spec is None or spec.loader is None:
            return None
        choice = choose()
        _state["choice"] = choice
        if not choice.emulated:
            return None
        spec.loader = _Loader(spec.loader, choice)
        return spec


def activate(wish: str | None = None) -> None:
    """Make a later ``import torch_npu`` (or ``import torch``, which loads it) use the emulation.

    Args:
        wish: ``auto``, ``emulation`` or ``real``; None leaves ``OPGEN_NPU`` as it is. It is put
            into the environment, so child processes that activate choose alike.

    Raises:
        OpgenError: OPG704 when torch_npu is already imported on another runtime.
    """
    with _lock:
        if wish is not None:
            os.environ[WISH] = wish
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            if "torch_npu" in sys.modules and choose().emulated:
                raise OpgenError(
                    Diagnostic(
                        "OPG704",
                        "torch_npu was imported before the emulation was activated",
                        why="its runtime libraries are already bound",
                        fix="put `import msopgen_wrap.npu` before `import torch` and "
                        "`import torch_npu`, or start the program with `opgen exec -- ...`",
                    )
                )
            sys.meta_path.insert(0, _Finder())


def is_prepared() -> bool:
    """Whether the hook is installed and a later ``import torch_npu`` gets the emulation."""
    hooked = any(isinstance(finder, _Finder) for finder in sys.meta_path)
    return hooked and choose().emulated


def is_active() -> bool:
    """Whether torch_npu was imported in this process and runs on the emulation."""
    return bool(_state.get("active"))


def choice() -> RuntimeChoice:
    """The choice made for this process; made now when torch_npu is not imported yet."""
    made = _state.get("choice")
    return made if isinstance(made, RuntimeChoice) else choose()


def preload() -> None:
    """Load the runtime libraries for all later libraries of this process.

    The dynamic loader matches libraries by SONAME, so torch_npu's own references and its later
    ``dlopen("libascendcl.so")`` find these; no LD_LIBRARY_PATH is needed.
    """
    from .doctor import check_build, install_cure
    from .runtime_build import build_runtime, find_wheel

    with _lock:
        if "libraries" in _state:
            return
        wheel = find_wheel()
        if wheel is None:
            raise OpgenError(
                Diagnostic(
                    "OPG706",
                    "torch_npu is not installed in this Python",
                    fix=install_cure(),
                )
            )
        check_build(wheel)
        if os.environ.get("OPGEN_SOC"):
            platform(os.environ["OPGEN_SOC"])
        # torch_npu's launch queue hides a device's latency. The emulation has none: with the queue
        # a small call takes twice as long, and an error is reported lines after its call.
        os.environ.setdefault("TASK_QUEUE_ENABLE", "0")
        runtime = build_runtime(wheel)
        _state["libraries"] = [
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL) for path in runtime.libraries
        ]
