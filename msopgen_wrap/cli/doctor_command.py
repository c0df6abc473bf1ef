"""``opgen doctor``: what this machine has and lacks, each problem with its cure.

A provider is a function without arguments that yields ``HealthCheck``s; other areas add theirs to
``PROVIDERS``. A provider must not import torch or torch_npu into this process: an import that
hangs or crashes there must not take the doctor down (see ``probe``).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import HealthCheck, OpgenError

PROVIDERS = (
    "msopgen_wrap.cli.doctor_command:python_checks",
    "msopgen_wrap.cli.doctor_command:compiler_checks",
    "msopgen_wrap.cli.doctor_command:torch_checks",
    "msopgen_wrap.cli.doctor_command:cache_checks",
    "msopgen_wrap.cann.doctor:health_checks",
    "msopgen_wrap.npu.doctor:health_checks",
)
OK, WARNING, PROBLEM, ABSENT = "ok", "warning", "problem", "absent"
_PROBE_SECONDS = 120


def all_checks() -> Iterator[HealthCheck]:
    """Run every provider; one that fails gives a problem instead of stopping the others."""
    for path in PROVIDERS:
        module, _, name = path.partition(":")
        try:
            provider: Callable[[], Iterable[HealthCheck]] = getattr(
                importlib.import_module(module), name
            )
            yield from provider()
        except OpgenError as error:
            for diagnostic in error.diagnostics:
                yield HealthCheck(module, PROBLEM, diagnostic.what, diagnostic.fix)
        except Exception as error:
            detail = f"the check itself failed: {type(error).__name__}: {error}"
            yield HealthCheck(path, PROBLEM, detail, "report it with this line")


def probe(code: str, env: dict[str, str] | None = None) -> dict[str, object] | str:
    """Run Python ``code`` that prints one JSON object in a child; return it, or the error text."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            env={**os.environ, **(env or {})},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_PROBE_SECONDS} s"
    except OSError as error:
        return str(error)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return lines[-1] if lines else f"exit code {done.returncode}"
    try:
        value = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return "it printed no result"
    return value if isinstance(value, dict) else str(value)


def python_checks() -> Iterator[HealthCheck]:
    """Python version, and that the kit's data folders are installed."""
    from msopgen_wrap import __version__
    from msopgen_wrap.resources import data_dir

    version = ".".join(map(str, sys.version_info[:3]))
    yield HealthCheck("Python", OK, f"{version} ({sys.executable})")
    try:
        folders = [data_dir(name) for name in ("ascendc_kernels", "op_specs", "templates")]
        yield HealthCheck("opgen", OK, f"{__version__} ({folders[0].parent})")
    except FileNotFoundError as error:
        yield HealthCheck("opgen", PROBLEM, str(error), "pip install --force-reinstall opgen")


def compiler_checks() -> Iterator[HealthCheck]:
    """The C++ compiler that builds the emulation and the torch binding."""
    from msopgen_wrap.build.toolchain import find_toolchain

    try:
        tool = find_toolchain()
    except OpgenError as error:
        problem = error.diagnostics[0]
        yield HealthCheck("C++ compiler", PROBLEM, problem.what, problem.fix)
        return
    version = ".".join(map(str, tool.version))
    yield HealthCheck("C++ compiler", OK, f"{tool.family} {version} ({tool.cxx}, {tool.machine})")


def torch_checks() -> Iterator[HealthCheck]:
    """Whether torch imports here, without torch_npu being loaded along."""
    if importlib.util.find_spec("torch") is None:
        yield HealthCheck("torch", PROBLEM, "not installed", "pip install torch")
        return
    code = "import json, torch; print(json.dumps({'version': torch.__version__}))"
    found = probe(code, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    if isinstance(found, str):
        cure = "pip install --force-reinstall torch"
        yield HealthCheck("torch", PROBLEM, f"cannot be imported: {found}", cure)
        return
    version = str(found["version"])
    npu = _version("torch_npu")
    yield _torch_version_check(version, found, npu is not None)
    if npu is None:
        return
    base = version.split("+")[0]
    if npu.split(".")[:2] != base.split(".")[:2]:
        yield HealthCheck(
            "torch_npu version",
            PROBLEM,
            f"torch_npu {npu} does not fit torch {base}",
            f"pip install --no-deps torch_npu=={base}",
        )


def _torch_version_check(
    version: str, data: dict[str, object], beside_torch_npu: bool
) -> HealthCheck:
    from msopgen_wrap.npu import doctor
    from msopgen_wrap.torch_ext import torch_versions

    remark = torch_versions.remark(version)
    detail = f"{version} ({remark})" if remark else version
    if torch_versions.is_known(version):
        return HealthCheck("torch", OK, detail, data=data)
    # Beside torch_npu a plain `pip install torch` may bring a build that ends the process.
    cure = f"pip install torch=={torch_versions.TESTED}"
    if beside_torch_npu:
        cure = doctor.install_cure()
    return HealthCheck("torch", WARNING, detail, cure, data)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def cache_checks() -> Iterator[HealthCheck]:
    """Whether the build cache can be written, and how large it is."""
    from msopgen_wrap.build import cache

    try:
        folder: Path = cache.cache_dir()
    except OpgenError as error:
        problem = error.diagnostics[0]
        yield HealthCheck("build cache", PROBLEM, problem.what, problem.fix)
        return
    if cache.others_may_write(folder):
        yield HealthCheck(
            "build cache",
            PROBLEM,
            f"other users can change {folder}, and the kit runs what is in it",
            f"chmod go-w {folder}, or set OPGEN_CACHE_DIR to a folder of your own",
        )
        return
    size = sum(entry.size for entry in cache.entries())
    yield HealthCheck("build cache", OK, f"{folder} ({size / 2**20:.0f} MiB)")


_MARKS = {OK: "ok", WARNING: "warn", PROBLEM: "FAIL", ABSENT: "-"}
_ROLES = {OK: "ok", WARNING: "warning", PROBLEM: "problem", ABSENT: "absent"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(as_json: bool) -> int:
    """Check compiler, torch, torch_npu, CANN, ASCEND_* variables and installed vendors.

    Exit code: 0 nothing fails, 3 something will fail. "-" marks optional parts that are absent.
    """
    checks = []
    for check in all_checks():
        checks.append(check)
        if as_json:
            continue
        mark = output.styled(f"{_MARKS.get(check.status, check.status):>4s}", _ROLES[check.status])
        output.echo(f"{mark}  {check.name}: {check.detail}")
        if check.cure:
            output.echo("\n".join(f"        cure: {row}" for row in check.cure.splitlines()))
    problems = [c for c in checks if c.status == PROBLEM]
    if as_json:
        output.print_json({"ok": not problems, "checks": [vars(c) for c in checks]})
    else:
        word = "problem" if len(problems) == 1 else "problems"
        output.echo(f"{len(problems)} {word}" if problems else "no problems")
    return output.ENVIRONMENT if problems else output.OK
