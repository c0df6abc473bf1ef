"""``opgen run``: an AscendC program, or an op of a project in msopgen layout, on the CPU."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from msopgen_wrap.build.child_processes import signal_text
from msopgen_wrap.cli import output
from msopgen_wrap.cli.shared_options import define_option, include_option
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.program_sources import SOURCE_SUFFIXES, folder_sources
from msopgen_wrap.platforms import DEFAULT_SOC, approximation
from msopgen_wrap.run.crashes import crash_diagnostic


@click.command("run", context_settings={"ignore_unknown_options": True})
@click.argument("target", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--soc",
    help=f"Exact or family name; default: {DEFAULT_SOC}, or the first SoC of a project without it.",
)
@click.option(
    "--mode",
    type=click.Choice(["check", "fast"]),
    default="check",
    show_default=True,
    help="check: with the sanitizer; fast: without.",
)
@include_option
@define_option
@click.option("-U", "--undefine", "undefines", multiple=True, help="Macro not to define.")
@click.option(
    "--include-file",
    "include_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Program: header that every source sees first (g++'s -include).",
)
@click.option(
    "--tiling-from",
    type=click.Path(path_type=Path),
    help="Program: op project whose op_host registers the kernels' tiling structs (see --op).",
)
@click.option("-l", "--library", "libraries", multiple=True, help="Program: library to link.")
@click.option(
    "-L",
    "--library-dir",
    "library_dirs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Program: folder with libraries.",
)
@click.option("--op", help="Project: op type, when it has several.")
@click.option(
    "-i",
    "--input",
    "inputs",
    multiple=True,
    help="Project: NAME=file.npy | NAME=file.bin:float16[2,3] | NAME=float16[2,3] (random) | "
    "NAME=zeros:float16[2,3], with @FRACTAL_NZ behind for that format (values stay a plain array); "
    "a list: NAME=[a;b]; absent: NAME=none.",
)
@click.option(
    "-o", "--output", "outputs", multiple=True, help="Project: NAME=float16[2,3], or a VALUE in it."
)
@click.option("-a", "--attr", "attrs", multiple=True, help="Project: NAME=VALUE.")
@click.option("--case", type=click.Path(path_type=Path), help="Project: YAML with the above.")
@click.option("--save", type=click.Path(path_type=Path), help="Project: folder for the results.")
@click.option("--block-dim", type=click.IntRange(min=1), help="Cores that tiling sees.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of random inputs.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    help="Seconds that a launch, a function of the op, or a program's host between two launches "
    "may take; default: $OPGEN_TIMEOUT or 600; 0: no limit.",
)
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--sarif",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the findings as SARIF.",
)
def command(target: Path, arguments: tuple[str, ...], **options: Any) -> int:
    """Run TARGET: a .asc/.cpp program, a folder with main.cpp and its kernels, or a PROJECT folder
    (op_host + op_kernel).

    Further .asc/.cpp/.cce files behind a program are linked with it; it gets the rest of
    ARGUMENTS. Unit tests that call kernels through tikicpulib.h run too, gtest included if it is
    installed.
    A project's op is compiled and called: InferShape, TilingFunc, kernel.
    Exit code 0: it ran and nothing was found; 1: it failed or the sanitizer found something.
    """
    if target.is_dir() and (sources := folder_sources(target)):
        return _run_program(sources[0], (*map(str, sources[1:]), *arguments), options)
    if target.is_dir():
        if arguments:
            raise click.UsageError(f"a project takes no argument {arguments[0]!r}")
        return _run_project(target, **options)
    if target.suffix in SOURCE_SUFFIXES:
        return _run_program(target, arguments, options)
    raise OpgenError(
        Diagnostic(
            "OPG528",
            f"cannot run {target}",
            Location(str(target)),
            why="it is neither a folder nor a .asc/.cpp program"
            if target.exists()
            else "it does not exist",
            fix="name a .asc or .cpp file, or a folder with op_host/ and op_kernel/",
        )
    )


# ---- programs ----------------------------------------------------------------------------------


def _run_program(source: Path, arguments: tuple[str, ...], options: dict[str, Any]) -> int:
    from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program
    from msopgen_wrap.foreign.unit_tests import build_folder, tested_op

    options["soc"] = options["soc"] or DEFAULT_SOC
    rough = approximation(options["soc"])
    defines = (*_build_file_defines(source, options), *options["defines"])
    sources, arguments = _split_sources(arguments)
    headers = tuple(options["include_files"])
    if options["tiling_from"] is not None:
        from msopgen_wrap.foreign.unit_tests import project_tiling_header

        tiling = project_tiling_header(
            options["tiling_from"],
            op=options["op"],
            soc=options["soc"],
            include_dirs=options["includes"],
            kernels=(source, *sources),
        )
        headers = (tiling, *headers)
    program = ProgramOptions(
        soc=options["soc"],
        mode=options["mode"],
        defines=defines,
        undefines=options["undefines"],
        include_dirs=options["includes"],
        include_files=headers,
        sources=sources,
        libraries=options["libraries"],
        library_dirs=options["library_dirs"],
        limit=options["timeout"],
    )
    program = _as_unit_test(source, program, quiet=options["as_json"])
    kernel_test = tested_op(source, "op_kernel")
    with contextlib.nullcontext() if kernel_test is None else build_folder(kernel_test) as place:
        result = run_program(source, arguments, replace(program, place=place))
    _write_sarif(result.findings, options["sarif"])
    launched = result.reported or bool(program.registering)
    failed = bool(result.exit_code or result.failures or not launched)
    ok = not failed and not _has_errors(result.findings)
    if options["as_json"]:
        output.print_json(
            {
                "ok": ok,
                "exit_code": result.exit_code,
                "launches": result.launches,
                "failures": result.failures,
                "findings": result.findings,
                "crash": result.crash,
                "late": result.late,
                "warnings": [d.as_dict() for d in rough],
            }
        )
    else:
        output.print_diagnostics(rough)
        _print_findings(result.findings)
        here = Location(str(source))
        for late in result.late:
            who = f"kernel {late['kernel']}"
            output.print_diagnostics([crash_diagnostic(late["crash"], who, fallback=here)])
        if result.crash is not None:
            died = crash_diagnostic(result.crash, source.name, fallback=here)
            output.print_diagnostics([died])
        elif failed:
            output.echo(f"{source.name}: {_program_reason(result)}", err=True)
    return output.OK if ok else output.FINDINGS


def _as_unit_test(source: Path, program: Any, *, quiet: bool) -> Any:
    """Add what a unit test in an op's folder is linked with; other programs stay as they are.

    Tests of kernels that come with further sources are complete as they are given.
    """
    from msopgen_wrap.foreign.unit_tests import host_test, kernel_test, tested_op

    def progress(text: str) -> None:
        if not quiet:
            output.echo(text, err=True)

    own = {"soc": program.soc, "include_dirs": program.include_dirs, "progress": progress}
    if root := tested_op(source):
        sources = [source, *program.sources]
        found = host_test(root, sources, defines=program.defines, **own)
    elif (root := tested_op(source, "op_kernel")) and not program.sources:
        found = kernel_test(root, source, **own)
    else:
        return program
    return replace(
        program,
        defines=(*found.defines, *program.defines),
        include_dirs=found.include_dirs,
        include_files=(*program.include_files, *found.include_files),
        sources=(*program.sources, *found.sources),
        registering=(found.library,) if found.library else (),
    )


def _build_file_defines(source: Path, options: dict[str, Any]) -> tuple[str, ...]:
    """Return the macros that the CMakeLists.txt beside a program gives it and the user does not."""
    from msopgen_wrap.foreign.example_project import build_file_defines

    given = {d.partition("=")[0] for d in (*options["defines"], *options["undefines"])}
    found = build_file_defines(source)
    defines = tuple(f"{k}={v}" for k, v in sorted(found.items()) if k not in given)
    if defines and not options["as_json"]:
        shown = " ".join(f"-D {d}" for d in defines)
        output.echo(f"with {shown} of {source.parent / 'CMakeLists.txt'}", err=True)
    return defines


def _split_sources(arguments: tuple[str, ...]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Take the further sources off the front of a program's arguments."""
    count = 0
    for text in arguments:
        if Path(text).suffix not in SOURCE_SUFFIXES or not Path(text).is_file():
            break
        count += 1
    return tuple(Path(text) for text in arguments[:count]), arguments[count:]


