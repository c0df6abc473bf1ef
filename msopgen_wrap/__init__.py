"""opgen: one YAML op spec to AscendC kernel, host code, torch op and CANN package."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msopgen_wrap.authoring import Field as Field
    from msopgen_wrap.authoring import Tensor as Tensor
    from msopgen_wrap.authoring import op as op

__version__ = "0.1.0"

# Where the names are that the package gives beside its modules.
_LAZY = {
    "Field": "msopgen_wrap.authoring",
    "Tensor": "msopgen_wrap.authoring",
    "fold_batch_norms": "msopgen_wrap.fusion.batch_norm",
    "fuse": "msopgen_wrap.fusion.api",
    "fusion_backend": "msopgen_wrap.fusion.backend",
    "op": "msopgen_wrap.authoring",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for; importing the package imports nothing else, torch least of all."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
