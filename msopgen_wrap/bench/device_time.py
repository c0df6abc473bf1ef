"""The modelled time of an op on the device, for the sizes at which it is timed on this CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.manifest import MANIFEST

if TYPE_CHECKING:
    from msopgen_wrap.spec.model import OpSpec


@dataclass(frozen=True)
class DeviceTime:
    """What the model says of one call, launch included.

    Attributes:
        microseconds: the modelled time.
        low, high: its range.
        soc: the device.
        validated: False where the kernel uses what was never compared with a device.
    """

    microseconds: float
    low: float
    high: float
    soc: str
    validated: bool


def device_time(target: Path, spec: OpSpec, inputs: Sequence[Any]) -> DeviceTime | str:
    """Return the modelled time of an op, or why there is none, as a line.

    Args:
        target: the spec or project that ``spec`` is from.
        inputs: the tensors of a call, None for one that is absent.
    """
    from msopgen_wrap.profile.targets import ProfileOptions, profile_target

    shapes = {
        param.name: None if value is None else tuple(value.shape)
        for param, value in zip(spec.inputs, inputs, strict=True)
    }
    # Of a folder of specs, the one of the op.
    place = Path(spec.path) if target.is_dir() and not (target / MANIFEST).exists() else target
    try:
        run = profile_target(place, ProfileOptions(op=spec.op), lambda *_: shapes)
    except OpgenError as error:
        return _reason(error)
    if run.problems:
        return _reason(OpgenError(run.problems))
    low, high = run.range_us
    return DeviceTime(
        run.time_us, low, high, run.profiles[0].soc, all(p.validated for p in run.profiles)
    )


def _reason(error: OpgenError) -> str:
    first = error.diagnostics[0]
    return f"{first.code} {first.what}"
