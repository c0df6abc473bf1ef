"""Limits of the SoCs a plan must fit, from the one table of hardware facts."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.resources import data_dir

# What the tiling function sees of UB on arch 2201: the runtime keeps 256 bytes.
_KEPT = {"2201": 256}
_ARCH = "2201"


@dataclass(frozen=True)
class SocLimits:
    """Smallest chip of a family: UB bytes as tiling sees them, and vector cores."""

    soc: str
    ub: int
    cores: int


@functools.lru_cache(maxsize=1)
def _rows() -> list[dict[str, str]]:
    path = data_dir("ascendc_kernels") / "emulation" / "platform_facts.csv"
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def soc_limits(soc: str) -> SocLimits:
    """Return the limits of a SoC family (``ascend910b``) or exact name (``ascend910b3``).

    Raises:
        OpgenError: OPG312 for a SoC that is unknown or whose arch generated kernels do not target.
    """
    name = soc.lower()
    rows = [r for r in _rows() if r["soc"].lower() == name]
    if not rows:
        rows = [r for r in _rows() if r["Short_SoC_version"].lower() == name]
    if not rows or any(r["npu_arch_9x"] != _ARCH for r in rows):
        what = "is not in the platform table" if not rows else "is not of arch 2201"
        raise OpgenError(
            Diagnostic(
                "OPG312",
                f"kernels cannot be generated for {soc}: it {what}",
                why="generated kernels use DataCopyPad and the vector dtypes of arch 2201",
                fix="take ascend910b or ascend910_93 in `soc:`, or write the kernel with `kernel:`",
            )
        )
    kept = _KEPT[_ARCH]
    return SocLimits(
        soc,
        min(int(r["ub_size"]) for r in rows) - kept,
        min(int(r["vector_core_cnt"]) for r in rows),
    )
