"""Import torch without a torch_npu that has no runtime.

``import torch`` loads an installed torch_npu by itself and fails where libascendcl.so is not found.
This module is imported before all others of the package, so ``import <vendor>`` works there; a
program that imports torch first has to set TORCH_DEVICE_BACKEND_AUTOLOAD=0 itself.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import warnings

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def _has_runtime() -> bool:
    emulation = sys.modules.get("msopgen_wrap.npu.activation")
    if emulation is not None and emulation.is_prepared():
        return True
    try:
        ctypes.CDLL("libascendcl.so")
    except OSError:
        return False
    return True


def import_torch() -> None:
    """Import torch; switch its loading of backends off where torch_npu cannot work."""
    if "torch" in sys.modules or os.environ.get(_AUTOLOAD) == "0":
        return
    if importlib.util.find_spec("torch_npu") is None or _has_runtime():
        return
    warnings.warn(
        "torch_npu is installed, but its runtime (libascendcl.so) is not found: torch is imported "
        "without it. Cure: source CANN's set_env.sh, or start with `opgen exec --`",
        stacklevel=4,
    )
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "0"
    try:
        import torch  # noqa: F401
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before


import_torch()