def _program_reason(result: Any) -> str:
    if result.stopped:
        return "stopped itself (SIGSTOP), and was killed"
    if result.exit_code < 0:
        return f"died of {signal_text(result.exit_code)}"
    if result.exit_code:
        return f"ended with exit code {result.exit_code}"
    if not result.reported:
        return "ended without having launched a kernel"
    return f"{result.failures} of {result.launches} launches failed"


# ---- projects ----------------------------------------------------------------------------------


def _run_project(root: Path, **options: Any) -> int:
    from msopgen_wrap.foreign.project_runner import ProjectRunner
    from msopgen_wrap.foreign.run_inputs import read_run_inputs

    if options["timeout"] is not None:
        os.environ["OPGEN_TIMEOUT"] = f"{options['timeout']:g}"
    given = read_run_inputs(
        options["op"],
        options["inputs"],
        options["outputs"],
        options["attrs"],
        options["case"],
        options["seed"],
    )
    quiet = options["as_json"]
    runner = ProjectRunner(
        root,
        soc=options["soc"],
        include_dirs=options["includes"],
        defines=options["defines"],
        progress=lambda text: None if quiet else output.echo(text, err=True),
    )
    done = runner.run(
        given.op,
        given.inputs,
        given.attrs,
        given.outputs,
        mode=options["mode"],
        block_dim=options["block_dim"],
    )
    saved = _save({**done.outputs, **done.changed}, options["save"]) if options["save"] else {}
    findings = done.result.findings
    _write_sarif(findings, options["sarif"])
    if options["as_json"]:
        output.print_json(_report(done, saved))
    else:
        _print(done, saved)
        _print_findings(findings)
    return output.FINDINGS if _has_errors(findings) else output.OK


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _save(outputs: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    saved: dict[str, list[str]] = {}
    for name, value in outputs.items():
        for index, tensor in enumerate(_items(value)):
            if tensor is None:
                continue
            stem = f"{name}_{index}" if isinstance(value, list) else name
            path = folder / f"{stem}.npy"
            tensor.save(path)
            saved.setdefault(name, []).append(str(path))
    return saved


def _report(done: Any, saved: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "ok": not _has_errors(done.result.findings),
        "op": done.op,
        "block_dim": done.result.block_dim,
        "tiling_key": done.result.tiling_key,
        "workspace_size": done.result.workspace_size,
        "tiling_data": done.result.tiling_bytes.hex(),
        "seconds": round(done.result.seconds, 6),
        "outputs": _tensor_reports(done.outputs),
        "changed_inputs": _tensor_reports(done.changed),
        "saved": saved,
        "findings": done.result.findings,
        "warnings": [d.as_dict() for d in done.warnings],
    }


def _tensor_reports(values: dict[str, Any]) -> dict[str, list[dict[str, Any] | None]]:
    return {name: [_tensor_report(t) for t in _items(value)] for name, value in values.items()}


def _tensor_report(tensor: Any) -> dict[str, Any] | None:
    if tensor is None:
        return None
    return {"dtype": tensor.dtype, "shape": list(tensor.shape)}


def _print(done: Any, saved: dict[str, list[str]]) -> None:
    output.print_diagnostics(done.warnings)
    result = done.result
    output.echo(
        f"{done.op}: block dim {result.block_dim}, tiling key {result.tiling_key}, "
        f"workspace {result.workspace_size} bytes, kernel {result.seconds * 1000:.2f} ms"
    )
    for name, value in {**done.outputs, **done.changed}.items():
        mark = " (input, written in place)" if name in done.changed else ""
        for tensor in _items(value):
            if tensor is not None:
                shape = f"{tensor.dtype}{list(tensor.shape)}"
                output.echo(f"  {name}{mark}: {shape}  {_glance(tensor)}")
        for path in saved.get(name, []):
            output.echo(f"    saved {path}")


def _glance(tensor: Any) -> str:
    values = tensor.to_float().reshape(-1)
    shown = " ".join(f"{v:.6g}" for v in values[:6])
    return shown + (" ..." if values.size > 6 else "")


# ---- findings ----------------------------------------------------------------------------------


def _has_errors(findings: list[dict[str, Any]]) -> bool:
    from msopgen_wrap.run.findings import errors, parse

    return bool(errors(parse(findings)))


def _print_findings(findings: list[dict[str, Any]]) -> None:
    from msopgen_wrap.run.findings import parse, render

    if findings:
        output.echo(render(parse(findings), relative_to=Path.cwd()), err=True)


def _write_sarif(findings: list[dict[str, Any]], path: Path | None) -> None:
    from msopgen_wrap.run.findings import parse, to_sarif

    if path is not None:
        path.write_text(to_sarif(parse(findings), root=Path.cwd()), encoding="utf-8")
