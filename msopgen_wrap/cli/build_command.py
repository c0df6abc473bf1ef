"""``opgen build``: a project to an installable package, for the CPU emulation or for the NPU."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import output_folder
from msopgen_wrap.manifest import MANIFEST

if TYPE_CHECKING:
    from msopgen_wrap.manifest import ProjectTree


@click.command("build")
@click.argument("project", default=".", type=click.Path(path_type=Path))
@click.option(
    "--target",
    type=click.Choice(["cpu", "npu", "onnxruntime", "tensorflow", "tflite"]),
    default="cpu",
    show_default=True,
    help="cpu: emulated kernels; npu: built by CANN, where CANN is; onnxruntime, tensorflow, "
    "tflite: a library of custom ops, with the emulated kernels beside it.",
)
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the package; default: PROJECT/dist.",
)
@click.option(
    "--install",
    "install_path",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also install the package to this folder (as --install-path).",
)
@click.option(
    "--baseline",
    is_flag=True,
    help="cpu: for any CPU of the architecture; default: with AVX2 where this machine has it.",
)
@click.option(
    "--cann",
    type=click.Path(file_okay=False, path_type=Path),
    help="npu: the CANN to build with; default: ASCEND_HOME_PATH.",
)
@click.option(
    "--tensorflow",
    "tensorflow_python",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PYTHON",
    help="tensorflow: the Python whose TensorFlow to build for; default: the one that runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    project: Path,
    target: str,
    out: Path | None,
    install_path: Path | None,
    baseline: bool,
    cann: Path | None,
    tensorflow_python: Path | None,
    as_json: bool,
) -> None:
    """Build the package (.run) of a PROJECT made by `opgen new`; default: the current folder.

    With --target onnxruntime: lib<vendor>_ort.so for ONNX Runtime, no package. With tensorflow or
    tflite: lib<vendor>_tf.so or lib<vendor>_tflite.so, and a Python module that loads it.

    Exit code: 0 built, 1 a source or CANN's build failed, 2 wrong usage, 3 the machine lacks a
    compiler or CANN (the message says what, and what to run where).
    """
    from msopgen_wrap.build import toolchain
    from msopgen_wrap.manifest import read_project

    if baseline:
        os.environ[toolchain.ENVIRONMENT] = "baseline"

    if target in DOORS and install_path is not None:
        raise click.UsageError(f"--install is for packages; --target {target} makes a library")
    if tensorflow_python is not None and target != "tensorflow":
        raise click.UsageError("--tensorflow is for --target tensorflow")
    tree = read_project(project)
    folder = out or project / "dist"
    started = time.perf_counter()

    def progress(text: str) -> None:
        if not as_json:
            output.echo(f"  {text}", err=True)

    if target == "cpu":
        from msopgen_wrap.package.builder import build_cpu_package

        result = build_cpu_package(tree, folder, progress=progress).as_dict()
    elif target in DOORS:
        result = DOORS[target](tree, folder, progress=progress, python=tensorflow_python)
    else:
        result = _build_npu(tree, folder, cann, progress)
    result["seconds"] = round(time.perf_counter() - started, 2)
    if target in DOORS:
        _report_door(result, as_json)
        return
    run = Path(str(result["run"]))
    if install_path is not None:
        from msopgen_wrap.package.builder import install_package

        printed = install_package(run, install_path)
        result["installed"] = str(install_path.absolute() / "vendors" / tree.vendor)
        if not as_json:
            output.echo(printed.rstrip())
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    size = int(str(result["bytes"])) / 1024
    output.echo(f"{run} ({size:.0f} KB, {result['seconds']} s)")
    if install_path is None:
        output.echo(f"install it: sh {run} --install-path=$HOME/ascend_custom_opp")


def _build_onnxruntime(
    tree: ProjectTree, folder: Path, *, progress: Callable[[str], None], python: Path | None
) -> dict[str, object]:
    from msopgen_wrap.doors.onnxruntime import build_onnxruntime

    built = build_onnxruntime(tree, folder, progress=progress)
    return {
        **built.as_dict(),
        "use": f"SessionOptions().register_custom_ops_library({str(built.library)!r})",
    }


def _build_tensorflow(
    tree: ProjectTree, folder: Path, *, progress: Callable[[str], None], python: Path | None
) -> dict[str, object]:
    from msopgen_wrap.doors.tensorflow_build import build_tensorflow

    built = build_tensorflow(tree, folder, python=python, progress=progress)
    use = f"PYTHONPATH={folder} {python or 'python'} -c 'import {built.module.stem}'"
    return {**built.as_dict(), "use": use}


def _build_tflite(
    tree: ProjectTree, folder: Path, *, progress: Callable[[str], None], python: Path | None
) -> dict[str, object]:
    from msopgen_wrap.doors.tflite_build import build_tflite

    built = build_tflite(tree, folder, progress=progress)
    use = f"Interpreter(..., experimental_delegates=[load_delegate({str(built.library)!r})])"
    return {**built.as_dict(), "use": use}


#: Targets that are libraries of other frameworks: (project, folder, progress) -> JSON form, with
#: ``library`` and one line of ``use``.
DOORS: dict[str, Callable[..., dict[str, object]]] = {
    "onnxruntime": _build_onnxruntime,
    "tensorflow": _build_tensorflow,
    "tflite": _build_tflite,
}


def _report_door(result: dict[str, object], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    size = int(str(result["bytes"])) / 1024
    output.echo(f"{result['library']} ({size:.0f} KB, {result['seconds']} s)")
    output.echo(f"use it: {result['use']}")


def _build_npu(tree, folder, cann, progress) -> dict[str, object]:  # type: ignore[no-untyped-def]
    import shutil

    from msopgen_wrap.cann.npu_build import (
        NpuPackage,
        build_npu_package,
        cannot_build,
        missing_for_build,
        prepare_npu_project,
    )
    from msopgen_wrap.cann_discovery import find_cann, require_cann

    found = require_cann(cann) if cann else find_cann()
    work = folder / f"npu_{tree.vendor}"
    if (work / MANIFEST).is_file():
        shutil.rmtree(work)  # of an earlier build; anything else there is the user's
    output_folder(folder)
    progress(f"project for CANN in {work}")
    through_msopgen = prepare_npu_project(tree, found, work)
    if found is None or missing_for_build(found):
        raise cannot_build(tree, found, work)
    built = build_npu_package(tree, found, work, progress=progress)
    run = folder / built.name
    shutil.copyfile(built, run)
    run.chmod(0o755)
    return NpuPackage(work, run, found.version or "", through_msopgen).as_dict()
