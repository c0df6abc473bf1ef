"""Unit tests in op repositories: what their build files would add.

Such a test (``<op>/tests/ut/op_host/test_<op>_tiling.cpp``) builds a context with CANN's builders
or the repository's own helpers around them, looks the op's functions up in the registry and calls
them. Its build links it with the host library of all ops and with the helpers; here that is the
host library of its own op and the sources beside the helpers' headers.

A test of a kernel (``<op>/tests/ut/op_kernel/*.cpp``) calls it through ``tikicpulib.h``. Its
build compiles the kernel with the macros that the CMakeLists.txt beside the test gives
(``AddOpTestCase``) and with the tiling structs of op_host.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.emulation_library import include_dirs as emulation_includes
from msopgen_wrap.build.kernel_tiling import kernel_tiling_header
from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.combinations import combos
from msopgen_wrap.foreign.host_library import build_host_library
from msopgen_wrap.foreign.op_project import OpProject, loose_name, open_project
from msopgen_wrap.foreign.program_sources import cmake_text
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.foreign.repository_sources import HOST_SUFFIXES, IncludeFinder, repository_root
from msopgen_wrap.platforms import platform

_LEVELS = 5
_WORD = re.compile(r"\w+")
# Functions that a source defines, outside classes.
_DEFINED = re.compile(r"^[\w:<>,&*~ \t]*?\b(\w+)\s*\([^;{}]*\)[^;{}()]*\{", re.MULTILINE)
_CALLED = re.compile(r"\bICPU_RUN_KF\s*\(\s*(\w+)|__aicore__\s+void\s+(\w+)\s*\([^)]*\)\s*;")
_SOURCE_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+\.cpp)[">]', re.MULTILINE)
_STRUCT = re.compile(r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(\w+)")
_OWN_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{")
_DTYPE = re.compile(r"\b((?:ORIG_)?DTYPE_\w+)")
_CASE = re.compile(r'\bAddOpTestCase\s*\(\s*(\w+)\s+"[^"]*"\s+"([^"]*)"')


@dataclass(frozen=True)
class UnitTest:
    """What a test is compiled and linked with.

    Attributes:
        root: the op's folder.
        include_dirs: of the op and of the helpers.
        sources: of the helpers, and the tested kernel.
        library: the op's host library; None in a test of a kernel that does not ask for tiling.
        defines: macros of the build files.
        include_files: headers that every source sees first.
    """

    root: Path
    include_dirs: tuple[Path, ...]
    sources: tuple[Path, ...]
    library: Path | None = None
    defines: tuple[str, ...] = ()
    include_files: tuple[Path, ...] = ()


def tested_op(source: Path, side: str = "op_host") -> Path | None:
    """Return the folder of the op that a source tests, None when it is no such test.

    Args:
        side: what it tests: ``op_host`` or ``op_kernel``.
    """
    path = source.resolve()
    for parent in list(path.parents)[:_LEVELS]:
        inside = path.relative_to(parent).parts[:-1]
        tests = side in inside and set(inside) & {"tests", "test", "ut"}
        if tests and all((parent / name).is_dir() for name in ("op_host", "op_kernel")):
            return parent
    return None


@contextlib.contextmanager
def build_folder(root: Path) -> Iterator[Path]:
    """Yield a folder to run a kernel's test in, which lies as in a build of the repository.

    Tests copy their data from ``../../../../<class>/<op>/tests``, seen from
    ``build/tests/ut/op_kernel``. The repository itself is only linked to.

    Args:
        root: the op's folder.
    """
    repository = repository_root(root)
    with tempfile.TemporaryDirectory(prefix="opgen-test-") as scratch:
        for entry in repository.iterdir():
            if entry.name != "build":
                (Path(scratch) / entry.name).symlink_to(entry)
        place = Path(scratch, "build", "tests", "ut", "op_kernel")
        place.mkdir(parents=True)
        yield place


def host_test(
    root: Path,
    sources: Sequence[Path],
    *,
    soc: str,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> UnitTest:
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
    helpers, found = _helpers(finder, sources, found)
    folders = dict.fromkeys([*include_dirs, *found, *project.include_dirs])
    named = (f"BUILD_SOC_VERSION={platform(soc).family}",)
    return UnitTest(root, tuple(folders), tuple(helpers), library, named)


def kernel_test(
    root: Path,
    source: Path,
    *,
    soc: str,
    include_dirs: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> UnitTest:
    """Find what a test of an op's kernel needs.

    Args:
        root: the op's folder (op_host, op_kernel).
        source: the test.
        soc, include_dirs: the user's.

    Raises:
        OpgenError: as of :func:`open_project`.
    """
    project = open_project(root, include_dirs)
    # The flat tree of kernels first: tests include kernels as these include one another.
    known = [*include_dirs, *project.kernel_include_dirs, *emulation_includes()]
    finder = IncludeFinder(repository_root(root), known, side="op_kernel", tests=True)
    path = source.resolve()
    helpers, found = _helpers(finder, [path], finder.folders([path]))
    text = blank_comments(path.read_text(encoding="utf-8", errors="replace"), strings=False)
    kernels = _called_kernels(project, text)
    headers = [p for k in kernels for p in path.parent.glob(f"{k.stem}_tiling_def.h")]
    defines = [f'UT_SOC_VERSION="{platform(soc).family}"', *_test_macros(path, kernels)]
    inside = [path.parent / n for n in _SOURCE_INCLUDE.findall(text)]
    texts = [_read(p) for p in (*kernels, *inside) if p.is_file()]
    used = {m for text in texts for m in _DTYPE.findall(text)}
    missing = used - {d.partition("=")[0] for d in defines}
    registered = _registered_structs(project)
    if not headers:
        # A test may declare the structs itself; the kernel sees them as well.
        reached = [p for p in finder.reached() if p.suffix not in HOST_SUFFIXES]
        headers = [p for p in reached if registered & set(_OWN_STRUCT.findall(_read(p)))][:1]
    structs = not headers and bool(registered)
    if missing or structs:
        progress("compiling op_host for the kernel's data types and tiling structs")
        # What op_host does not tell, the kernel may do without.
        with contextlib.suppress(OpgenError):
            more, header = _declared(root, [*kernels, *inside], soc, include_dirs)
            defines += [d for d in more if d.partition("=")[0] in missing]
            headers += [header] if structs and header is not None else []
    library = None
    if any("op_impl_space_registry" in _read(p) for p in (path, *helpers)):
        progress("compiling op_host")
        library = build_host_library(project, (), progress)
    folders = dict.fromkeys([*include_dirs, *found, *project.kernel_include_dirs])
    sources = (*kernels, *helpers)
    return UnitTest(root, tuple(folders), sources, library, tuple(defines), tuple(headers))


def _called_kernels(project: OpProject, text: str) -> list[Path]:
    """Return the kernels that a test calls and does not include."""
    kernels = []
    for name in dict.fromkeys(a or b for a, b in _CALLED.findall(text)):
        with contextlib.suppress(OpgenError):
            kernels.append(project.kernel(name).path)
    included = {Path(n).name for n in _SOURCE_INCLUDE.findall(text)}
    return [k.resolve() for k in dict.fromkeys(kernels) if k.name not in included]


def _registered_structs(project: OpProject) -> set[str]:
    """Return the names of the tiling structs that op_host registers."""
    host = {f for p in project.host_sources for f in (p, *p.parent.glob("*.h"))}
    return {name for p in host for name in _STRUCT.findall(_read(p))}


def _declared(
    root: Path, kernels: Sequence[Path], soc: str, include_dirs: Sequence[Path]
) -> tuple[list[str], Path | None]:
    """Return the macros of an op's first data types and the header of its tiling structs."""
    from msopgen_wrap.build.kernel_tiling import kernel_tiling_header
    from msopgen_wrap.foreign.project_runner import ProjectRunner

    runner = ProjectRunner(root, soc=soc, include_dirs=include_dirs)
    stems = {loose_name(k.stem) for k in kernels}
    op = next((o for o in runner.ops if loose_name(o) in stems), runner.ops[0])
    header = kernel_tiling_header(
        op, runner.runtime.tiling_defs(), kernel=next(iter(kernels), None)
    )
    return combos(runner.declaration(op), runner.platform.name)[0].defines, header


