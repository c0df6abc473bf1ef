"""What plans know of a SoC: its limits, and how long its vector unit works on an element.

Tiling weighs further cores against the work of the vector unit. That is an estimate from the number
of instructions alone: all of them at the full rate of the unit, without start-up, bank conflicts or
slower instructions such as Div.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.platforms import architectures, platform, platforms
from msopgen_wrap.schedule.program import DIRECT, LOADS, Program, Val


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


_LANE_BYTES = 4  # values are computed in 32 bits
# Passes over a tile that a building block makes, as the counting sink sees them; all other
# instructions are one. How long the division takes depends on the dtype: this is float32. A
# recurrence takes some seven for each degree up to the largest one of the data: this is degree 64.
# A power of a number that a call gives is mostly a product: this is a square or a cube.
PASSES = {
    "opgen::Expm1": 20,
    "opgen::Log1p": 10,
    "opgen::Tanh": 29,
    "opgen::Sinh": 22,
    "opgen::Cosh": 6,
    "opgen::Erf": 50,
    "opgen::Erfc": 31,
    "opgen::Sin": 32,
    "opgen::Cos": 33,
    "opgen::Tan": 66,
    "opgen::Atan": 30,
    "opgen::Asin": 25,
    "opgen::Acos": 27,
    "opgen::Asinh": 27,
    "opgen::Acosh": 22,
    "opgen::Atanh": 20,
    "opgen::Atan2": 41,
    "opgen::Pow": 23,
    "opgen::PowOfNumber": 2,
    "opgen::Fmod": 252,
    "opgen::Remainder": 261,
    "opgen::FloorQuotient": 34,
    "opgen::DivideFloor": 31,
    "opgen::DivideTrunc": 40,
    "opgen::Gcd": 145,  # of random int32; few digits take fewer steps
    "opgen::Recurrence": 455,
    "opgen::RoundTo": 2,
}


def vector_passes(
    program: Program, dtypes: Iterable[str], *, keeps_coefficients: bool = False
) -> int:
    """Return how many vector instructions go over an element.

    Args:
        program: of the kernel; values of rows do not count.
        dtypes: of the operands and outputs: those that are not computed in are converted.
        keeps_coefficients: whether UB holds the coefficients of polynomials.
    """
    passes = sum(dtype not in DIRECT for dtype in dtypes)
    for inst in program.insts:
        if inst.op in (*LOADS, "Store") or (inst.dst is not None and inst.dst.extent == "row"):
            continue
        if inst.op == "Polynomial":
            terms = len(inst.mode.split(","))
            passes += terms if keeps_coefficients else 2 * terms
        elif any(isinstance(a, Val) for a in inst.args):
            passes += PASSES.get(inst.op, 1)
    return passes


def vector_cycles(passes: int, socs: Iterable[str]) -> float:
    """Return the cycles per element of so many instructions, on the slowest of some SoCs."""
    rate = min(int(platform(soc).columns["vec_calc_size"]) for soc in socs)
    return passes * _LANE_BYTES / rate
