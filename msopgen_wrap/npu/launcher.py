"""Environment and start of programs under ``opgen exec``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..diagnostics import Diagnostic, OpgenError
from ..platforms import platform
from .selection import WISH, RuntimeChoice, choose

_HOOK = Path(__file__).resolve().parent / "hook"


def child_environment(
    environment: dict[str, str],
    *,
    wish: str | None = None,
    soc: str | None = None,
    devices: int | None = None,
    memory: str | None = None,
    check: bool = False,
) -> tuple[dict[str, str], RuntimeChoice]:
    """Return the environment for a child process and the runtime it will get.

    Args:
        environment: the parent's; not changed.
        wish: value for ``OPGEN_NPU``, None keeps the parent's.
        soc: value for ``OPGEN_SOC``.
        devices: value for ``OPGEN_NPU_DEVICES``.
        memory: bytes per device for ``OPGEN_NPU_MEMORY``; suffixes K, M, G.
        check: run custom-op kernels under the sanitizer (``OPGEN_EMULATION=check``).

    Raises:
        OpgenError: OPG501 (unknown SoC), OPG705 (``OPGEN_NPU``).
    """
    child = dict(environment)
    if soc:
        platform(soc)
    values = {
        WISH: wish,
        "OPGEN_SOC": soc,
        "OPGEN_NPU_DEVICES": str(devices) if devices else None,
        "OPGEN_NPU_MEMORY": memory,
        "OPGEN_EMULATION": "check" if check else None,
    }
    child.update({name: value for name, value in values.items() if value})
    saved = os.environ.get(WISH)
    try:
        if WISH in child:
            os.environ[WISH] = child[WISH]
        choice = choose()
    finally:
        if saved is None:
            os.environ.pop(WISH, None)
        else:
            os.environ[WISH] = saved
    if choice.emulated:
        paths = [str(_HOOK), *filter(None, [child.get("PYTHONPATH")])]
        child["PYTHONPATH"] = os.pathsep.join(paths)
        # For C++ programs linked with -lascendcl; Python preloads its own flavour.
        from .runtime_build import build_runtime, library_path

        child["LD_LIBRARY_PATH"] = library_path(build_runtime(), child.get("LD_LIBRARY_PATH", ""))
        # torch loads torch_npu by itself when it is installed; that must not be switched off.
        child.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    return child, choice


def _with_our_python(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment with the Python that opgen runs under first in PATH.

    Outside an activated environment ``python`` leads to one without torch and torch_npu, or to
    none. An environment that is activated decides by itself, for scripts that start Python too.
    """
    path = environment.get("PATH", os.defpath)
    folder = Path(sys.executable).parent
    activated = environment.get("VIRTUAL_ENV") or environment.get("CONDA_PREFIX")
    found = shutil.which("python", path=path) or shutil.which("python3", path=path)
    if activated and found and Path(found).is_relative_to(Path(activated).absolute()):
        return environment
    return {**environment, "PATH": os.pathsep.join([str(folder), path])}


def run(command: list[str], environment: dict[str, str]) -> int:
    """Run a command to its end and return its exit code (128 + signal when killed).

    Raises:
        OpgenError: OPG707 when the program does not exist.
    """
    program = command[0]
    environment = _with_our_python(environment)
    if program in ("python", "python3"):
        # The interpreter's folder need not have both names.
        found = shutil.which(program, path=environment["PATH"])
        command = [found or sys.executable, *command[1:]]
    try:
        code = subprocess.call(command, env=environment)
    except OSError as error:
        raise OpgenError(
            Diagnostic(
                "OPG707",
                f"cannot start {program}: {error.strerror}",
                fix="give the program after `--`, e.g. `opgen exec -- python train.py`",
            )
        ) from error
    return code if code >= 0 else 128 - code
