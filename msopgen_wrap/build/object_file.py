"""Read and rename the symbols of a relocatable ELF object, without binutils.

The device compiler compiles a kernel once per core kind. Here that gives two objects with the same
symbols; those of one are renamed so that both link into one module. What an entry reaches tells
which instructions it may execute, and so which cores it needs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_SHT_SYMTAB, _SHT_RELA, _SHT_GROUP = 2, 4, 17
_STB_LOCAL, _STT_SECTION = 0, 3
_STT_FUNCTION, _STT_THREAD_LOCAL = 2, 6
_STV_PROTECTED = 3
_SHN_UNDEF, _SHN_RESERVED = 0, 0xFF00
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")


class ObjectError(ValueError):
    """The file is not a 64-bit little-endian relocatable object."""


@dataclass
class _Symbol:
    name: str
    binding: int
    kind: int
    section: int
    visible: bool
    at: int  # file offset of the table entry
    protected: bool = False  # ELF visibility "protected"

    @property
    def is_function(self) -> bool:
        return self.kind == _STT_FUNCTION and self.section > _SHN_UNDEF

    @property
    def is_thread_local(self) -> bool:
        return self.kind == _STT_THREAD_LOCAL and self.section > _SHN_UNDEF


@dataclass(frozen=True)
class Reference:
    """A place in a section that refers to a symbol, or to a section of the object.

    Attributes:
        section: number of the section with the code or data that refers.
        offset: where in it, bytes.
        name: the symbol, "" for a section.
        target: number of the section referred to, 0 for an undefined symbol.
    """

    section: int
    offset: int
    name: str
    target: int


@dataclass
class ObjectFile:
    """Symbols of an object and what their code refers to.

    Attributes:
        entries: global functions with default visibility.
    """

    data: bytes
    symbols: list[_Symbol] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        data = self.data
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != 1:
            raise ObjectError("not a 64-bit little-endian relocatable object")
        (self._table,) = struct.unpack_from("<Q", data, 40)
        (count,) = struct.unpack_from("<H", data, 60)
        if count == 0:  # more sections than the header can count
            count = _SECTION.unpack_from(data, self._table)[5]
        self._sections = [
            _SECTION.unpack_from(data, self._table + i * _SECTION.size) for i in range(count)
        ]
        self._symtab = next(i for i, s in enumerate(self._sections) if s[1] == _SHT_SYMTAB)
        self._read_symbols()
        self._edges: dict[int, set[int]] | None = None

    def _read_symbols(self) -> None:
        table = self._sections[self._symtab]
        strings = self._sections[table[6]][4]
        extended = next((s for s in self._sections if s[1] == 18), None)  # SHT_SYMTAB_SHNDX
        for index in range(table[5] // _SYMBOL.size):
            at = table[4] + index * _SYMBOL.size
            name_at, info, other, section, _, _ = _SYMBOL.unpack_from(self.data, at)
            if section == 0xFFFF and extended is not None:
                (section,) = struct.unpack_from("<I", self.data, extended[4] + 4 * index)
            elif section >= _SHN_RESERVED:
                section = -1  # absolute, common
            start = strings + name_at
            name = self.data[start : self.data.index(b"\0", start)].decode("utf-8", "replace")
            symbol = _Symbol(
                name, info >> 4, info & 15, section, other & 3 == 0, at, other & 3 == _STV_PROTECTED
            )
            self.symbols.append(symbol)
            if (
                symbol.binding != _STB_LOCAL
                and symbol.kind == _STT_FUNCTION
                and symbol.section != _SHN_UNDEF
                and symbol.visible
            ):
                self.entries.append(name)

    def walk(self, waiting: set[str]) -> tuple[set[str], set[str]]:
        """Follow references from some symbols.

        Returns:
            The symbols of these that the object defines, and the undefined ones that code and data
            reached from them refer to.
        """
        if self._edges is None:
            self._edges = self._read_relocations()
        starts = [s for s in self.symbols if s.name in waiting and s.section > 0]
        sections = [s.section for s in starts]
        seen: set[int] = set()
        names: set[str] = set()
        while sections:
            section = sections.pop()
            if section in seen:
                continue
            seen.add(section)
            for index in self._edges.get(section, ()):
                symbol = self.symbols[index]
                if symbol.section == _SHN_UNDEF:
                    names.add(symbol.name)
                elif symbol.section > 0:
                    sections.append(symbol.section)
        return {s.name for s in starts}, names

    def _read_relocations(self) -> dict[int, set[int]]:
        edges: dict[int, set[int]] = {}
        for section in self._sections:
            if section[1] != _SHT_RELA or section[6] != self._symtab:
                continue
            # offset, type, symbol, addend
            rows = struct.iter_unpack(
                "<QIIq", self.data[section[4] : section[4] + section[5] // 24 * 24]
            )
            edges.setdefault(section[7], set()).update(row[2] for row in rows)
        return edges

    def references(self) -> list[Reference]:
        """Return every reference of code and data, those of debug information left out."""
        found = []
        for section in self._sections:
            if section[1] != _SHT_RELA or section[6] != self._symtab:
                continue
            if self.section_name(section[7]).startswith((".debug", ".eh_frame")):
                continue
            rows = struct.iter_unpack(
                "<QIIq", self.data[section[4] : section[4] + section[5] // 24 * 24]
            )
            for offset, _, index, _ in rows:
                symbol = self.symbols[index]
                name = "" if symbol.kind == _STT_SECTION else symbol.name
                found.append(Reference(section[7], offset, name, max(symbol.section, 0)))
        return found

    def section_name(self, number: int) -> str:
        """Return the name of a section."""
        (names,) = struct.unpack_from("<H", self.data, 62)
        if names == 0xFFFF:  # more sections than the header can count
            names = _SECTION.unpack_from(self.data, self._table)[6]
        start = self._sections[names][4] + self._sections[number][0]
        return self.data[start : self.data.index(b"\0", start)].decode("utf-8", "replace")

    def shared(self) -> set[str]:
        """Return the symbols that other objects can refer to."""
        return {s.name for s in self.symbols if s.section != _SHN_UNDEF and s.binding != _STB_LOCAL}

    def undefined(self) -> set[str]:
        """Return the symbols that other objects have to define."""
        return {s.name for s in self.symbols if s.section == _SHN_UNDEF and s.name}

    def renamed(self, prefix: str, names: set[str]) -> bytes:
        """Return the object with ``prefix`` before the symbols in ``names``.

        Names of COMDAT groups are renamed in any case: the linker keeps one group of each name.
        """
        groups = {s[7] for s in self._sections if s[1] == _SHT_GROUP and s[6] == self._symtab}
        table = self._sections[self._symtab]
        strings_section = self._sections[table[6]]
        data = bytearray(self.data)
        strings = bytearray(data[strings_section[4] : strings_section[4] + strings_section[5]])
        for index, symbol in enumerate(self.symbols):
            listed = symbol.name in names and symbol.binding != _STB_LOCAL
            if not (listed or index in groups) or not symbol.name or symbol.kind == _STT_SECTION:
                continue
            struct.pack_into("<I", data, symbol.at, len(strings))
            strings += (prefix + symbol.name).encode("utf-8") + b"\0"
        header = list(strings_section)
        header[4], header[5] = len(data), len(strings)
        _SECTION.pack_into(data, self._table + table[6] * _SECTION.size, *header)
        return bytes(data + strings)


@dataclass(frozen=True)
class ObjectGroup:
    """Objects that are linked with one another, compiled for the same cores."""

    objects: tuple[ObjectFile, ...]

    @classmethod
    def read(cls, paths: Iterable[Path]) -> ObjectGroup:
        """Parse the objects; raises like :func:`read_object`."""
        return cls(tuple(read_object(path) for path in paths))

    @property
    def entries(self) -> list[str]:
        """Global functions with default visibility."""
        return [name for one in self.objects for name in one.entries]

    def symbols(self, part: str) -> set[str]:
        """Return the defined symbols with ``part`` in their names."""
        return {s.name for o in self.objects for s in o.symbols if s.section and part in s.name}

    def reached(self, roots: Iterable[str]) -> set[str]:
        """Return the symbols of other modules that what ``roots`` reach refers to."""
        waiting, done = set(roots), set()
        outside: set[str] = set()
        while waiting:
            defined: set[str] = set()
            found: set[str] = set()
            for one in self.objects:
                here, undefined = one.walk(waiting)
                defined |= here
                found |= undefined
            outside |= waiting - defined
            done |= waiting
            waiting = found - done
        return outside

    def renamed(self, prefix: str) -> list[bytes]:
        """Return the objects with ``prefix`` before every symbol that others could share."""
        names = {name for one in self.objects for name in one.shared()}
        return [one.renamed(prefix, names) for one in self.objects]


def read_object(path: Path) -> ObjectFile:
    """Parse ``path``.

    Raises:
        ObjectError: not an object of this machine's format.
        OSError: the file cannot be read.
    """
    try:
        return ObjectFile(path.read_bytes())
    except (struct.error, IndexError, StopIteration) as error:
        raise ObjectError(f"{path} is damaged") from error
