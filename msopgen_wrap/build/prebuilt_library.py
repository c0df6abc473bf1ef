"""The emulation library that a platform wheel carries: found and checked.

A wheel made by ``scripts/build_wheels.sh`` holds
``ascendc_kernels/prebuilt/<machine>-<cpu level>/libascendc_emulation-<hash>.so``. It serves where
it loads, with the machine's own libc and libstdc++; elsewhere, and in a checkout, the library is
built from source. ``build/wheel_library.py`` makes the files.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ..resources import data_dir
from . import cache
from .cpu_level import cpu_level, machine_name

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
