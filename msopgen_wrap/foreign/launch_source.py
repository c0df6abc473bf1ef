"""Rewrite AscendC's kernel launch syntax so that a host C++ compiler takes the program.

``k<T><<<blocks, l2ctrl, stream>>>(args)`` is not C++. Every launch becomes one call of
``ascendc_emu::LaunchProgram`` (``ascendc_emu/program.h``); nothing else of the text changes and the
line numbers stay, so compilers and the sanitizer report the user's own lines.

A host source may instead include ``aclrtlaunch_<kernel>.h``, a header that CANN's build generates,
and call ``ACLRT_LAUNCH_KERNEL(kernel)(blocks, stream, ..)``, which starts the kernel on the stream
and returns 0 (CANN: "Kernel direct invocation", the CMake function ``ascendc_library``). Here the
function is added at the end of the source that defines the kernel, where the types of its
parameters are known; the header declares it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.rewriting.source_text import blank_comments, matching, split_list
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

# Names of OpgenKernelKind (ascendc_emu/launch.h) by the attribute on the kernel.
_ATTRIBUTE_KINDS = {"__vector__": "OPGEN_KERNEL_AIV_ONLY", "__cube__": "OPGEN_KERNEL_AIC_ONLY"}
_MIX_KINDS = {
    ("1", "2"): "OPGEN_KERNEL_MIX_AIC_1_2",
    ("1", "1"): "OPGEN_KERNEL_MIX_AIC_1_1",
    ("1", "0"): "OPGEN_KERNEL_MIX_AIC_1_0",
    ("0", "1"): "OPGEN_KERNEL_MIX_AIV_1_0",
}
_AUTO = "OPGEN_KERNEL_AUTO"

_KERNEL = re.compile(
    r"(?P<attributes>(?:\b(?:extern|static|inline|__global__|__aicore__|__vector__|__cube__)\b\s*"
    r'|"C"\s*|\b__mix__\s*\([^)]*\)\s*)+)void\s+(?P<name>\w+)\s*\('
)
_MIX = re.compile(r"__mix__\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_OPEN = {"(": ")", "[": "]", "{": "}"}
# Calls that only a cube core executes; an unannotated kernel that makes them is a mixed one.
_CUBE_CALLS = re.compile(r"\b(REGIST_MATMUL_OBJ|Mmad|LoadData|Fixpipe)\s*[<(]")
_TASK_TYPE = re.compile(r"\bKERNEL_TASK_TYPE(_DEFAULT)?\s*\(")


@dataclass(frozen=True)
class Launch:
    """One launch found in a source: the kernel's name, the offsets it spans, its parts."""

    name: str
    start: int
    end: int
    expression: str
    config: tuple[str, ...]
    arguments: str


def kernel_kinds(texts: list[str]) -> dict[str, str]:
    """Return the ``OpgenKernelKind`` name of every kernel declared in ``texts``."""
    kinds: dict[str, str] = {}
    for text in texts:
        for match in _KERNEL.finditer(blank_comments(text)):
            attributes = match["attributes"]
            if "__" not in attributes:
                continue
            kind = _AUTO
            if mix := _MIX.search(attributes):
                kind = _MIX_KINDS.get((mix[1], mix[2]), _AUTO)
            else:
                for attribute, name in _ATTRIBUTE_KINDS.items():
                    if attribute in attributes:
                        kind = name
            if kind != _AUTO or match["name"] not in kinds:
                kinds[match["name"]] = kind
    return kinds


def cube_kind(texts: list[str]) -> str:
    """Return the kind of a CPU twin's kernels, by what the sources call and declare."""
    mixed = any(_CUBE_CALLS.search(t) for t in texts)
    declared = any(_TASK_TYPE.search(t) for t in texts)
    return "OPGEN_KERNEL_MIX_AIC_1_2" if mixed and not declared else _AUTO


