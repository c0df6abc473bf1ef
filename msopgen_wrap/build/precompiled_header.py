"""Headers that many sources begin with, parsed once per set of flags.

Half of the time to compile a generated op_host file, and a quarter of that of a kernel, goes into
headers that are the same in every op. g++ reads them from a precompiled header in the build cache.
What is compiled is the same: the header holds only what each of these sources includes first. clang
has another format and is used for tests of the sources, so it gets none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import OpgenError
from . import cache
from .dependency_file import read_dependencies
from .toolchain import Toolchain, run_compiler

_KIND = "precompiled"


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
        text = "".join(f'#include "{name}"\n' for name in self.includes)
        file = f"{self.name}.h"

        def build(folder: Path) -> list[Path]:
            header, deps = folder / file, folder / "deps.d"
            header.write_text(text, encoding="utf-8")
            output = ["-MD", "-MF", str(deps), "-o", f"{header}.gch"]
            run_compiler([tool.cxx, *self.flags, "-x", "c++-header", str(header), *output], header)
            inputs = without_header(read_dependencies(deps))
            deps.unlink()
            return inputs

        key = cache.text_hash(tool.identity, text, *self.flags)
        try:
            folder, _ = cache.cached(_KIND, key, self.name, build, keep=1)
        except OpgenError:
            return None
        return folder / file
