"""Which runtime torch_npu gets, CANN's own or the emulation, and programs started with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, OpgenError
from ..platforms import platform

#: Environment variable with the wish: ``auto`` (default), ``emulation`` or ``real``.
WISH = "OPGEN_NPU"
_WISHES = ("auto", "emulation", "real")
_LIBRARY = "libascendcl.so"


@dataclass(frozen=True)
class RuntimeChoice:
    """Which runtime torch_npu gets.

    Attributes:
        kind: ``real`` or ``emulation``.
        reason: one sentence for people.
        library: the real libascendcl.so, when one was found.
    """

    kind: str
    reason: str
    library: Path | None = None

    @property
    def emulated(self) -> bool:
        """Whether the emulation is used."""
        return self.kind == "emulation"


def find_real_runtime() -> Path | None:
    """Return a real ``libascendcl.so`` the dynamic loader or ``ASCEND_HOME_PATH`` leads to.

    Libraries of this kit (built in its cache or bundled in a package) do not count.
    """
    for library in [*(f / _LIBRARY for f in _candidate_folders()), *_loader_cache()]:
        if library.exists() and not is_emulated_library(library):
            return library
    return None


def find_unset_cann() -> Path | None:
    """Return a CANN install in the usual place that the environment does not point to."""
    for home in ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann"):
        library = Path(home) / "lib64" / _LIBRARY
        if library.exists():
            return Path(home)
    return None


def _loader_cache() -> list[Path]:
    """Libraries of that name the dynamic loader knows from ld.so.conf."""
    try:
        data = Path("/etc/ld.so.cache").read_bytes()
    except OSError:
        return []
    pattern = rb"(/[^\0]*/" + re.escape(_LIBRARY.encode()) + rb")\0"
    return [Path(os.fsdecode(match)) for match in re.findall(pattern, data)]


def _candidate_folders() -> list[Path]:
    folders = [Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if p]
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        home = os.environ.get(variable)
        if home:
            folders += [Path(home) / part for part in ("lib64", "runtime/lib64")]
    return folders


def is_emulated_library(library: Path) -> bool:
    """Whether this file is the kit's own libascendcl (it exports ``opgen_acl_set_error``)."""
    from ..build.shared_object import read_symbols

    try:
        return "opgen_acl_set_error" in read_symbols(library).defined
    except (OSError, ValueError):
        return False


def choose() -> RuntimeChoice:
    """Choose by ``OPGEN_NPU`` and by what is installed.

    Raises:
        OpgenError: OPG705 when ``OPGEN_NPU`` has another value.
    """
    wish = os.environ.get(WISH, "") or "auto"
    if wish not in _WISHES:
        raise OpgenError(
            Diagnostic(
                "OPG705",
                f"{WISH}={wish} is not understood",
                why="the runtime under torch_npu is chosen by it",
                fix=f"set it to one of: {', '.join(_WISHES)}",
            )
        )
    real = find_real_runtime()
    if wish == "emulation":
        note = f"; the real CANN runtime {real} is left alone" if real else ""
        return RuntimeChoice("emulation", f"asked for by {WISH}=emulation{note}", real)
    if wish == "real":
        return RuntimeChoice("real", f"asked for by {WISH}=real", real)
    if real:
        return RuntimeChoice("real", f"a CANN runtime is installed: {real}", real)
    unset = find_unset_cann()
    if unset:
        return RuntimeChoice(
            "emulation",
            f"{unset} is installed but not set up in this shell (source its set_env.sh to use it)",
        )
    return RuntimeChoice("emulation", "no CANN runtime (libascendcl.so) was found")


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