def find_launches(text: str, path: str = "") -> list[Launch]:
    """Return the launches of a source in order.

    Raises:
        OpgenError: OPG905, ``<<<`` is not followed by a complete launch.
    """
    code = blank_comments(text)
    launches: list[Launch] = []
    position = 0
    while (at := code.find("<<<", position)) >= 0:
        start = _expression_start(code, at)
        close, config = _split_config(code, text, at + 3)
        begin = close
        while begin < len(code) and code[begin].isspace():
            begin += 1
        if start is None or close < 0 or code[begin : begin + 1] != "(" or len(config) < 2:
            raise OpgenError(_incomplete(text, path, at))
        end = matching(code, begin)
        if end < 0:
            raise OpgenError(_incomplete(text, path, at))
        expression = text[start:at].rstrip()
        head = re.sub(r"<.*", "", blank_comments(expression), flags=re.DOTALL).strip()
        name = re.findall(r"\w+", head)[-1]
        arguments = text[begin + 1 : end - 1]
        launches.append(Launch(name, start, end, expression, tuple(config), arguments))
        position = end
    return launches


def _incomplete(text: str, path: str, at: int) -> Diagnostic:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Diagnostic(
        "OPG905",
        "this is not a complete kernel launch",
        Location(path, line, column, 3),
        why="a launch reads kernel<<<blocks, l2ctrl, stream>>>(arguments)",
        fix="complete it; shifts of template arguments need spaces (`> > >`)",
    )


def _expression_start(code: str, at: int) -> int | None:
    """Walk back over ``ns::kernel<args>`` to its first character."""
    i = at
    while i > 0 and code[i - 1].isspace():
        i -= 1
    if i > 0 and code[i - 1] == ">":
        angles = parens = 0
        while i > 0:
            i -= 1
            parens += {")": 1, "(": -1}.get(code[i], 0)
            if parens == 0:
                angles += {">": 1, "<": -1}.get(code[i], 0)
                if angles == 0:
                    break
        while i > 0 and code[i - 1].isspace():
            i -= 1
    start = i
    while start > 0 and (code[start - 1].isalnum() or code[start - 1] in "_:"):
        start -= 1
    return start if start < i else None


def _split_config(code: str, text: str, begin: int) -> tuple[int, list[str]]:
    """Split ``blocks, l2ctrl, stream`` up to ``>>>``; returns the offset behind it."""
    parts, depth, last, i = [], 0, begin, begin
    while i < len(code):
        char = code[i]
        if char in _OPEN:
            depth += 1
        elif char in _OPEN.values():
            depth -= 1
        elif depth == 0 and char == ",":
            parts.append(text[last:i])
            last = i + 1
        elif depth == 0 and code.startswith(">>>", i):
            parts.append(text[last:i])
            return i + 3, parts
        i += 1
    return -1, parts


def rewrite(
    text: str, kinds: dict[str, str], path: Path, first: int = 0, keeps: bool = False
) -> str:
    """Return ``text`` with every launch rewritten and a ``#line`` that names ``path``.

    Args:
        kinds: see :func:`kernel_kinds`.
        first: number of the first launch; numbers are unique in a program.
        keeps: launches may run later (aclmdlRICaptureBegin), so they copy their arguments.
    """
    out = [f'#line 1 "{_quoted(path)}"\n']
    position = 0
    function, scope = ("LaunchOrKeep", "[=]") if keeps else ("LaunchProgram", "[&]")
    for number, launch in enumerate(find_launches(text, str(path)), first):
        stream = launch.config[2] if len(launch.config) > 2 else "nullptr"
        kind = kinds.get(launch.name, _AUTO)
        out.append(text[position : launch.start])
        out += [
            f'::ascendc_emu::{function}<{number}>("{launch.name}", {kind}, ',
            f"({launch.config[0]}), "
            f"({stream}), {scope} {{ {launch.expression}({launch.arguments}); }})",
        ]
        written = "".join(out[-2:])
        lost = text.count("\n", launch.start, launch.end) - written.count("\n")
        out.append("\n" * max(lost, 0))
        position = launch.end
    out.append(text[position:])
    return "".join(out)


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