def _helpers(
    finder: IncludeFinder, sources: Sequence[Path], found: list[Path]
) -> tuple[list[Path], list[Path]]:
    """Return the sources of helpers whose functions are used, and all include folders."""
    given = {p.resolve() for p in sources}
    words = {w for p in given for w in _WORD.findall(_read(p))}
    helpers: list[Path] = []
    while more := [
        p
        for p in finder.companions()
        if p not in given and p not in helpers and words & set(_DEFINED.findall(_read(p)))
    ]:
        helpers += more
        words |= {w for p in more for w in _WORD.findall(_read(p))}
        found = finder.folders(more)
    return helpers, found


def _test_macros(test: Path, kernels: Sequence[Path]) -> list[str]:
    """Return the macros that the build file beside a test compiles the kernel with."""
    names = {k.stem for k in kernels}
    cases = _CASE.findall(cmake_text(test.parent))
    chosen = [options for name, options in cases if name in names] or [o for _, o in cases]
    options = chosen[0] if chosen else ""
    return [m for m in re.findall(r"-D\s*([^\s\"]+)", options) if not m.startswith("UT_CUSTOM")]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def project_tiling_header(
    root: Path,
    *,
    op: str | None,
    soc: str,
    include_dirs: Sequence[Path] = (),
    kernels: Sequence[Path] = (),
) -> Path:
    """Compile a project's op_host and return the header with its tiling structs.

    CANN's cmake makes such a header for unit tests of kernels whose tiling is declared with
    ``BEGIN_TILING_DATA_DEF`` on the host.

    Args:
        root: folder with ``op_host/`` and ``op_kernel/``.
        op: op type; None when the project has one op.
        soc, include_dirs: as for the program.
        kernels: sources that may define the struct themselves.

    Raises:
        OpgenError: as of :class:`ProjectRunner`; OPG907, the op registers no struct.
    """
    runner = ProjectRunner(root, soc=soc, include_dirs=include_dirs)
    name = runner.declaration(op)["op"]
    own = [p for p in kernels if root.resolve() in p.resolve().parents]
    kernel = next((p for p in own if "op_kernel" in p.resolve().parts), None)
    header = kernel_tiling_header(name, runner.runtime.tiling_defs(), kernel=kernel)
    if header is None:
        raise OpgenError(
            Diagnostic(
                "OPG907",
                f"op_host registers no tiling struct of op {name}",
                Location(str(root / "op_host")),
                why=f"no REGISTER_TILING_DATA_CLASS({name}, ...) is there",
                fix="leave --tiling-from out when the kernel includes the struct's header itself",
            )
        )
    return header
