"""What CANN's tools call a SoC: compute unit, msopgen name, arch macros of the CPU-debug build.

Everything is derived from the rows of ``platform_facts.csv``; no SoC is named here.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache

from msopgen_wrap.resources import data_dir


@dataclass(frozen=True)
class SocTarget:
    """One SoC family as CANN's build tools see it.

    Attributes:
        unit: compute unit and ``AddConfig`` name, e.g. ``ascend910b``.
        msopgen: value for ``msopgen gen -c``: ``ai_core-<exact name>``. The exact name matters:
            ``ai_core-ascend910b`` means the older ascend910 to msopgen.
        soc: the exact SoC behind ``msopgen`` in lower case, e.g. ``ascend910b1``.
        aicore: value of ``__CCE_AICORE__``, e.g. 220.
        dav: the arch macro of the official CPU-debug build, e.g. ``__DAV_C220__``.
        npu_arch: value of ``__NPU_ARCH__`` in 9.x, e.g. 2201.
    """

    unit: str
    msopgen: str
    soc: str
    aicore: int
    dav: str
    npu_arch: int

    @property
    def kernel_defines(self) -> tuple[str, ...]:
        """The arch macros, ready for ``-D``."""
        return (f"__CCE_AICORE__={self.aicore}", self.dav, f"__NPU_ARCH__={self.npu_arch}")


@lru_cache(maxsize=1)
def _rows() -> tuple[dict[str, str], ...]:
    path = data_dir("ascendc_kernels") / "emulation" / "platform_facts.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def soc_family(name: str) -> str:
    """Return the compute unit of an exact SoC name or of a family name, in lower case.

    Raises:
        KeyError: the table has neither such a SoC nor such a family.
    """
    wanted = name.lower()
    for row in _rows():
        if wanted in (row["soc"].lower(), row["Short_SoC_version"].lower()):
            return row["Short_SoC_version"].lower()
    raise KeyError(name)


def soc_target(name: str) -> SocTarget:
    """Return the build names of a SoC given by family or exact name (case-insensitive).

    Raises:
        KeyError: unknown SoC.
    """
    family = soc_family(name)
    members = [r for r in _rows() if r["Short_SoC_version"].lower() == family]
    exact = [r for r in members if r["soc"].lower() == name.lower()]
    row = (exact or members)[0]
    core = row["CCEC_AIC_version"].removeprefix("dav-").split("-")[0]
    return SocTarget(
        unit=family,
        msopgen=f"ai_core-{row['soc'].lower()}",
        soc=row["soc"].lower(),
        aicore=int(row["AIC_version"].rsplit("-", 1)[1]),
        dav=f"__DAV_{core.upper()}__",
        npu_arch=int(row["npu_arch_9x"]),
    )


def soc_targets(names: list[str] | tuple[str, ...]) -> list[SocTarget]:
    """Return one target per family, in the order first named."""
    seen: dict[str, SocTarget] = {}
    for name in names:
        seen.setdefault(soc_family(name), soc_target(name))
    return list(seen.values())
