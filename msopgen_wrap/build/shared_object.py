"""Shared objects in ELF, without binutils: symbols, needed libraries and search path.

The build links against libraries in the user's cache and so records a path of this machine. In a
package the same entry must name a folder relative to the library itself: it is rewritten in place.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

_SHT_DYNSYM = 11
_SHT_DYNAMIC = 6
_SHT_GNU_VERSYM = 0x6FFFFFFF
_STB_WEAK = 2
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 5, 14, 15, 29
_PT_LOAD, _PT_DYNAMIC = 1, 2


@dataclass(frozen=True)
class DynamicSymbols:
    """What a shared object offers and wants.

    Attributes:
        path: the file.
        soname: its SONAME, "" if it has none.
        needed: SONAMEs it links against.
        defined: exported names.
        undefined: names it wants from elsewhere; weak and versioned ones (libc) left out.
    """

    path: Path
    soname: str = ""
    needed: tuple[str, ...] = ()
    defined: frozenset[str] = field(default_factory=frozenset)
    undefined: frozenset[str] = field(default_factory=frozenset)


def read_symbols(path: Path) -> DynamicSymbols:
    """Parse ``path``, a 64-bit little-endian ELF shared object (x86-64, aarch64).

    Raises:
        ValueError: not such a file, or truncated.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a 64-bit little-endian ELF file")
        try:
            return _parse(path, data)
        except (struct.error, IndexError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error


def _parse(path: Path, data: mmap.mmap) -> DynamicSymbols:
    section_offset = struct.unpack_from("<Q", data, 40)[0]
    entry_size, count = struct.unpack_from("<HH", data, 58)
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", data, section_offset + i * entry_size)
        for i in range(count)
    ]
    versions = next((s for s in sections if s[1] == _SHT_GNU_VERSYM), None)
    defined: set[str] = set()
    undefined: set[str] = set()
    soname = ""
    needed: list[str] = []
    for section in sections:
        strings = sections[section[6]][4] if section[6] < count else 0
        if section[1] == _SHT_DYNSYM:
            table = data[section[4] : section[4] + section[5]]
            for index, symbol in enumerate(struct.iter_unpack("<IBBHQQ", table)):
                name_at, info, _, section_index, _, _ = symbol
                if name_at == 0:
                    continue
                start = strings + name_at
                name = data[start : data.find(b"\0", start)].decode("utf-8", "replace")
                if section_index != 0:
                    defined.add(name)
                elif info >> 4 != _STB_WEAK and not _versioned(data, versions, index):
                    undefined.add(name)
        elif section[1] == _SHT_DYNAMIC:
            for at in range(section[4], section[4] + section[5], 16):
                tag, value = struct.unpack_from("<qQ", data, at)
                if tag in (_DT_NEEDED, _DT_SONAME):
                    start = strings + value
                    name = data[start : data.find(b"\0", start)].decode()
                    if tag == _DT_NEEDED:
                        needed.append(name)
                    else:
                        soname = name
    return DynamicSymbols(path, soname, tuple(needed), frozenset(defined), frozenset(undefined))


def _versioned(data: mmap.mmap, versions: tuple | None, index: int) -> bool:
    """Whether a symbol is bound to a version (glibc, libstdc++): 0 is local, 1 is unversioned."""
    if versions is None:
        return False
    return struct.unpack_from("<H", data, versions[4] + 2 * index)[0] & 0x7FFF > 1


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
