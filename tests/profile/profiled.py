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
from msopgen_wrap.profile.event_table import events_at
from msopgen_wrap.run.op_abi import ProfileOptions, declare

KERNELS = Path(__file__).parent / "kernels"
TILE = 4096  # floats, kTile of timeline.cpp
SOC = "ascend910b1"
CYCLE = 1 / 1850  # us


@functools.cache
def timeline() -> Kernel:
    """Return the kernels of ``timeline.cpp``."""
    kernel = Kernel(compile_kernel(KERNELS / "timeline.cpp"))
    declare(kernel.emulation)
    return kernel


def options(**given: Any) -> None:
    """Set options of the replay; without any: the defaults."""
    if isinstance(given.get("parameters"), Path):
        given["parameters"] = str(given["parameters"]).encode()
    emulation = timeline().emulation
    emulation.opgen_profile_options(ctypes.byref(ProfileOptions(**given)) if given else None)


def last() -> dict[str, Any]:
    """Return the profile of the last launch."""
    return json.loads(timeline().emulation.opgen_profile_json())


def events() -> Any:
    """Return copies of the events of the last launch."""
    first = ctypes.c_void_p()
    count = timeline().emulation.opgen_profile_events(ctypes.byref(first))
    return events_at(first.value, count).view(np.recarray)


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
