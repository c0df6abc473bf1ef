"""Which sources of the emulation library are compiled together.

Half of the time to compile one of the small sources goes into the standard headers. Sources of one
folder therefore share a translation unit, some at a time: a unit is a text of ``#include`` lines.
Names in anonymous namespaces must be unique within a folder; the compiler reports a clash.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

# Large enough to share most of the headers, small enough for several compilers at once and for
# recompiling one after an edit.
UNIT_SOURCES = 6

# Compiled by themselves: the files of src/vector define the same small functors per element type,
# and crash.cpp defines __cxa_throw, which other headers declare.
_ALONE = ("src/vector", "src/core/crash.cpp")


@dataclass(frozen=True)
class Unit:
    """One translation unit.

    Attributes:
        name: for progress and listings.
        sources: paths relative to the emulation's folder.
    """

    name: str
    sources: tuple[str, ...]

    @property
    def text(self) -> str:
        """The unit's own source."""
        return "".join(f'#include "{name}"\n' for name in self.sources)


def library_units(root: Path) -> list[Unit]:
    """Cut the sources in ``root/src`` into units, the same for the same names; the longest first.

    The order keeps several compilers busy to the end.
    """
    sources = (root / "src").glob("**/*.cpp")
    sizes = {s.relative_to(root).as_posix(): s.stat().st_size for s in sources}
    names = sorted(sizes)
    units = [Unit(Path(n).stem, (n,)) for n in names if n.startswith(_ALONE)]
    shared = [n for n in names if not n.startswith(_ALONE)]
    for folder, group in groupby(shared, key=lambda n: n.rpartition("/")[0]):
        members = list(group)
        count = -(-len(members) // UNIT_SOURCES)
        for index in range(count):
            units.append(Unit(f"{Path(folder).name} {index + 1}", tuple(members[index::count])))
    return sorted(units, key=lambda unit: -sum(sizes[name] for name in unit.sources))
