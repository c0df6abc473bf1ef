"""Compile the aclnn library of a project for the CPU target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.model import OpSpec


def _flags() -> list[str]:
    """Hidden and not unique: two vendors' libraries in one process each keep their own state."""
    from msopgen_wrap.build.toolchain import find_toolchain

    # clang has neither the flag nor the unique symbols.
    unique = [] if find_toolchain().family == "clang" else ["-fno-gnu-unique"]
    return ["-fvisibility=hidden", *unique]


def nnopbase_dir() -> Path:
    """Return the folder of the aclnn base sources."""
    return data_dir("ascendc_kernels") / "emulation" / "runtime" / "nnopbase"


def build_opapi(project: Path, specs: Sequence[OpSpec], *, portable: bool = False) -> Path:
    """Return ``libcust_opapi.so`` for the ops of a project, in the build cache.

    The aclnn base (descriptors, executors, calls) is linked in, so the library does not depend on
    which ``libnnopbase.so`` a process has loaded; it needs only the emulation library. It finds
    ``op_impl/.../kernel/opgen_kernels.txt`` relative to itself at the first call.

    Args:
        project: root of the generated project (``op_api/aclnn_<op>.cpp``).
        specs: its ops.
        portable: for a package: no folder of this machine in the result.

    Raises:
        OpgenError: OPG322, a source is missing; OPG303, it does not compile.
    """
    from msopgen_wrap.build.emulation import compile_shared
    from msopgen_wrap.build.warning_flags import generated_sources

    sources = [project / "op_api" / f"aclnn_{spec.name}.cpp" for spec in specs]
    for source in sources:
        if not source.is_file():
            raise OpgenError(
                Diagnostic(
                    "OPG322",
                    f"the project has no {source.relative_to(project)}",
                    Location(str(source)),
                    why="the aclnn functions of the CPU target are generated into op_api/",
                    fix="run 'opgen new' again on the project's specs",
                )
            )
    base = nnopbase_dir()
    return compile_shared(
        [*sources, *sorted(base.glob("*.cpp"))],
        include_dirs=[project / "op_api", base],
        output_name="libcust_opapi.so",
        opt="-O2",
        portable=portable,
        flags=_flags(),
        link_flags=["-ldl"],
        own=generated_sources(project, sources),
    )
