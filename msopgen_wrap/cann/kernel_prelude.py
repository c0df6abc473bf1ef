"""What a kernel check compiles before the kernel: CANN's headers once, the tiling struct per op.

In 8.1 style the struct exists only as macros in op_host (``BEGIN_TILING_DATA_DEF`` ...); CANN turns
them into a plain struct and ``GET_TILING_DATA`` for the kernel. This is the same, for compile
checks.

A kernel check mostly waits for the parsing of ``kernel_operator.h``, so it is precompiled once per
arch. That is used only where it cannot change the meaning of a kernel: nothing of the project may
define a macro before the header is included. A failure is always judged by a compile without it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.precompiled_header import precompile
from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.diagnostics import OpgenError

_BLOCK = re.compile(r"BEGIN_TILING_DATA_DEF\s*\(\s*(\w+)\s*\)(.*?)END_TILING_DATA_DEF", re.DOTALL)
_FIELD = re.compile(r"TILING_DATA_FIELD_DEF(_ARR|_STRUCT|)\s*\(([^;]*?)\)\s*(?:;|\n|$)", re.DOTALL)
_REGISTER = re.compile(r"REGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*([\w:]+)\s*\)")
_CONSTANT = re.compile(
    r"(?:#\s*define\s+(\w+)\s+([^\n]+))"
    r"|(?:(?:constexpr|const)\s+(?:static\s+)?(?:std::)?\w+\s+(\w+)\s*=\s*([^;]+);)"
)
_DEFAULT = re.compile(r"REGISTER_TILING_DEFAULT\s*\(\s*([\w:]+)\s*\)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class TilingStruct:
    """One tiling struct: its name and its fields as C++ declarations."""

    name: str
    fields: tuple[str, ...]

    @property
    def text(self) -> str:
        """The struct as C++."""
        return "\n".join([f"struct {self.name} {{", *(f"    {f}" for f in self.fields), "};"])


def strip_comments(text: str) -> str:
    """Return C++ text with its comments replaced by blanks (string literals are not looked at)."""
    return _COMMENT.sub(" ", text)


def tiling_structs(texts: Iterable[str]) -> tuple[list[TilingStruct], dict[str, str]]:
    """Return the structs defined by macros in ``texts``, and which op type uses which of them."""
    structs: dict[str, TilingStruct] = {}
    registered: dict[str, str] = {}
    for text in map(strip_comments, texts):
        constants: dict[str, str] = {}
        for match in _CONSTANT.finditer(text):
            name, value = (match[1], match[2]) if match[1] else (match[3], match[4])
            constants[name] = value.strip()
        for match in _BLOCK.finditer(text):
            fields = []
            for kind, inside in _FIELD.findall(match[2]):
                parts = [p.strip() for p in inside.split(",")]
                if kind == "_ARR" and len(parts) >= 3:
                    size = _resolve(",".join(parts[1:-1]), constants)
                    fields.append(f"{parts[0]} {parts[-1]}[{size}];")
                elif len(parts) == 2:
                    fields.append(f"{parts[0]} {parts[1]};")
            structs[match[1]] = TilingStruct(match[1], tuple(fields))
        for op_type, name in _REGISTER.findall(text):
            registered[op_type] = name.rsplit("::", 1)[-1]
    return list(structs.values()), registered


def _resolve(expression: str, constants: dict[str, str]) -> str:
    """Replace named constants by their text; what is unknown stays and the compiler names it."""
    for _ in range(8):
        changed = re.sub(
            r"[A-Za-z_]\w*",
            lambda m: f"({constants[m[0]]})" if m[0] in constants else m[0],
            expression,
        )
        if changed == expression:
            break
        expression = changed
    return expression


# C library functions of <math.h> that are also likely names of ops, and so of kernel entries.
_LIBM = re.compile(
    r"acosh?|asinh?|atan[2h]?|ceil|cosh?|erfc?|exp(2|m1)?|floor|fmod|hypot|lgamma|log(10|1p|2|b)?"
    r"|pow|rint|round|sinh?|sqrt|tanh?|trunc"
)


def is_library_name(entry: str) -> bool:
    """Whether the prelude renames an entry (``<entry>_entry``), as <math.h> has its name."""
    return _LIBM.fullmatch(entry) is not None


def kernel_prelude(op_type: str, host_sources: Iterable[Path], kernel: Path) -> str:
    """Return what to put before ``kernel`` so that ``GET_TILING_DATA`` works in it.

    Args:
        op_type: CamelCase op type, to find its registered struct.
        host_sources: op_host sources and headers.
        kernel: the kernel file; a plain-struct tiling names its struct in it.
    """
    structs, registered = tiling_structs(
        p.read_text(encoding="utf-8", errors="replace") for p in host_sources
    )
    kernel_text = strip_comments(kernel.read_text(encoding="utf-8", errors="replace"))
    default = _DEFAULT.search(kernel_text)
    name = default[1] if default else registered.get(op_type)
    if name is None and len(structs) == 1:
        name = structs[0].name
    known = {s.name for s in structs}
    lines = ["#include <stdint.h>"]
    if any(
        "TilingData" not in f and re.match(r"T[A-Z]\w*Tiling|SoftMaxTiling|\w+Tiling\b", f)
        for s in structs
        for f in s.fields
        if f.split()[0] not in known
    ):
        # Library tilings (TCubeTiling, SoftMaxTiling ...) used as fields.
        lines.append('#include "kernel_tiling/kernel_tiling.h"')
    entries = dict.fromkeys(re.findall(r"__aicore__\s+void\s+(\w+)\s*\(", kernel_text))
    clashes = [entry for entry in entries if _LIBM.fullmatch(entry)]
    if clashes:
        # The host's C library declares these names with other types.
        lines += ["#include <cmath>", '#include "kernel_operator.h"']
        lines += [f"#define {entry} {entry}_entry" for entry in clashes]
    # A struct the kernel defines itself must not come twice.
    own = set(re.findall(r"struct\s+(?:alignas\s*\(\w+\)\s*)?(\w+)\s*\{", kernel_text))
    lines += [s.text for s in structs if s.name not in own]
    lines += [
        "template <typename T>",
        "inline void OpgenLoadTiling(const void* from, T* to)",
        "{",
        "    __builtin_memcpy(to, from, sizeof(T));",
        "}",
        "#define GET_TILING_DATA_WITH_STRUCT(type, name, from) \\",
        "    type name;                                        \\",
        "    OpgenLoadTiling((const void*)(from), &name)",
        "#define GET_TILING_DATA_MEMBER(type, member, name, from) \\",
        "    decltype(type::member) name = ((const type*)(from))->member",
    ]
    if name:
        lines.append(
            f"#define GET_TILING_DATA(name, from) GET_TILING_DATA_WITH_STRUCT({name}, name, from)"
        )
    return "\n".join(lines) + "\n"


_HEADER = "kernel_operator.h"
_INCLUDE = re.compile(r"#\s*include\s*[\"<]([^\">]+)[\">]")
_DEFINE = re.compile(r"#\s*(?:define|undef)\s+(\w+)([^\n]*)")


def may_precompile(kernel: Path, folders: Sequence[Path]) -> bool:
    """Return whether including ``kernel_operator.h`` first leaves ``kernel`` as it is.

    Follows the project's own headers in order; a macro defined before the device header (other than
    an include guard) could change what that header declares.
    """
    return _walk(kernel, folders, set()) is not False


def _walk(path: Path, folders: Sequence[Path], seen: set[Path]) -> bool | None:
    """Return True when the device header was reached, False at a macro before it, else None."""
    if path in seen:
        return None
    seen.add(path)
    text = strip_comments(path.read_text(encoding="utf-8", errors="replace"))
    for line in text.splitlines():
        include = _INCLUDE.search(line)
        if include is not None:
            if include[1].endswith(_HEADER):
                return True
            for folder in (path.parent, *folders):
                inner = (folder / include[1]).resolve()
                if inner.is_file():
                    result = _walk(inner, folders, seen)
                    if result is not None:
                        return result
                    break
            continue
        define = _DEFINE.search(line)
        if define is not None and define[2].strip():
            return False  # a guard has no value
    return None


class HeaderCache:
    """Precompiled device headers of one verify run, one per set of flags; thread-safe."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._lock = threading.Lock()
        self._made: dict[tuple[str, ...], Path | None] = {}

    def flags(self, base: tuple[str, ...]) -> tuple[str, ...]:
        """Return what to put in front of ``base`` to use the header, () when it cannot be made.

        Args:
            base: flags that the header depends on: standard, macros, include folders.
        """
        if find_toolchain().family != "gcc":
            return ()  # reads precompiled headers in another way
        with self._lock:
            if base not in self._made:
                self._made[base] = self._make(base, len(self._made))
            header = self._made[base]
        return ("-include", str(header)) if header else ()

    def _make(self, base: tuple[str, ...], number: int) -> Path | None:
        header = self._folder / f"device_{number}.h"
        try:
            precompile(header, [_HEADER], base, code="OPG611")
        except OpgenError:
            return None  # the kernels' own checks show what is wrong with it
        return header
