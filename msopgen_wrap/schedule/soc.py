"""Limits of the SoCs a plan must fit, from the one table of hardware facts."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.platforms import architectures, platforms


@dataclass(frozen=True)
class SocLimits:
    """Smallest chip of a family: UB bytes as tiling sees them, and vector cores."""

    soc: str
    ub: int
    cores: int


def soc_limits(soc: str) -> SocLimits:
    """Return the limits of a SoC family (``ascend910b``) or exact name (``ascend910b3``).

    Raises:
        OpgenError: OPG312 for a SoC that is unknown or whose arch generated kernels do not target.
    """
    name = soc.lower()
    parts = [p for p in platforms() if p.name == name]
    parts = parts or [p for p in platforms() if p.family == name]
    known = [architectures().get(p.arch) for p in parts]
    if not all(a is not None and a.generated for a in known) or not parts:
        what = "is not in the platform table" if not parts else "is not of arch 2201"
        raise OpgenError(
            Diagnostic(
                "OPG312",
                f"kernels cannot be generated for {soc}: it {what}",
                why="generated kernels use DataCopyPad and the vector dtypes of arch 2201",
                fix="take ascend910b or ascend910_93 in `soc:`, or write the kernel with `kernel:`",
            )
        )
    return SocLimits(soc, min(p.ub for p in parts), min(p.vector_cores for p in parts))
