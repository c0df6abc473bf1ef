"""Which CPUs compiled code is for.

Kernels, op_host sources and the emulation library are compiled for a level of the architecture,
not for one CPU. One build of the library then serves tests, packages and every machine of that
level. On x86-64 the level with AVX2 (x86-64-v3: Intel since 2013, AMD since 2015) is several times
as fast as the baseline on half-precision data; other machines get the baseline.
OPGEN_CPU_LEVEL=baseline chooses the baseline anywhere, for packages that must run on any machine.
"""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, OpgenError

ENVIRONMENT = "OPGEN_CPU_LEVEL"


@dataclass(frozen=True)
class CpuLevel:
    """A level of an architecture.

    Attributes:
        name: as installers and listings print it.
        flags: compiler flags (spelled out: older compilers do not know the level's name).
        features: what /proc/cpuinfo must list for it.
    """

    name: str
    flags: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


X86_64_V3 = CpuLevel(
    "x86-64-v3",
    ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe", "-mpopcnt"),
    ("avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe", "popcnt"),
)


def machine_name(name: str = "") -> str:
    """Return an architecture (default: this machine's) as CANN spells it: x86_64, aarch64."""
    name = (name or platform.machine()).lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def cpu_level() -> CpuLevel:
    """Return the level this process compiles for.

    Raises:
        OpgenError: OPG308, OPGEN_CPU_LEVEL is neither empty nor ``baseline``.
    """
    chosen = os.environ.get(ENVIRONMENT, "")
    if chosen not in ("", "baseline"):
        raise OpgenError(
            Diagnostic(
                "OPG308",
                f"{ENVIRONMENT}={chosen} is not a CPU level",
                why="code is compiled for this machine's level, or for the baseline",
                fix=f"unset {ENVIRONMENT}, or set it to baseline",
            )
        )
    machine = machine_name()
    if machine == "x86_64" and not chosen and set(X86_64_V3.features) <= _cpu_features():
        return X86_64_V3
    return CpuLevel({"x86_64": "x86-64", "aarch64": "armv8-a"}.get(machine, machine))


@functools.lru_cache(maxsize=1)
def _cpu_features() -> frozenset[str]:
    """Return the features that every core of this machine has."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()
