"""What the device's C++ lacks, found in the object that a host compiler makes of a kernel.

The language of kernels has no exceptions, RTTI, virtual functions, recursion, dynamic memory,
standard library with state, thread-local variables, or code that runs before ``main``; a device
function calls device functions only. Text does not tell any of these reliably (a template may hide
a ``std::vector``), and the headers of CANN's CPU debugging allow them all. An object tells: by the
symbols its functions refer to, by its virtual tables and sections, and, since device functions
are marked (``templates/cann/device_marks.h``), by who calls whom.

The kernel is compiled with the emulation's headers, without optimisation, so every call is there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msopgen_wrap.build.object_file import ObjectFile, Reference, read_object
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.resources import data_dir

#: Exceptions and RTTI are refused by the compiler itself.
LANGUAGE_FLAGS = ("-fno-exceptions", "-fno-rtti")


def marks() -> tuple[str, ...]:
    """Return the flags that mark device functions; they go behind the emulation's prelude."""
    return ("-include", str(data_dir("templates") / "cann" / "device_marks.h"))


_EMULATION = re.compile(r"^_Z(?:T[HWVS]|GV)?(?:N[VK]*|St)*(?:7AscendC|11ascendc_emu)")
_EMULATED = re.compile(r"7AscendC|11ascendc_emu")
_STANDARD = re.compile(r"^_Z(?:T[VTIS])?(?:S[tabsiod]|N[VKRO]*S[tabsiod]|N[VKRO]*9__gnu_cxx)")
_LAMBDA = re.compile(r"Ul\w*E\d*_")
_SPECIAL_MEMBER = re.compile(r"(?:[CD][0-5](?:E|I)|aSE)")

# References of functions: what they show, and what to write instead.
_MEMORY = "dynamic memory", "use buffers of TPipe, or arrays whose size is a constant"
_NO_LIBRARY = "the standard library", "write it with AscendC's own functions (AscendC::Std::...)"
_REFERENCES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"^_Z(?:n[wa]|d[la])|^(?:m|c|re|aligned_)alloc$|^free$|^posix_memalign$"),
        *_MEMORY,
    ),
    (
        re.compile(r"^__cxa_guard_"),
        "a static local that is initialised at run time",
        "make it constexpr, or a member that Init() sets",
    ),
    (
        re.compile(r"^__cxa_(?:throw|rethrow|allocate_exception|begin_catch)|^_Unwind_"),
        "exceptions",
        "return a status, or check in TilingFunc",
    ),
    (re.compile(r"^__dynamic_cast$|^_ZT[IS]"), "run-time type information", "use templates"),
    (
        re.compile(r"^__cxa_pure_virtual$|^_ZT[VT]"),
        "virtual functions",
        "use templates; the device has no virtual tables",
    ),
    (re.compile(r"^__cxa_(?:thread_)?atexit$"), "a destructor at exit", "make it a local"),
    (_STANDARD, *_NO_LIBRARY),
)
# What a compiler calls on its own, and scalar mathematics that public kernels use.
_COMPILERS_OWN = re.compile(
    r"^(?:mem(?:cpy|set|move|cmp)|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__dso_handle|__tls_get_addr"
    r"|__\w+[dstx][fi]\d?|__g\w+_personality_v0"
    r"|(?:a?(?:cos|sin|tan)h?|atan2|sqrt|cbrt|exp2?|expm1|log(?:2|10|1p|b)?|pow|fmod|remainder|erfc?"
    r"|[lt]gamma|hypot|ceil|floor|l?l?round|trunc|l?l?rint|nearbyint|fabs|fmax|fmin|fdim|fma|ldexp"
    r"|copysign|abs|labs)[fl]?|trap)$"
)
# Declarations of functions that run on the device, although the object does not show it.
_ALSO_DEVICE = re.compile(
    r"\b_?(?:constexpr|aicore|__aicore__|consteval|__callee__|__sim[td]_callee__)\b"
    r"|_GLIBCXX(?:11|14|17)?_CONSTEXPR\b|_LIBCPP_CONSTEXPR(?:_AFTER_CXX1[147])?\b"
)
_DECLARATION_LINES = 6


@dataclass(frozen=True)
class _Place:
    file: str = ""
    line: int = 0


