"""Build the emulation library that a platform wheel carries, for every CPU level it serves.

``python -m msopgen_wrap.build.wheel_library OUT`` makes
``<machine>-<cpu level>/libascendc_emulation-<hash>.so`` and prints the wheel's platform tag.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..resources import data_dir
from . import cache
from .compiled_objects import relative_names
from .emulation_library import (
    LIBRARY,
    Unit,
    library_flags,
    library_units,
    platform_table,
    profile_tables,
)
from .toolchain import X86_64_V3, CpuLevel, base_flags, machine_name

# The levels a wheel of an architecture holds.
LEVELS = {
    "x86_64": (X86_64_V3, CpuLevel("x86-64")),
    "aarch64": (CpuLevel("armv8-a"),),
}


def build_prebuilt(cxx: str, machine: str, out: Path) -> list[Path]:
    """Compile the library for every CPU level of an architecture; return the files.

    Args:
        cxx: compiler for that architecture, a cross compiler included.
        machine: ``x86_64`` or ``aarch64``.
        out: folder that gets ``<machine>-<level>/lib....so``.
    """
    return [_build_level(cxx, machine, level, out) for level in LEVELS[machine]]


def _build_level(cxx: str, machine: str, level: CpuLevel, out: Path) -> Path:
    root = data_dir("ascendc_kernels") / "emulation"
    flags = [*base_flags("gcc"), *level.flags, *library_flags(root, platform_table())]
    flags += relative_names([])
    tables = [f"-I{profile_tables()}"]
    with tempfile.TemporaryDirectory(prefix="opgen-prebuilt-") as scratch:

        def compiled(numbered: tuple[int, Unit]) -> Path:
            number, unit = numbered
            source = Path(scratch) / f"unit{number}.cpp"
            source.write_text(unit.text, encoding="utf-8")
            result = source.with_suffix(".o")
            where = [f"-ffile-prefix-map={scratch}=.", "-c", str(source), "-o", str(result)]
            extra = tables if unit.reads_profile_tables else []
            subprocess.run([cxx, *flags, *extra, *where], check=True)
            print(f"{machine} {level.name}: {unit.name}", file=sys.stderr, flush=True)
            return result

        with ThreadPoolExecutor() as pool:
            objects = list(pool.map(compiled, enumerate(library_units(root))))
        digest = cache.text_hash(*(cache.file_hash(p) for p in objects))[:12]
        name = f"lib{LIBRARY}-{digest}.so"
        library = out / f"{machine}-{level.name}" / name
        library.parent.mkdir(parents=True, exist_ok=True)
        link = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-s", f"-Wl,-soname,{name}"]
        subprocess.run([cxx, *link, "-o", str(library), *map(str, objects), "-ldl"], check=True)
    return library


def manylinux_tag(libraries: list[Path], machine: str) -> str:
    """Return the wheel's platform tag: the oldest glibc that has every symbol it needs.

    Read with readelf, which knows every architecture.
    """
    text = "".join(
        subprocess.run(
            ["readelf", "--version-info", "--wide", str(p)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for p in libraries
    )
    versions = {(int(a), int(b)) for a, b in re.findall(r"\bGLIBC_(\d+)\.(\d+)", text)}
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{machine}"


def main() -> int:
    """Build for one architecture and print the platform tag."""
    parser = argparse.ArgumentParser(description="Build the emulation library for a wheel.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--machine", choices=sorted(LEVELS), default=machine_name())
    options = parser.parse_args()
    libraries = build_prebuilt(options.cxx, options.machine, options.out)
    print(manylinux_tag(libraries, options.machine))
    return 0


if __name__ == "__main__":
    sys.exit(main())
