"""Launch an emulated kernel from a test: numpy arrays in, findings out."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.build.emulation_library import load_emulation_library

MODES = {"fast": 1, "check": 2, "profile": 3}
KERNELS = Path(__file__).parent / "kernels"


class _Range(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
    )


class _Launch(ctypes.Structure):
    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
        ("num_args", ctypes.c_int32),
        ("body", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("soc", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("block_dim", ctypes.c_uint32),
        ("tiling_key", ctypes.c_uint64),
        ("tiling_data", ctypes.c_void_p),
        ("tiling_size", ctypes.c_uint64),
        ("workspace", ctypes.c_void_p),
        ("ranges", ctypes.POINTER(_Range)),
        ("num_ranges", ctypes.c_int32),
        ("entry_aic", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    )


class LaunchError(RuntimeError):
    """The launch failed; the text is opgen_launch_error()."""


@dataclass
class Kernel:
    """A compiled kernel library."""

    path: Path

    def __post_init__(self) -> None:
        self.emulation = load_emulation_library()
        self.library = ctypes.CDLL(str(self.path))

    def launch(
        self,
        entry: str,
        arrays: Sequence[np.ndarray],
        *,
        tiling: bytes = b"",
        key: int = 0,
        blocks: int = 1,
        mode: str = "fast",
        kind: int = 0,
        workspace: int = 0,
        behind_system: bool = False,
        soc: str = "",
        threads: int = 0,
        outputs: int = 1,
        inout: int = 0,
    ) -> list[dict]:
        """Run ``entry(arrays..., workspace, tiling)``; return the sanitizer's findings (check).

        The last ``outputs`` arrays are outputs; the last ``inout`` ones hold data before. With
        ``behind_system`` the kernel gets the workspace behind the system's part, as op kernels do.
        """
        lib = self.emulation
        lib.opgen_launch_error.restype = ctypes.c_char_p
        lib.opgen_findings_json.restype = ctypes.c_char_p
        system = 16 << 20
        space = np.zeros(system + workspace, np.uint8) if workspace else np.zeros(0, np.uint8)
        data = ctypes.create_string_buffer(tiling, max(1, len(tiling)))
        pointers = [a.ctypes.data for a in arrays]
        own = space.ctypes.data + (system if behind_system else 0)
        pointers += [own if workspace else 0, ctypes.addressof(data)]
        ranges = []
        for i, a in enumerate(arrays):
            kind_ = 1 if i >= len(arrays) - outputs else 0
            kind_ = 2 if i >= len(arrays) - inout else kind_
            ranges.append(_Range(a.ctypes.data, a.nbytes, f"arg{i}".encode(), kind_))
        if workspace and behind_system:
            ranges.append(_Range(own, workspace, b"workspace", 3))
            ranges.append(_Range(space.ctypes.data, system, b"system workspace", 5))
        elif workspace:
            ranges.append(_Range(space.ctypes.data, space.nbytes, b"workspace", 3))
        ranges.append(_Range(ctypes.addressof(data), len(tiling), b"tiling", 4))
        launch = _Launch(
            entry=ctypes.cast(getattr(self.library, entry), ctypes.c_void_p).value,
            args=(ctypes.c_void_p * len(pointers))(*pointers),
            num_args=len(pointers),
            name=entry.encode(),
            soc=soc.encode() or None,
            kind=kind,
            mode=MODES[mode],
            block_dim=blocks,
            tiling_key=key,
            tiling_data=ctypes.addressof(data),
            tiling_size=len(tiling),
            workspace=space.ctypes.data if workspace else None,
            ranges=(_Range * len(ranges))(*ranges),
            num_ranges=len(ranges),
            threads=threads,
        )
        lib.opgen_clear_findings()
        if lib.opgen_run_kernel(ctypes.byref(launch)) != 0:
            raise LaunchError(lib.opgen_launch_error().decode())
        return json.loads(lib.opgen_findings_json().decode()) if mode == "check" else []


def build(name: str, **options) -> Kernel:
    """Compile ``kernels/<name>.cpp``."""
    return Kernel(compile_kernel(KERNELS / f"{name}.cpp", **options))
