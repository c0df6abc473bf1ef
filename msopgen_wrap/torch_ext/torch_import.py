"""Import torch for the kit's own use, without the device backends that other packages add."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from msopgen_wrap.diagnostics import Diagnostic, OpgenError

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def import_torch() -> ModuleType:
    """Return the torch module.

    ``import torch`` loads an installed torch_npu by itself, which fails where no CANN runtime is.
    The kit computes references on the CPU only, so it switches that off for this one import; the
    environment is put back, so that child processes see what the user set.

    Raises:
        OpgenError: OPG320, torch is missing or broken.
    """
    if "torch" in sys.modules:
        return sys.modules["torch"]
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "0"
    try:
        import torch
    except ImportError as error:
        raise OpgenError(
            Diagnostic(
                "OPG320",
                f"cannot import torch: {error}",
                why="the golden reference, tracing and the torch package need it",
                fix="pip install 'torch>=2.6'",
            )
        ) from error
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before
    return torch
