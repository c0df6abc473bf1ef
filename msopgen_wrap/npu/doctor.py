"""Checks of ``opgen doctor`` for torch_npu: which runtime it gets, and whether that works."""

from __future__ import annotations

from collections.abc import Iterator

from ..build.shared_object import read_symbols
from ..diagnostics import HealthCheck, OpgenError
from .runtime_build import TorchNpuWheel, build_runtime, find_wheel
from .selection import choose
from .torch_build import TESTED, build_problem, install_cure

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
