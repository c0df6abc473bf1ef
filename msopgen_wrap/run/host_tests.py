"""Unit tests of op_host in op repositories: what their build files would add.

Such a test (``<op>/tests/ut/op_host/test_<op>_tiling.cpp``) builds a context with CANN's builders
or the repository's own helpers around them, looks the op's functions up in the registry and calls
them. Its build links it with the host library of all ops and with the helpers; here that is the
host library of its own op and the sources beside the helpers' headers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.emulation import include_dirs as emulation_includes
from msopgen_wrap.platforms import platform
from msopgen_wrap.run.host_library import build_host_library
from msopgen_wrap.run.include_finder import IncludeFinder, repository_root
from msopgen_wrap.run.op_project import open_project

_LEVELS = 5


@dataclass(frozen=True)
class HostTest:
    """What a test of op_host is compiled and linked with.

    Attributes:
        root: the op's folder.
        include_dirs: of the op and of the helpers.
        sources: of the helpers.
        library: the op's host library.
        defines: macros of the build files that name the SoC.
    """

    root: Path
    include_dirs: tuple[Path, ...]
    sources: tuple[Path, ...]
    library: Path
    defines: tuple[str, ...] = ()


def tested_op(source: Path) -> Path | None:
    """Return the folder of the op whose op_host a source tests, None when it is no such test."""
    path = source.resolve()
    for parent in list(path.parents)[:_LEVELS]:
        inside = path.relative_to(parent).parts[:-1]
        tests = "op_host" in inside and set(inside) & {"tests", "test", "ut"}
        if tests and all((parent / name).is_dir() for name in ("op_host", "op_kernel")):
            return parent
    return None


def host_test(
    root: Path,
    sources: Sequence[Path],
    *,
    soc: str,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> HostTest:
    """Find and build what tests of an op's host functions need.

    Args:
        root: the op's folder (op_host, op_kernel).
        sources: of the test program.
        soc: exact or family name.
        include_dirs, defines: the user's.

    Raises:
        OpgenError: as of :func:`open_project` and :func:`build_host_library`.
    """
    project = open_project(root, include_dirs)
    progress("compiling op_host")
    library = build_host_library(project, defines, progress)
    known = [*include_dirs, *project.include_dirs, *emulation_includes()]
    finder = IncludeFinder(repository_root(root), known, side="op_host", tests=True)
    found = finder.folders([p.resolve() for p in sources])
    helpers: list[Path] = []
    given = {p.resolve() for p in sources}
    while more := [p for p in finder.companions() if p not in given and p not in helpers]:
        helpers += more
        found = finder.folders(more)
    folders = dict.fromkeys([*include_dirs, *found, *project.include_dirs])
    named = (f"BUILD_SOC_VERSION={platform(soc).family}",)
    return HostTest(root, tuple(folders), tuple(helpers), library, named)
