"""Hardware facts per SoC and architecture, from two tables of the emulation and nowhere else.

``platform_facts.csv`` has a row per SoC, ``architectures.csv`` one per architecture: how it is
emulated, which macros its compiler defines, what its cores are. What CANN's tools call a SoC
(compute unit, msopgen name, arch macros of the CPU-debug build) is derived from these rows.
"""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from functools import lru_cache

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.resources import data_dir

DEFAULT_SOC = "ascend910b3"

# Families that the table leaves out: their instruction set (architecture 3510) is another one.
# CANN 8 calls the family of Ascend950 ascend910_95.
_OTHER_ARCHITECTURES = {"ascend950": 3510, "ascend910_95": 3510}
# Further families that public ops are configured for, of which no table says anything.
_FURTHER_FAMILIES = ("ascend350", "ascend910_55", "kirinx90", "kirin9030", "mc62")


@dataclass(frozen=True)
class Architecture:
    """An NPU architecture that the emulation knows.

    Attributes:
        number: its number in CANN 9, e.g. 2201.
        full: its own instruction rules are emulated; else foreign kernels run with the part's
            sizes and the rules of ``instructions``.
        generated: kernels are generated for it.
        instructions: the architecture whose instructions its kernels are compiled with.
        cores: ``separate`` cube and vector cores, ``unified`` ones, or ``coupled``.
        macros: what CANN's compiler defines, ``NAME`` or ``NAME=VALUE``.
        bfloat16: its vector unit has the type.
        ub_reserved: bytes of UB that tiling functions do not see.
    """

    number: int
    full: bool
    generated: bool
    instructions: int
    cores: str
    macros: tuple[str, ...]
    bfloat16: bool
    ub_reserved: int


@dataclass(frozen=True)
class Platform:
    """One exact SoC; sizes in bytes.

    Attributes:
        name: lower-case exact name, e.g. ``ascend910b3``; ``official_name`` as CANN spells it.
        family: lower-case family, the name that ``AddConfig`` takes, e.g. ``ascend910b``.
        arch: NPU architecture number of CANN 9, e.g. 2201.
        split: cube and vector cores are separate.
        vector_cores: number of them; of AI cores on coupled SoCs.
        ub: bytes that a kernel may use (``GetCoreMemSize(UB)``).
        columns: the whole row of the table.
    """

    name: str
    official_name: str
    family: str
    arch: int
    split: bool
    vector_cores: int
    ub: int
    l1: int
    memory: int
    columns: dict[str, str]

    @property
    def emulated(self) -> bool:
        """Whether the CPU emulation knows the architecture."""
        known = architectures().get(self.arch)
        return known is not None and known.full

    @property
    def approximated(self) -> bool:
        """Whether foreign kernels run with the part's sizes but another architecture's rules."""
        known = architectures().get(self.arch)
        return known is not None and not known.full


def _number(row: dict[str, str], column: str) -> int:
    return int(row.get(column) or 0)


def _platform(row: dict[str, str]) -> Platform:
    split = row["cube_vector_combine"] == "split"
    ub = _number(row, "ub_size")
    known = architectures().get(_number(row, "npu_arch_9x"))
    return Platform(
        name=row["soc"].lower(),
        official_name=row["soc"],
        family=row["Short_SoC_version"].lower(),
        arch=_number(row, "npu_arch_9x"),
        split=split,
        vector_cores=_number(row, "vector_core_cnt") if split else _number(row, "ai_core_cnt"),
        ub=ub - (known.ub_reserved if known else 0),
        l1=_number(row, "l1_size"),
        memory=_number(row, "memory_size"),
        columns=dict(row),
    )


def _table(name: str) -> list[dict[str, str]]:
    path = data_dir("ascendc_kernels") / "emulation" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def _architecture(row: dict[str, str]) -> Architecture:
    number, instructions = int(row["arch"]), int(row["instructions"])
    macros = [f"__CCE_AICORE__={row['cce_aicore']}", f"__NPU_ARCH__={number}", row["macro"]]
    macros += ["__CCE__=1", f"OPGEN_INSTRUCTIONS={instructions}"]
    macros += [f"OPGEN_LIBRARY_WORKSPACE={row['library_workspace']}"]
    return Architecture(
        number=number,
        full=row["emulation"] == "full",
        generated=row["generated"] == "yes",
        instructions=instructions,
        cores=row["cores"],
        macros=(*macros, *(["OPGEN_UNIFIED_CORES"] if row["cores"] == "unified" else [])),
        bfloat16=row["bfloat16"] == "yes",
        ub_reserved=int(row["ub_reserved"]),
    )


@lru_cache(maxsize=1)
def architectures() -> dict[int, Architecture]:
    """Return the architectures that the emulation knows, by number."""
    return {int(row["arch"]): _architecture(row) for row in _table("architectures")}


def emulated_architectures() -> str:
    """Return a sentence for messages: which architectures the emulation knows."""
    names: dict[int, list[str]] = {}
    for platform in platforms():
        family = platform.columns["Short_SoC_version"]
        if family not in names.setdefault(platform.arch, []):
            names[platform.arch].append(family)
    parts = [
        f"{a.number} ({', '.join(names.get(a.number, []))}{'' if a.full else '; roughly'})"
        for a in architectures().values()
    ]
    return "the emulation knows " + ", ".join(parts)


@lru_cache(maxsize=1)
def reference_parts() -> dict[str, str]:
    """Return the SoC that the bare name of a family stands for: the one on common boards."""
    rows = [p for p in platforms() if (p.columns.get("reference") or "") == "yes"]
    return {p.family: p.name for p in rows}


@lru_cache(maxsize=1)
def platforms() -> tuple[Platform, ...]:
    """Return every SoC of the table, in table order."""
    return tuple(_platform(row) for row in _table("platform_facts"))


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """Return the family names, in table order."""
    return tuple(dict.fromkeys(p.family for p in platforms()))


def find_platform(name: str) -> Platform | None:
    """Return the SoC called ``name`` (exact or family name, any case), or None."""
    wanted = name.strip().lower()
    wanted = reference_parts().get(wanted, wanted)
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
                why=f"its instruction set differs; {emulated_architectures()}",
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


def soc_family(name: str) -> str:
    """Return the compute unit of an exact SoC name or of a family name, in lower case.

    Raises:
        KeyError: the table has neither such a SoC nor such a family.
    """
    wanted = name.lower()
    for platform in platforms():
        if wanted in (platform.name, platform.family):
            return platform.family
    raise KeyError(name)


def soc_target(name: str) -> SocTarget:
    """Return the build names of a SoC given by family or exact name (case-insensitive).

    Raises:
        KeyError: unknown SoC.
    """
    family = soc_family(name)
    members = [p for p in platforms() if p.family == family]
    exact = [p for p in members if p.name == name.lower()]
    part = (exact or members)[0]
    row = part.columns
    core = row["CCEC_AIC_version"].removeprefix("dav-").split("-")[0]
    return SocTarget(
        unit=family,
        msopgen=f"ai_core-{part.name}",
        soc=part.name,
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