_CALL = re.compile(r"\baclrtlaunch_(\w+)\s*\(")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]aclrtlaunch_(\w+)\.h[">]', re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: its type as written, its name."""

    type: str
    name: str

    @property
    def host_type(self) -> str:
        """The type a host passes: addresses of device memory are ``void*``."""
        address = "*" in self.type or "GM_ADDR" in self.type.split()
        return "void*" if address else self.type


def wanted_kernels(texts: Iterable[str]) -> list[str]:
    """Return the kernels whose launch headers the sources include, by name.

    So are those whose launch function the sources declare themselves and do not define.
    """
    texts = list(texts)
    names = {name for text in texts for name in _INCLUDE.findall(text)}
    calling = [blank_comments(text) for text in texts if _CALL.search(text)]
    named = {name for code in calling for name in _CALL.findall(code)}
    own = {n for n in named if any(_defines_launcher(code, n) for code in calling)}
    return sorted(names | (named - own))


def _defines_launcher(code: str, name: str) -> bool:
    return re.search(rf"\baclrtlaunch_{name}\s*\([^;{{}}]*\)\s*\{{", code) is not None


def add_launchers(texts: Mapping[Path, str]) -> tuple[dict[Path, str], dict[str, str]]:
    """Give every kernel whose launch header is included the function behind it.

    Args:
        texts: sources and headers by path. A launch header that is among them is the user's own.

    Returns:
        The changed texts, and the headers to write: text by file name. A kernel that no source
        defines gets neither; the compiler then names the missing header.
    """
    own = {path.name for path in texts}
    names = [n for n in wanted_kernels(texts.values()) if f"aclrtlaunch_{n}.h" not in own]
    changed: dict[Path, str] = {}
    headers: dict[str, str] = {}
    for name in names:
        for path, text in texts.items():
            parameters = kernel_parameters(text, name)
            if parameters is None:
                continue
            changed[path] = changed.get(path, text).rstrip("\n") + _launcher(name, parameters)
            headers[f"aclrtlaunch_{name}.h"] = _header(name, parameters)
            break
    return changed, headers


def kernel_parameters(text: str, name: str) -> list[Parameter] | None:
    """Return the parameters of the kernel ``name`` that ``text`` defines, None when it does not."""
    code = blank_comments(text)
    for found in re.finditer(rf"\bvoid\s+{re.escape(name)}\s*\(", code):
        head = code[max(code.rfind(c, 0, found.start()) for c in ";}") + 1 : found.start()]
        end = matching(code, found.end() - 1)
        if "__global__" in head and end > 0 and code[end:].lstrip().startswith("{"):
            parts = [" ".join(p.split()) for p in split_list(code[found.end() : end - 1])]
            return [_parameter(part) for part in parts if part not in ("", "void")]
    return None


def _parameter(text: str) -> Parameter:
    declared = text.partition("=")[0].strip()
    name = re.search(r"(\w+)$", declared)
    kind = declared[: name.start()].strip() if name else ""
    # A type alone: the parameter has no name.
    return Parameter(kind, name[1]) if name and kind else Parameter(declared, "")


def _launcher(name: str, parameters: list[Parameter]) -> str:
    named = [Parameter(p.type, p.name or f"opgenArg{i}") for i, p in enumerate(parameters)]
    declared = "".join(f", {p.type} {p.name}" for p in named)
    passed = ", ".join(p.name for p in named)
    return (
        f'\nextern "C" uint32_t aclrtlaunch_{name}(uint32_t opgenBlocks, void* opgenStream'
        f"{declared})\n{{\n    {name}<<<opgenBlocks, nullptr, opgenStream>>>({passed});\n"
        "    return 0;\n}\n"
    )


def _header(name: str, parameters: list[Parameter]) -> str:
    declared = "".join(f", {p.host_type}" for p in parameters)
    guard = f"OPGEN_ACLRTLAUNCH_{name.upper()}_H"
    return (
        f"#ifndef {guard}\n#define {guard}\n"
        '#include "acl/acl_base.h"\n'
        "#ifndef ACLRT_LAUNCH_KERNEL\n"
        "#define ACLRT_LAUNCH_KERNEL(kernel_func) aclrtlaunch_##kernel_func\n"
        "#endif\n"
        f'extern "C" uint32_t aclrtlaunch_{name}(uint32_t numBlocks, aclrtStream stream'
        f"{declared});\n#endif\n"
    )
