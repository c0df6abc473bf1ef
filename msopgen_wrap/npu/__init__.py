"""Run the unmodified ``torch_npu`` on a machine without an NPU.

``import msopgen_wrap.npu`` before ``import torch`` / ``import torch_npu`` is all a program needs;
``opgen exec -- python train.py`` does the same without touching the program. When a real CANN
runtime is installed, nothing is changed. See ``README.md`` in this folder.
"""

from .activation import activate, choice, is_active
from .selection import RuntimeChoice

__all__ = ["RuntimeChoice", "activate", "choice", "is_active"]

activate()
