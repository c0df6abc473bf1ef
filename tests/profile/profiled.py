"""Launch a small kernel in profile mode; return its modelled profile."""

from __future__ import annotations

import ctypes
import functools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from emulation.launcher import Kernel

from msopgen_wrap.build.emulation import compile_kernel

KERNELS = Path(__file__).parent / "kernels"
TILE = 4096  # floats, kTile of timeline.cpp
SOC = "ascend910b1"
CYCLE = 1 / 1850  # us


class Options(ctypes.Structure):
    """OpgenProfileOptions."""

    _fields_ = (
        ("l2", ctypes.c_int32),
        ("ablation", ctypes.c_int32),
        ("max_events", ctypes.c_uint64),
        ("max_records", ctypes.c_uint64),
        ("parameters", ctypes.c_char_p),
    )


class Event(ctypes.Structure):
    """OpgenProfileEvent."""

    _fields_ = (
        ("start", ctypes.c_double),
        ("end", ctypes.c_double),
        ("bytes", ctypes.c_uint64),
        ("core", ctypes.c_uint32),
        ("line", ctypes.c_uint32),
        ("file", ctypes.c_uint32),
        ("came_from", ctypes.c_uint32),
        ("api", ctypes.c_uint16),
        ("pipe", ctypes.c_uint8),
        ("kind", ctypes.c_uint8),
    )


@functools.cache
def timeline() -> Kernel:
    """Return the kernels of ``timeline.cpp``."""
    kernel = Kernel(compile_kernel(KERNELS / "timeline.cpp"))
    return kernel


def function(name: str, result: Any = None) -> Any:
    """Return a function of the emulation library of its own.

    Attributes of the library are shared: others declare the types of arguments by structures of
    theirs.
    """
    found = timeline().emulation[name]
    found.restype = result
    return found


def options(**given: Any) -> None:
    """Set options of the replay; without any: the defaults."""
    if isinstance(given.get("parameters"), Path):
        given["parameters"] = str(given["parameters"]).encode()
    function("opgen_profile_options")(ctypes.byref(Options(**given)) if given else None)


def last() -> dict[str, Any]:
    """Return the profile of the last launch."""
    return json.loads(function("opgen_profile_json", ctypes.c_char_p)())


def events() -> list[Event]:
    """Return copies of the events of the last launch."""
    first = ctypes.POINTER(Event)()
    count = function("opgen_profile_events", ctypes.c_uint64)(ctypes.byref(first))
    return [Event.from_buffer_copy(first[i]) for i in range(count)]


def aligned(count: int) -> np.ndarray:
    """Return ``count`` floats that begin where device memory does, at a line of L2."""
    memory = np.zeros(count * 4 + 512, np.uint8)
    begin = -memory.ctypes.data % 512
    return memory[begin : begin + count * 4].view(np.float32)


def profiled(
    entry: str, *tiling: int, blocks: int = 1, tiles: int = 1, mode: str = "profile"
) -> dict[str, Any]:
    """Launch an entry of ``timeline.cpp`` on arrays of ``tiles`` tiles; return its profile."""
    x, y = aligned(tiles * TILE), aligned(tiles * TILE)
    timeline().launch(
        entry,
        [x, y],
        tiling=struct.pack(f"{len(tiling)}I", *tiling),
        blocks=blocks,
        mode=mode,
        soc=SOC,
    )
    return last()


def pipe(profile: dict[str, Any], name: str, core: int = 0) -> dict[str, Any]:
    """Return what a core's pipe did."""
    return profile["cores"][core]["pipes"][name]
