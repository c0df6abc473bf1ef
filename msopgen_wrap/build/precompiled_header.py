"""Headers that many sources begin with, parsed once per set of flags.

Half of the time to compile a generated op_host file, and a quarter of that of a kernel, goes into
headers that are the same in every op. g++ reads them from a precompiled header in the build cache.
What is compiled is the same: the header holds only what each of these sources includes first. clang
has another format and is used for tests of the sources, so it gets none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import OpgenError
from . import cache
from .dependency_file import read_dependencies
from .toolchain import Toolchain, find_toolchain, run_compiler

_KIND = "precompiled"


def precompile(
    header: Path,
    includes: Sequence[str],
    flags: Sequence[str],
    *,
    output: Sequence[str] = (),
    code: str = "OPG303",
) -> None:
    """Write a header of ``#include`` lines, and beside it what g++ reads in its place.

    Args:
        header: the file to write; the other is ``<header>.gch``.
        includes: names of headers.
        flags: of the compilation.
        output: further flags, for files that the compiler writes.
        code: diagnostic code on failure.

    Raises:
        OpgenError: the headers do not compile.
    """
    header.write_text("".join(f'#include "{name}"\n' for name in includes), encoding="utf-8")
    command = [find_toolchain().cxx, *flags, "-x", "c++-header", str(header)]
    run_compiler([*command, "-o", f"{header}.gch", *output], header, code=code)


def without_header(files: list[Path]) -> list[Path]:
    """Leave out the precompiled header itself, which lists name by the folder it was built in."""
    root = cache.cache_dir() / _KIND
    return [path for path in files if root not in path.parents]


@dataclass(frozen=True)
class PrecompiledHeader:
    """What to parse once.

    Attributes:
        name: for listings of the cache.
        includes: names of headers, as in ``#include "name"``.
        flags: all flags of the sources that change what the headers mean: standard, optimisation,
            macros, include folders. g++ ignores a precompiled header whose flags differ.
    """

    name: str
    includes: tuple[str, ...]
    flags: tuple[str, ...]

    def file(self, tool: Toolchain) -> Path | None:
        """Return the header to include first, built where needed.

        None where there is none: another compiler than g++, no space for it, an error in the
        headers, which the source's own compilation then shows.
        """
        if tool.family != "gcc":
            return None
        file = f"{self.name}.h"

        def build(folder: Path) -> list[Path]:
            deps = folder / "deps.d"
            precompile(folder / file, self.includes, self.flags, output=["-MD", "-MF", str(deps)])
            inputs = without_header(read_dependencies(deps))
            deps.unlink()
            return inputs

        key = cache.text_hash(tool.identity, *self.includes, *self.flags)
        try:
            folder, _ = cache.cached(_KIND, key, self.name, build, keep=1)
        except OpgenError:
            return None
        return folder / file