@dataclass
class DeviceCode:
    """The object of a kernel compiled with :data:`LANGUAGE_FLAGS` and :func:`marks`.

    Attributes:
        path: the object.
        source: the kernel file.
        roots: folders of the project; only code below them is judged as the project's own.
    """

    path: Path
    source: Path
    roots: tuple[Path, ...]

    @cached_property
    def _object(self) -> ObjectFile:
        return read_object(self.path)

    @cached_property
    def _functions(self) -> dict[int, str]:
        """Names of functions by their section."""
        found: dict[int, str] = {}
        for symbol in self._object.symbols:
            if symbol.is_function:
                found.setdefault(symbol.section, symbol.name)
        return found

    @cached_property
    def _device(self) -> set[str]:
        return {s.name for s in self._object.symbols if s.is_function and s.protected}

    @cached_property
    def _references(self) -> dict[int, list[Reference]]:
        found: dict[int, list[Reference]] = defaultdict(list)
        for reference in self._object.references():
            found[reference.section].append(reference)
        return found

    @property
    def entries(self) -> set[str]:
        """Symbols of device functions that have C linkage: what CANN can launch."""
        return {n for n in self._device if not n.startswith("_Z")}

    def mangled_entries(self, name: str) -> list[str]:
        """Return device functions called ``name`` that have C++ linkage."""
        part = f"{len(name)}{name}"
        return sorted(n for n in self._device if re.match(rf"_Z(?:N\w*?)?{part}(?!\d)", n))

    def problems(self) -> list[Diagnostic]:
        """Return what the kernel's code does that the device's language has not."""
        found: dict[tuple[str, str, int], Diagnostic] = {}
        for what, fix, place in (
            *self._bad_references(),
            *self._recursions(),
            *self._tables(),
            *self._thread_locals(),
        ):
            where = Location(place.file or str(self.source), place.line)
            found.setdefault(
                (what, where.file, where.line),
                Diagnostic(
                    "OPG613",
                    f"a kernel cannot use {what}",
                    where,
                    "the C++ of the device has no "
                    "exceptions, RTTI, virtual functions, recursion, dynamic memory or "
                    "standard containers, and device functions call device functions only",
                    fix,
                ),
            )
        return list(found.values())

    def _own(self) -> list[int]:
        """Sections with code of the project: neither the emulation's nor the standard library's."""
        return [
            section
            for section, name in self._functions.items()
            if not _EMULATION.match(name) and not _STANDARD.match(name)
        ]

    def _bad_references(self) -> Iterable[tuple[str, str, _Place]]:
        for section in self._own():
            caller = self._functions[section]
            starts_early = caller.startswith(("_GLOBAL__sub_I", "_Z41__static_initialization"))
            if starts_early:
                yield from self._early(section)
                continue
            device = caller in self._device or _LAMBDA.search(caller) is not None
            for reference in self._references.get(section, ()):
                if reference.target == 0:
                    reason = _reason(reference.name)
                    if reason is not None:
                        yield (*reason, self._place(section, reference.offset))
                    continue
                callee = reference.name or self._functions.get(reference.target, "")
                if self._functions.get(reference.target) is None:
                    reason = _reason(callee) if callee.startswith("_ZT") else None
                    if reason is not None:
                        yield (*reason, self._place(section, reference.offset))
                elif _STANDARD.match(callee):
                    reason = self._standard_reason(reference.target)
                    if reason is not None:
                        yield (*reason, self._place(section, reference.offset))
                elif device and self._is_host_function(reference.target, callee):
                    name = _readable(callee)
                    yield (
                        f"{name}, a function of the host",
                        "declare it __aicore__",
                        self._place(section, reference.offset),
                    )

    def _standard_reason(self, section: int) -> tuple[str, str] | None:
        """Return why a function of the standard library cannot be on the device."""
        waiting, seen = [section], {section}
        while waiting:
            at = waiting.pop()
            for reference in self._references.get(at, ()):
                if reference.target == 0:
                    reason = _reason(reference.name)
                    if reason is not None:
                        return f"{_readable(self._functions[section])} ({reason[0]})", reason[1]
                elif reference.target in self._functions and reference.target not in seen:
                    seen.add(reference.target)
                    waiting.append(reference.target)
        if _SPECIAL_MEMBER.search(self._functions[section]) or self._declared_for_device(section):
            return None
        return f"{_readable(self._functions[section])} ({_NO_LIBRARY[0]})", _NO_LIBRARY[1]

    def _is_host_function(self, section: int, name: str) -> bool:
        # The emulation's own functions are not marked; they are the device's.
        if name in self._device or _EMULATED.search(name) or _LAMBDA.search(name):
            return False
        place = self._place(section, 0)
        if not place.file or not self._in_project(place.file):
            return False
        if _SPECIAL_MEMBER.search(name) and not self._is_written_out(place, name):
            return False
        return not self._declared_for_device(section)

    def _in_project(self, file: str) -> bool:
        path = Path(file)
        return any(path.is_relative_to(root) for root in self.roots)

    def _declaration(self, place: _Place) -> str:
        """Return the text of the declaration that a function's line belongs to."""
        try:
            lines = Path(place.file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        kept = lines[place.line - 1 : place.line]
        for line in reversed(lines[max(0, place.line - _DECLARATION_LINES) : place.line - 1]):
            if re.search(r"[;{}]\s*(?://.*)?$|^\s*#|\*/\s*$", line):
                break
            kept.insert(0, line)
        return "\n".join(kept)

    def _declared_for_device(self, section: int) -> bool:
        return _ALSO_DEVICE.search(self._declaration(self._place(section, 0))) is not None

    def _is_written_out(self, place: _Place, name: str) -> bool:
        """Whether a constructor, destructor or assignment is in the source, not the compiler's."""
        text = self._declaration(place)
        classes = re.findall(r"\d+([A-Za-z_]\w*?)(?=[CDI]|aSE|\d)", name)
        return "operator=" in text or any(
            re.search(rf"\b{re.escape(c)}\s*\(", text) for c in classes
        )

    def _early(self, section: int) -> Iterable[tuple[str, str, _Place]]:
        for reference in self._references.get(section, ()):
            callee = reference.name or self._functions.get(reference.target, "")
            target = reference.target in self._functions and not _EMULATED.search(callee)
            if target or callee.startswith("__cxa_"):
                place = self._place(section, reference.offset)
                yield "a global that code initialises", "make it constexpr", place

    def _recursions(self) -> Iterable[tuple[str, str, _Place]]:
        calls = {
            section: {
                r.target: r.offset
                for r in self._references.get(section, ())
                if r.target in self._functions
            }
            for section in self._functions
        }
        for section in self._own():
            waiting, seen = list(calls[section]), set(calls[section])
            while waiting:
                at = waiting.pop()
                new = [t for t in calls[at] if t not in seen]
                seen.update(new)
                waiting += new
            if section in seen:
                name = _readable(self._functions[section])
                yield (
                    f"recursion ({name} calls itself)",
                    "write a loop, or recurse in templates",
                    self._place(section, 0),
                )

    def _tables(self) -> Iterable[tuple[str, str, _Place]]:
        for symbol in self._object.symbols:
            table = symbol.name.startswith(("_ZTV", "_ZTT")) and symbol.section > 0
            if table and not _EMULATION.match(symbol.name) and not _STANDARD.match(symbol.name):
                name = _readable(symbol.name).removeprefix("vtable for ")
                name = name.removeprefix("VTT for ")
                yield f"virtual functions ({name})", "use templates", _Place()

    def _thread_locals(self) -> Iterable[tuple[str, str, _Place]]:
        for symbol in self._object.symbols:
            if symbol.is_thread_local and not _EMULATED.search(symbol.name):
                name = _readable(symbol.name)
                yield f"a thread_local variable ({name})", "make it a member", _Place()

    def _place(self, section: int, offset: int) -> _Place:
        """Return the line of the code at an offset; empty where binutils or line tables lack."""
        tool = shutil.which("addr2line")
        if tool is None:
            return _Place()
        key = (section, offset)
        if key not in self._places:
            command = [tool, "-e", str(self.path), "-j", self._object.section_name(section)]
            done = subprocess.run(
                [*command, hex(offset)], capture_output=True, text=True, check=False
            )
            match = re.match(r"(.+):(\d+)", done.stdout)
            known = match is not None and not match[1].startswith("?")
            self._places[key] = _Place(match[1], int(match[2])) if match and known else _Place()
        return self._places[key]

    @cached_property
    def _places(self) -> dict[tuple[int, int], _Place]:
        return {}


def _reason(name: str) -> tuple[str, str] | None:
    """Return what a reference to an undefined symbol shows and what to write, None: nothing."""
    if not name or _EMULATED.search(name) or _COMPILERS_OWN.match(name):
        return None
    for pattern, what, fix in _REFERENCES:
        if pattern.match(name):
            if pattern is _STANDARD:
                what = f"{_readable(name)} ({what})"
            return what, fix
    if name.startswith("_Z"):
        return f"{_readable(name)}, which nothing defines", "define it in the kernel's sources"
    return f"{name}, a function of the host", "use AscendC's own functions"


def _readable(name: str) -> str:
    """Return a symbol as C++ writes it, without parameters."""
    tool = shutil.which("c++filt")
    if tool is None or not name.startswith("_Z"):
        return name
    done = subprocess.run([tool, "-p", name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name
