"""Read the dynamic symbol table of an ELF shared object, without binutils."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

_SHT_DYNSYM = 11
_SHT_DYNAMIC = 6
_SHT_GNU_VERSYM = 0x6FFFFFFF
_DT_NEEDED, _DT_SONAME = 1, 14
_STB_WEAK = 2


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
