"""Rewrite the library search path of an ELF shared object in place.

The build links against libraries in the user's cache and so records a path of this machine. In a
package the same entry must name a folder relative to the library itself.
"""

from __future__ import annotations

import struct
from pathlib import Path

_DT_STRTAB, _DT_NEEDED, _DT_RPATH, _DT_RUNPATH, _DT_NULL = 5, 1, 15, 29, 0
_PT_LOAD, _PT_DYNAMIC = 1, 2


class ElfError(ValueError):
    """The file is not a 64-bit little-endian ELF shared object, or the path does not fit."""


class _Image:
    def __init__(self, data: bytes):
        self.data = bytearray(data)
        if len(data) < 64 or data[:4] != b"\x7fELF" or data[4] != 2 or data[5] != 1:
            raise ElfError("not a 64-bit little-endian ELF file")
        (phoff,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.loads: list[tuple[int, int, int]] = []
        dynamic = None
        for i in range(count):
            kind, _flags, offset, vaddr, _paddr, filesz = struct.unpack_from(
                "<IIQQQQ", data, phoff + i * size
            )
            if kind == _PT_LOAD:
                self.loads.append((vaddr, offset, filesz))
            elif kind == _PT_DYNAMIC:
                dynamic = (offset, filesz)
        if dynamic is None:
            raise ElfError("no dynamic section")
        self.entries: list[tuple[int, int]] = []
        for at in range(dynamic[0], dynamic[0] + dynamic[1], 16):
            tag, value = struct.unpack_from("<qQ", data, at)
            if tag == _DT_NULL:
                break
            self.entries.append((tag, value))
        table = next((v for t, v in self.entries if t == _DT_STRTAB), None)
        if table is None:
            raise ElfError("no dynamic string table")
        self.strings = self._file_offset(table)

    def _file_offset(self, address: int) -> int:
        for vaddr, offset, size in self.loads:
            if vaddr <= address < vaddr + size:
                return address - vaddr + offset
        raise ElfError("address outside the file")

    def text(self, value: int) -> str:
        start = self.strings + value
        return self.data[start : self.data.index(0, start)].decode("utf-8", "replace")


def runpath(path: Path) -> str | None:
    """Return the recorded search path (RUNPATH or RPATH), or None."""
    image = _Image(path.read_bytes())
    for tag, value in image.entries:
        if tag in (_DT_RPATH, _DT_RUNPATH):
            return image.text(value)
    return None


def needed(path: Path) -> list[str]:
    """Return the names of the libraries ``path`` needs."""
    image = _Image(path.read_bytes())
    return [image.text(v) for t, v in image.entries if t == _DT_NEEDED]


def set_runpath(path: Path, value: str) -> bool:
    """Replace the recorded search path by ``value``, which may not be longer than the old one.

    Returns False when the file records none (nothing is changed).

    Raises:
        ElfError: not an ELF shared object, or ``value`` is too long.
    """
    image = _Image(path.read_bytes())
    new = value.encode("utf-8")
    found = False
    for tag, offset in image.entries:
        if tag not in (_DT_RPATH, _DT_RUNPATH):
            continue
        start = image.strings + offset
        room = image.data.index(0, start) - start
        if len(new) > room:
            raise ElfError(f"{value!r} does not fit into {room} bytes")
        image.data[start : start + room] = new + b"\0" * (room - len(new))
        found = True
    if found:
        path.write_bytes(image.data)
    return found
