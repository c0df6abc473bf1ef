"""Build a door: a framework's library with the emulated op package beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.toolchain import (
    common_flags,
    find_toolchain,
    run_compiler,
    warnings_as_errors,
)
from msopgen_wrap.diagnostics import output_folder
from msopgen_wrap.doors.ops_render import render_door_sources
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.package.layout import fill_vendor_tree
from msopgen_wrap.render.files import GeneratedFile

Progress = Callable[[str], None]


@dataclass(frozen=True)
class BuiltDoor:
    """A finished door.

    Attributes:
        target: the framework, as ``--target`` names it.
        library: what the framework loads; ``vendors/<vendor>`` lies beside it.
        vendor: vendor of the ops.
        ops: op types in it.
        kernels: number of kernel binaries.
    """

    target: str
    library: Path
    vendor: str
    ops: tuple[str, ...]
    kernels: int

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form of ``opgen build --json``."""
        return {
            "target": self.target,
            "library": str(self.library),
            "vendor": self.vendor,
            "ops": list(self.ops),
            "kernels": self.kernels,
            "bytes": self.library.stat().st_size,
        }


def compile_door(
    project: ProjectTree,
    folder: Path,
    output: Path,
    sources: Sequence[GeneratedFile],
    *,
    code: str,
) -> None:
    """Compile a door's library.

    Args:
        project: whose ops it serves.
        folder: an empty folder for the sources.
        output: the library to write.
        sources: the door's own, beside those of every door; what ends in ``.cpp`` is compiled.
        code: of the diagnostic when it does not compile.

    Raises:
        OpgenError: ``code``, with the compiler's first errors; OPG301, OPG302, no compiler.
    """
    for file in (*render_door_sources(project.specs, project.vendor), *sources):
        (folder / file.path).write_text(file.text, encoding="utf-8")
    compiled = [str(p) for p in sorted(folder.glob("*.cpp"))]
    tool = find_toolchain()
    flags = [*common_flags(tool), *warnings_as_errors(tool.family), "-fvisibility=hidden"]
    command = [tool.cxx, *flags, "-O2", "-shared", *compiled, "-o", str(output), "-ldl"]
    run_compiler(command, None, code=code, what=f"the library {output.name}")


def build_door(
    project: ProjectTree,
    out: Path,
    *,
    target: str,
    library: str,
    compile_library: Callable[[Path, Path], None],
    progress: Progress = lambda _: None,
) -> BuiltDoor:
    """Write ``out/<library>`` and ``out/vendors/<vendor>``, both complete or neither.

    Args:
        project: the scaffolded project.
        out: the folder.
        target: the framework's name.
        library: file name of its library.
        compile_library: called with an empty folder and the library to write.
        progress: called with a short text per step.

    Raises:
        OpgenError: a source does not compile, or there is no compiler; OPG098 (``out``).
    """
    output_folder(out)
    with tempfile.TemporaryDirectory(prefix=".opgen_build_", dir=out) as tmp:
        root = Path(tmp)
        sources = root / "sources"
        sources.mkdir()
        # First, since it takes seconds and the kernels may take minutes.
        progress(library)
        compile_library(sources, root / library)
        tree = fill_vendor_tree(project, root / "vendors" / project.vendor, progress=progress)
        keep = out / "vendors" / project.vendor
        if keep.exists():
            shutil.rmtree(keep)
        keep.parent.mkdir(exist_ok=True)
        shutil.move(str(tree.path), str(keep))
        (root / library).replace(out / library)
    return BuiltDoor(
        target,
        out / library,
        project.vendor,
        tuple(spec.op for spec in project.specs),
        tree.kernels,
    )


def write_module(out: Path, module: GeneratedFile) -> Path:
    """Write a door's Python module beside its library, complete or not at all."""
    partial = out / f".{module.path}"
    partial.write_text(module.text, encoding="utf-8")
    return partial.replace(out / module.path)
