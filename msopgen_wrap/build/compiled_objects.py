"""Compile single sources and link objects, through the cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..diagnostics import Diagnostic, Location, OpgenError
from ..resources import data_dir
from . import cache
from .cache import moved_text
from .dependency_file import read_dependencies
from .precompiled_header import PrecompiledHeader, without_header
from .toolchain import common_flags, find_toolchain, run_compiler


def compile_object(
    source: Path,
    flags: Sequence[str],
    *,
    code: str = "OPG303",
    what: str = "",
    relocatable: bool = False,
    header: PrecompiledHeader | None = None,
) -> Path:
    """Compile one source to a cached object file.

    Args:
        source: a C++ file.
        flags: all flags but ``-c``, ``-o`` and the common ones.
        code: diagnostic code on failure.
        what: text put before the compiler's message.
        relocatable: the source is the kit's own and nothing in the object names its folder, so
            that every installation with the same content shares it.
        header: what the source begins with. It saves time and does not change the object.

    Returns:
        Path of the object in the cache.
    """
    tool = find_toolchain()
    source = source.absolute()
    if not source.is_file():
        raise OpgenError(Diagnostic(code, f"no such source file: {source}", Location(str(source))))
    arguments = [*common_flags(tool), *flags]
    names = [*arguments, str(source)]
    if relocatable:
        arguments += relative_names([])
        names = [moved_text(name) for name in names]
    key = cache.text_hash(tool.identity, *names)

    def build(folder: Path) -> list[Path]:
        deps = folder / "deps.d"
        output = ["-MD", "-MF", str(deps), "-c", str(source), "-o", str(folder / "out.o")]

        def run(*first: str) -> None:
            command = [tool.cxx, *first, *arguments, *output]
            run_compiler(command, source, code=code, what=what)

        parsed = header.file(tool) if header else None
        try:
            # With -fpch-deps the list of dependencies has what the header itself includes.
            run(*(["-include", str(parsed), "-fpch-deps"] if parsed else []))
        except OpgenError:
            if parsed is None:
                raise
            # Either an error in the source, whose message shall not name the header, or a g++ that
            # cannot read the header at the address for which it was written.
            run()
        inputs = without_header(read_dependencies(deps))
        deps.unlink()
        return inputs

    folder, _ = cache.cached("object", key, source.name, build)
    return folder / "out.o"


def link_objects(
    objects: Sequence[Path],
    output: str,
    arguments: Sequence[str],
    extra_inputs: Sequence[Path],
    label: str,
    code: str,
) -> Path:
    """Link objects to the cached shared library ``output``; return its path.

    Args:
        arguments: further arguments of the linker driver.
        extra_inputs: files among them, whose contents count.
        label: what is linked, for messages.
        code: diagnostic code on failure.
    """
    tool = find_toolchain()
    parts = [cache.file_hash(p) for p in [*objects, *extra_inputs]]
    key = cache.text_hash(tool.identity, output, *arguments, *parts)
    inputs = [*map(str, objects), *arguments]

    def build(folder: Path) -> list[Path]:
        run_compiler(
            [tool.cxx, "-shared", "-pthread", "-Wl,-Bsymbolic", f"-o{folder / output}", *inputs],
            None,
            code=code,
            what=f"linking {label} failed",
        )
        return []

    folder, _ = cache.cached("shared", key, label, build)
    return folder / output


def relative_names(sources: Sequence[Path]) -> list[str]:
    """Return flags that keep this machine's folders out: __FILE__ becomes ``op_host/x.cpp``."""
    folders = {Path(s).absolute().parent.parent for s in sources}
    flags = [f"-ffile-prefix-map={folder}/=" for folder in sorted(folders)]
    return [*flags, f"-ffile-prefix-map={data_dir('ascendc_kernels')}=ascendc_kernels"]
