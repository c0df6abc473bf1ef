"""The one door through which the kit imports torch: without the backends other packages add.

``import torch`` loads an installed torch_npu by itself, and that fails where no CANN runtime is:
torch itself cannot be imported then. The kit computes references on the CPU only, so every module
of it takes torch from here::

    from msopgen_wrap.torch_import import torch    # or import_torch()

``msopgen_wrap.npu`` is the exception: it runs in programs that want torch_npu.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from msopgen_wrap.diagnostics import Diagnostic, OpgenError

if TYPE_CHECKING:
    import torch as torch

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def __getattr__(name: str) -> ModuleType:
    """Import torch when a module asks for the name ``torch`` of this one."""
    if name == "torch":
        return import_torch()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@contextlib.contextmanager
def backends_kept_out() -> Iterator[None]:
    """Switch torch's loading of device backends off for what is imported inside.

    The environment is put back, so that child processes see what the user set.
    """
    before = os.environ.get(AUTOLOAD)
    os.environ[AUTOLOAD] = "0"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(AUTOLOAD, None)
        else:
            os.environ[AUTOLOAD] = before


def import_torch() -> ModuleType:
    """Return the torch module; a torch that is loaded already is returned as it is.

    Raises:
        OpgenError: OPG320, torch is missing or broken.
    """
    try:
        with backends_kept_out():
            import torch
            import torch.fx
            import torch.utils._python_dispatch
            import torch.utils._pytree
    except (ImportError, OSError, RuntimeError) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise OpgenError(
            Diagnostic(
                "OPG320",
                "torch is not installed" if missing else f"cannot import torch: {text[0]}",
                why="the golden reference, tracing and the torch package need it",
                fix="pip install 'torch>=2.6'"
                if missing
                else "pip install --force-reinstall 'torch>=2.6'; `opgen doctor` tells more",
            )
        ) from error
    return torch


def torch_npu_is_unusable() -> bool:
    """Whether torch_npu is installed here and would find neither CANN's runtime nor the emulation.

    In such a Python a plain ``import torch`` fails.
    """
    if importlib.util.find_spec("torch_npu") is None or _emulation_is_prepared():
        return False
    try:
        ctypes.CDLL("libascendcl.so")
    except OSError:
        return True
    return False


def _emulation_is_prepared() -> bool:
    activation = sys.modules.get("msopgen_wrap.npu.activation")
    return activation is not None and bool(activation.is_prepared())


class _Loader(importlib.abc.Loader):
    """Wraps torch's loader: the backends stay out while torch is being imported."""

    def __init__(self, inner: importlib.abc.Loader) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with backends_kept_out():
            self._inner.exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds only ``torch``, and only where torch_npu would make its import fail."""

    def __init__(self, always: bool) -> None:
        self._always = always
        self._busy = threading.local()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch" or getattr(self._busy, "value", False):
            return None
        self._busy.value = True
        try:
            if not (self._always or torch_npu_is_unusable()):
                return None
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.value = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def keep_unusable_backends_out(*, always: bool = False) -> None:
    """Make a later plain ``import torch`` in this process go without an unusable torch_npu.

    For processes that run other people's modules, such as pytest. Whether torch_npu is usable is
    looked at when torch is imported. Child processes are not changed.

    Args:
        always: keep every backend out, also when the emulation is activated after this call.
    """
    if always and _emulation_is_prepared():
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(always))


@contextlib.contextmanager
def quiet_torch() -> Iterator[None]:
    """Keep torch's loggers and warnings still: tracing tries things out, and logs each failure."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
