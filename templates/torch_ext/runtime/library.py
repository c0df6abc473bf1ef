"""Load the C++ binding and tell which kernel ran."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from . import build

PACKAGE = Path(__file__).resolve().parent.parent
VENDOR = PACKAGE.name


def _load() -> ctypes.CDLL:
    path = str(build.build(PACKAGE))
    torch.ops.load_library(path)
    library = ctypes.CDLL(path)
    library.opgen_binding_calls.argtypes = [ctypes.c_char_p]
    library.opgen_binding_calls.restype = ctypes.c_uint64
    library.opgen_binding_last_backend.restype = ctypes.c_char_p
    library.opgen_binding_set_last_backend.argtypes = [ctypes.c_char_p]
    library.opgen_binding_set_last_backend.restype = None
    library.opgen_binding_add_vendor_folder.argtypes = [ctypes.c_char_p]
    library.opgen_binding_add_vendor_folder.restype = None
    library.opgen_binding_findings.restype = ctypes.c_char_p
    library.opgen_binding_library.argtypes = [ctypes.c_char_p, ctypes.c_int]
    library.opgen_binding_library.restype = ctypes.c_char_p
    return library


_binding = _load()


def add_vendor_folder(path: str | os.PathLike[str]) -> None:
    """Look for the op package in ``path`` (a ``vendors/<vendor>`` folder) before anywhere else."""
    _binding.opgen_binding_add_vendor_folder(os.fsencode(os.path.abspath(path)))


def last_backend() -> str:
    """Return what ran last: ``emulated`` (the AscendC kernel on the CPU), ``npu``, ``reference``,
    or ``""`` before the first call."""
    return _binding.opgen_binding_last_backend().decode()


def set_last_backend(name: str) -> None:
    """Record what ran; for the reference kernels."""
    _binding.opgen_binding_set_last_backend(name.encode())


def call_count(op: str = "") -> int:
    """Return how many calls of ``op`` (of all ops by default) ran an AscendC kernel."""
    return int(_binding.opgen_binding_calls(op.encode()))


def library_path(op: str, device: str = "cpu") -> str:
    """Return the ``libcust_opapi.so`` that serves ``op``; ``""`` before its first call there."""
    return os.fsdecode(_binding.opgen_binding_library(op.encode(), int(device == "cpu")))


def findings() -> list[dict[str, Any]]:
    """Return what the sanitizer found in the calls so far (with ``OPGEN_EMULATION=check``)."""
    texts = _binding.opgen_binding_findings().decode(errors="replace").split("\x1e")
    return [finding for text in texts if text for finding in json.loads(text)]


def _report() -> None:
    # opgen's torch_npu emulation reports for the whole process.
    if "msopgen_wrap.npu" in sys.modules:
        return
    found = findings()
    for finding in found:
        print(f"opgen sanitizer: {json.dumps(finding)}", file=sys.stderr)
    if found or call_count():
        text = f"{len(found)} findings" if found else "clean"
        print(f"opgen sanitizer: {VENDOR}: {text}, {call_count()} calls", file=sys.stderr)


if os.environ.get("OPGEN_EMULATION") == "check":
    atexit.register(_report)

# A package may carry its own copy of the ops (wheel): opp/vendors/<vendor>.
if (PACKAGE / "opp" / "vendors" / VENDOR).is_dir():
    add_vendor_folder(PACKAGE / "opp" / "vendors" / VENDOR)
