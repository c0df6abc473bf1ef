"""Hardware facts per SoC, from ``emulation/platform_facts.csv`` and nowhere else."""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from functools import lru_cache

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.resources import data_dir

DEFAULT_SOC = "ascend910b3"

# The member of a family that its bare name stands for: the part on common boards. The emulation
# library (src/host/platform_table.cpp) uses the same.
REFERENCE_PARTS = {
    "ascend910b": "ascend910b3",
    "ascend910_93": "ascend910_9391",
    "ascend310p": "ascend310p3",
    "ascend310b": "ascend310b1",
    "ascend910": "ascend910a",
}

# Families that the table leaves out: their instruction set (architecture 3510) is another one.
# CANN 8 calls the family of Ascend950 ascend910_95.
_OTHER_ARCHITECTURES = {"ascend950": 3510, "ascend910_95": 3510}
# Further families that public ops are configured for, of which no table says anything.
_FURTHER_FAMILIES = ("ascend350", "ascend910_55", "kirinx90", "kirin9030", "mc62")

EMULATED_ARCHITECTURES = (
    "the emulation knows 2201 (Ascend910B, Ascend910_93) and 2002 (Ascend310P), and 3002 "
    "(Ascend310B) roughly"
)

# Bytes of UB that the tiling functions of split-core SoCs do not see.
_UB_RESERVED = 256


@dataclass(frozen=True)
class Platform:
    """One exact SoC; sizes in bytes.

    Attributes:
        name: lower-case exact name, e.g. ``ascend910b3``; ``official_name`` as CANN spells it.
        family: lower-case family, the name that ``AddConfig`` takes, e.g. ``ascend910b``.
        arch: NPU architecture number of CANN 9, e.g. 2201.
        split: cube and vector cores are separate.
        cube_cores, vector_cores: number of cores; equal on coupled SoCs.
        ub: what a kernel may use (``GetCoreMemSize(UB)``); ``ub_hardware`` what the chip has.
        library_workspace: workspace in front of the user's (``GetLibApiWorkSpaceSize``).
        frequency_mhz: core clock.
        columns: the whole row of the table.
    """

    name: str
    official_name: str
    family: str
    arch: int
    split: bool
    cube_cores: int
    vector_cores: int
    ub: int
    ub_hardware: int
    l1: int
    l0a: int
    l0b: int
    l0c: int
    l2: int
    memory: int
    library_workspace: int
    frequency_mhz: int
    columns: dict[str, str]

    @property
    def emulated(self) -> bool:
        """Whether the CPU emulation knows the architecture."""
        return self.arch in (2201, 2002)

    @property
    def approximated(self) -> bool:
        """Whether foreign kernels run with the part's sizes but the instruction rules of 2201."""
        return self.arch == 3002


def _number(row: dict[str, str], column: str) -> int:
    return int(row.get(column) or 0)


def _platform(row: dict[str, str]) -> Platform:
    split = row["cube_vector_combine"] == "split"
    cube = _number(row, "cube_core_cnt") or _number(row, "ai_core_cnt")
    ub = _number(row, "ub_size")
    return Platform(
        name=row["soc"].lower(),
        official_name=row["soc"],
        family=row["Short_SoC_version"].lower(),
        arch=_number(row, "npu_arch_9x"),
        split=split,
        cube_cores=cube,
        vector_cores=_number(row, "vector_core_cnt") if split else _number(row, "ai_core_cnt"),
        ub=ub - _UB_RESERVED if split else ub,
        ub_hardware=ub,
        l1=_number(row, "l1_size"),
        l0a=_number(row, "l0_a_size"),
        l0b=_number(row, "l0_b_size"),
        l0c=_number(row, "l0_c_size"),
        l2=_number(row, "l2_size"),
        memory=_number(row, "memory_size"),
        library_workspace=(16 if split else 2) * 1024 * 1024,
        frequency_mhz=_number(row, "cube_freq"),
        columns=dict(row),
    )


@lru_cache(maxsize=1)
def platforms() -> tuple[Platform, ...]:
    """Return every SoC of the table, in table order."""
    path = data_dir("ascendc_kernels") / "emulation" / "platform_facts.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(_platform(row) for row in csv.DictReader(handle))


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """Return the family names, in table order."""
    return tuple(dict.fromkeys(p.family for p in platforms()))


def find_platform(name: str) -> Platform | None:
    """Return the SoC called ``name`` (exact or family name, any case), or None."""
    wanted = name.strip().lower()
    wanted = REFERENCE_PARTS.get(wanted, wanted)
    return next((p for p in platforms() if p.name == wanted), None)


def other_architecture(name: str) -> int | None:
    """Return the architecture of a SoC that exists but is in no table here, e.g. 3510, or None."""
    low = name.strip().lower()
    return next((a for f, a in _OTHER_ARCHITECTURES.items() if low.startswith(f)), None)


def is_soc(name: str) -> bool:
    """Say whether CANN has a SoC or family called ``name``, emulated or not."""
    low = name.strip().lower()
    known = find_platform(low) is not None or other_architecture(low) is not None
    return known or low.startswith(_FURTHER_FAMILIES)


def platform(name: str = DEFAULT_SOC, location: Location | None = None) -> Platform:
    """Return the SoC called ``name``: an exact name, or a family name for its reference part.

    Raises:
        OpgenError: OPG306 for a SoC of an architecture that is not emulated, OPG501 for an unknown
            one, with the nearest known name.
    """
    found = find_platform(name)
    if found is not None:
        return found
    arch = other_architecture(name)
    if arch is not None:
        raise OpgenError(
            Diagnostic(
                "OPG306",
                f"SoC {name!r} (architecture {arch}) is not emulated",
                location or Location(),
                why=f"its instruction set differs; {EMULATED_ARCHITECTURES}",
                fix="choose a SoC of one of these families",
            )
        )
    known = [*families(), *(p.name for p in platforms())]
    near = difflib.get_close_matches(name.strip().lower(), known, n=1)
    raise OpgenError(
        Diagnostic(
            "OPG501",
            f"unknown SoC {name!r}",
            location or Location(),
            why=f"known families: {', '.join(families())}; exact names: "
            + ", ".join(p.name for p in platforms()),
            fix=f"did you mean {near[0]!r}?" if near else "use one of these names",
        )
    )


def covers(configured: str, exact: str) -> bool:
    """Return whether an ``AddConfig(configured)`` covers the SoC ``exact``."""
    target = find_platform(exact)
    name = configured.lower()
    return target is not None and name in (target.family, target.name)


def approximation(soc: str) -> list[Diagnostic]:
    """Return the warning that a run on ``soc`` owes its reader; empty for an emulated part."""
    found = platform(soc)
    if not found.approximated:
        return []
    return [
        Diagnostic(
            "OPG529",
            f"{found.official_name} is emulated roughly",
            why="cores and buffers are its own, instruction rules are those of 2201, "
            f"not {found.arch}",
            fix="trust results and findings about queues, events and bounds; check alignment rules "
            "and supported dtypes in the API documentation",
            severity="warning",
        )
    ]
