"""Which build of torch torch_npu stands beside: with a CUDA build the process is terminated.

torch_npu and the CUDA part of torch both register their allocator's options in one table of
libc10, which ends the process at a key that is there already ("Duplicated key").
"""

from __future__ import annotations

import re
from pathlib import Path

from ..build.shared_object import read_symbols
from ..diagnostics import Diagnostic, OpgenError
from ..torch_ext.torch_versions import TESTED
from .runtime_build import TorchNpuWheel

_TABLE = "AcceleratorAllocatorConfig"


def install_cure(version: str = TESTED) -> str:
    """Return how to install torch_npu and the torch build it needs."""
    return (
        f"install the CPU build of torch {version}: choose CPU as the compute platform on the "
        f"Get Started page of pytorch.org, add =={version} to torch in its pip command, and run\n"
        "it with --force-reinstall (a plain `pip install torch` may bring the CUDA build); then\n"
        f"pip install --no-deps torch_npu=={version}"
    )


def cuda_version(torch: Path) -> str:
    """Return the CUDA version that the torch in this folder is built with, "" for a CPU build."""
    try:
        text = (torch / "version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", text, re.M)
    return found[1] if found else ""


def build_problem(wheel: TorchNpuWheel) -> Diagnostic | None:
    """Return OPG708 when importing torch_npu would terminate the process, else None.

    Nothing is imported.
    """
    cuda = cuda_version(wheel.torch)
    if not cuda or not _shares_the_table(wheel):
        return None
    return Diagnostic(
        "OPG708",
        f"torch is built for CUDA {cuda}; torch_npu {wheel.version} cannot be loaded beside it",
        why="both register the same allocator options, and the second one ends the process "
        "(terminate called ... Duplicated key)",
        fix=install_cure(wheel.version.split("+")[0]),
    )


def check_build(wheel: TorchNpuWheel | None) -> None:
    """Raise OpgenError (OPG708) for a pair that :func:`build_problem` refuses."""
    problem = build_problem(wheel) if wheel is not None else None
    if problem is not None:
        raise OpgenError(problem)


def _shares_the_table(wheel: TorchNpuWheel) -> bool:
    """Whether this torch_npu registers in libc10's table; older ones have a table of their own."""
    try:
        symbols = read_symbols(wheel.folder / "lib" / "libtorch_npu.so")
    except (OSError, ValueError):
        return True
    return any(_TABLE in name for name in symbols.undefined)
