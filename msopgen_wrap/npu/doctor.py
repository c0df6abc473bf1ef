"""Whether torch_npu can work here: the runtime it gets, and the build of torch beside it.

torch_npu and the CUDA part of torch both register their allocator's options in one table of
libc10, which ends the process at a key that is there already ("Duplicated key").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..build.shared_object import read_symbols
from ..diagnostics import Diagnostic, HealthCheck, OpgenError
from ..torch_ext.torch_versions import TESTED
from .runtime_build import TorchNpuWheel, build_runtime, find_wheel
from .selection import choose

_TABLE = "AcceleratorAllocatorConfig"


def install_cure(version: str = TESTED) -> str:
    """Return how to install torch_npu and the torch build it needs."""
    return (
        f"install the CPU build of torch {version}: choose CPU as the compute platform on the "
        f"Get Started page of pytorch.org, add =={version} to torch in its pip command, and run\n"
        "it with --force-reinstall (a plain `pip install torch` may bring the CUDA build); then\n"
        f"pip install --no-deps torch_npu=={version}"
    )


def cuda_version(torch: Path) -> str:
    """Return the CUDA version that the torch in this folder is built with, "" for a CPU build."""
    try:
        text = (torch / "version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", text, re.M)
    return found[1] if found else ""


def build_problem(wheel: TorchNpuWheel) -> Diagnostic | None:
    """Return OPG708 when importing torch_npu would terminate the process, else None.

    Nothing is imported.
    """
    cuda = cuda_version(wheel.torch)
    if not cuda or not _shares_the_table(wheel):
        return None
    return Diagnostic(
        "OPG708",
        f"torch is built for CUDA {cuda}; torch_npu {wheel.version} cannot be loaded beside it",
        why="both register the same allocator options, and the second one ends the process "
        "(terminate called ... Duplicated key)",
        fix=install_cure(wheel.version.split("+")[0]),
    )


def check_build(wheel: TorchNpuWheel | None) -> None:
    """Raise OpgenError (OPG708) for a pair that :func:`build_problem` refuses."""
    problem = build_problem(wheel) if wheel is not None else None
    if problem is not None:
        raise OpgenError(problem)


def _shares_the_table(wheel: TorchNpuWheel) -> bool:
    """Whether this torch_npu registers in libc10's table; older ones have a table of their own."""
    try:
        symbols = read_symbols(wheel.folder / "lib" / "libtorch_npu.so")
    except (OSError, ValueError):
        return True
    return any(_TABLE in name for name in symbols.undefined)


_OK, _WARNING, _PROBLEM, _ABSENT = "ok", "warning", "problem", "absent"


def health_checks() -> Iterator[HealthCheck]:
    """Say which runtime torch_npu would use here and why, and check that it fits.

    Nothing of torch is imported; the emulated runtime is built when it is the one in use.
    """
    wheel = find_wheel()
    if wheel is None:
        yield HealthCheck(
            "torch_npu",
            _ABSENT,
            "not installed: models on the npu device cannot run here",
            "pip install 'opgen[npu]'",
        )
        return
    status = _OK if wheel.version.split("+")[0] == TESTED else _WARNING
    cure = "" if status == _OK else install_cure()
    detail = wheel.version if status == _OK else f"{wheel.version}; tested is {TESTED}"
    yield HealthCheck("torch_npu", status, detail, cure, {"path": str(wheel.folder)})
    problem = build_problem(wheel)
    if problem is not None:
        yield HealthCheck("torch_npu and torch", _PROBLEM, problem.what, problem.fix)
        return
    try:
        choice = choose()
    except OpgenError as error:
        wrong = error.diagnostics[0]
        yield HealthCheck("npu runtime", _PROBLEM, wrong.what, wrong.fix)
        return
    data: dict[str, object] = {"kind": choice.kind, "library": str(choice.library or "")}
    yield HealthCheck("npu runtime", _OK, f"{choice.kind}: {choice.reason}", "", data)
    if choice.emulated:
        yield _emulation_check(wheel)
    elif choice.library is None:
        yield HealthCheck(
            "libascendcl.so",
            _PROBLEM,
            "OPGEN_NPU=real, but no CANN runtime can be found",
            "source /usr/local/Ascend/ascend-toolkit/set_env.sh, or unset OPGEN_NPU",
        )


def _emulation_check(wheel: TorchNpuWheel) -> HealthCheck:
    try:
        runtime = build_runtime(wheel)
    except OpgenError as error:
        problem = error.diagnostics[0]
        return HealthCheck("npu emulation", _PROBLEM, problem.what, problem.fix)
    exported = read_symbols(runtime.folder / "libascendcl.so").defined
    return HealthCheck(
        "npu emulation",
        _OK,
        f"libascendcl and its facades are built ({len(exported)} symbols)",
        "",
        {"folder": str(runtime.folder)},
    )
