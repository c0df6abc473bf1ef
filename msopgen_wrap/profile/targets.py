"""Run what ``opgen profile`` is given, in profile mode: specs, projects, programs, op folders."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.program_sources import SOURCE_SUFFIXES, folder_sources
from msopgen_wrap.manifest import read_manifest, refuse_extension
from msopgen_wrap.platforms import DEFAULT_SOC, covers, platform
from msopgen_wrap.profile.environment import environment
from msopgen_wrap.profile.event_table import EVENT, events_at, no_events
from msopgen_wrap.profile.launch_profile import LaunchProfile, launch_profile
from msopgen_wrap.profile.launches import Launch, ProfiledRun, read_launches
from msopgen_wrap.profile.target_kinds import LAUNCHES_SUFFIX, TargetKind, target_kind

if TYPE_CHECKING:
    from msopgen_wrap.run.op_runtime import OpRuntime
    from msopgen_wrap.spec.model import OpSpec


@dataclass(frozen=True)
class ProfileOptions:
    """How a target is run.

    Attributes:
        op: which op, where the target has several.
        shapes: ``NAME=D0,D1,...`` texts for a spec.
        case: part of the name of a case of a spec's grid; for op folders a YAML file.
        dtype: of the first input of a spec, or the dtypes of all inputs with commas between.
        inputs, outputs, attrs: as for ``opgen run``; attrs are also those of a spec.
        arguments: of a program.
        soc: exact or family name; None for the first of the target.
        l2: ``cold`` or ``warm``.
        block_dim: cores that tiling sees, None for all.
        records: steps of a launch that are stored; a launch with more is sampled. 0: the default.
        with_events: whether the events are wanted besides the sums.
    """

    op: str = ""
    shapes: tuple[str, ...] = ()
    case: str = ""
    dtype: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    soc: str | None = None
    l2: str = "cold"
    block_dim: int | None = None
    defines: tuple[str, ...] = ()
    includes: tuple[Path, ...] = ()
    records: int = 0
    with_events: bool = False
    progress: Callable[[str], None] = field(default=lambda _: None)


ShapesOf = Callable[["OpSpec", tuple[str, ...]], "dict[str, Any] | None"]


def profile_target(target: Path, options: ProfileOptions, shapes_of: ShapesOf) -> ProfiledRun:
    """Run a target in profile mode.

    Args:
        target: a spec or FILE.py:NAME, a scaffolded project, a program or a folder of one, a
            project with op_host and op_kernel, or a file of launches that were profiled before.
        shapes_of: reads ``options.shapes`` for a spec.

    Raises:
        OpgenError: the target cannot be found, chosen, compiled or run, or nothing was launched
            (OPG590).
    """
    if options.soc is not None:
        platform(options.soc)
    kind = target_kind(target)
    if kind is None:
        raise OpgenError(_no_target(target))
    if kind is TargetKind.LAUNCHES:
        run = ProfiledRun(target.name, [Launch(p, no_events()) for p in read_launches(target)], [])
    elif kind is TargetKind.PROJECT:
        run = _of_spec(*_project_spec(target, options.op), options, shapes_of)
    elif kind is TargetKind.PROGRAM_FOLDER:
        sources = folder_sources(target)
        more = (*map(str, sources[1:]), *options.arguments)
        run = _of_program(sources[0], replace(options, arguments=more))
    elif kind is TargetKind.OP_FOLDER:
        run = _of_op_folder(target, options)
    elif kind is TargetKind.PROGRAM:
        run = _of_program(target, options)
    else:
        run = _of_spec(_spec(target, options.op), None, options, shapes_of)
    if not run.launches:
        if run.problems:
            raise OpgenError(run.problems)
        raise OpgenError(
            Diagnostic(
                "OPG590",
                f"nothing to profile: {target} launched no kernel",
                Location(str(target)),
                why="an empty tensor needs no launch; a program may have ended before it",
                fix="choose another case, or look at what it does: opgen run, opgen test",
            )
        )
    return run


def _no_target(target: Path) -> Diagnostic:
    return Diagnostic(
        "OPG528",
        f"cannot profile {target}",
        Location(str(target)),
        why="it is neither a spec, a project, a program nor a file of launches"
        if target.exists()
        else "it does not exist",
        fix="name a spec (.yaml), a folder with opgen.json or with op_host/ and op_kernel/, a "
        f".asc or .cpp program, or a {LAUNCHES_SUFFIX} file that OPGEN_PROFILE named",
    )


# ---- specs and scaffolded projects ---------------------------------------------------------------


def _project_spec(root: Path, name: str) -> tuple[OpSpec, Path]:
    from msopgen_wrap.spec.loader import load_specs

    manifest = read_manifest(root)
    assert manifest is not None
    refuse_extension(root, manifest)
    return _chosen(load_specs([root / s for s in manifest.specs]), name, root), root


def _spec(path: Path, name: str) -> OpSpec:
    from msopgen_wrap.spec.loader import load_specs

    return _chosen(load_specs([path]), name, path)


def _chosen(specs: Sequence[OpSpec], name: str, place: Path) -> OpSpec:
    fitting = [s for s in specs if name in (s.name, s.op)]
    if not name:
        fitting = [s for s in specs if not s.differentiated] or list(specs)
    if len(fitting) == 1:
        return fitting[0]
    raise OpgenError(
        Diagnostic(
            "OPG599",
            f"{place} has no op {name!r}" if name else f"{place} has {len(fitting)} ops",
            Location(str(place)),
            why=f"it has {', '.join(s.name for s in specs)}",
            fix="name one with --op",
        )
    )


def _of_spec(
    spec: OpSpec, project: Path | None, options: ProfileOptions, shapes_of: ShapesOf
) -> ProfiledRun:
    from msopgen_wrap.profile.spec_cases import (
        allocated,
        chosen_case,
        is_undrawn,
        refuse_too_large,
        undrawn,
    )
    from msopgen_wrap.run.cached_specs import rendered_spec
    from msopgen_wrap.run.call_failure import op_failure
    from msopgen_wrap.run.case_runner import launch
    from msopgen_wrap.run.op_runtime import OpRuntimeError
    from msopgen_wrap.run.preparation import load_op
    from msopgen_wrap.torch_import import quiet_torch

    soc = platform(options.soc or spec.soc[0]).name
    if project is None and not any(covers(name, soc) for name in spec.soc):
        # A spec can be rendered for another family; a project is as it was scaffolded.
        from msopgen_wrap.project.tree import for_socs

        spec = for_socs(spec, (platform(soc).family,))
    case, why = chosen_case(spec, options, shapes_of(spec, options.shapes))
    with quiet_torch():
        light = is_undrawn(spec, case)
        refuse_too_large(spec, case, values=not light)
        options.progress("compiling the op")
        runtime = load_op(spec, project or rendered_spec(spec, "opgen"), options.progress)
        tensors = undrawn(spec, case) if light else allocated(spec, case)
        run = ProfiledRun(f"{spec.op} {case.label(spec)}", about=[f"case {case.label(spec)}"])
        run.about += [why] if why else []

        def start() -> None:
            try:
                launch(spec, case, runtime, *tensors, soc=soc, mode="profile")
            except OpRuntimeError as error:
                run.problems += op_failure(error, Location(spec.path)).diagnostics

        options.progress("running the kernel")
        if _recorded(runtime, run, options, start, arithmetic=False):
            return run
        # It asks for values: everything there is then has some.
        if light:
            refuse_too_large(spec, case)
            tensors = allocated(spec, case)
        options.progress("running the kernel with its arithmetic")
        _recorded(runtime, run, options, start, arithmetic=True)
    return run


def _recorded(
    runtime: OpRuntime,
    run: ProfiledRun,
    options: ProfileOptions,
    start: Callable[[], None],
    *,
    arithmetic: bool,
) -> bool:
    """Add what ``start`` launches to a run, also where the launch fails.

    Returns:
        False where the kernel needs its arithmetic and was started without: nothing is added.
    """
    before, launches = runtime.profile_text(), runtime.launch_count()
    with environment(
        OPGEN_PROFILE_L2=options.l2,
        OPGEN_PROFILE_ARITHMETIC="run" if arithmetic else "skip",
        OPGEN_PROFILE_MAX_RECORDS=str(options.records) if options.records else None,
    ):
        start()
        text = runtime.profile_text()
    # The same launch has the same profile. One that failed is not counted.
    is_new = runtime.launch_count() != launches or text != before
    if not is_new or text in ("", "{}"):
        return True
    import json

    data = json.loads(text)
    if not arithmetic and data.get("error", {}).get("code") == "OPG589":
        run.problems.clear()
        return False
    profile = launch_profile(data)
    if run.problems and not profile.incomplete:
        profile = replace(profile, incomplete=_first_line(run.problems[0].what))
    events = events_at(*runtime.profile_events()) if options.with_events else no_events()
    run.launches.append(Launch(profile, events))
    return True


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


# ---- op folders ----------------------------------------------------------------------------------


def _of_op_folder(root: Path, options: ProfileOptions) -> ProfiledRun:
    from msopgen_wrap.foreign.project_runner import ProjectRunner
    from msopgen_wrap.foreign.run_inputs import read_run_inputs

    case = Path(options.case) if options.case else None
    given = read_run_inputs(
        options.op or None, options.inputs, options.outputs, options.attrs, case, 0
    )
    runner = ProjectRunner(
        root,
        soc=options.soc,
        include_dirs=options.includes,
        defines=options.defines,
        progress=options.progress,
    )
    name = runner.declaration(given.op)["op"]
    values = [*options.inputs, *options.outputs, *options.attrs]
    run = ProfiledRun(" ".join([name, *([case.name] if case else []), *values]))

    def start() -> None:
        try:
            runner.run(
                given.op,
                given.inputs,
                given.attrs,
                given.outputs,
                mode="profile",
                block_dim=options.block_dim,
            )
        except OpgenError as error:
            run.problems += error.diagnostics

    for arithmetic in (False, True):
        if _recorded(runner.runtime, run, options, start, arithmetic=arithmetic):
            break
    return run


# ---- programs ------------------------------------------------------------------------------------


def _of_program(source: Path, options: ProfileOptions) -> ProfiledRun:
    from msopgen_wrap.foreign.example_project import build_file_defines
    from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

    sources, arguments = split_sources(options.arguments)
    given = {d.partition("=")[0] for d in options.defines}
    found = build_file_defines(source)
    defines = [f"{k}={v}" for k, v in sorted(found.items()) if k not in given]
    run = ProfiledRun(" ".join([source.name, *arguments]))
    options.progress(f"compiling and running {source.name}")
    with tempfile.TemporaryDirectory(prefix="opgen-profile-") as scratch:
        lines, events = Path(scratch) / "launches.jsonl", Path(scratch) / "events"
        with environment(
            OPGEN_PROFILE=str(lines),
            OPGEN_PROFILE_EVENTS=str(events) if options.with_events else None,
            OPGEN_PROFILE_L2=options.l2,
            OPGEN_PROFILE_MAX_RECORDS=str(options.records) if options.records else None,
        ):
            result = run_program(
                source,
                arguments,
                ProgramOptions(
                    soc=options.soc or DEFAULT_SOC,
                    mode="profile",
                    defines=(*defines, *options.defines),
                    include_dirs=options.includes,
                    sources=sources,
                ),
            )
        profiles = read_launches(lines) if lines.is_file() else []
        run.launches = with_events(profiles, events)
    run.problems += _program_problems(source, result)
    if run.problems and run.launches:
        run.about.append(f"the program failed: {_first_line(run.problems[0].what)}")
    return run


def with_events(profiles: Sequence[LaunchProfile], path: Path) -> list[Launch]:
    """Return launches with their events, which follow each other in a file of a child process."""
    import numpy as np

    found, at = [], 0
    for profile in profiles:
        count = int(profile.data.get("events", 0)) if path.is_file() else 0
        events = np.fromfile(path, EVENT, count, offset=at) if count else no_events()
        at += count * EVENT.itemsize
        found.append(Launch(profile, events))
    return found


def split_sources(arguments: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Take the further sources off the front of a program's arguments."""
    count = 0
    for text in arguments:
        if Path(text).suffix not in SOURCE_SUFFIXES or not Path(text).is_file():
            break
        count += 1
    return tuple(map(Path, arguments[:count])), tuple(arguments[count:])


def _program_problems(source: Path, result: Any) -> list[Diagnostic]:
    from msopgen_wrap.run.crashes import crash_diagnostic

    here = Location(str(source))
    found = [
        crash_diagnostic(x["crash"], f"kernel {x['kernel']}", fallback=here) for x in result.late
    ]
    if result.crash is not None:
        found.append(crash_diagnostic(result.crash, source.name, fallback=here))
    elif not found and (result.exit_code or result.failures):
        what = (
            f"{result.failures} of {result.launches} launches failed"
            if result.failures
            else f"{source.name} ended with exit code {result.exit_code}"
        )
        found.append(
            Diagnostic(
                "OPG593",
                what,
                here,
                why="a kernel trapped or never ended, or the program found its results wrong",
                fix=f"opgen run {source} shows what happened; the profile ends there",
            )
        )
    return found
