"""Decide between the real CANN runtime and the emulation, and say why."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, OpgenError

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
