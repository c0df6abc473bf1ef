"""Find a CANN install or file tree and say which parts of it are there.

Nothing is assumed about completeness: a tree unpacked without its symbolic links, a toolkit without
the CPU-debug headers or an asc-devkit source checkout all give a ``CannTree`` whose ``missing``
names what the caller cannot do with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.resources import data_dir

# Folders below which no header or tool of interest lives; skipping them keeps the search short.
_PRUNE = {
    *(".git", "built-in", "lib64", "simulator", "conf", "data", "docs", "tests", "test-ops"),
    *("python", "opp", "tools", "driver", "dcmi", "examples"),
}
_DEPTH = 5

#: What checks are made against, and how reports call it.
PARTS = {
    "op_host": "op_host, plugins and prototypes",
    "kernel": "kernels",
    "debug": "CPU-debug headers of kernels",
    "msopgen": "msopgen",
}

_HOST_MARK = Path("register/op_def_registry.h")
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.([0-9A-Za-z.]+))?")


@dataclass(frozen=True)
class Origin:
    """Where a part of a tree comes from: ``op_host``, ``kernel``, ``debug`` or ``msopgen``."""

    part: str
    root: Path
    version: str | None

    @property
    def text(self) -> str:
        """Version and root, for people."""
        return f"CANN {self.version or 'of unknown version'} ({self.root})"


@dataclass(frozen=True)
class CannTree:
    """The parts of CANN found under one root; an absent part is None or an empty tuple.

    Attributes:
        root: what ``ASCEND_HOME_PATH`` would be (``.../ascend-toolkit/8.1.RC1``).
        version: ``8.1.RC1``; None when no version file is there.
        host_includes: for op_host sources.
        kernel_includes: for kernels, in search order.
        debug_includes: the CPU-debug stubs (``tikicpulib``) that a host compiler needs.
        msopgen: the msopgen script.
        site_packages: folder to put on ``PYTHONPATH`` for it.
        op_build: the opbuild binary.
        project_template: ``op_project_templates/ascendc/customize``.
        bisheng: the device compiler.
        forced_include: header to put before a kernel, when parts of two versions are combined.
        origins: which CANN each part is of; a part that is absent has none.
    """

    root: Path
    version: str | None
    host_includes: tuple[Path, ...]
    kernel_includes: tuple[Path, ...]
    debug_includes: tuple[Path, ...]
    msopgen: Path | None
    site_packages: Path | None
    op_build: Path | None
    project_template: Path | None
    bisheng: Path | None
    forced_include: Path | None = None
    origins: tuple[Origin, ...] = ()

    def origin(self, part: str) -> Origin | None:
        """Return which CANN a part is of, None when no tree has it."""
        return next((o for o in self.origins if o.part == part), None)

    def origins_as_dict(self) -> dict[str, dict[str, str | None] | None]:
        """Return the JSON form: per part its root and version, or null."""
        found: dict[str, dict[str, str | None] | None] = {}
        for part in PARTS:
            origin = self.origin(part)
            found[part] = None
            if origin is not None:
                found[part] = {"root": str(origin.root), "version": origin.version}
        return found

    @property
    def sources(self) -> list[str]:
        """What each part is checked against, in words; parts of one CANN share a line."""
        by_tree: dict[str, list[str]] = {}
        for part, name in PARTS.items():
            origin = self.origin(part)
            by_tree.setdefault(origin.text if origin else "nothing", []).append(name)
        return [f"{', '.join(names)}: {text}" for text, names in by_tree.items()]

    @property
    def style(self) -> str:
        """Project style this CANN wants: ``8.1`` (up to 8.x) or ``9.x``."""
        major = version_key(self.version)[0] if self.version else 8
        return "9.x" if major >= 9 else "8.1"

    @property
    def missing(self) -> list[str]:
        """What a full toolkit has and this tree has not, in words."""
        parts = [
            (self.host_includes, "op-host headers (include/register/op_def_registry.h)"),
            (self.kernel_includes, "AscendC headers (kernel_operator.h)"),
            (self.debug_includes, "CPU-debug headers (tools/tikicpulib/lib/include/stub_def.h)"),
            (self.msopgen, "msopgen (python/site-packages/bin/msopgen)"),
            (self.op_build, "opbuild (toolkit/tools/opbuild/op_build)"),
            (self.project_template, "project template (tools/op_project_templates/ascendc)"),
            (self.bisheng, "device compiler (compiler/ccec_compiler/bin/bisheng)"),
        ]
        return [text for value, text in parts if not value]

    @property
    def can_build(self) -> bool:
        """Whether an NPU package can be built with it: opbuild, template and device compiler."""
        return bool(self.op_build and self.project_template and self.bisheng)


def version_key(text: str) -> tuple[int, int, str]:
    """Return a sortable key of a CANN version such as ``8.1.RC1`` (unparsable: zeros)."""
    match = _VERSION.search(text)
    if not match:
        return (0, 0, "")
    return (int(match[1]), int(match[2]), match[3] or "")


def find_cann(
    directory: Path | str | None = None, environ: Mapping[str, str] = os.environ
) -> CannTree | None:
    """Return the CANN under ``directory``, or the installed one when None; None if there is none.

    Without ``directory``, ``ASCEND_HOME_PATH`` and ``ASCEND_TOOLKIT_HOME`` decide, then CANN's
    default install folders. Of several versions the newest is taken.
    """
    if directory is not None:
        return _tree_under(Path(directory))
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        if environ.get(name):
            tree = _tree_under(Path(environ[name]))
            if tree:
                return tree
    for default in (Path("/usr/local/Ascend"), Path.home() / "Ascend"):
        if default.is_dir():
            tree = _tree_under(default)
            if tree:
                return tree
    return None


def require_cann(directory: Path | str) -> CannTree:
    """Return the CANN under ``directory``.

    Raises:
        OpgenError: OPG601, the folder does not exist or holds no CANN headers.
    """
    folder = Path(directory)
    tree = _tree_under(folder) if folder.is_dir() else None
    if tree is None:
        what = "is not a folder" if not folder.is_dir() else "holds no CANN headers"
        raise OpgenError(
            Diagnostic(
                "OPG601",
                f"{folder} {what}",
                Location(str(folder)),
                f"looked for {_HOST_MARK} and kernel_operator.h in it, {_DEPTH} levels deep",
                "give the folder that ASCEND_HOME_PATH names, e.g. "
                "/usr/local/Ascend/ascend-toolkit/latest",
            )
        )
    return tree


def combine(trees: Sequence[CannTree]) -> CannTree:
    """Return one tree whose parts come from the first of ``trees`` that has them.

    For an asc-devkit checkout (kernel headers of 9.x only) with an older toolkit behind it that
    brings op-host headers, CPU-debug headers and msopgen. Version and style are the first's.
    """
    first, *rest = trees
    for other in rest:
        kernel, forced = first.kernel_includes, first.forced_include
        mixed = bool(kernel) and not first.debug_includes and bool(other.debug_includes)
        if mixed and first.style == "9.x" and other.style != "9.x":
            shim = data_dir("templates") / "cann" / "debug_shim_9"
            forced = shim / "opgen_debug_shim.h"
            # Library tiling structs are generated in a 9.x build; a checkout has none.
            tilings = [p for p in other.host_includes if (p / "kernel_tiling").is_dir()]
            kernel = (shim, *kernel, *tilings)
        has_host = first.host_includes and (first.host_includes[0] / _HOST_MARK).is_file()
        first = replace(
            first,
            host_includes=first.host_includes if has_host else other.host_includes,
            kernel_includes=kernel or other.kernel_includes,
            debug_includes=first.debug_includes or other.debug_includes,
            msopgen=first.msopgen or other.msopgen,
            site_packages=first.site_packages or other.site_packages,
            op_build=first.op_build or other.op_build,
            project_template=first.project_template or other.project_template,
            bisheng=first.bisheng or other.bisheng,
            forced_include=forced,
            origins=(
                *(o for o in first.origins if o.part != "op_host" or has_host),
                *(
                    o
                    for o in other.origins
                    if first.origin(o.part) is None or (o.part == "op_host" and not has_host)
                ),
            ),
        )
    return first


def _tree_under(folder: Path) -> CannTree | None:
    folder = folder.expanduser()
    roots = {root: None for root in _roots(folder)}
    if not roots:
        return None
    best = max(roots, key=lambda r: version_key(_read_version(r) or ""))
    return _describe(best)


def _roots(folder: Path) -> Iterator[Path]:
    """Yield every folder below that looks like an ``ASCEND_HOME_PATH``."""
    direct = [folder / "include", *sorted(folder.glob("*-linux/include"))]
    if any((path / _HOST_MARK).is_file() for path in direct):
        # the usual case, without a search
        yield folder.parent if folder.name.endswith("-linux") else folder
        return
    for path in _walk(folder, _DEPTH):
        name = path.name
        if name == "include" and (path / _HOST_MARK).is_file():
            parent = path.parent
            yield parent.parent if parent.name.endswith("-linux") else parent
        elif (
            name == "include"
            and (path / "kernel_operator.h").is_file()
            and (path.parent / "impl").is_dir()
        ):
            yield path.parent  # asc-devkit sources: kernel headers only


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    if not folder.is_dir():
        return
    yield folder
    if depth == 0:
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name not in _PRUNE and entry.is_dir():
            if entry.name == "include":
                yield entry
            else:
                yield from _walk(entry, depth - 1)


def _read_version(root: Path) -> str | None:
    """Return the version from version files, else from a folder name such as ``8.1.RC1``."""
    files = [
        root / "compiler/version.info",
        root / "runtime/version.info",
        root / "opp/version.info",
    ]
    files += sorted(root.glob("*-linux/ascend_toolkit_install.info"))
    files += [root / "version.info", root / "version.cfg", root / "version.cmake"]
    files += sorted(root.glob("share/info/*/version.info"))
    for path in files:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for pattern in (
            r"^version_dir\s*=\s*(\S+)",
            r"^version\s*=\s*(\d\S*)",
            r'VERSION\s+"(\d[^"]*)"',
            r"\[\d[\d.]*:(\d[^\]]*)\]",
            r"^Version\s*=\s*(\d\S*)",
        ):
            match = re.search(pattern, text, re.MULTILINE)
            if match and _VERSION.search(match[1]):
                return match[1]
    match = _VERSION.fullmatch(root.name)
    return root.name if match else None


def _first(*candidates: Path) -> Path | None:
    return next((c for c in candidates if c.exists()), None)


def _describe(root: Path) -> CannTree:
    arch = sorted(p for p in root.glob("*-linux") if p.is_dir())
    bases = [root, *arch]
    host = [b / "include" for b in bases if (b / "include" / _HOST_MARK).is_file()][:1]
    host += [
        p
        for b in bases
        for p in (
            b / "include/experiment",
            b / "ascendc/include/highlevel_api",
            b / "asc/include",
            b / "asc/include/adv_api",
            b / "asc/include/tiling",
            b / "pkg_inc",
        )
        if p.is_dir()
    ]
    source_tree = (root / "include/kernel_operator.h").is_file() and (root / "impl").is_dir()
    kernel = _source_kernel_includes(root) if source_tree else _kernel_includes(bases)
    debug = [
        d
        for d in (
            root / "tools/tikicpulib/lib/include",
            *(b / "tikicpulib/lib/include" for b in bases),
            *(b / "tools/tikicpulib/lib/include" for b in arch),
        )
        if (d / "stub_def.h").is_file()
    ][:1]
    site = _first(*(b / "python/site-packages" for b in bases))
    msopgen = None
    if site:
        msopgen = _first(site / "bin/msopgen", site / "op_gen/msopgen.py")
    version = _read_version(root)
    there = {
        "op_host": bool(host) and (host[0] / _HOST_MARK).is_file(),
        "kernel": bool(kernel),
        "debug": bool(debug),
        "msopgen": msopgen is not None,
    }
    return CannTree(
        root=root,
        version=version,
        origins=tuple(Origin(part, root, version) for part, has in there.items() if has),
        host_includes=tuple(host),
        kernel_includes=tuple(kernel),
        debug_includes=tuple(debug),
        msopgen=msopgen,
        site_packages=site,
        op_build=_first(
            root / "toolkit/tools/opbuild/op_build",
            root / "tools/opbuild/op_build",
            *(b / "tools/opbuild/op_build" for b in arch),
        ),
        project_template=_first(
            *(b / "tools/op_project_templates/ascendc/customize" for b in bases)
        ),
        bisheng=_first(
            root / "compiler/ccec_compiler/bin/bisheng",
            root / "tools/ccec_compiler/bin/bisheng",
            *(b / "ccec_compiler/bin/bisheng" for b in arch),
            root / "bin/bisheng",
        ),
    )


def _kernel_includes(bases: list[Path]) -> list[Path]:
    """Kernel search path of an installed toolkit: tikcfw if its links exist, else basic_api."""
    found: list[Path] = []
    for base in bases:
        tops = [
            base / "tikcpp/tikcfw",
            base / "compiler/tikcpp/tikcfw",
            base / "ascendc/include/basic_api",
            base / "compiler/ascendc/include/basic_api",
            base / "asc/include",
        ]
        top = next((t for t in tops if (t / "kernel_operator.h").is_file()), None)
        if top is None:
            continue
        found += [top, top / "impl", top / "interface", top / "basic_api"]
        for high in (
            base / "ascendc/include/highlevel_api",
            base / "compiler/ascendc/include/highlevel_api",
            top / "adv_api",
        ):
            found += [high, high / "lib", high / "lib/matmul", high / "impl"]
        found += [base / "asc/impl", base / "asc/impl/basic_api", base / "asc"]
        break
    return [p for p in found if p.is_dir()]


def _source_kernel_includes(root: Path) -> list[Path]:
    """Kernel search path of an asc-devkit source checkout."""
    rel = (
        "include",
        "include/basic_api",
        "impl/basic_api",
        "include/adv_api",
        "include/utils",
        "impl/utils",
        ".",
    )
    return [root / r for r in rel if (root / r).is_dir()]
