"""Register the reference implementations of ``torch_npu.npu_*`` operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Kept for the life of the process: dropping the library would deregister the kernels.
_libraries: list[torch.library.Library] = []


def available(name: str) -> bool:
    """Whether the loaded torch_npu has this operator (``npu_max.dim`` style name)."""
    import torch

    return torch._C._dispatch_has_kernel_for_dispatch_key(f"npu::{name}", "PrivateUse1")


def register_reference_ops() -> int:
    """Register every reference whose operator exists in this torch_npu; return how many.

    They go in at the autograd key too, so that gradients are those of the reference's own PyTorch
    operations rather than of torch_npu's formulas, which call hardware operators.
    """
    import torch

    from .references import OPS

    if _libraries:
        return len(OPS)
    library = torch.library.Library("npu", "IMPL")
    count = 0
    for name, function in OPS.items():
        if not available(name):
            continue
        for key in ("PrivateUse1", "AutogradPrivateUse1"):
            library.impl(name, function, key)
        count += 1
    _libraries.append(library)
    return count
