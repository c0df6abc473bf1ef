"""The emulation library, ``libascendc_emulation-<hash>.so``: found in a wheel or built, loaded.

Half of the time to compile one of its small sources goes into the standard headers. Sources of one
folder therefore share a translation unit, some at a time: a unit is a text of ``#include`` lines.
Names in anonymous namespaces must be unique within a folder; the compiler reports a clash.

A wheel made by ``scripts/build_wheels.sh`` holds
``ascendc_kernels/prebuilt/<machine>-<cpu level>/libascendc_emulation-<hash>.so``. It serves where
it loads, with the machine's own libc and libstdc++; elsewhere, and in a checkout, the library is
built from source. ``build/wheel_library.py`` makes the files.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ..resources import data_dir
from . import cache
from .compiled_objects import compile_object, link_objects
from .forwarding_headers import forwarding_folder
from .instruction_headers import instruction_costs, instruction_folder
from .toolchain import cpu_level, find_toolchain, machine_name

Progress = Callable[[str], None]
LIBRARY = "ascendc_emulation"
# Folders of an include tree whose headers are found without the folder's name.
_SEARCHED = ("", "op_common", "op_common/op_host", "basic_api", "lib", "base/context_builder")


@dataclass(frozen=True)
class EmulationLibrary:
    """The built emulation.

    Attributes:
        path: ``libascendc_emulation-<hash>.so``; the file name is its SONAME.
        include_dirs: what kernels and host sources are compiled with.
    """

    path: Path
    include_dirs: tuple[Path, ...]


def include_dirs() -> tuple[Path, ...]:
    """Return the emulation's include folders, in the order of the search (no library is built).

    CANN 9 puts the headers of its op base library into the search path three times over: as
    ``op_common/op_host/util/math_util.h``, ``op_host/util/math_util.h`` and ``util/math_util.h``.
    Those of the basic and of the high-level API and the builders of contexts are found without
    their folder, too: ``kernel_operator_mm_intf.h``, ``pad/broadcast.h``,
    ``op_tiling_context_builder.h``.

    Raises:
        OpgenError: OPG305 when the build cache, which holds generated headers, cannot be written.
    """
    root = data_dir("ascendc_kernels")
    roots = (root / "emulation" / "include", instruction_folder(), forwarding_folder())
    found = (tree / folder for folder in _SEARCHED for tree in roots)
    return (*(folder for folder in found if folder.is_dir()), root / "include")


def emulation_library(*, progress: Progress | None = None) -> EmulationLibrary:
    """Return the emulation library: the wheel's, or built here, a compiler per core.

    Args:
        progress: called with a short text per step.

    Raises:
        OpgenError: OPG301/302 (compiler), OPG304 (the library does not compile).
    """
    # Finding it again means reading the manifests of all objects; once a process is enough.
    place = (find_toolchain().identity, str(cache.cache_dir()), cpu_level().name)
    path = _found.get(place)
    if path is None or not path.is_file():
        path = _found[place] = prebuilt_library() or _build(progress)
    return EmulationLibrary(path, include_dirs())


_found: dict[tuple[str, str, str], Path] = {}


def library_flags(root: Path, table: Path) -> list[str]:
    """Return the library's own compiler flags, besides the common ones.

    Args:
        root: the emulation's folder.
        table: folder of :func:`platform_table`.
    """
    flags = ["-O3", "-fno-trapping-math", "-fvisibility-inlines-hidden"]
    # In a unit every source is an included file, for which g++ has this warning.
    flags.append("-Wno-subobject-linkage")
    return flags + [f"-I{d}" for d in (*include_dirs(), root / "src", table, root)]


def _build(progress: Progress | None) -> Path:
    root = data_dir("ascendc_kernels") / "emulation"
    units = library_units(root)
    flags = library_flags(root, platform_table())
    profile = [*flags, f"-I{profile_tables()}"]
    done = 0

    def one(unit: Unit) -> Path:
        nonlocal done
        key = cache.text_hash(unit.text)
        result = compile_object(
            cache.stored("source", key, unit.name, "unit.cpp", unit.text.encode()),
            profile if unit.reads_profile_tables else flags,
            code="OPG304",
            what="the emulation library does not compile",
            relocatable=True,
        )
        done += 1
        if progress:
            progress(f"emulation library: {done}/{len(units)} {unit.name}")
        return result

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(one, units))
    digest = cache.text_hash(*(cache.file_hash(p) for p in objects))[:12]
    name = f"lib{LIBRARY}-{digest}.so"
    arguments = [f"-Wl,-soname,{name}", "-ldl"]
    return link_objects(objects, name, arguments, [], "emulation library", "OPG304")


def platform_table() -> Path:
    """Write the tables of facts as C++ raw strings the library includes; return their folder."""
    root = data_dir("ascendc_kernels") / "emulation"
    tables = {
        name: (root / f"{name}.csv").read_text(encoding="utf-8")
        for name in ("platform_facts", "architectures")
    }
    return _raw_strings("platform facts", tables)


def profile_tables() -> Path:
    """Write what the model of time reads as C++ raw strings; return their folder.

    Only the sources of ``src/profile`` see it, so that a changed cost recompiles nothing else.
    """
    root = data_dir("ascendc_kernels") / "emulation"
    parameters = (root / "profile_parameters.csv").read_text(encoding="utf-8")
    return _raw_strings(
        "profile tables",
        {"profile_parameters": parameters, "instruction_costs": instruction_costs()},
    )


def _raw_strings(label: str, tables: dict[str, str]) -> Path:
    def build(folder: Path) -> list[Path]:
        for name, text in tables.items():
            # Compilers limit the length of one literal; neighbours are joined.
            pieces = [text[at : at + 8000] for at in range(0, len(text), 8000)]
            body = "".join(f'R"__opgen__({piece})__opgen__"\n' for piece in ["\n", *pieces])
            (folder / f"{name}.inc").write_text(body, encoding="utf-8")
        return []

    key = cache.text_hash(label, "\n".join(tables.values()))
    folder, _ = cache.cached("table", key, label, build)
    return folder


@functools.lru_cache(maxsize=1)
def load_emulation_library() -> ctypes.CDLL:
    """Load the library into this process once."""
    return ctypes.CDLL(str(emulation_library().path), mode=ctypes.RTLD_GLOBAL)


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

    @property
    def reads_profile_tables(self) -> bool:
        """Whether it is compiled with the folder of :func:`profile_tables`."""
        return self.sources[0].startswith("src/profile/")


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


FOLDER = "prebuilt"


def prebuilt_library() -> Path | None:
    """Return the wheel's library for this machine, None where there is none that loads."""
    folder = data_dir("ascendc_kernels") / FOLDER / f"{machine_name()}-{cpu_level().name}"
    found = sorted(folder.glob("lib*.so"))
    return found[0] if found and _loads(found[0]) else None


def _loads(library: Path) -> bool:
    """Whether this machine's loader accepts the library; asked once per library and machine."""
    key = cache.text_hash(cache.file_hash(library), machine_name(), str(library))

    def ask(folder: Path) -> list[Path]:
        code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", code, str(library)], capture_output=True)
        (folder / "answer").write_text("yes" if done.returncode == 0 else "no", encoding="utf-8")
        return []

    folder, _ = cache.cached("prebuilt", key, library.name, ask)
    return (folder / "answer").read_text(encoding="utf-8") == "yes"
