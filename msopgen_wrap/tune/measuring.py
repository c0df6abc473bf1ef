"""The modelled time of one call with one schedule: what a worker of the tuner does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msopgen_wrap.build.cache import text_hash
from msopgen_wrap.diagnostics import Location
from msopgen_wrap.graph.kept_tensors import frozen_shapes
from msopgen_wrap.profile.environment import environment
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.names import snake_case
from msopgen_wrap.spec.schedule_entries import ScheduleEntry
from msopgen_wrap.tune.subject import chosen_spec

# What the tiling of a tuner's build reads, see `schedule_override.h`.
_VARIABLE = "OPGEN_SCHEDULE"

# Of this process: the builds that are loaded, the tensors of the last call, and the times of
# tilings that are known: schedules often come to the same tiling.
_builds: dict[str, tuple[OpSpec, Any]] = {}
_tensors: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
_times: dict[str, dict[str, Any]] = {}


def knobs_text(knobs: Mapping[str, Any]) -> str:
    """Return knobs as a build of the tuner reads them: ``tile=4096 cores=24``."""
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def measure(arguments: dict[str, Any]) -> dict[str, Any]:
    """Model a call with a schedule; a task of an engine.

    Args:
        arguments: ``spec``, ``soc``, ``l2``, the call (``combo``, ``shapes``, ``attrs``), and
            ``knobs``; ``buffers`` of a build whose kernel has that many.

    Returns:
        ``time_us``, ``low_us`` and ``high_us`` with the launch, modelled; ``cores`` that ran;
        ``tiling``, equal for schedules that come to the same tiling.

    Raises:
        OpgenError: the spec, its plan or the build failed, or the kernel did.
    """
    buffers = arguments.get("buffers")
    spec = _open_spec(chosen_spec(arguments["spec"]), arguments["soc"], buffers)
    return _measured(spec, arguments, knobs_text(arguments["knobs"]))


def confirm(arguments: dict[str, Any]) -> dict[str, Any]:
    """Model a call with the tiling that a project of the spec would have; a task of an engine.

    Args:
        arguments: as of :func:`measure`, without knobs and buffers: the spec's own schedule counts.
    """
    spec = replace(chosen_spec(arguments["spec"]), soc=(arguments["soc"],))
    return _measured(spec, arguments, "")


def _open_spec(spec: OpSpec, soc: str, buffers: int | None) -> OpSpec:
    """Return the op of a build of the tuner; its name is its own, a process may have several."""
    op = f"{spec.op}Tuned{buffers or ''}"
    schedule = (ScheduleEntry(buffers=buffers),) if buffers else ()
    return replace(
        spec, op=op, name=snake_case(op), soc=(soc,), schedule=schedule, open_schedule=True
    )


def _measured(spec: OpSpec, arguments: dict[str, Any], asked: str) -> dict[str, Any]:
    from msopgen_wrap.run.op_case import TestCase
    from msopgen_wrap.torch_import import quiet_torch

    case = TestCase(
        arguments["combo"], frozen_shapes(arguments["shapes"]), arguments.get("attrs", {})
    )
    with environment(**{_VARIABLE: asked}), quiet_torch():
        return _run(spec, case, arguments)


def _run(spec: OpSpec, case: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    from msopgen_wrap.profile.launch_profile import launch_profile
    from msopgen_wrap.run.call_failure import op_failure
    from msopgen_wrap.run.op_runtime import OpRuntimeError, TilingInfo

    runtime = _runtime(spec)
    inputs, outputs = _call_tensors(spec, case)
    known: list[str] = []

    class _Known(Exception):
        pass

    def tiled(info: TilingInfo) -> None:
        own = [spec.op, repr(case), arguments["soc"], arguments["l2"]]
        own += [str(info.block_dim), str(info.key), info.data.hex(), str(info.workspace_size)]
        known.append(text_hash(*own)[:16])
        if known[0] in _times:
            raise _Known

    try:
        runtime.profile_options(l2=arguments["l2"], ablation=False)
        run = runtime.run(
            spec.op,
            [inputs[p.name] for p in spec.inputs],
            [outputs[p.name] for p in spec.outputs],
            {a.name: case.attrs.get(a.name) for a in spec.attrs},
            soc=arguments["soc"],
            mode="profile",
            tiled=tiled,
        )
    except _Known:
        return _times[known[0]]
    except OpRuntimeError as error:
        raise op_failure(error, Location(spec.path)) from error
    profile = launch_profile(json.loads(runtime.profile_text()))
    _times[known[0]] = {
        "time_us": profile.time_us,
        "low_us": profile.time_low_us,
        "high_us": profile.time_high_us,
        "cores": run.cores,
        "tiling": known[0],
    }
    return _times[known[0]]


def _runtime(spec: OpSpec) -> Any:
    from msopgen_wrap.run.cached_specs import rendered_spec
    from msopgen_wrap.run.preparation import load_op

    key = repr((spec.path, spec.op, spec.soc))
    known = _builds.get(key)
    if known is None or known[0] != spec:
        _builds[key] = (spec, load_op(spec, rendered_spec(spec, "opgen")))
    return _builds[key][1]


def _call_tensors(spec: OpSpec, case: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    from msopgen_wrap.profile.spec_cases import allocated

    key = repr((spec.path, case))
    if key not in _tensors:
        _tensors.clear()  # those of one call may fill much of the memory
        _tensors[key] = allocated(spec, case)
    return _tensors[key]
